/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/claims.h"

#include "base/memory.h"

enum { WORD = sizeof(int64_t), SETS = 2 };

/* Task `number` of those of tile (i, j), in the order in which they are claimed. */
static sl_tile_task task_of(const sl_tile_operands *o, int64_t i, int64_t j, int64_t number) {
  const int64_t count = o->a->tiling.across;
  sl_tile_task task = {.i = i, .j = j};
  for (int64_t step = 0; step < count; step++) {
    task.l = (i + j + step) % count;
    if (sl_task_is(o, &task) && number-- == 0)
      break;
  }
  return task;
}

static sley_status count_tasks(sl_claims *c) {
  const sl_tile_operands *o = c->o;
  const sl_tiling *t = &o->y->tiling;
  SL_TRY(SL_NEW_ZERO(c->tasks, sl_tiles(t), "tasks of tiles"));
  for (int64_t n = 0; n < sl_tiles(t); n++)
    for (int64_t l = 0; l < o->a->tiling.across; l++)
      c->tasks[n] += sl_task_is(o, &(sl_tile_task){.i = n / t->across, .j = n % t->across, .l = l});
  return SLEY_OK;
}

sley_status sl_claims_create(const sl_tile_operands *o, sl_tile_sums *sums, sl_claims **out) {
  sl_comm *comm = o->y->comm;
  sl_claims *c;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(c, 1, "claims of tasks");
  if (status == SLEY_OK) {
    *c = (sl_claims){.o = o, .sums = sums};
    status = count_tasks(c);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_symm_alloc(comm, SETS * WORD * sl_own_count(&o->y->tiling, comm->rank), &c->symm);
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
  sl_free(c->tasks);
  sl_free(c);
}

static int64_t word_of(const sl_claims *c, int64_t i, int64_t j, uint64_t run) {
  return WORD * (SETS * sl_own_local(&c->o->y->tiling, i, j) + (int64_t)(run % SETS));
}

/* The words of the next run, which those of the run before were, are cleared in this one: nobody uses them.
 */
sley_status sl_claims_begin(sl_claims *c) {
  const sl_tiling *t = &c->o->y->tiling;
  const int me = c->o->y->comm->rank;
  c->run++;
  c->own = sl_own_first(t, me);
  c->passed = c->stolen = 0;
  for (sl_own_tile at = c->own; sl_own_is(t, &at); sl_own_next(t, &at)) {
    const int64_t offset = word_of(c, at.i, at.j, c->run + 1);
    int64_t word;
    SL_TRY(sl_fetch_add(c->symm, me, offset, 0, &word));
    SL_TRY(sl_fetch_add(c->symm, me, offset, -word, NULL));
  }
  return SLEY_OK;
}

/* Raises the word of tile (i, j). *any: whether that claimed a task. */
static sley_status claim(sl_claims *c, int64_t i, int64_t j, sl_tile_task *task, bool *any) {
  const sl_tiled *y = c->o->y;
  int64_t number;
  SL_TRY(sl_fetch_add(c->symm, sl_tile_at(y, i, j)->rank, word_of(c, i, j, c->run), 1, &number));
  *any = number < c->tasks[sl_tile_number(&y->tiling, i, j)];
  if (*any)
    *task = task_of(c->o, i, j, number);
  return SLEY_OK;
}

/* The same, if a tile of the next task is this rank's. */
static sley_status claim_local(sl_claims *c, int64_t i, int64_t j, sl_tile_task *task, bool *any) {
  const sl_tile_operands *o = c->o;
  const int me = o->y->comm->rank, owner = sl_tile_at(o->y, i, j)->rank;
  const int64_t offset = word_of(c, i, j, c->run), tasks = c->tasks[sl_tile_number(&o->y->tiling, i, j)];
  int64_t number, found;
  SL_TRY(sl_fetch_add(c->symm, owner, offset, 0, &number));
  for (*any = false; !*any && number < tasks; number = found) {
    *task = task_of(o, i, j, number);
    if (sl_tile_at(o->a, i, task->l)->rank != me && sl_tile_at(o->x, task->l, j)->rank != me)
      return SLEY_OK;
    SL_TRY(sl_compare_swap(c->symm, owner, offset, number, number + 1, &found));
    *any = found == number;
  }
  return SLEY_OK;
}

static sley_status steal(sl_claims *c, sl_tile_task *task, bool *any) {
  const sl_tiling *t = &c->o->y->tiling;
  const sl_comm *comm = c->o->y->comm;
  const int64_t tiles = sl_tiles(t), first = tiles / comm->size * comm->rank;
  for (*any = false; c->passed < tiles; c->passed++) {
    const int64_t n = (first + c->passed) % tiles;
    if (c->tasks[n] == 0 || sl_tile_owner(t, n / t->across, n % t->across) == comm->rank)
      continue;
    SL_TRY(c->o->stealing == SL_STEAL_LOCAL ? claim_local(c, n / t->across, n % t->across, task, any)
                                            : claim(c, n / t->across, n % t->across, task, any));
    if (*any) {
      c->stolen++;
      return SLEY_OK;
    }
  }
  return SLEY_OK;
}

static sley_status claim_any(sl_claims *c, sl_tile_task *task, bool *any) {
  const sl_tiling *t = &c->o->y->tiling;
  for (*any = false; sl_own_is(t, &c->own); sl_own_next(t, &c->own)) {
    SL_TRY(claim(c, c->own.i, c->own.j, task, any));
    if (*any)
      return SLEY_OK;
  }
  return steal(c, task, any);
}

sley_status sl_claims_next(void *claims, bool waits, sl_tile_task *task, bool *any) {
  sl_claims *c = claims;
  int buffer;
  *any = false;
  SL_TRY(sl_tile_sums_buffer(c->sums, waits, &buffer));
  if (buffer < 0)
    return SLEY_OK;
  SL_TRY(claim_any(c, task, any));
  task->buffer = buffer;
  if (!*any)
    sl_tile_queue_put_back(c->sums->queue, buffer);
  return SLEY_OK;
}
