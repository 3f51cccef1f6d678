/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/cover_rest.h"

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "plan/resident.h"

enum { GRAIN = 4096 };

typedef struct copying {
  const sl_inspection *ins;
  bool values;
  sl_csr_arrays to; /* rowptr[row + 1]: first number of entries of the row, then their end */
} copying;

static inline bool stays(const sl_inspection *ins, int64_t col) {
  return !sl_is_remote(ins, col) || ins->cover_use[sl_colset_place(&ins->halo_set, col)];
}

static sley_status count_entries(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const copying *c = context;
  const sley_matrix *block = c->ins->block;
  for (int64_t row = begin; row < end; row++) {
    int64_t entries = 0;
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++)
      entries += stays(c->ins, sl_index_at(block->col, block->index, e));
    c->to.rowptr[row + 1] = entries;
  }
  return SLEY_OK;
}

static sley_status copy_entries(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const copying *c = context;
  const sley_matrix *block = c->ins->block;
  for (int64_t row = begin; row < end; row++) {
    int64_t at = c->to.rowptr[row];
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      const int64_t col = sl_index_at(block->col, block->index, e);
      if (!stays(c->ins, col))
        continue;
      sl_index_set(c->to.col, block->index, at, col);
      if (c->values)
        sl_value_copy(c->to.val, at, block->val, e, block->dtype);
      at++;
    }
  }
  return SLEY_OK;
}

static sley_status copy(copying *c, sley_matrix **out) {
  const sley_matrix *block = c->ins->block;
  sl_team *team = sl_plan_team(c->ins);
  int64_t *rowptr;
  SL_TRY(SL_NEW(rowptr, block->rows + 1, "the rest of the block"));
  c->to.rowptr = rowptr;
  rowptr[0] = 0;
  SL_TRY(sl_team_for(team, block->rows, GRAIN, count_entries, c));
  for (int64_t row = 0; row < block->rows; row++)
    rowptr[row + 1] += rowptr[row];
  const int64_t nnz = rowptr[block->rows];
  c->to.col = sl_alloc(nnz, sl_index_bytes(block->index), "the rest of the block");
  c->to.val = sl_alloc(c->values ? nnz : 0, sley_dtype_bytes(block->dtype), "the rest of the block");
  if (!c->to.col || !c->to.val)
    return SLEY_ERR_MEMORY;
  SL_TRY(sl_team_for(team, block->rows, GRAIN, copy_entries, c));
  sl_csr_arrays arrays = c->to;
  c->to = (sl_csr_arrays){0};
  return sl_matrix_adopt(block->rows, block->cols, block->index, block->dtype, arrays, -1, out);
}

sley_status sl_cover_rest(const sl_inspection *ins, bool dry, sley_matrix **block, sl_inspection *rest) {
  copying c = {.ins = ins, .values = !dry};
  *block = NULL;
  sley_status status = sl_agree(ins->comm, copy(&c, block));
  sl_csr_arrays_free(&c.to);
  if (status == SLEY_OK)
    status = sl_inspect_checked(ins->comm, *block, ins->row_begin, ins->col_begin, ins->wishes, rest);
  rest->brief = true;
  if (status == SLEY_OK && !ins->resident) { /* the rest is cut where the block would be */
    sl_resident_close(rest->resident);
    rest->resident = NULL;
  }
  if (status != SLEY_OK) {
    sl_matrix_destroy(*block);
    *block = NULL;
  }
  return status;
}
