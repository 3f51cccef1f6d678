/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_arrays.h"

#include <string.h>

#include "base/memory.h"

enum { WORD = sizeof(int64_t), CONVERTED = 1024 };

void sl_tile_arrays_free(sl_device *device, sl_csr_arrays *arrays) {
  sl_free(arrays->rowptr);
  device->ops->free(device, arrays->col);
  device->ops->free(device, arrays->val);
  *arrays = (sl_csr_arrays){0};
}

/* ---- row pointers */

/* Words of a tile with entries: row pointers, then row numbers (sparse_tile.h). */
static int64_t row_words(int64_t rows, int64_t stored) {
  return stored + 1 + (stored < rows ? stored : 0);
}

sley_status sl_tile_arrays_rowptr(sl_queue *queue, const sl_tile *tile, int64_t *rowptr) {
  sl_tile seen = *tile;
  int64_t *words;
  if (queue->ops->host_addresses || tile->entries == 0) {
    sl_sparse_tile_rowptr(tile, rowptr);
    return SLEY_OK;
  }
  const int64_t count = row_words(tile->rows, tile->stored);
  SL_TRY(SL_NEW(words, count, "row pointers of a tile"));
  const sley_status status = queue->ops->copy(queue, SL_COPY_TO_HOST, words, tile->rowptr, count * WORD);
  if (status == SLEY_OK) {
    seen.rowptr = words;
    seen.rowid = tile->rowid ? words + tile->stored + 1 : NULL;
    sl_sparse_tile_rowptr(&seen, rowptr);
  }
  sl_free(words);
  return status;
}

sley_status sl_tile_arrays_adopt(sl_queue *queue, int64_t rows, const sl_spgemm_result *made,
                                 sl_csr_arrays *out) {
  sl_device *device = queue->device;
  *out = (sl_csr_arrays){made->rowptr, made->col, made->val};
  if (queue->ops->host_addresses)
    return SLEY_OK;
  sley_status status = SL_NEW(out->rowptr, rows + 1, "row pointers");
  if (status == SLEY_OK)
    status = queue->ops->copy(queue, SL_COPY_TO_HOST, out->rowptr, made->rowptr, (rows + 1) * WORD);
  device->ops->free(device, made->rowptr);
  if (status != SLEY_OK)
    sl_tile_arrays_free(device, out);
  return status;
}

/* ---- between memories */

static int64_t col_bytes(sley_index index, int64_t entries) {
  return entries * (int64_t)sl_index_bytes(index);
}

static int64_t val_bytes(sley_dtype dtype, int64_t entries) {
  return entries * (int64_t)sley_dtype_bytes(dtype);
}

sley_status sl_tile_arrays_upload(sl_queue *queue, const sl_tile *tile, sley_index index, sley_dtype dtype,
                                  sl_csr_arrays *out) {
  *out = (sl_csr_arrays){0};
  sley_status status = SL_NEW(out->rowptr, tile->rows + 1, "row pointers");
  if (status == SLEY_OK)
    status = sl_device_upload(queue, tile->col, col_bytes(index, tile->entries), "columns", &out->col);
  if (status == SLEY_OK)
    status = sl_device_upload(queue, tile->val, val_bytes(dtype, tile->entries), "values", &out->val);
  if (status != SLEY_OK) {
    sl_tile_arrays_free(queue->device, out);
    return status;
  }
  sl_sparse_tile_rowptr(tile, out->rowptr);
  return SLEY_OK;
}

sley_status sl_tile_arrays_download(sl_queue *queue, const sl_tile_shape *shape, const sl_csr_arrays *arrays,
                                    char *at) {
  const sl_tile tile = sl_sparse_tile_view(shape, at);
  if (tile.entries == 0)
    return SLEY_OK;
  sl_sparse_tile_write_rows(shape, arrays->rowptr, (int64_t *)(void *)at);
  sl_sparse_tile_pad(shape, at);
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, (void *)tile.col, arrays->col,
                          col_bytes(shape->index, tile.entries)));
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, (void *)tile.val, arrays->val,
                          val_bytes(shape->dtype, tile.entries)));
  return SLEY_OK;
}

/* ---- within the device */

sley_status sl_tile_arrays_convert(sl_queue *queue, sley_dtype from, const void *src, sley_dtype to,
                                   void *dst, int64_t count) {
  /* Converts in rows, because kernels process one row at a time; the remaining values are one more row. */
  const int64_t done = count / CONVERTED * CONVERTED;
  sl_convert_args args = {.count = count / CONVERTED,
                          .k = CONVERTED,
                          .src = src,
                          .src_stride = val_bytes(from, CONVERTED),
                          .from = from,
                          .dst = dst,
                          .dst_stride = val_bytes(to, CONVERTED),
                          .to = to};
  if (args.count > 0)
    SL_TRY(sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_CONVERT, .convert = args}));
  if (count == done)
    return SLEY_OK;
  args.src = (const char *)src + val_bytes(from, done);
  args.dst = (char *)dst + val_bytes(to, done);
  args.count = 1;
  args.k = count - done;
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_CONVERT, .convert = args});
}

static sley_status store_rows(sl_queue *queue, const sl_tile_shape *shape, const int64_t *rowptr, char *at) {
  int64_t *words;
  if (queue->ops->host_addresses) {
    sl_sparse_tile_write_rows(shape, rowptr, (int64_t *)(void *)at);
    return SLEY_OK;
  }
  const int64_t count = row_words(shape->rows, shape->stored);
  SL_TRY(SL_NEW(words, count, "row pointers of a tile"));
  sl_sparse_tile_write_rows(shape, rowptr, words);
  const sley_status status = queue->ops->copy(queue, SL_COPY_TO_DEVICE, at, words, count * WORD);
  sl_free(words);
  return status;
}

sley_status sl_tile_arrays_store(sl_queue *queue, const sl_tile_shape *shape, const sl_csr_arrays *arrays,
                                 sley_dtype from, char *at) {
  const sl_tile tile = sl_sparse_tile_view(shape, at);
  if (tile.entries == 0)
    return SLEY_OK;
  SL_TRY(store_rows(queue, shape, arrays->rowptr, at));
  SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, (void *)tile.col, arrays->col,
                          col_bytes(shape->index, tile.entries)));
  return from == shape->dtype
             ? queue->ops->copy(queue, SL_COPY_WITHIN, (void *)tile.val, arrays->val,
                                val_bytes(from, tile.entries))
             : sl_tile_arrays_convert(queue, from, arrays->val, shape->dtype, (void *)tile.val, tile.entries);
}
