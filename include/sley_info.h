/* SPDX-License-Identifier: Apache-2.0 */
/* What this build has and finds: backends, kernels, transports. */
#ifndef SLEY_INFO_H
#define SLEY_INFO_H

#include "sley_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sley_backend {
  const char *kind; /* "device" or "transport" */
  const char *name; /* "cpu", "cuda", "threads", "mpi", ... */
  bool available;
  const char *detail; /* what was found, or why it was not */
} sley_backend;

/* The backends known to this build, looked up now. *out is valid until the calling thread asks again or ends.
 */
sley_status sley_backends(const sley_backend **out, int *count);

/* A kernel that multiplies by a part of A. */
typedef struct sley_kernel {
  const char *name;    /* as sley_plan_options.kernel takes it. Static */
  const char *library; /* NULL: Sley's own; else the library that it calls, such as "cusparse", which plans do
                        * not choose by themselves. Static */
} sley_kernel;

/* The kernels of a device, "cpu" (NULL too) or "cuda": the first `room` are written to out, *count is how
 * many there are. Which of them serve a plan depends on its values, its parts and the processor. Touches no
 * device. Not collective. Errors: SLEY_ERR_ARG (no such device, out or count is NULL), SLEY_ERR_UNSUPPORTED
 * (its module is not there). */
sley_status sley_kernels(const char *device, sley_kernel *out, int room, int *count);

/* The names of the transports that this build knows, NULL-terminated; static. Modules of others, found by
 * their names, are not among them. */
const char *const *sley_transports(void);

/* SLEY_OK if the transport is there. Touches no device. Errors: SLEY_ERR_ARG (no such transport),
 * SLEY_ERR_UNSUPPORTED (why not). */
sley_status sley_transport_found(const char *name);

#ifdef __cplusplus
}
#endif
#endif
