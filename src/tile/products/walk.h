/* SPDX-License-Identifier: Apache-2.0 */
/* The products of tiles that make up Y = A X, and the order in which a rank computes its own.
 *
 * Tile (i, j) of Y is the sum over l of tile (i, l) of A times tile (l, j) of X. Each such product is a task.
 * The owner of its tile of the stationary matrix (Y, A or X) computes it. A rank takes its stationary tiles
 * row by row, and the tasks of each tile from an offset on: l from i + j, j from i + l, or i from l + j. So
 * ranks that need the same row or column of tiles start with different ones, and often with one of their own
 * (Brock and others, section 3.3).
 *
 * Tasks are left out if their tile of A, of a sparse X or of the mask has no entries, or their tile of Y has
 * no columns; every rank knows which. */
#ifndef SLEY_TILE_PRODUCTS_WALK_H
#define SLEY_TILE_PRODUCTS_WALK_H

#include "tile/tiled.h"

typedef enum sl_stationary { SL_STATIONARY_C, SL_STATIONARY_A, SL_STATIONARY_B } sl_stationary;

/* Which ranks compute tasks. */
typedef enum sl_stealing {
  SL_STEAL_NOTHING, /* only the owners of stationary tiles */
  SL_STEAL_ANY,     /* ranks that have finished their own tasks also take tasks of others (claims.h) */
  SL_STEAL_LOCAL /* like SL_STEAL_ANY, but a rank takes only tasks of which it owns one of the three tiles */
} sl_stealing;

typedef struct sl_tile_operands {
  const sl_tiled *a, *x;
  sl_tiled *y;
  const sl_tiled *mask; /* mask of a sparse y, with its tiling; NULL: none */
  sl_stationary stationary;
  sl_stealing stealing;
  /* schedule that brings tiles and runs tasks (task_loop.h), with stationary C and without stealing; NULL:
   * each rank fetches the tiles of its tasks */
  const struct sl_tile_schedule *schedule;
  int64_t *stage_flops; /* flops of this rank in each stage of a run (sl_tile_stages); NULL: not counted */
  /* for a sparse y: bytes for a product of two tiles, and for what a schedule holds; 0: no limit */
  int64_t limit;
} sl_tile_operands;

/* Returns whether products of tiles are pushed to the owners of Y. */
static inline bool sl_tile_pushes(const sl_tile_operands *o) {
  return o->stationary != SL_STATIONARY_C || o->stealing != SL_STEAL_NOTHING;
}

typedef struct sl_tile_task {
  int64_t i, j, l;
  int buffer; /* for a claimed task: buffer for its product */
} sl_tile_task;

/* Return the tiling of the stationary matrix; the largest number of tasks of any of its tiles; and task
 * `step` of the tile at (row, col), in the order above. */
const sl_tiling *sl_stationary_tiling(const sl_tile_operands *o);
int64_t sl_task_steps(const sl_tile_operands *o);
sl_tile_task sl_task_at(const sl_tile_operands *o, int64_t row, int64_t col, int64_t step);

/* Visits a rank's tasks in order: for (sl_walk walk = sl_walk_begin(o, rank); sl_walk_next(&walk,
 * &task);). */
typedef struct sl_walk {
  const sl_tile_operands *o;
  sl_own_tile at; /* current stationary tile */
  int64_t step;   /* number of its tasks that have been passed */
} sl_walk;

sl_walk sl_walk_begin(const sl_tile_operands *o, int rank);
bool sl_walk_next(sl_walk *walk, sl_tile_task *task);

static inline bool sl_task_is(const sl_tile_operands *o, const sl_tile_task *task) {
  return sl_tile_at(o->a, task->i, task->l)->entries > 0 && sl_tile_width(&o->y->tiling, task->j) > 0 &&
         (!o->x->sparse || sl_tile_at(o->x, task->l, task->j)->entries > 0) &&
         (!o->mask || sl_tile_at(o->mask, task->i, task->j)->entries > 0);
}

/* The rank that computes a task's product, unless it is stolen. */
int sl_task_rank(const sl_tile_operands *o, const sl_tile_task *task);

/* Number of tasks that use a tile of A, or a tile of X, and task n of tile (i, j), which may have nothing to
 * multiply (sl_task_is). */
int64_t sl_tile_uses(const sl_tile_operands *o, bool of_a);
sl_tile_task sl_tile_use(bool of_a, int64_t i, int64_t j, int64_t n);

/* Returns whether tile (i, j) of A, or of X, is multiplied in a task of a tile of Y that a rank of workgroup
 * `group` owns; group -1: of any rank. */
bool sl_tile_is_needed(const sl_tile_operands *o, bool of_a, int64_t i, int64_t j, int group);

/* Number of tasks of tile (i, j) of Y; sl_task_number returns the number of a task among them, counted from l
 * = i + j on. Both are the same for every stationary matrix. */
int64_t sl_task_count(const sl_tile_operands *o, int64_t i, int64_t j);
int64_t sl_task_number(const sl_tile_operands *o, const sl_tile_task *task);

/* Position of a task in the order in which tile (i, j) of Y is summed; tasks with the same position are
 * summed by l.
 *
 * It is the position of the task in its rank's walk, as if all ranks had the same number of tiles. So among
 * all tasks that are not summed yet, the first by this order can always be computed and summed: everything
 * before it in its rank's walk, and in its tile's sum, is done. Ranks that hold a bounded number of products,
 * and tiles that take theirs in this order, therefore cannot deadlock. This also holds if tasks are stolen: a
 * claimed task is computed without waiting, and an unclaimed one can be computed by its own rank, whose
 * earlier products are summed. */
int64_t sl_task_place(const sl_tile_operands *o, const sl_tile_task *task);

/* The number of stages, and the stage of a task: its place above, or, with a schedule, its column of tiles of
 * A. y need not be set. */
int64_t sl_tile_stages(const sl_tile_operands *o);
int64_t sl_task_stage(const sl_tile_operands *o, const sl_tile_task *task);

#endif
