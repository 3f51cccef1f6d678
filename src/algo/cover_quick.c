/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound of the covers' weight that needs no remote blocks: the number of edges of a matching that
 * reads only a few entries of each row. In a turn every row of a slice draws one of its columns of each
 * owner, by a hash. A column that no earlier turn has assigned is assigned to the first row that has drawn
 * it. After all slices, rows without a column of an owner draw again, in a few turns of all rows. The search
 * ends after the turn that reaches the bound that is enough, so most rows are often not read. The result does
 * not depend on the order of threads. */
#include <stdatomic.h>

#include "algo/cover_blocks.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "partition/partition.h"

/* A slice consists of every SLICESth group of GROUP rows. */
enum { SLICES = 16, GROUP = 256, DRAWS = 4, TURNS = SLICES + DRAWS - 1, GROUPS_AT_ONCE = 16 };
static const uint64_t FREE = UINT64_MAX; /* greater than any claim */

typedef struct drawing {
  const sl_inspection *ins;
  int turn;
  _Atomic uint64_t *claim; /* best claim so far of each place in the halo */
  _Atomic int64_t least;   /* places that are not free */
} drawing;

/* The number of the draw that a turn makes. */
static int draw_of(int turn) {
  return turn < SLICES ? 0 : turn - SLICES + 1;
}

/* The claim of a row by one of its draws: the turn, and the row. Less claims are better. */
static uint64_t claim_of(int draw, int64_t row) {
  const int turn = draw == 0 ? (int)(row / GROUP % SLICES) : SLICES - 1 + draw;
  return (uint64_t)turn << 56 | (uint64_t)row;
}

static int64_t column_at(const drawing *d, int64_t e) {
  return sl_index_at(d->ins->block->col, d->ins->block->index, e);
}

/* First entry from e on, below end, whose column is at least `column`. */
static int64_t first_from(const drawing *d, int64_t e, int64_t end, int64_t column) {
  while (e < end) {
    const int64_t middle = e + (end - e) / 2;
    if (column_at(d, middle) < column)
      e = middle + 1;
    else
      end = middle;
  }
  return e;
}

/* The claim of the place in the halo that a row draws, of entries e to end - 1. */
static _Atomic uint64_t *drawn_by(const drawing *d, int draw, int64_t row, int64_t e, int64_t end) {
  const int64_t drawn = e + sl_below(sl_random(0, (uint64_t)row, (uint64_t)draw), end - e);
  return &d->claim[sl_colset_place(&d->ins->halo_set, column_at(d, drawn))];
}

/* Returns whether the row has got a column by an earlier draw. */
static bool has_column(const drawing *d, int64_t row, int64_t e, int64_t end) {
  for (int draw = 0; draw < draw_of(d->turn); draw++)
    if (atomic_load_explicit(drawn_by(d, draw, row, e, end), memory_order_relaxed) == claim_of(draw, row))
      return true;
  return false;
}

/* Makes a claim. Returns whether the column was free before. */
static bool claim_column(_Atomic uint64_t *column, uint64_t mine) {
  uint64_t held = atomic_load_explicit(column, memory_order_relaxed);
  while (mine < held)
    if (atomic_compare_exchange_weak_explicit(column, &held, mine, memory_order_relaxed,
                                              memory_order_relaxed))
      return held == FREE;
  return false;
}

/* Draws for one row. Returns the number of places that were free before. */
static int64_t take_turn(const drawing *d, int64_t row) {
  const sl_inspection *ins = d->ins;
  const int64_t last = ins->block->rowptr[row + 1];
  const int draw = draw_of(d->turn);
  int64_t added = 0;
  for (int64_t e = ins->block->rowptr[row], next; e < last; e = next) {
    const int owner = sl_partition_owner(ins->col_begin, ins->comm->size, column_at(d, e));
    next = first_from(d, e, last, ins->col_begin[owner + 1]);
    if (owner != ins->comm->rank && !has_column(d, row, e, next))
      added += claim_column(drawn_by(d, draw, row, e, next), claim_of(draw, row));
  }
  return added;
}

/* Every how many groups a turn takes one. */
static int stride_of(int turn) {
  return turn < SLICES ? SLICES : 1;
}

static sley_status take_groups(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  drawing *d = context;
  const int64_t rows = d->ins->block->rows, stride = stride_of(d->turn), slice = stride > 1 ? d->turn : 0;
  int64_t added = 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = (i * stride + slice) * GROUP, last = first + GROUP < rows ? first + GROUP : rows;
    for (int64_t row = first; row < last; row++)
      added += take_turn(d, row);
  }
  atomic_fetch_add(&d->least, added);
  return sl_interrupted();
}

static sley_status free_places(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const drawing *d = context;
  for (int64_t place = begin; place < end; place++)
    atomic_init(&d->claim[place], FREE);
  return SLEY_OK;
}

sley_status sl_cover_quick_bound(const sl_inspection *ins, int64_t enough, int64_t *least) {
  enum { PLACES_AT_ONCE = 1 << 14 };
  drawing d = {.ins = ins};
  sl_team *team = sl_plan_team(ins);
  sley_status status;
  *least = 0;
  SL_TRY_GOTO(status, SL_NEW(d.claim, ins->halo_set.count, "a cover's bound"), done);
  SL_TRY_GOTO(status, sl_team_for(team, ins->halo_set.count, PLACES_AT_ONCE, free_places, &d), done);
  for (; d.turn < TURNS && atomic_load(&d.least) < enough; d.turn++) {
    const int64_t groups = ins->block->rows / GROUP / stride_of(d.turn) + 1;
    SL_TRY_GOTO(status, sl_team_for(team, groups, GROUPS_AT_ONCE, take_groups, &d), done);
  }
  *least = atomic_load(&d.least);
done:
  sl_free((void *)d.claim);
  return status;
}
