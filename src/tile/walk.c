/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/walk.h"

static const sl_tiled *stationary(const sl_tile_operands *o) {
  return o->stationary == SL_STATIONARY_A ? o->a : o->stationary == SL_STATIONARY_B ? o->x : o->y;
}

/* Tasks of one stationary tile. */
static int64_t steps(const sl_tile_operands *o) {
  return o->stationary == SL_STATIONARY_A   ? o->y->tiling.across
         : o->stationary == SL_STATIONARY_B ? o->y->tiling.down
                                            : o->a->tiling.across;
}

/* Task `step` of the stationary tile at (row, col). */
static sl_tile_task task_of(const sl_tile_operands *o, int64_t row, int64_t col, int64_t step) {
  const int64_t other = (row + col + step) % steps(o);
  if (o->stationary == SL_STATIONARY_A)
    return (sl_tile_task){.i = row, .l = col, .j = other};
  if (o->stationary == SL_STATIONARY_B)
    return (sl_tile_task){.l = row, .j = col, .i = other};
  return (sl_tile_task){.i = row, .j = col, .l = other};
}

sl_walk sl_walk_begin(const sl_tile_operands *o, int rank) {
  return (sl_walk){.o = o, .at = sl_own_first(&stationary(o)->tiling, rank)};
}

bool sl_walk_next(sl_walk *walk, sl_tile_task *task) {
  const sl_tile_operands *o = walk->o;
  const sl_tiling *t = &stationary(o)->tiling;
  const int64_t count = steps(o);
  for (; sl_own_is(t, &walk->at); sl_own_next(t, &walk->at), walk->step = 0)
    while (walk->step < count) {
      *task = task_of(o, walk->at.i, walk->at.j, walk->step++);
      if (sl_task_is(o, task))
        return true;
    }
  return false;
}

int sl_task_rank(const sl_tile_operands *o, const sl_tile_task *task) {
  return o->stationary == SL_STATIONARY_A   ? sl_tile_at(o->a, task->i, task->l)->rank
         : o->stationary == SL_STATIONARY_B ? sl_tile_at(o->x, task->l, task->j)->rank
                                            : sl_tile_at(o->y, task->i, task->j)->rank;
}

int64_t sl_task_place(const sl_tile_operands *o, const sl_tile_task *task) {
  const sl_tiling *t = &stationary(o)->tiling;
  const int64_t count = steps(o), per_row = (t->across - 1) / t->grid_cols + 1;
  const int64_t row = o->stationary == SL_STATIONARY_B ? task->l : task->i;
  const int64_t col = o->stationary == SL_STATIONARY_A ? task->l : task->j;
  const int64_t other = o->stationary == SL_STATIONARY_A   ? task->j
                        : o->stationary == SL_STATIONARY_B ? task->i
                                                           : task->l;
  const int64_t step = ((other - row - col) % count + count) % count;
  return (row / t->grid_rows * per_row + col / t->grid_cols) * count + step;
}
