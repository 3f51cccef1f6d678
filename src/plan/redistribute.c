/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the entries of a block by target rank, with all threads of the rank, and sends them. */
#include "plan/redistribute.h"

#include "base/memory.h"
#include "base/value.h"

/* State of the threads that group entries by target; each has a share of the block's rows. */
typedef struct grouping {
  const sl_inspection *ins;
  int (*target)(const void *context, int64_t row, int64_t col);
  const void *context;
  sl_item *items; /* NULL: the entries are only counted */
  int64_t *at;    /* for each thread and rank: number of entries, then position of the next entry */
} grouping;

static sley_status group_rows(void *context, int thread, int threads) {
  const grouping *g = context;
  const sley_matrix *block = g->ins->block;
  int64_t row_first = g->ins->row_begin[g->ins->comm->rank],
          *at = g->at + (int64_t)thread * g->ins->comm->size;
  int64_t begin = sl_csr_split(block->rows, block->rowptr, thread, threads);
  int64_t end = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  for (int64_t row = begin; row < end; row++)
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t col = sl_index_at(block->col, block->index, e);
      int p = g->target(g->context, row_first + row, col);
      if (p < 0)
        continue;
      if (g->items)
        g->items[at[p]] = (sl_item){row_first + row, col, sl_value_at(block->val, block->dtype, e)};
      at[p]++;
    }
  return SLEY_OK;
}

/* Groups the block's entries by target; each group keeps the block's order. count[p]: number of entries for
   rank p. */
static sley_status group_by_target(const sl_inspection *ins, int (*target)(const void *, int64_t, int64_t),
                                   const void *context, int64_t *count, sl_item **out) {
  sl_team *team = sl_plan_team(ins);
  int ranks = ins->comm->size, threads = sl_team_size(team);
  grouping g = {.ins = ins, .target = target, .context = context};
  int64_t sum = 0;
  SL_TRY(SL_NEW_ZERO(g.at, (int64_t)threads * ranks, "entry counts"));
  sley_status status = sl_team_run(team, group_rows, &g);
  for (int p = 0; p < ranks; p++) {
    int64_t first = sum;
    for (int t = 0; t < threads; t++) {
      int64_t *at = &g.at[(int64_t)t * ranks + p], entries = *at;
      *at = sum;
      sum += entries;
    }
    count[p] = sum - first;
  }
  if (status == SLEY_OK)
    status = SL_NEW(g.items, sum, "entries to redistribute");
  *out = g.items;
  if (status == SLEY_OK)
    status = sl_team_run(team, group_rows, &g);
  sl_free(g.at);
  return status;
}

sley_status sl_redistribute(const sl_inspection *ins,
                            int (*target)(const void *context, int64_t row, int64_t col), const void *context,
                            sl_item **items, int64_t *count) {
  sl_comm *comm = ins->comm;
  int64_t *counts = NULL;
  sl_item *outgoing = NULL;
  void *incoming = NULL;
  *items = NULL;
  *count = 0;
  sley_status status = SL_NEW(counts, 2 * (int64_t)comm->size, "entry counts");
  if (status == SLEY_OK)
    status = group_by_target(ins, target, context, counts, &outgoing);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_exchange_items(comm, sizeof(sl_item), outgoing, counts, &incoming, counts + comm->size);
  if (status == SLEY_OK) {
    *items = incoming;
    for (int p = 0; p < comm->size; p++)
      *count += counts[comm->size + p];
  }
  sl_free(outgoing);
  sl_free(counts);
  return status;
}
