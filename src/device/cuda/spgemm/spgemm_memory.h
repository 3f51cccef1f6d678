/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's memory that a sparse product takes, counted, and kept within the limit. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_MEMORY_H
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_MEMORY_H

#include "device/cuda/cuda.h"

enum { SL_SPGEMM_BLOCKS = 12 };

typedef struct sl_spgemm_memory {
  sl_device *device;
  const sl_spgemm_args *args;
  int64_t now, peak;
  void *block[SL_SPGEMM_BLOCKS]; /* that are worked in; the last taken is given back first */
  int64_t bytes[SL_SPGEMM_BLOCKS];
  int blocks;
} sl_spgemm_memory;

/* Sets args->out to zeros, too. */
void sl_spgemm_memory_begin(sl_spgemm_memory *memory, sl_device *device, const sl_spgemm_args *args);

/* Counts bytes that are there already. Errors: SLEY_ERR_MEMORY (beyond the limit; what: for the message). */
sley_status sl_spgemm_count(sl_spgemm_memory *memory, int64_t bytes, const char *what);

/* Memory to work in. Errors: SLEY_ERR_MEMORY (also: beyond the limit; what: for the message). */
sley_status sl_spgemm_take(sl_spgemm_memory *memory, int64_t bytes, const char *what, void **out);
void sl_spgemm_give_last(sl_spgemm_memory *memory);

/* An array of the result, by its allocator. Errors: as above. */
sley_status sl_spgemm_take_result(sl_spgemm_memory *memory, int64_t count, size_t bytes_each,
                                  const char *what, void **out);

/* Gives back what was worked in, and after an error the result, too; else sets its peak. Returns the status.
 */
sley_status sl_spgemm_memory_end(sl_spgemm_memory *memory, sley_status status);

#endif
