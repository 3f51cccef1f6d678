/* SPDX-License-Identifier: Apache-2.0 */
/* libnvshmem_host, opened at run time. It provides to C code the functions that its C++ headers declare. */
#ifndef SLEY_TRANSPORT_NVSHMEM_NVSHMEM_LIBRARY_H
#define SLEY_TRANSPORT_NVSHMEM_NVSHMEM_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/status.h"

typedef struct sl_nvshmem_library {
  void *handle;                             /* never closed */
  void *get_uniqueid, *set_uniqueid, *init; /* functions whose arguments have types of NVSHMEM */
  void (*finalize)(void);
  void *(*malloc)(size_t bytes);
  void *(*ptr)(const void *address, int rank);
} sl_nvshmem_library;

/* The identifier that rank 0 sends to all others. */
typedef struct sl_nvshmem_id {
  char bytes[128];
} sl_nvshmem_id;

/* Opens the library. Errors: SLEY_ERR_UNSUPPORTED (not installed, or too old). */
sley_status sl_nvshmem_load(sl_nvshmem_library *library);
sley_status sl_nvshmem_name(const sl_nvshmem_library *library, sl_nvshmem_id *out);
/* Starts the library on the current GPU. Collective. */
sley_status sl_nvshmem_begin(const sl_nvshmem_library *library, int rank, int size, const sl_nvshmem_id *id);

#ifdef __cplusplus
}
#endif
#endif
