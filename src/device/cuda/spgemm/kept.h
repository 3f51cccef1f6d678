/* SPDX-License-Identifier: Apache-2.0 */
/* State that a queue keeps for sparse products, created by the first of them: creating it each time would
 * take as long as a small product. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_KEPT_H
#define SLEY_DEVICE_CUDA_SPGEMM_KEPT_H

#include "device/cuda/spgemm/spgemm.h"

enum { SL_SPGEMM_KEPT_BYTES = 16 << 20 }; /* largest block that is kept */

struct sl_cuda_spgemm_kept {
  sl_spgemm_state *state; /* state of the product, in pinned host memory */
  sl_spgemm_sides sides;  /* streams; the field used is the number of streams that exist */
  void *block;            /* GPU memory; NULL until first used */
  int64_t bytes;
};

/* Returns the queue's state. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cuda_spgemm_kept_of(sl_queue *queue, sl_cuda_spgemm_kept **out);

/* Returns a block of at least `bytes` bytes, at most SL_SPGEMM_KEPT_BYTES. A smaller previous block is freed.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_cuda_spgemm_block(sl_queue *queue, sl_cuda_spgemm_kept *kept, int64_t bytes, void **out);

/* Creates streams until kept->sides has at least `wanted`, at most SL_SPGEMM_SIDES. */
sley_status sl_cuda_spgemm_open_sides(sl_cuda_spgemm_kept *kept, int wanted);

#endif
