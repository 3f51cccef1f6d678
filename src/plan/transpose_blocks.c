/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/transpose_blocks.h"

#include "base/memory.h"
#include "base/value.h"
#include "partition/partition.h"
#include "plan/parts.h"

static int owner_of_column(const void *context, int64_t row, int64_t col) {
  (void)row;
  const sl_inspection *ins = context;
  return sl_partition_owner(ins->col_begin, ins->comm->size, col);
}

/* CSR of the transposed items, which come sorted by row: a counting sort by column keeps that order within
 * each. */
static sley_status build_block(const sl_inspection *ins, const sl_item *items, int64_t count,
                               sley_matrix **out) {
  int64_t first = ins->col_begin[ins->comm->rank], rows = ins->col_begin[ins->comm->rank + 1] - first;
  int64_t cols = ins->row_begin[ins->comm->size];
  sley_index index = sl_index_for(cols);
  sley_dtype dtype = ins->block->dtype;
  sl_csr_arrays arrays = {0};
  int64_t *at = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(arrays.rowptr, rows + 1, "the transpose"), fail);
  SL_TRY_GOTO(status, SL_NEW(at, rows, "the transpose"), fail);
  arrays.col = sl_alloc(count, sl_index_bytes(index), "the transpose");
  arrays.val = sl_alloc(count, sley_dtype_bytes(dtype), "the transpose");
  status = arrays.col && arrays.val ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status != SLEY_OK)
    goto fail;
  for (int64_t i = 0; i < count; i++)
    arrays.rowptr[items[i].col - first + 1]++;
  for (int64_t r = 0; r < rows; r++) {
    arrays.rowptr[r + 1] += arrays.rowptr[r];
    at[r] = arrays.rowptr[r];
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t place = at[items[i].col - first]++;
    sl_index_set(arrays.col, index, place, items[i].row);
    sl_value_set(arrays.val, dtype, place, items[i].value);
  }
  sl_free(at);
  return sl_matrix_adopt(rows, cols, index, dtype, arrays, -1, out);
fail:
  sl_free(at);
  sl_csr_arrays_free(&arrays);
  return status;
}

sley_status sl_transpose_blocks(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                const int64_t *col_begin, sley_matrix **out) {
  sl_inspection ins = {
      .comm = comm, .block = block, .row_begin = (int64_t *)row_begin, .col_begin = (int64_t *)col_begin};
  sl_item *items;
  int64_t count;
  *out = NULL;
  if (comm->size == 1)
    return sl_agree(comm, sl_matrix_transpose(block, comm->team, out));
  SL_TRY(sl_redistribute(&ins, owner_of_column, &ins, &items, &count));
  sley_status status = sl_agree(comm, build_block(&ins, items, count, out));
  sl_free(items);
  if (status != SLEY_OK) {
    sley_matrix_destroy(*out);
    *out = NULL;
  }
  return status;
}
