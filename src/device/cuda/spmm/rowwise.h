/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product with X in several GPUs' memories: what the host prepares and the kernel reads. */
#ifndef SLEY_DEVICE_CUDA_SPMM_ROWWISE_H
#define SLEY_DEVICE_CUDA_SPMM_ROWWISE_H

#include "device/cuda/cuda.h"
#include "device/neighbour_search.h"
#include "device/neighbours.h"

/* Pointers to device memory. */
typedef struct sl_rowwise_run {
  const sl_neighbour_part *local, *remote;
  const sl_neighbour_row *joined;
  int64_t locals, remotes, joins;
  const int32_t *local_col, *remote_col;
  const uint8_t *remote_owner;
  const void *local_val, *remote_val;
  void *partial;                       /* sums per slot: slots x k, in the type of sums */
  uintptr_t base[SL_NEIGHBOUR_OWNERS]; /* column c of owner p is at base[p] + c ldx values */
  int own;
  void *y;
  int64_t k, ldx, ldy; /* in elements */
  double alpha, beta;
  bool wide_y; /* true: Y has the type of sums */
  sl_rowwise_choice choice;
} sl_rowwise_run;

/* Shared memory of a block of `wpb` warps with the choice `shared`, as in MGG, section 5.2: per warp, numbers
 * of at most 32 rows at a time, a row of sums and a remote row of X. Offsets are in bytes; each part is
 * rounded up to 16. The first part is the addresses of rows that the block loads together. */
typedef struct sl_rowwise_layout {
  int names; /* row numbers per warp */
  int64_t first_name, sums, rows, row_pitch, bytes;
} sl_rowwise_layout;

static inline sl_rowwise_layout sl_rowwise_layout_of(const sl_neighbour_shape *shape, int64_t k,
                                                     int64_t value_bytes, int64_t sum_bytes) {
  sl_rowwise_layout layout = {shape->ps < SL_NEIGHBOUR_PS_MOST ? shape->ps : SL_NEIGHBOUR_PS_MOST,
                              0,
                              0,
                              0,
                              (k * value_bytes + 15) / 16 * 16,
                              0};
  layout.first_name = SL_NEIGHBOUR_WPB_MOST * (int64_t)sizeof(uintptr_t);
  layout.sums = layout.first_name + (shape->wpb * layout.names * (int64_t)sizeof(int32_t) + 15) / 16 * 16;
  layout.rows = layout.sums + (shape->wpb * k * sum_bytes + 15) / 16 * 16;
  layout.bytes = layout.rows + shape->wpb * layout.row_pitch;
  return layout;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues the product. With the choice `shared` the shape's layout must fit in a block's shared memory. */
sley_status sl_rowwise_launch(sl_queue *queue, const sl_rowwise_run *run, sley_dtype dtype,
                              const sl_neighbour_shape *shape);

/* Launches the part of the product that sums partitions, using shared memory; joining the slots is not
   included. */
sley_status sl_rowwise_launch_shared(sl_queue *queue, const sl_rowwise_run *run, sley_dtype dtype,
                                     const sl_neighbour_shape *shape);

/* Enqueues a copy of `count` values, of value_bytes (2, 4 or 8) each, from val in device memory to their
 * places in the two halves of the matrix. val[0] is the value of entry `first`, relative to the matrix's
 * first. */
sley_status sl_rowwise_split_values(sl_queue *queue, const sl_neighbour_word *word, const void *val,
                                    int64_t first, int64_t count, int64_t value_bytes, void *local,
                                    void *remote);

#ifdef __cplusplus
}
#endif
#endif
