/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/resident.h"

#include "base/memory.h"

/* Returns whether the device has memory for the block, its parts, and temporary arrays half as large as the
 * block. */
static bool has_room(const sl_inspection *ins) {
  const sl_device_ops *ops = ins->comm->device->ops;
  int64_t free = 0, total = 0, devices = ops->count(), ranks = ins->comm->size;
  if (devices < 1 || ops->memory(ins->comm->device, &free, &total) != SLEY_OK)
    return false;
  return free / ((ranks + devices - 1) / devices) / 5 >
         sl_csr_bytes(ins->block->rows, ins->block->nnz, ins->block->index, ins->block->dtype) / 2;
}

static bool suits(const sl_inspection *ins) {
  const sley_matrix *block = ins->block;
  return !ins->comm->device->ops->host_addresses && ins->x_rows < block->cols && block->nnz > 0 &&
         block->index == SLEY_I32 && block->cols / 4 <= block->nnz && has_room(ins);
}

sley_status sl_resident_upload(const sl_inspection *ins, const void *host, int64_t count, size_t bytes_each,
                               void *out) {
  return sl_device_upload_private(ins->comm->queue, host, count * (int64_t)bytes_each, "a block to plan for",
                                  (void **)out);
}

sley_status sl_resident_download(const sl_inspection *ins, void *host, const void *from, int64_t count,
                                 size_t bytes_each) {
  sl_queue *queue = ins->comm->queue;
  return queue->ops->copy(queue, SL_COPY_TO_HOST, host, from, count * (int64_t)bytes_each);
}

void sl_resident_close(sl_resident *r) {
  if (!r)
    return;
  r->device->ops->free(r->device, r->words);
  r->device->ops->free(r->device, (void *)r->block.val);
  r->device->ops->free(r->device, (void *)r->block.col);
  r->device->ops->free(r->device, (void *)r->block.rowptr);
  sl_free(r);
}

sley_status sl_resident_open(sl_inspection *ins) {
  const sley_matrix *block = ins->block;
  sl_resident *r;
  if (!suits(ins))
    return SLEY_OK;
  SL_TRY(SL_NEW_ZERO(r, 1, "a block to plan for"));
  r->device = ins->comm->device;
  r->block = (sl_block_arrays){
      .rows = block->rows, .entries = block->nnz, .first = ins->first_col, .count = ins->x_rows};
  sley_status status =
      sl_resident_upload(ins, block->rowptr, block->rows + 1, sizeof *block->rowptr, &r->block.rowptr);
  if (status == SLEY_OK)
    status = sl_resident_upload(ins, (const int32_t *)block->col + block->rowptr[0], block->nnz,
                                sizeof(int32_t), &r->block.col);
  if (status != SLEY_OK) {
    sl_resident_close(r);
    return status == SLEY_ERR_MEMORY ? SLEY_OK : status;
  }
  ins->resident = r;
  return SLEY_OK;
}

/* ---- columns */

typedef struct column_arrays {
  uint64_t *bits, *device_bits;
  int64_t *device_begin, *device_nnz;
} column_arrays;

static sley_status find_columns(sl_inspection *ins, column_arrays *c) {
  int ranks = ins->comm->size;
  int64_t words = (ins->block->cols + 63) / 64;
  SL_TRY(SL_NEW_ZERO(c->bits, words, "a column set"));
  SL_TRY(SL_NEW_ZERO(ins->owner_nnz, ranks, "entry counts"));
  SL_TRY(sl_resident_upload(ins, c->bits, words, sizeof *c->bits, &c->device_bits));
  SL_TRY(sl_resident_upload(ins, ins->owner_nnz, ranks, sizeof *ins->owner_nnz, &c->device_nnz));
  SL_TRY(sl_resident_upload(ins, ins->col_begin, ranks + 1, sizeof *ins->col_begin, &c->device_begin));
  sl_kernel_args args = {.op = SL_OP_COLUMNS,
                         .columns = {.block = ins->resident->block,
                                     .bits = c->device_bits,
                                     .ranks = ranks,
                                     .owner_begin = c->device_begin,
                                     .owner_nnz = c->device_nnz}};
  SL_TRY(sl_kernel_run(ins->comm->queue, &args));
  SL_TRY(sl_resident_download(ins, c->bits, c->device_bits, words, sizeof *c->bits));
  SL_TRY(sl_resident_download(ins, ins->owner_nnz, c->device_nnz, ranks, sizeof *ins->owner_nnz));
  SL_TRY(sl_colset_from_bits(ins->block->cols, c->bits, &ins->halo_set));
  ins->halo_set.occurrences = ins->block->nnz - ins->owner_nnz[ins->comm->rank];
  return SLEY_OK;
}

sley_status sl_resident_columns(sl_inspection *ins) {
  const sl_device_ops *ops = ins->comm->device->ops;
  column_arrays c = {0};
  sley_status status = find_columns(ins, &c);
  ops->free(ins->comm->device, c.device_begin);
  ops->free(ins->comm->device, c.device_nnz);
  ops->free(ins->comm->device, c.device_bits);
  sl_free(c.bits);
  return status;
}

sley_status sl_resident_number(const sl_inspection *ins) {
  sl_resident *r = ins->resident;
  return r->words ? SLEY_OK
                  : sl_resident_upload(ins, ins->halo_set.words, ins->halo_set.word_count, sizeof *r->words,
                                       &r->words);
}

/* ---- needs */

typedef struct need_arrays {
  int64_t *piece_row;
  int32_t *needs, *piece;
} need_arrays;

static sley_status find_needs(const sl_inspection *ins, int pieces, const int64_t *piece_row, int32_t *needs,
                              int32_t *piece, need_arrays *device) {
  sl_queue *queue = ins->comm->queue;
  int64_t rows = ins->block->rows, halo = ins->halo_set.count;
  for (int64_t h = 0; h < halo; h++)
    piece[h] = pieces;
  SL_TRY(sl_resident_number(ins));
  SL_TRY(sl_resident_upload(ins, piece_row, pieces, sizeof *piece_row, &device->piece_row));
  SL_TRY(sl_resident_upload(ins, piece, halo, sizeof *piece, &device->piece));
  SL_TRY(queue->ops->alloc_private(queue->device, rows * (int64_t)sizeof *needs, "needs of rows",
                                   (void **)&device->needs));
  sl_kernel_args args = {.op = SL_OP_NEEDS,
                         .needs = {.block = ins->resident->block,
                                   .words = ins->resident->words,
                                   .pieces = pieces,
                                   .piece_row = device->piece_row,
                                   .needs = device->needs,
                                   .piece = device->piece}};
  SL_TRY(sl_kernel_run(queue, &args));
  SL_TRY(sl_resident_download(ins, needs, device->needs, rows, sizeof *needs));
  return sl_resident_download(ins, piece, device->piece, halo, sizeof *piece);
}

sley_status sl_resident_needs(const sl_inspection *ins, int pieces, const int64_t *piece_row, int32_t *needs,
                              int32_t *piece) {
  const sl_device_ops *ops = ins->comm->device->ops;
  need_arrays device = {0};
  sley_status status = find_needs(ins, pieces, piece_row, needs, piece, &device);
  ops->free(ins->comm->device, device.needs);
  ops->free(ins->comm->device, device.piece);
  ops->free(ins->comm->device, device.piece_row);
  return status;
}
