/* SPDX-License-Identifier: Apache-2.0 */
/* Products of sparse features. */
#include "gnn/sparse_product.h"

#include "matrix/matrix.h"
#include "transport/stopwatch.h"

sl_rows sl_sparse_input_rows(sl_sparse_input *s) {
  return (sl_rows){.rows = s->rows, .cols = s->features, .ld = s->features, .sparse = s};
}

/* ---- products */

static struct sl_sparse_width *find(sl_sparse_side *side, int64_t width) {
  for (int i = 0; i < side->widths; i++)
    if (side->width[i].problem.k == width)
      return &side->width[i];
  return NULL;
}

static sley_status expect(sl_sparse_input *s, sl_sparse_side *side, int64_t width) {
  if (find(side, width))
    return SLEY_OK;
  if (side->widths == SL_SPARSE_WIDTHS)
    return sl_fail(SLEY_ERR_INTERNAL, "sparse features are in products of more than %d widths",
                   SL_SPARSE_WIDTHS);
  struct sl_sparse_width *w = &side->width[side->widths++];
  w->problem = (sl_spmm_problem){.a = &side->matrix,
                                 .k = width,
                                 .x_rows = side->cols,
                                 .in_order = s->work->in_order,
                                 .tf32 = s->work->tf32,
                                 .renewable = s->drops,
                                 .figures = &s->comm->device->figures,
                                 .team = s->comm->team};
  if (side->matrix.rows == 0 || width == 0)
    return SLEY_OK;
  const sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &w->problem}};
  SL_TRY(sl_kernel_find(s->comm->device, &args, &w->kernel));
  return w->kernel->prepare(s->comm->device, s->comm->queue, &args, &w->prepared);
}

sley_status sl_sparse_input_expect(sl_sparse_input *s, bool back, int64_t width) {
  if (!back)
    return expect(s, &s->x, width);
  for (int64_t n = 0; n < s->blocks; n++)
    SL_TRY(expect(s, &s->back[n], width));
  return SLEY_OK;
}

static sley_status drop_side(const sl_sparse_input *s, const sl_mask *mask, sl_sparse_side *side) {
  sl_queue *queue = s->comm->queue;
  const sl_dropout_args args = {.dtype = side->matrix.dtype,
                                .p = mask ? mask->p : 0,
                                .seed = mask ? mask->seed : 0,
                                .stream = mask ? mask->stream : 0,
                                .rows = side->entries,
                                .cols = 1,
                                .row = side->row,
                                .column = side->column,
                                .in = side->values,
                                .ld_in = 1,
                                .out = side->dropped,
                                .ld_out = 1};
  if (side->entries == 0)
    return SLEY_OK;
  if (mask)
    SL_TRY(sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_DROPOUT, .dropout = args}));
  const void *now = mask ? side->dropped : side->values;
  if (s->comm->device->ops->host_addresses)
    side->matrix.val = now;
  for (int i = 0; i < side->widths; i++) {
    const struct sl_sparse_width *w = &side->width[i];
    const sl_kernel_args of = {.op = SL_OP_SPMM, .spmm = {.problem = &w->problem}};
    if (w->kernel)
      SL_TRY(w->kernel->refill(s->comm->device, queue, &of, now, SL_VALUES_IN_DEVICE, w->prepared));
  }
  return SLEY_OK;
}

sley_status sl_sparse_input_drop(sl_sparse_input *s, const sl_mask *mask) {
  if (!mask && !s->lacks)
    return SLEY_OK;
  s->lacks = mask != NULL;
  SL_TRY(drop_side(s, mask, &s->x));
  for (int64_t n = 0; n < s->blocks; n++)
    SL_TRY(drop_side(s, mask, &s->back[n]));
  return SLEY_OK;
}

sley_status sl_sparse_input_multiply(const sl_dense_work *work, const sl_product *p, sl_rows c) {
  sl_sparse_input *s = p->a.sparse;
  sl_sparse_side *side = p->transpose_a ? &s->back[p->a.block] : &s->x;
  const struct sl_sparse_width *w = find(side, c.cols);
  if (!w)
    return sl_fail(SLEY_ERR_INTERNAL, "sparse features: a product of %lld columns was not expected",
                   (long long)c.cols);
  const sl_kernel_args args = {.op = SL_OP_SPMM,
                               .spmm = {.problem = &w->problem,
                                        .prepared = w->prepared,
                                        .alpha = p->alpha != 0 ? p->alpha : 1,
                                        .beta = p->beta,
                                        .x = p->b.data,
                                        .ldx = p->b.ld,
                                        .y = c.data,
                                        .ldy = c.ld}};
  const sl_work before = sl_work_begin(work->comm, SL_WORK_SPMM);
  sley_status status = w->kernel ? w->kernel->run(work->comm->queue, &args) : SLEY_OK;
  SL_TRY(sl_work_end(work->comm, before, status));
  return sl_dense_activate(work, p->bias, p->act, p->slope, c);
}

static int64_t side_bytes(const sl_sparse_side *side) {
  const sl_spmm_matrix *m = &side->matrix;
  const int64_t places = side->row ? 2 * (int64_t)sizeof *side->row * side->entries : 0;
  return sl_csr_bytes(m->rows, side->entries, m->index, m->dtype) + places +
         (side->dropped ? side->entries * (int64_t)sley_dtype_bytes(m->dtype) : 0);
}

int64_t sl_sparse_input_bytes(const sl_sparse_input *s) {
  int64_t bytes = s ? side_bytes(&s->x) : 0;
  for (int64_t n = 0; s && n < s->blocks; n++)
    bytes += side_bytes(&s->back[n]);
  return bytes;
}
