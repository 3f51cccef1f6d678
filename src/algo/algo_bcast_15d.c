/* SPDX-License-Identifier: Apache-2.0 */
/* bcast-1.5d: c consecutive ranks form a team that shares its rows of Y. Member j multiplies every c-th block
 * of X, and the members' partial sums are added (CAGNET 1.5D). Each block of X goes to P / c ranks instead of
 * P. c is the largest divisor of P with c^2 <= P. If c = 1, this is bcast-1d; also in column order
 * (reproducible), which does not allow partial sums. */
#include <string.h>

#include "base/memory.h"
#include "partition/partition.h"
#include "algo/algorithm.h"
#include "plan/parts.h"

typedef struct teams {
  const sl_inspection *ins;
  int c, count;    /* ranks per team, and number of teams */
  int team, place; /* team of this rank, and this rank's place in the team */
  int stages;      /* largest number of blocks of a member */
} teams;

/* Returns the rank that multiplies an entry. */
static int multiplier(const void *context, int64_t row, int64_t col) {
  const teams *t = context;
  int ranks = t->ins->comm->size;
  int row_team = sl_partition_owner(t->ins->row_begin, ranks, row) / t->c;
  int col_team = sl_partition_owner(t->ins->col_begin, ranks, col) / t->c;
  return row_team * t->c + col_team % t->c;
}

/* Returns the team whose rows of X are the block of this stage on this rank; at least count if there is no
   such team. */
static int source_team(const teams *t, int stage) {
  return stage * t->c + t->place;
}

static sley_status add_stage(sl_plan *plan, const teams *t, int stage, int buffer) {
  const sl_inspection *ins = t->ins;
  int exchange, source = source_team(t, stage);
  SL_TRY(sl_plan_add_exchange(plan, "broadcast", SL_BUFFER_X, buffer, SL_GRAIN_PEER, &exchange));
  for (int p = 0; p < ins->comm->size; p++) {
    sl_row_list to = {.peer = p, .count = ins->x_rows, .bytes = ins->wishes->row_bytes};
    if (t->team / t->c == stage && p % t->c == t->team % t->c)
      sl_plan_send(plan, exchange, &to);
    if (p / t->c == source) {
      int64_t first = ins->col_begin[p] - ins->col_begin[source * t->c];
      sl_row_list from = {
          p, ins->col_begin[p + 1] - ins->col_begin[p], NULL, first, 0, ins->wishes->row_bytes};
      sl_plan_recv(plan, exchange, &from);
    }
  }
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  return sl_plan_add_step(plan, SL_STEP_END, exchange);
}

/* Adds the part of one block of X. items has the entries of all blocks; their order is kept. */
static sley_status add_part(sl_plan *plan, const teams *t, int stage, const sl_item *items, int64_t count,
                            int x, int y) {
  const sl_inspection *ins = t->ins;
  int source = source_team(t, stage), part;
  if (source >= t->count)
    return SLEY_OK;
  int64_t first_row = ins->row_begin[t->team * t->c], rows = ins->row_begin[(t->team + 1) * t->c] - first_row;
  int64_t first = ins->col_begin[source * t->c], end = ins->col_begin[(source + 1) * t->c], kept = 0;
  sl_item *own;
  SL_TRY(SL_NEW(own, count, "a stage's entries"));
  for (int64_t i = 0; i < count; i++)
    if (items[i].col >= first && items[i].col < end)
      own[kept++] = items[i];
  sl_part frame = {.name = "block",
                   .kind = SLEY_PART_STAGE,
                   .k = ins->wishes->k,
                   .x = x,
                   .y = y,
                   .beta = stage == 0 ? SL_BETA_ZERO : SL_BETA_ONE,
                   .arrives_in = -1,
                   .a = {.index = sl_index_for(end - first), .dtype = plan->dtype}};
  sley_status status = sl_part_from_items(plan, &frame, own, kept, stage == 0, rows, first_row, first, &part);
  sl_free(own);
  if (status != SLEY_OK)
    return status;
  return sl_plan_add_step(plan, SL_STEP_SPMM, part);
}

/* Adds the exchange in which the members add their partial sums to the rows of the member that owns them. */
static sley_status add_reduction(sl_plan *plan, const teams *t, int sums) {
  const sl_inspection *ins = t->ins;
  int exchange, first = t->team * t->c;
  SL_TRY(sl_plan_add_exchange(plan, "reduce", sums, SL_BUFFER_Y, SL_GRAIN_PEER, &exchange));
  SL_EXCHANGE(plan, exchange)->gives = true;
  SL_EXCHANGE(plan, exchange)->spec.add = true;
  SL_EXCHANGE(plan, exchange)->spec.dtype = plan->sum_dtype;
  for (int p = first; p < first + t->c; p++) {
    int64_t from_row = ins->row_begin[p] - ins->row_begin[first];
    sl_row_list to = {
        p, ins->row_begin[p + 1] - ins->row_begin[p], NULL, from_row, 0, ins->wishes->sum_bytes};
    sl_row_list from = {p, ins->rows, NULL, 0, 0, ins->wishes->sum_bytes};
    sl_plan_send(plan, exchange, &to);
    sl_plan_recv(plan, exchange, &from);
  }
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SCALE, 0));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  return sl_plan_add_step(plan, SL_STEP_END, exchange);
}

static sley_status assemble(sl_plan *plan, const teams *t, const sl_item *items, int64_t count) {
  const sl_inspection *ins = t->ins;
  int64_t most = 0;
  for (int team = 0; team < t->count; team++) {
    int64_t rows = ins->col_begin[(team + 1) * t->c] - ins->col_begin[team * t->c];
    most = rows > most ? rows : most;
  }
  int x, y;
  int64_t team_rows = ins->row_begin[(t->team + 1) * t->c] - ins->row_begin[t->team * t->c];
  SL_TRY(sl_plan_add_buffer(plan, "block of X", most, ins->wishes->row_bytes, &x));
  SL_TRY(sl_plan_add_buffer(plan, "partial sums", team_rows, ins->wishes->sum_bytes, &y));
  SL_BUFFER(plan, y)->dtype = plan->sum_dtype;
  for (int s = 0; s < t->stages; s++) {
    SL_TRY(add_stage(plan, t, s, x));
    if (!plan->dry)
      SL_TRY(add_part(plan, t, s, items, count, x, y));
  }
  return add_reduction(plan, t, y);
}

static sley_status build_15d(const sl_inspection *ins, sl_plan *plan) {
  int ranks = ins->comm->size, c = 1;
  for (int d = 2; d * d <= ranks; d++)
    if (ranks % d == 0)
      c = d;
  if (c == 1 || ins->wishes->reproducible)
    return sl_algo_bcast_1d.build(ins, plan);
  plan->entries_travel = true;
  teams t = {ins, c, ranks / c, ins->comm->rank / c, ins->comm->rank % c, (ranks / c + c - 1) / c};
  sl_item *items = NULL;
  int64_t count = 0;
  plan->memory_bytes += plan->dry ? sl_block_bytes(ins->block) : 0;
  if (!plan->dry)
    SL_TRY(sl_redistribute(ins, multiplier, &t, &items, &count));
  sley_status status = assemble(plan, &t, items, count);
  sl_free(items);
  return status;
}

const sl_algorithm sl_algo_bcast_15d = {
    .name = "bcast-1.5d",
    .summary = "each block of X goes to every c-th rank; partial sums of Y travel too",
    .consider = sl_consider_always,
    .prepare = sl_prepare_no_more,
    .build = build_15d};
