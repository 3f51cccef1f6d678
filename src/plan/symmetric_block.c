/* SPDX-License-Identifier: Apache-2.0 */
/* For each entry above the diagonal, finds the mirror entry by binary search, since the columns of rows
 * ascend. If all are found, and as many entries are below the diagonal, then A^T equals A. */
#include "plan/symmetric_block.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "partition/partition.h"
#include "plan/parts.h"

enum { ROWS = 1024, ITEMS = 1 << 14 }; /* grain: rows and items per task of a thread */

typedef struct search {
  const sl_inspection *ins;
  const sl_item *items;
  int64_t first, end;  /* rows of the rank */
  atomic_bool other;   /* a mirror entry is missing */
  atomic_llong excess; /* entries above the diagonal minus entries below it, among the rank's own columns */
  atomic_llong remote; /* entries whose mirror entry an earlier rank has */
} search;

/* Returns whether row `row` of the rank has an entry in column `col` whose value has the same bits. */
static bool has(const sley_matrix *block, int64_t row, int64_t col, double value) {
  int64_t low = block->rowptr[row], high = block->rowptr[row + 1];
  const int64_t end = high;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sl_index_at(block->col, block->index, middle) < col)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == end || sl_index_at(block->col, block->index, low) != col)
    return false;
  const double found = sl_value_at(block->val, block->dtype, low);
  return memcmp(&found, &value, sizeof value) == 0;
}

/* Compares one row with the rank's own rows. */
static bool row_fits(search *s, int64_t row, int64_t *excess, int64_t *remote) {
  const sley_matrix *block = s->ins->block;
  int64_t before = -1;
  for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
    const int64_t col = sl_index_at(block->col, block->index, e);
    if (col <= before)
      return false;
    before = col;
    if (col < s->first) {
      ++*remote;
    } else if (col < s->first + row) {
      --*excess;
    } else if (col > s->first + row && col < s->end) {
      ++*excess;
      if (!has(block, col - s->first, s->first + row, sl_value_at(block->val, block->dtype, e)))
        return false;
    }
  }
  return true;
}

static sley_status compare_rows(void *context, int64_t begin, int64_t end, int thread) {
  search *s = context;
  int64_t excess = 0, remote = 0;
  (void)thread;
  for (int64_t row = begin; row < end && !atomic_load_explicit(&s->other, memory_order_relaxed); row++)
    if (!row_fits(s, row, &excess, &remote))
      atomic_store(&s->other, true);
  atomic_fetch_add(&s->excess, excess);
  atomic_fetch_add(&s->remote, remote);
  return SLEY_OK;
}

static sley_status compare_items(void *context, int64_t begin, int64_t end, int thread) {
  search *s = context;
  (void)thread;
  for (int64_t i = begin; i < end && !atomic_load_explicit(&s->other, memory_order_relaxed); i++)
    if (!has(s->ins->block, s->items[i].col - s->first, s->items[i].row, s->items[i].value))
      atomic_store(&s->other, true);
  return SLEY_OK;
}

/* Returns the rank that has an entry's mirror entry, if it is a later rank; otherwise -1. */
static int later_owner(const void *context, int64_t row, int64_t col) {
  (void)row;
  const sl_inspection *ins = context;
  if (col < ins->row_begin[ins->comm->rank + 1])
    return -1;
  return sl_partition_owner(ins->row_begin, ins->comm->size, col);
}

/* Sets *out to whether `holds` is true on all ranks. */
static sley_status on_all(sl_comm *comm, bool holds, bool *out) {
  int64_t all = holds;
  *out = false;
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &all, 1));
  *out = all;
  return SLEY_OK;
}

static sley_status compare_remote(search *s, bool *out) {
  sl_comm *comm = s->ins->comm;
  sl_item *items;
  int64_t count;
  SL_TRY(sl_redistribute(s->ins, later_owner, s->ins, &items, &count));
  s->items = items;
  sley_status status = sl_agree(comm, sl_team_for(sl_plan_team(s->ins), count, ITEMS, compare_items, s));
  sl_free(items);
  if (status != SLEY_OK)
    return status;
  return on_all(comm, !atomic_load(&s->other) && count == atomic_load(&s->remote), out);
}

sley_status sl_is_symmetric(const sl_inspection *ins, bool *out) {
  sl_comm *comm = ins->comm;
  search s = {.ins = ins, .first = ins->row_begin[comm->rank], .end = ins->row_begin[comm->rank + 1]};
  *out = false;
  /* the ranks have agreed on both partitions, so all take the same branch */
  if (memcmp(ins->row_begin, ins->col_begin, ((size_t)comm->size + 1) * sizeof *ins->row_begin) != 0)
    return SLEY_OK;
  SL_TRY(sl_agree(comm, sl_team_for(sl_plan_team(ins), ins->block->rows, ROWS, compare_rows, &s)));
  SL_TRY(on_all(comm, !atomic_load(&s.other) && atomic_load(&s.excess) == 0, out));
  return *out && comm->size > 1 ? compare_remote(&s, out) : SLEY_OK;
}
