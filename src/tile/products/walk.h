/* SPDX-License-Identifier: Apache-2.0 */
/* The products of tiles that make up Y = A X, and the order in which a rank makes its own.
 *
 * Tile (i, j) of Y is the sum over l of tile (i, l) of A times tile (l, j) of X. Each such product, a task,
 * is made by the rank that owns its tile of the stationary matrix: Y, A or X. A rank takes its stationary
 * tiles row by row, and the tasks of one from an offset on: l from i + j, j from i + l, or i from l + j. So
 * ranks that need the same row or column of tiles begin at different ones, and often at one of their own
 * (Brock and others, section 3.3).
 *
 * Tasks whose tile of A, of a sparse X or of the mask has no entries, or whose tile of Y has no columns, are
 * left out; every rank knows which. */
#ifndef SLEY_TILE_PRODUCTS_WALK_H
#define SLEY_TILE_PRODUCTS_WALK_H

#include "tile/tiled.h"

typedef enum sl_stationary {
  SL_STATIONARY_C,
  SL_STATIONARY_A,
  SL_STATIONARY_B,
  SL_STATIONARIES
} sl_stationary;

/* Who makes tasks. */
typedef enum sl_stealing {
  SL_STEAL_NOTHING, /* the owners of stationary tiles */
  SL_STEAL_ANY,     /* ranks that are done take tasks of others: claims.h */
  SL_STEAL_LOCAL    /* the same, if one of the task's three tiles is theirs */
} sl_stealing;

typedef struct sl_tile_operands {
  const sl_tiled *a, *x;
  sl_tiled *y;
  const sl_tiled *mask; /* of a sparse y, with its tiling; NULL: none */
  sl_stationary stationary;
  sl_stealing stealing;
} sl_tile_operands;

/* Whether products of tiles are pushed to the owners of Y. */
static inline bool sl_tile_pushes(const sl_tile_operands *o) {
  return o->stationary != SL_STATIONARY_C || o->stealing != SL_STEAL_NOTHING;
}

typedef struct sl_tile_task {
  int64_t i, j, l;
  int buffer; /* of a task that was claimed: what its product is made in */
} sl_tile_task;

/* The tiling of the stationary matrix, how many tasks each of its tiles has at most, and task `step` of the
 * one at (row, col), in the order above. */
const sl_tiling *sl_stationary_tiling(const sl_tile_operands *o);
int64_t sl_task_steps(const sl_tile_operands *o);
sl_tile_task sl_task_at(const sl_tile_operands *o, int64_t row, int64_t col, int64_t step);

/* A rank's tasks in order: for (sl_walk walk = sl_walk_begin(o, rank); sl_walk_next(&walk, &task);). */
typedef struct sl_walk {
  const sl_tile_operands *o;
  sl_own_tile at; /* the stationary tile, and */
  int64_t step;   /* how many of its tasks have been passed */
} sl_walk;

sl_walk sl_walk_begin(const sl_tile_operands *o, int rank);
bool sl_walk_next(sl_walk *walk, sl_tile_task *task);

static inline bool sl_task_is(const sl_tile_operands *o, const sl_tile_task *task) {
  return sl_tile_at(o->a, task->i, task->l)->entries > 0 && sl_tile_width(&o->y->tiling, task->j) > 0 &&
         (!o->x->sparse || sl_tile_at(o->x, task->l, task->j)->entries > 0) &&
         (!o->mask || sl_tile_at(o->mask, task->i, task->j)->entries > 0);
}

/* The rank that makes a task's product, unless it is stolen. */
int sl_task_rank(const sl_tile_operands *o, const sl_tile_task *task);

/* How many tasks tile (i, j) of Y has, and which of them this is, counted from l = i + j on. The same for
 * every stationary matrix. */
int64_t sl_task_count(const sl_tile_operands *o, int64_t i, int64_t j);
int64_t sl_task_number(const sl_tile_operands *o, const sl_tile_task *task);

/* Where a task stands in the order in which tile (i, j) of Y is summed; two with one place are summed by l.
 *
 * It is the place of the task in its rank's walk, counted as if all ranks had as many tiles. So of all tasks
 * that are not summed yet, the first by this order can always be made and summed: everything before it in its
 * rank's walk, and in its tile's sum, is done. Ranks that hold a bounded number of products, and tiles that
 * take theirs in this order, therefore cannot wait for each other in a circle. Nor can they where tasks are
 * stolen: a claimed task is made without waiting, and one that nobody has claimed can be made by its own
 * rank, whose products before it are summed. */
int64_t sl_task_place(const sl_tile_operands *o, const sl_tile_task *task);

#endif
