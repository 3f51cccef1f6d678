/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/walk.h"

static const sl_tiled *stationary(const sl_tile_operands *o) {
  return o->stationary == SL_STATIONARY_A ? o->a : o->stationary == SL_STATIONARY_B ? o->x : o->y;
}

const sl_tiling *sl_stationary_tiling(const sl_tile_operands *o) {
  return &stationary(o)->tiling;
}

/* The tiles of the stationary matrix, and the tasks of each. */
typedef struct shape {
  int64_t down, across, steps;
} shape;

static shape shape_of(const sl_tile_operands *o) {
  const int64_t down = o->a->tiling.down, between = o->a->tiling.across, across = o->x->tiling.across;
  return o->stationary == SL_STATIONARY_A   ? (shape){down, between, across}
         : o->stationary == SL_STATIONARY_B ? (shape){between, across, down}
                                            : (shape){down, across, between};
}

int64_t sl_task_steps(const sl_tile_operands *o) {
  return shape_of(o).steps;
}

sl_tile_task sl_task_at(const sl_tile_operands *o, int64_t row, int64_t col, int64_t step) {
  const int64_t other = (row + col + step) % sl_task_steps(o);
  if (o->stationary == SL_STATIONARY_A)
    return (sl_tile_task){.i = row, .l = col, .j = other};
  if (o->stationary == SL_STATIONARY_B)
    return (sl_tile_task){.l = row, .j = col, .i = other};
  return (sl_tile_task){.i = row, .j = col, .l = other};
}

sl_walk sl_walk_begin(const sl_tile_operands *o, int rank) {
  return (sl_walk){.o = o, .at = sl_own_first(sl_stationary_tiling(o), rank)};
}

bool sl_walk_next(sl_walk *walk, sl_tile_task *task) {
  const sl_tile_operands *o = walk->o;
  const sl_tiling *t = sl_stationary_tiling(o);
  const int64_t count = sl_task_steps(o);
  for (; sl_own_is(t, &walk->at); sl_own_next(t, &walk->at), walk->step = 0)
    while (walk->step < count) {
      *task = sl_task_at(o, walk->at.i, walk->at.j, walk->step++);
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

int64_t sl_tile_uses(const sl_tile_operands *o, bool of_a) {
  return of_a ? o->x->tiling.across : o->a->tiling.down;
}

sl_tile_task sl_tile_use(bool of_a, int64_t i, int64_t j, int64_t n) {
  return of_a ? (sl_tile_task){.i = i, .l = j, .j = n} : (sl_tile_task){.i = n, .l = i, .j = j};
}

bool sl_tile_is_needed(const sl_tile_operands *o, bool of_a, int64_t i, int64_t j, int group) {
  for (int64_t n = 0; n < sl_tile_uses(o, of_a); n++) {
    const sl_tile_task task = sl_tile_use(of_a, i, j, n);
    if (sl_task_is(o, &task) &&
        (group < 0 || sl_workgroup_of(o->y->comm, sl_tile_at(o->y, task.i, task.j)->rank) == group))
      return true;
  }
  return false;
}

/* Number of tasks of tile (i, j) of Y whose l is among the first `steps` values, counted from i + j. */
static int64_t count_first(const sl_tile_operands *o, int64_t i, int64_t j, int64_t steps) {
  const int64_t across = o->a->tiling.across;
  int64_t count = 0;
  for (int64_t step = 0; step < steps; step++)
    count += sl_task_is(o, &(sl_tile_task){.i = i, .j = j, .l = (i + j + step) % across});
  return count;
}

int64_t sl_task_count(const sl_tile_operands *o, int64_t i, int64_t j) {
  return count_first(o, i, j, o->a->tiling.across);
}

int64_t sl_task_number(const sl_tile_operands *o, const sl_tile_task *task) {
  const int64_t across = o->a->tiling.across, first = (task->i + task->j) % across;
  return count_first(o, task->i, task->j, (task->l - first + across) % across);
}

int64_t sl_task_place(const sl_tile_operands *o, const sl_tile_task *task) {
  const sl_tiling *t = sl_stationary_tiling(o);
  const int64_t count = sl_task_steps(o), per_row = (t->across - 1) / t->grid_cols + 1;
  const int64_t row = o->stationary == SL_STATIONARY_B ? task->l : task->i;
  const int64_t col = o->stationary == SL_STATIONARY_A ? task->l : task->j;
  const int64_t other = o->stationary == SL_STATIONARY_A   ? task->j
                        : o->stationary == SL_STATIONARY_B ? task->i
                                                           : task->l;
  const int64_t step = ((other - row - col) % count + count) % count;
  return (row / t->grid_rows * per_row + col / t->grid_cols) * count + step;
}

int64_t sl_tile_stages(const sl_tile_operands *o) {
  const sl_tiling *a = &o->a->tiling;
  const shape s = shape_of(o);
  return o->schedule ? a->across
                     : ((s.down - 1) / a->grid_rows + 1) * ((s.across - 1) / a->grid_cols + 1) * s.steps;
}

int64_t sl_task_stage(const sl_tile_operands *o, const sl_tile_task *task) {
  return o->schedule ? task->l : sl_task_place(o, task);
}
