/* SPDX-License-Identifier: Apache-2.0 */
/* The loss, summed over ranks or over blocks of rows. */
#include "gnn/loss.h"

#include "base/memory.h"

enum { RANK_LOSS, COUNTED, BLOCK_LOSSES, MOST_VALUES = BLOCK_LOSSES + SL_ROW_BLOCKS_MOST };

/* Allocates sums. Blocks of other ranks stay 0, so that a sum over ranks returns each block's loss
 * unchanged. */
static sley_status take_memory(sl_loss *l) {
  sl_device *device = l->work->comm->device;
  const int64_t copies = l->blocks->fixed ? 2 : 1, bytes = copies * l->values * (int64_t)sizeof *l->sums;
  void *zeros = sl_alloc_zero(copies * l->values, sizeof *l->sums, "a loss");
  if (!zeros)
    return SLEY_ERR_MEMORY;
  SL_TRY(sl_dense_upload(l->work->comm, zeros, bytes, (void **)&l->sums));
  l->all = l->sums + (copies - 1) * l->values;
  if (!l->blocks->fixed)
    return SLEY_OK;
  SL_TRY(sl_row_blocks_expect(l->blocks, SL_RIGHT, 1, SLEY_F64));
  return device->ops->alloc(device, l->rows * (int64_t)sizeof *l->row, "losses of rows", (void **)&l->row);
}

sley_status sl_loss_open(const sl_dense_work *work, sl_row_blocks *blocks, int64_t rows, sl_loss *out) {
  *out = (sl_loss){.work = work,
                   .blocks = blocks,
                   .rows = rows,
                   .values = BLOCK_LOSSES + (blocks->fixed ? blocks->all : 0)};
  SL_TRY(sl_agree(work->comm, take_memory(out)));
  return sl_dense_create(
      work->comm,
      &(sl_dense_spec){.kind = SLEY_ALLREDUCE, .op = SLEY_SUM, .type = SLEY_TYPE_F64, .count = out->values},
      &out->add);
}

static sl_nll_args likelihood(const sl_loss *l, sl_rows logits, const int32_t *label) {
  return (sl_nll_args){.dtype = l->work->dtype,
                       .rows = logits.rows,
                       .classes = logits.cols,
                       .logits = logits.data,
                       .ld = logits.ld,
                       .label = label,
                       .grad_scale = 1};
}

static sley_status run(const sl_loss *l, const sl_nll_args *args) {
  return sl_kernel_run(l->work->comm->queue, &(sl_kernel_args){.op = SL_OP_NLL, .nll = *args});
}

static sley_status sum_blocks(const sl_loss *l) {
  const sl_dense_work doubles = {.comm = l->work->comm, .dtype = SLEY_F64};
  const sl_rows losses = {.data = l->row, .rows = l->rows, .cols = 1, .ld = 1};
  SL_TRY(sl_row_blocks_bring(l->blocks, NULL, &losses, SLEY_F64));
  for (int64_t n = 0; n < l->blocks->count; n++)
    SL_TRY(sl_dense_sum_columns(&doubles, sl_row_blocks_of(l->blocks, SL_RIGHT, n),
                                l->sums + BLOCK_LOSSES + l->blocks->first + n));
  return SLEY_OK;
}

/* Returns the loss of all rows, from the sums of all ranks. */
static double whole(const sl_loss *l, const double *all) {
  double sum = 0;
  if (!l->blocks->fixed)
    return all[RANK_LOSS];
  for (int64_t i = BLOCK_LOSSES; i < l->values; i++)
    sum += all[i];
  return sum;
}

sley_status sl_loss_mean(const sl_loss *l, sl_rows logits, const int32_t *label, double *mean,
                         int64_t *counted) {
  sl_queue *queue = l->work->comm->queue;
  sl_nll_args args = likelihood(l, logits, label);
  double all[MOST_VALUES];
  args.sums = l->sums;
  args.row_loss = l->row;
  SL_TRY(run(l, &args));
  if (l->blocks->fixed)
    SL_TRY(sum_blocks(l));
  if (l->work->comm->size > 1)
    SL_TRY(sl_dense_run(l->add, l->sums, l->all, queue));
  const double *from = l->work->comm->size > 1 ? l->all : l->sums;
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, all, from, l->values * (int64_t)sizeof *all));
  SL_TRY(queue->ops->queue_wait(queue));
  *counted = (int64_t)all[COUNTED];
  *mean = *counted > 0 ? whole(l, all) / all[COUNTED] : 0;
  return SLEY_OK;
}

sley_status sl_loss_gradient(const sl_loss *l, sl_rows logits, const int32_t *label, int64_t counted,
                             sl_rows to) {
  sl_nll_args args = likelihood(l, logits, label);
  args.grad_scale = counted > 0 ? 1 / (double)counted : 0;
  args.grad = to.data;
  args.ld_grad = to.ld;
  return run(l, &args);
}

void sl_loss_close(sl_loss *l) {
  sl_device *device = l->work ? l->work->comm->device : NULL;
  sl_dense_destroy(l->add);
  if (l->row)
    device->ops->free(device, l->row);
  if (l->sums)
    device->ops->free(device, l->sums);
  *l = (sl_loss){0};
}
