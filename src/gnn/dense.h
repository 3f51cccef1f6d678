/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of layers on matrices in the memory of the rank's device: products, biases, activations, sums of
 * columns, dropout. Each function enqueues one kernel on the rank's queue. */
#ifndef SLEY_GNN_DENSE_H
#define SLEY_GNN_DENSE_H

#include "transport/transport.h"

/* rows x cols values of a network's dtype, with leading dimension ld. sparse: NULL, or the sparse matrix that
 * has the values instead (gnn/sparse_product.h), only as the left operand of a product; block: number of its
 * block of rows whose transpose is used. */
typedef struct sl_rows {
  void *data;
  int64_t rows, cols, ld;
  struct sl_sparse_input *sparse;
  int64_t block;
} sl_rows;

/* sl_rows_take allocates device memory for rows x cols values; rows begin at multiples of 16 bytes, so that
 * kernels load vectors. sl_rows_free frees it, and accepts rows without memory. Errors: SLEY_ERR_OVERFLOW,
 * SLEY_ERR_MEMORY. */
sley_status sl_rows_take(sl_comm *comm, sley_dtype dtype, int64_t rows, int64_t cols, sl_rows *out);
void sl_rows_give(sl_comm *comm, sl_rows *rows);

/* Describes such rows without memory, and sets the number of bytes that they need. Errors: SLEY_ERR_OVERFLOW.
 */
sley_status sl_rows_shape(sley_dtype dtype, int64_t rows, int64_t cols, sl_rows *out, int64_t *bytes);

/* Bytes of memory that the rows occupy; 0 if they have none. */
int64_t sl_rows_bytes(sl_rows rows, sley_dtype dtype);

/* Copies host memory to new device memory; host, from sl_alloc, is freed, also after an error. Waits. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_dense_upload(sl_comm *comm, void *host, int64_t bytes, void **out);

/* Columns [first, first + count) of m. */
sl_rows sl_rows_columns(sl_rows m, int64_t first, int64_t count, sley_dtype dtype);

/* How the device computes: dtype of all matrices; whether sums are in order; whether products use tf32. */
typedef struct sl_dense_work {
  sl_comm *comm;
  sley_dtype dtype;
  bool in_order, tf32;
} sl_dense_work;

/* Output rows of an activation. A gradient with respect to them, times act'(y), is the gradient with respect
 * to the activation's input. For SLEY_NO_ACTIVATION both are the same, and y is not read. */
typedef struct sl_activated {
  sl_rows y;
  sley_activation act;
  double slope;
} sl_activated;

/* c = act(alpha op(a) op(b) + beta c + bias), where op is the transpose if requested. alpha = 0 stands for 1.
 * bias: NULL, or one value per column. c overlaps neither operand. sums: NULL, or the sum of each column of
 * b; only if sl_dense_sums_beside returns true. Errors: as sley_gemm. */
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

/* Returns whether the kernel that computes the product also computes the sums. */
bool sl_dense_sums_beside(const sl_dense_work *work, const sl_product *product, sl_rows c);

/* c is a gradient with respect to before->y, from a product without bias and activation. If the kernel for
 * the product supports it, c becomes the gradient with respect to the activation's input, with the same bits
 * as by sl_dense_activate_grad, and before->act becomes SLEY_NO_ACTIVATION. before = NULL: as
 * sl_dense_multiply. */
sley_status sl_dense_multiply_back(const sl_dense_work *work, const sl_product *product, sl_activated *before,
                                   sl_rows c);

/* Sets each row of c to bias, or to 0 if bias is NULL. */
sley_status sl_dense_fill(const sl_dense_work *work, const void *bias, sl_rows c);

/* Sets c to act(c + bias). */
sley_status sl_dense_activate(const sl_dense_work *work, const void *bias, sley_activation act, double slope,
                              sl_rows c);

/* Sets out to the sum of each column of x. */
sley_status sl_dense_sum_columns(const sl_dense_work *work, sl_rows x, void *out);

/* Multiplies dy by act'(y). sums: NULL, or the sum of each column of the new dy, which is the gradient of a
   bias before act. */
sley_status sl_dense_activate_grad(const sl_dense_work *work, const sl_activated *after, sl_rows dy,
                                   void *sums);

/* out = in / (1 - p) where the mask keeps the value, else 0; out may be in. The mask depends on the row's
 * number: row[i], in device memory, or first_row + i if row is NULL. */
typedef struct sl_mask {
  double p;
  uint64_t seed;
  uint32_t stream;
  int64_t first_row;
  const int64_t *row;
} sl_mask;
sley_status sl_dense_drop(const sl_dense_work *work, const sl_mask *mask, sl_rows in, sl_rows out);

/* out = in. */
sley_status sl_dense_copy(const sl_dense_work *work, sl_rows in, sl_rows out);

/* Copies in to out and converts it: one has dtype f32, the other bf16; rounded to nearest, ties to even. */
sley_status sl_dense_convert(const sl_dense_work *work, sl_rows in, sley_dtype from, sl_rows out,
                             sley_dtype to);

#endif
