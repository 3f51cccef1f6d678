/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue keeps for sparse products, made when the first of them asks for it: to take these anew costs
 * as much time as a small product. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_KEPT_H
#define SLEY_DEVICE_CUDA_SPGEMM_KEPT_H

#include "device/cuda/spgemm/spgemm.h"

enum { SL_SPGEMM_KEPT_BYTES = 16 << 20 }; /* the largest block that is kept */

struct sl_cuda_spgemm_kept {
  sl_spgemm_state *state; /* one, in pinned memory of the host */
  sl_spgemm_sides sides;  /* used: how many there are */
  void *block;            /* of the GPU's memory; NULL until wanted */
  int64_t bytes;
};

/* The queue's. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cuda_spgemm_kept_of(sl_queue *queue, sl_cuda_spgemm_kept **out);

/* A block of at least so many bytes, SL_SPGEMM_KEPT_BYTES at most; the one before is lost if it is smaller.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_cuda_spgemm_block(sl_queue *queue, sl_cuda_spgemm_kept *kept, int64_t bytes, void **out);

/* Makes kept->sides have at least so many, SL_SPGEMM_SIDES at most. */
sley_status sl_cuda_spgemm_open_sides(sl_cuda_spgemm_kept *kept, int wanted);

#endif
