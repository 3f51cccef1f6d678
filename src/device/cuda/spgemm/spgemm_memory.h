/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory of a sparse product, counted and kept within the limit. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_MEMORY_H
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_MEMORY_H

#include "device/cuda/cuda.h"

enum { SL_SPGEMM_BLOCKS = 12 };

typedef struct sl_spgemm_memory {
  sl_device *device;
  const sl_spgemm_args *args;
  int64_t now, peak;
  void *block[SL_SPGEMM_BLOCKS]; /* working blocks; the last one allocated is freed first */
  int64_t bytes[SL_SPGEMM_BLOCKS];
  int blocks;
} sl_spgemm_memory;

/* Starts counting. Also zeroes args->out. */
void sl_spgemm_memory_begin(sl_spgemm_memory *memory, sl_device *device, const sl_spgemm_args *args);

/* Counts bytes that are allocated already. Errors: SLEY_ERR_MEMORY (limit exceeded; what: name for the
 * message). */
sley_status sl_spgemm_count(sl_spgemm_memory *memory, int64_t bytes, const char *what);

/* Allocates working memory. Errors: SLEY_ERR_MEMORY (also if the limit is exceeded; what: name for the
 * message). */
sley_status sl_spgemm_take(sl_spgemm_memory *memory, int64_t bytes, const char *what, void **out);
void sl_spgemm_give_last(sl_spgemm_memory *memory);

/* Allocates an array of the result, by its allocator. Errors: as above. */
sley_status sl_spgemm_take_result(sl_spgemm_memory *memory, int64_t count, size_t bytes_each,
                                  const char *what, void **out);

/* Frees working memory, and after an error the result; without an error, sets the result's peak. Returns the
 * status. */
sley_status sl_spgemm_memory_end(sl_spgemm_memory *memory, sley_status status);

#endif
