/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of two sparse matrices, made where their columns and values lie: on the host, or on a device. Where
 * both have an entry it is added as the semiring adds products, with the same bits on every device: see
 * device/op/op_spgemm.h. */
#ifndef SLEY_TILE_PRODUCTS_SPARSE_ADD_H
#define SLEY_TILE_PRODUCTS_SPARSE_ADD_H

#include "tile/tile_arrays.h"

/* What all additions of a rank have in common. The first five fields are the caller's. */
typedef struct sl_sparse_adder {
  sl_queue *queue;
  sl_team *team; /* for additions on the host */
  sley_index index;
  sley_dtype dtype; /* f32 or f64 */
  sley_semiring semiring;
  /* On a device: [I I], each I of most_rows rows; NULLs before the first addition. */
  int64_t most_rows; /* no matrix has more: the caller's */
  void *rowptr, *col, *val;
} sl_sparse_adder;

/* Frees what additions have left. Of an adder of zeros: nothing. */
void sl_sparse_adder_close(sl_sparse_adder *adder);

/* *a becomes a + b, both rows x cols in arrays as of tile_arrays.h, with columns that ascend, each once in a
 * row. b's arrays are freed, and on an error a's too. May wait for the queue. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED, those of the device. */
sley_status sl_sparse_add(sl_sparse_adder *adder, int64_t rows, int64_t cols, sl_csr_arrays *a,
                          sl_csr_arrays *b);

/* ---- for sparse_add.c: *out is NULLs after an error */

/* In the host's memory; a and b stay. */
sley_status sl_sparse_add_on_host(const sl_sparse_adder *adder, int64_t rows, const sl_csr_arrays *a,
                                  const sl_csr_arrays *b, sl_csr_arrays *out);

/* On the queue's device. May free a's and b's arrays, and sets them NULL then. */
sley_status sl_sparse_add_on_device(sl_sparse_adder *adder, int64_t rows, int64_t cols, sl_csr_arrays *a,
                                    sl_csr_arrays *b, sl_csr_arrays *out);

#endif
