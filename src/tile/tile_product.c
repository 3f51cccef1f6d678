/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_product.h"

#include "base/memory.h"
#include "base/value.h"

/* A tile as CSR of all its rows. What had to be made anew is its own. */
typedef struct csr_tile {
  sley_csr csr;
  int64_t *rowptr;
  void *val;
} csr_tile;

static void free_csr(csr_tile *t) {
  sl_free(t->rowptr);
  sl_free(t->val);
}

/* dtype: of the values. *bytes: adds what the copies take. */
static sley_status csr_of(const sl_tile_factor *factor, sley_dtype dtype, csr_tile *out, int64_t *bytes) {
  const sl_tile *tile = factor->tile;
  *out = (csr_tile){.csr = {.rows = tile->rows,
                            .cols = tile->cols,
                            .rowptr = tile->rowptr,
                            .col = tile->col,
                            .val = tile->val,
                            .index = factor->index,
                            .dtype = dtype}};
  if (tile->rowid) {
    SL_TRY(SL_NEW(out->rowptr, tile->rows + 1, "row pointers of a tile"));
    sl_sparse_tile_rowptr(tile, out->rowptr);
    out->csr.rowptr = out->rowptr;
    *bytes += (tile->rows + 1) * (int64_t)sizeof *out->rowptr;
  }
  if (factor->dtype == dtype)
    return SLEY_OK;
  out->val = sl_alloc(tile->entries, sley_dtype_bytes(dtype), "values of a tile");
  if (!out->val)
    return SLEY_ERR_MEMORY;
  sl_values_convert(factor->dtype, tile->val, dtype, out->val, tile->entries);
  out->csr.val = out->val;
  *bytes += tile->entries * (int64_t)sley_dtype_bytes(dtype);
  return SLEY_OK;
}

/* What the copies leave of the limit. */
static sley_status leave(int64_t limit, int64_t copies, int64_t *left) {
  *left = limit == 0 ? 0 : limit - copies;
  if (limit == 0 || *left > 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_MEMORY, "copies of the tiles take %lld bytes: a mem_limit of %lld is too low",
                 (long long)copies, (long long)limit);
}

sley_status sl_tile_product_make(sl_queue *queue, const sl_tile_product *p, sl_spgemm_result *out) {
  csr_tile a = {0}, b = {0}, mask = {0};
  int64_t copies = 0;
  *out = (sl_spgemm_result){0};
  sl_spgemm_args args = {.semiring = p->semiring, .mask = p->mask.tile ? &mask.csr : NULL, .out = out};
  sley_status status = csr_of(&p->a, p->dtype, &a, &copies);
  if (status == SLEY_OK)
    status = csr_of(&p->b, p->dtype, &b, &copies);
  if (status == SLEY_OK && p->mask.tile)
    status = csr_of(&p->mask, p->mask.dtype, &mask, &copies);
  if (status == SLEY_OK)
    status = leave(p->limit, copies, &args.limit);
  if (status == SLEY_OK) {
    args.a = a.csr;
    args.b = b.csr;
    status = sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_SPGEMM, .spgemm = args});
    if (status == SLEY_ERR_MEMORY && p->limit > 0 && copies > 0)
      sl_fail_prefix(status, "besides %lld bytes of the limit, for copies of the tiles: ", (long long)copies);
  }
  free_csr(&a);
  free_csr(&b);
  free_csr(&mask);
  return status;
}
