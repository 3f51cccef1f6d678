/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/tile_product.h"

#include "base/memory.h"
#include "tile/tile_arrays.h"

/* A tile as CSR of all its rows. It owns the arrays that had to be created, in device memory. */
typedef struct csr_tile {
  sley_csr csr;
  void *rowptr, *val;
} csr_tile;

static void free_csr(sl_device *device, csr_tile *t) {
  device->ops->free(device, t->rowptr);
  device->ops->free(device, t->val);
}

/* Computes row pointers of all rows; on the host, for any device. */
static sley_status spread_rows(sl_queue *queue, const sl_tile *tile, csr_tile *out) {
  static const char what[] = "row pointers of a tile";
  const int64_t count = tile->rows + 1;
  int64_t *rowptr;
  SL_TRY(SL_NEW(rowptr, count, what));
  sley_status status = sl_tile_arrays_rowptr(queue, tile, rowptr);
  if (status == SLEY_OK && queue->ops->host_addresses) {
    out->rowptr = rowptr;
    return SLEY_OK;
  }
  if (status == SLEY_OK)
    status = sl_device_upload(queue, rowptr, count * (int64_t)sizeof *rowptr, what, &out->rowptr);
  sl_free(rowptr);
  return status;
}

/* Makes CSR with values of type dtype. Adds the bytes of the copies to *bytes. */
static sley_status csr_of(sl_queue *queue, const sl_tile_factor *factor, sley_dtype dtype, csr_tile *out,
                          int64_t *bytes) {
  const sl_tile *tile = factor->tile;
  const int64_t val_bytes = tile->entries * (int64_t)sley_dtype_bytes(dtype);
  *out = (csr_tile){.csr = {.rows = tile->rows,
                            .cols = tile->cols,
                            .rowptr = tile->rowptr,
                            .col = tile->col,
                            .val = tile->val,
                            .index = factor->index,
                            .dtype = dtype}};
  if (tile->rowid) {
    SL_TRY(spread_rows(queue, tile, out));
    out->csr.rowptr = out->rowptr;
    *bytes += (tile->rows + 1) * (int64_t)sizeof(int64_t);
  }
  if (factor->dtype == dtype)
    return SLEY_OK;
  SL_TRY(queue->ops->alloc(queue->device, val_bytes, "values of a tile", &out->val));
  out->csr.val = out->val;
  *bytes += val_bytes;
  return sl_tile_arrays_convert(queue, factor->dtype, tile->val, dtype, out->val, tile->entries);
}

/* Sets *left to the part of the limit that remains after the copies. */
static sley_status leave(int64_t limit, int64_t copies, int64_t *left) {
  *left = limit == 0 ? 0 : limit - copies;
  if (limit == 0 || *left > 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_MEMORY,
                 "the copies of the tiles need %lld bytes, so a mem_limit of %lld bytes is too low",
                 (long long)copies, (long long)limit);
}

/* out: result as the kernel returns it. */
static sley_status make(sl_queue *queue, const sl_tile_product *p, sl_spgemm_result *out) {
  csr_tile a = {0}, b = {0}, mask = {0};
  int64_t copies = 0;
  sl_spgemm_args args = {.semiring = p->semiring, .mask = p->mask.tile ? &mask.csr : NULL, .out = out};
  sley_status status = csr_of(queue, &p->a, p->dtype, &a, &copies);
  if (status == SLEY_OK)
    status = csr_of(queue, &p->b, p->dtype, &b, &copies);
  if (status == SLEY_OK && p->mask.tile)
    status = csr_of(queue, &p->mask, p->mask.dtype, &mask, &copies);
  if (status == SLEY_OK)
    status = leave(p->limit, copies, &args.limit);
  if (status == SLEY_OK) {
    args.a = a.csr;
    args.b = b.csr;
    status = sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_SPGEMM, .spgemm = args});
    if (status == SLEY_ERR_MEMORY && p->limit > 0 && copies > 0)
      sl_fail_prefix(status, "%lld bytes of the limit are used by copies of the tiles: ", (long long)copies);
  }
  if (status != SLEY_OK)
    (void)queue->ops->queue_wait(queue); /* the queue may still write to the copies */
  free_csr(queue->device, &a);
  free_csr(queue->device, &b);
  free_csr(queue->device, &mask);
  return status;
}

sley_status sl_tile_product_make(sl_queue *queue, const sl_tile_product *product, sl_csr_arrays *out,
                                 int64_t *products) {
  sl_spgemm_result made = {0};
  *out = (sl_csr_arrays){0};
  *products = 0;
  if (product->a.tile->entries == 0 || product->b.tile->entries == 0)
    return SL_NEW_ZERO(out->rowptr, product->a.tile->rows + 1, "row pointers");
  SL_TRY(make(queue, product, &made));
  *products = made.products;
  return sl_tile_arrays_adopt(queue, product->a.tile->rows, &made, out);
}
