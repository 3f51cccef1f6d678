/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of two sparse matrices, computed where their columns and values are: on the host, or on a device.
 * If both have an entry, the entries are added as the semiring adds products, with the same bits on every
 * device (device/op/op_spgemm.h). */
#ifndef SLEY_TILE_PRODUCTS_SPARSE_ADD_H
#define SLEY_TILE_PRODUCTS_SPARSE_ADD_H

#include "tile/tile_arrays.h"

/* Data shared by all additions of a rank. The caller sets the first five fields. */
typedef struct sl_sparse_adder {
  sl_queue *queue;
  sl_team *team; /* for additions on the host */
  sley_index index;
  sley_dtype dtype; /* f32 or f64 */
  sley_semiring semiring;
  /* For additions on a device: the matrix [I I], each I with most_rows rows; NULL before the first addition.
   */
  int64_t most_rows; /* most rows of any matrix; set by the caller */
  void *rowptr, *col, *val;
} sl_sparse_adder;

/* Frees the memory that additions keep. Does nothing if all bytes are zero. */
void sl_sparse_adder_close(sl_sparse_adder *adder);

/* Sets *a to a + b, both rows x cols in arrays as in tile_arrays.h, whose columns ascend without repetition
 * in each row. b's arrays are freed; after an error a's arrays are freed too. May wait for the queue. Errors:
 * SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED, errors of the device. */
sley_status sl_sparse_add(sl_sparse_adder *adder, int64_t rows, int64_t cols, sl_csr_arrays *a,
                          sl_csr_arrays *b);

/* ---- for sparse_add.c: after an error *out has NULL arrays */

/* Adds in host memory; a and b stay unchanged. */
sley_status sl_sparse_add_on_host(const sl_sparse_adder *adder, int64_t rows, const sl_csr_arrays *a,
                                  const sl_csr_arrays *b, sl_csr_arrays *out);

/* Adds on the queue's device. May free arrays of a and b, and sets them to NULL then. */
sley_status sl_sparse_add_on_device(sl_sparse_adder *adder, int64_t rows, int64_t cols, sl_csr_arrays *a,
                                    sl_csr_arrays *b, sl_csr_arrays *out);

#endif
