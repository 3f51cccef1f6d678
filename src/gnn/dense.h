/* SPDX-License-Identifier: Apache-2.0 */
/* What layers do with matrices in the memory of the rank's device: products, biases, activations, sums of
 * columns, dropout. Each function enqueues one kernel on the rank's queue. */
#ifndef SLEY_GNN_DENSE_H
#define SLEY_GNN_DENSE_H

#include "transport/transport.h"

/* rows x cols values of a network's dtype, ld apart. sparse: NULL, or where the values are instead
 * (gnn/sparse_product.h), for the left operand of a product alone; block: of it, the one whose transpose is
 * meant. */
typedef struct sl_rows {
  void *data;
  int64_t rows, cols, ld;
  struct sl_sparse_input *sparse;
  int64_t block;
} sl_rows;

/* Memory of the rank's device for rows x cols values, which begin at multiples of 16 bytes, so that kernels
 * load vectors. Freed by the second, which accepts one without memory. Errors: SLEY_ERR_OVERFLOW,
 * SLEY_ERR_MEMORY. */
sley_status sl_rows_take(sl_comm *comm, sley_dtype dtype, int64_t rows, int64_t cols, sl_rows *out);
void sl_rows_give(sl_comm *comm, sl_rows *rows);

/* Such rows before they have memory, and the bytes that they need. Errors: SLEY_ERR_OVERFLOW. */
sley_status sl_rows_shape(sley_dtype dtype, int64_t rows, int64_t cols, sl_rows *out, int64_t *bytes);

/* What they take of memory; 0 where they have none. */
int64_t sl_rows_bytes(sl_rows rows, sley_dtype dtype);

/* A copy of host's bytes in the memory of the rank's device; host, from sl_alloc, is freed, also on an error.
 * Waits. Errors: SLEY_ERR_MEMORY. */
sley_status sl_dense_upload(sl_comm *comm, void *host, int64_t bytes, void **out);

/* Columns [first, first + count) of m. */
sl_rows sl_rows_columns(sl_rows m, int64_t first, int64_t count, sley_dtype dtype);

/* How the device works: the dtype of all matrices; sums in order; products of tf32. */
typedef struct sl_dense_work {
  sl_comm *comm;
  sley_dtype dtype;
  bool in_order, tf32;
} sl_dense_work;

/* Rows that an activation gave. A gradient with respect to them, times act'(y), is one with respect to what
 * the activation was given. SLEY_NO_ACTIVATION: the two are the same, and y is not read. */
typedef struct sl_activated {
  sl_rows y;
  sley_activation act;
  double slope;
} sl_activated;

/* c = act(alpha op(a) op(b) + beta c + bias), with op the transpose where it is asked for. alpha 0: 1. bias:
 * NULL, or a value for each column. c overlaps neither. sums: NULL, or a value for each column of b, its sum;
 * only where sl_dense_sums_beside says so. Errors: as sley_gemm. */
typedef struct sl_product {
  sl_rows a, b;
  bool transpose_a, transpose_b;
  double alpha, beta;
  const void *bias;
  sley_activation act;
  double slope;
  void *sums;
} sl_product;
sley_status sl_dense_multiply(const sl_dense_work *work, const sl_product *product, sl_rows c);

/* Whether the kernel that makes the product alone makes the sums, too. */
bool sl_dense_sums_beside(const sl_dense_work *work, const sl_product *product, sl_rows c);

/* c is a gradient with respect to before->y, of a product without bias and activation. Where the kernel that
 * makes the product alone can, it is made the one with respect to what that activation was given, with the
 * same bits as by sl_dense_activate_grad, and before->act becomes SLEY_NO_ACTIVATION. before NULL: as
 * sl_dense_multiply. */
sley_status sl_dense_multiply_back(const sl_dense_work *work, const sl_product *product, sl_activated *before,
                                   sl_rows c);

/* Each row of c becomes bias, or 0 where it is NULL. */
sley_status sl_dense_fill(const sl_dense_work *work, const void *bias, sl_rows c);

/* c = act(c + bias). */
sley_status sl_dense_activate(const sl_dense_work *work, const void *bias, sley_activation act, double slope,
                              sl_rows c);

/* A value for each column of x: its sum. */
sley_status sl_dense_sum_columns(const sl_dense_work *work, sl_rows x, void *out);

/* dy = dy act'(y); sums: NULL, or a value for each column of dy, its sum, the gradient of a bias before act.
 */
sley_status sl_dense_activate_grad(const sl_dense_work *work, const sl_activated *after, sl_rows dy,
                                   void *sums);

/* out = in where the mask keeps, divided by 1 - p, else 0; out may be in. The mask is drawn for the global
 * row. */
typedef struct sl_mask {
  double p;
  uint64_t seed;
  uint32_t stream;
  int64_t first_row;
} sl_mask;
sley_status sl_dense_drop(const sl_dense_work *work, const sl_mask *mask, sl_rows in, sl_rows out);

/* out = in. */
sley_status sl_dense_copy(const sl_dense_work *work, sl_rows in, sl_rows out);

/* out = in, where these have dtypes of their own: of f32 and bf16 one each, rounded to nearest, ties to even.
 */
sley_status sl_dense_convert(const sl_dense_work *work, sl_rows in, sley_dtype from, sl_rows out,
                             sley_dtype to);

#endif
