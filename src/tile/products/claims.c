/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/claims.h"

#include "base/memory.h"

enum { WORD = sizeof(int64_t), BITS = 64, SETS = 2 };

sley_status sl_claims_create(const sl_tile_operands *o, sl_claims **out) {
  sl_comm *comm = o->y->comm;
  sl_claims *c;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(c, 1, "claims of tasks");
  if (status == SLEY_OK)
    *c = (sl_claims){.o = o, .words = (sl_task_steps(o) + BITS - 1) / BITS};
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_symm_alloc(comm, SETS * WORD * c->words * sl_own_count(sl_stationary_tiling(o), comm->rank),
                           &c->symm);
  if (status != SLEY_OK) {
    sl_claims_destroy(c);
    return status;
  }
  *out = c;
  return SLEY_OK;
}

void sl_claims_destroy(sl_claims *c) {
  if (!c)
    return;
  if (c->symm)
    sl_symm_free(c->symm);
  sl_free(c);
}

/* Offset, in its owner's block, of a word of the stationary tile at (row, col). */
static int64_t offset_of(const sl_claims *c, int64_t row, int64_t col, uint64_t run, int64_t word) {
  const int64_t tile = sl_own_local(sl_stationary_tiling(c->o), row, col);
  return WORD * ((SETS * tile + (int64_t)(run % SETS)) * c->words + word);
}

/* Clears the words of the next run, which the previous run has used, because no rank uses them during this
 * run. */
sley_status sl_claims_begin(sl_claims *c) {
  const sl_tiling *t = sl_stationary_tiling(c->o);
  const int me = c->o->y->comm->rank;
  c->run++;
  c->own = sl_own_first(t, me);
  c->passed = c->word = c->stolen = 0;
  c->seen = 0;
  for (sl_own_tile at = c->own; sl_own_is(t, &at); sl_own_next(t, &at))
    for (int64_t w = 0; w < c->words; w++) {
      const int64_t offset = offset_of(c, at.i, at.j, c->run + 1, w);
      int64_t word;
      SL_TRY(sl_fetch_add(c->symm, me, offset, 0, &word));
      SL_TRY(sl_fetch_add(c->symm, me, offset, (int64_t)(0 - (uint64_t)word), NULL));
    }
  return SLEY_OK;
}

/* Returns whether this rank owns one of the task's tiles. */
static bool is_local(const sl_tile_operands *o, const sl_tile_task *task) {
  const int me = o->y->comm->rank;
  return sl_tile_owner(&o->a->tiling, task->i, task->l) == me ||
         sl_tile_owner(&o->x->tiling, task->l, task->j) == me ||
         sl_tile_owner(&o->y->tiling, task->i, task->j) == me;
}

/* Bits of the current word for the tasks that this rank may take. */
static uint64_t wanted(const sl_claims *c, int64_t row, int64_t col, bool only_local) {
  const sl_tile_operands *o = c->o;
  const int64_t left = sl_task_steps(o) - BITS * c->word;
  uint64_t bits = 0;
  for (int64_t bit = 0; bit < BITS && bit < left; bit++) {
    const sl_tile_task task = sl_task_at(o, row, col, BITS * c->word + bit);
    if (sl_task_is(o, &task) && (!only_local || is_local(o, &task)))
      bits |= UINT64_C(1) << bit;
  }
  return bits;
}

/* Sets the first of these bits that is still clear. *bit: its number, or -1. */
static sley_status set_one(sl_claims *c, int64_t row, int64_t col, uint64_t bits, int *bit) {
  const int owner = sl_tile_owner(sl_stationary_tiling(c->o), row, col);
  for (uint64_t left; (left = bits & ~c->seen) != 0;) {
    const uint64_t seen = c->seen, with = seen | (left & (0 - left));
    int64_t found;
    SL_TRY(sl_compare_swap(c->symm, owner, offset_of(c, row, col, c->run, c->word), (int64_t)seen,
                           (int64_t)with, &found));
    c->seen = (uint64_t)found == seen ? with : (uint64_t)found;
    *bit = __builtin_ctzll(left);
    if ((uint64_t)found == seen)
      return SLEY_OK;
  }
  *bit = -1;
  return SLEY_OK;
}

/* Claims a task of the stationary tile at (row, col); the words before the current word have no task left. */
static sley_status claim(sl_claims *c, int64_t row, int64_t col, bool only_local, sl_tile_task *task,
                         bool *any) {
  for (*any = false; c->word < c->words; c->word++, c->seen = 0) {
    int bit;
    SL_TRY(set_one(c, row, col, wanted(c, row, col, only_local), &bit));
    if (bit < 0)
      continue;
    *any = true;
    *task = sl_task_at(c->o, row, col, BITS * c->word + bit);
    return SLEY_OK;
  }
  c->word = 0;
  return SLEY_OK;
}

static sley_status steal(sl_claims *c, sl_tile_task *task, bool *any) {
  const sl_tiling *t = sl_stationary_tiling(c->o);
  const sl_comm *comm = c->o->y->comm;
  const int64_t tiles = sl_tiles(t), first = tiles / comm->size * comm->rank;
  for (*any = false; c->passed < tiles; c->passed++) {
    const int64_t n = (first + c->passed) % tiles, row = n / t->across, col = n % t->across;
    if (sl_tile_owner(t, row, col) == comm->rank)
      continue;
    SL_TRY(claim(c, row, col, c->o->stealing == SL_STEAL_LOCAL, task, any));
    if (*any) {
      c->stolen++;
      return SLEY_OK;
    }
  }
  return SLEY_OK;
}

sley_status sl_claims_next(sl_claims *c, sl_tile_task *task, bool *any) {
  const sl_tiling *t = sl_stationary_tiling(c->o);
  for (*any = false; sl_own_is(t, &c->own); sl_own_next(t, &c->own)) {
    SL_TRY(claim(c, c->own.i, c->own.j, false, task, any));
    if (*any)
      return SLEY_OK;
  }
  return steal(c, task, any);
}
