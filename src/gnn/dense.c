/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of layers, and the arguments of the dense operations. */
#include "gnn/dense.h"

#include "base/memory.h"
#include "gnn/sparse_product.h"
#include "graph/row_pitch.h"
#include "transport/stopwatch.h"

sley_status sl_rows_shape(sley_dtype dtype, int64_t rows, int64_t cols, sl_rows *out, int64_t *bytes) {
  const int64_t value = (int64_t)sley_dtype_bytes(dtype), ld = sl_row_pitch(cols, dtype);
  if (__builtin_mul_overflow(rows, ld * value, bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "rows of a network have more than 2^63 bytes");
  *out = (sl_rows){.rows = rows, .cols = cols, .ld = ld};
  return SLEY_OK;
}

int64_t sl_rows_bytes(sl_rows rows, sley_dtype dtype) {
  return rows.data ? rows.rows * rows.ld * (int64_t)sley_dtype_bytes(dtype) : 0;
}

sley_status sl_rows_take(sl_comm *comm, sley_dtype dtype, int64_t rows, int64_t cols, sl_rows *out) {
  int64_t bytes;
  SL_TRY(sl_rows_shape(dtype, rows, cols, out, &bytes));
  return comm->device->ops->alloc(comm->device, bytes, "rows of a network", &out->data);
}

void sl_rows_give(sl_comm *comm, sl_rows *rows) {
  if (rows->data)
    comm->device->ops->free(comm->device, rows->data);
  *rows = (sl_rows){0};
}

sley_status sl_dense_upload(sl_comm *comm, void *host, int64_t bytes, void **out) {
  sley_status status = sl_device_upload(comm->queue, host, bytes, "a network", out);
  if (status == SLEY_OK)
    status = comm->queue->ops->queue_wait(comm->queue);
  sl_free(host);
  return status;
}

sl_rows sl_rows_columns(sl_rows m, int64_t first, int64_t count, sley_dtype dtype) {
  m.data = (char *)m.data + first * (int64_t)sley_dtype_bytes(dtype);
  m.cols = count;
  return m;
}

static sl_kernel_args args_of(const sl_dense_work *work, const sl_product *p, sl_rows c) {
  return (sl_kernel_args){.op = SL_OP_GEMM,
                          .gemm = {.dtype = work->dtype,
                                   .transpose_a = p->transpose_a,
                                   .transpose_b = p->transpose_b,
                                   .in_order = work->in_order,
                                   .tf32 = work->tf32,
                                   .m = c.rows,
                                   .n = c.cols,
                                   .k = p->transpose_a ? p->a.rows : p->a.cols,
                                   .alpha = p->alpha != 0 ? p->alpha : 1,
                                   .beta = p->beta,
                                   .a = p->a.data,
                                   .lda = p->a.ld,
                                   .b = p->b.data,
                                   .ldb = p->b.ld,
                                   .c = c.data,
                                   .ldc = c.ld,
                                   .bias = p->bias,
                                   .act = p->act,
                                   .slope = p->slope,
                                   .column_sums = p->sums}};
}

static sley_status multiply(const sl_dense_work *work, const sl_kernel_args *args) {
  const sl_work before = sl_work_begin(work->comm, SL_WORK_GEMM);
  return sl_work_end(work->comm, before, sl_kernel_run(work->comm->queue, args));
}

sley_status sl_dense_multiply(const sl_dense_work *work, const sl_product *p, sl_rows c) {
  if (p->a.sparse)
    return sl_sparse_input_multiply(work, p, c);
  const sl_kernel_args args = args_of(work, p, c);
  return multiply(work, &args);
}

/* Returns whether one kernel does both parts of the work. If not, the remaining part costs another pass over
 * the rows, but changes no bit of the product. */
static bool one_kernel_makes(const sl_dense_work *work, const sl_kernel_args *all,
                             const sl_kernel_args *alone) {
  const sl_device *device = work->comm->device;
  const sl_kernel *of_all, *of_one;
  return sl_kernel_serves(device, all) && sl_kernel_serves(device, alone) &&
         sl_kernel_find(device, all, &of_all) == SLEY_OK &&
         sl_kernel_find(device, alone, &of_one) == SLEY_OK && of_all == of_one;
}

bool sl_dense_sums_beside(const sl_dense_work *work, const sl_product *p, sl_rows c) {
  if (p->a.sparse)
    return false;
  const sl_kernel_args all = args_of(work, p, c);
  sl_kernel_args alone = all;
  alone.gemm.column_sums = NULL;
  return one_kernel_makes(work, &all, &alone);
}

sley_status sl_dense_multiply_back(const sl_dense_work *work, const sl_product *p, sl_activated *before,
                                   sl_rows c) {
  const sl_kernel_args alone = args_of(work, p, c);
  sl_kernel_args all = alone;
  if (!before || before->act == SLEY_NO_ACTIVATION)
    return multiply(work, &alone);
  all.gemm.act = before->act;
  all.gemm.slope = before->slope;
  all.gemm.gate = before->y.data;
  all.gemm.ldgate = before->y.ld;
  if (!one_kernel_makes(work, &all, &alone))
    return multiply(work, &alone);
  before->act = SLEY_NO_ACTIVATION;
  return multiply(work, &all);
}

/* Completes a product without terms: sets c to act(beta c + bias). */
static sley_status finish(const sl_dense_work *work, double beta, const void *bias, sley_activation act,
                          double slope, sl_rows c) {
  return sl_kernel_run(work->comm->queue, &(sl_kernel_args){.op = SL_OP_GEMM,
                                                            .gemm = {.dtype = work->dtype,
                                                                     .in_order = work->in_order,
                                                                     .m = c.rows,
                                                                     .n = c.cols,
                                                                     .beta = beta,
                                                                     .c = c.data,
                                                                     .ldc = c.ld,
                                                                     .bias = bias,
                                                                     .act = act,
                                                                     .slope = slope}});
}

sley_status sl_dense_fill(const sl_dense_work *work, const void *bias, sl_rows c) {
  return finish(work, 0, bias, SLEY_NO_ACTIVATION, 0, c);
}

sley_status sl_dense_activate(const sl_dense_work *work, const void *bias, sley_activation act, double slope,
                              sl_rows c) {
  return bias || act != SLEY_NO_ACTIVATION ? finish(work, 1, bias, act, slope, c) : SLEY_OK;
}

sley_status sl_dense_sum_columns(const sl_dense_work *work, sl_rows x, void *out) {
  return sl_kernel_run(
      work->comm->queue,
      &(sl_kernel_args){
          .op = SL_OP_COLUMN_SUMS,
          .column_sums = {
              .dtype = work->dtype, .rows = x.rows, .cols = x.cols, .x = x.data, .ldx = x.ld, .out = out}});
}

sley_status sl_dense_activate_grad(const sl_dense_work *work, const sl_activated *after, sl_rows dy,
                                   void *sums) {
  if (after->act == SLEY_NO_ACTIVATION)
    return sums ? sl_dense_sum_columns(work, dy, sums) : SLEY_OK;
  return sl_kernel_run(work->comm->queue, &(sl_kernel_args){.op = SL_OP_ACTIVATE_GRAD,
                                                            .activate_grad = {.dtype = work->dtype,
                                                                              .act = after->act,
                                                                              .slope = after->slope,
                                                                              .rows = dy.rows,
                                                                              .cols = dy.cols,
                                                                              .y = after->y.data,
                                                                              .ldy = after->y.ld,
                                                                              .dy = dy.data,
                                                                              .lddy = dy.ld,
                                                                              .dx = dy.data,
                                                                              .lddx = dy.ld,
                                                                              .scale = 1,
                                                                              .sums = sums}});
}

sley_status sl_dense_drop(const sl_dense_work *work, const sl_mask *mask, sl_rows in, sl_rows out) {
  return sl_kernel_run(work->comm->queue, &(sl_kernel_args){.op = SL_OP_DROPOUT,
                                                            .dropout = {.dtype = work->dtype,
                                                                        .p = mask->p,
                                                                        .seed = mask->seed,
                                                                        .stream = mask->stream,
                                                                        .rows = in.rows,
                                                                        .cols = in.cols,
                                                                        .first_row = mask->first_row,
                                                                        .row = mask->row,
                                                                        .in = in.data,
                                                                        .ld_in = in.ld,
                                                                        .out = out.data,
                                                                        .ld_out = out.ld}});
}

/* Copies rows, as a dropout with probability 0. */
sley_status sl_dense_copy(const sl_dense_work *work, sl_rows in, sl_rows out) {
  return sl_dense_drop(work, &(sl_mask){.p = 0}, in, out);
}

sley_status sl_dense_convert(const sl_dense_work *work, sl_rows in, sley_dtype from, sl_rows out,
                             sley_dtype to) {
  return sl_kernel_run(work->comm->queue,
                       &(sl_kernel_args){.op = SL_OP_CONVERT,
                                         .convert = {.count = in.rows,
                                                     .k = in.cols,
                                                     .src = in.data,
                                                     .src_stride = in.ld * (int64_t)sley_dtype_bytes(from),
                                                     .from = from,
                                                     .dst = out.data,
                                                     .dst_stride = out.ld * (int64_t)sley_dtype_bytes(to),
                                                     .to = to}});
}
