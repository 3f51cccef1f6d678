/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/roofline_count.h"

#include <math.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"

enum { WORD = 8 };

/* Returns the types of a tile's numbers; columns are numbered within a tile. */
static sl_words words_of(sley_dtype dtype, int64_t width) {
  return (sl_words){(double)sley_dtype_bytes(dtype), (double)sl_index_bytes(sl_index_for(width)), WORD};
}

/* One task, and the bytes that its three tiles have when they are sent. */
typedef struct task {
  int64_t i, l, j;
  sl_product_sizes of;
  int64_t stored; /* stored rows of its tile of A, and so of its contribution to C */
  double a, b, c;
} task;

void sl_tally_move(sl_rank_tally *tally, int ranks_per_node, int from, int to, double bytes) {
  if (from == to || bytes <= 0)
    return;
  const sl_reach reach = from / ranks_per_node == to / ranks_per_node ? SL_REACH_INSIDE : SL_REACH_BETWEEN;
  tally[from].out[reach] += bytes;
  tally[to].in[reach] += bytes;
  tally[to].messages[reach]++;
}

double sl_tally_sums(const sl_machine *m, double crowd, double entry_bytes, double row_bytes, double entries,
                     double distinct, double stored) {
  if (entries <= 0 || row_bytes <= 0)
    return 0;
  const double rows = stored + (m->overlaps ? distinct : 0); /* as in first_loads of predict/cost.c */
  return entries * (entry_bytes + row_bytes) /
             sl_machine_spmm_rate(m, row_bytes, distinct * row_bytes * crowd) +
         rows * row_bytes / sl_machine_store_rate(m, row_bytes, stored * row_bytes * crowd);
}

/* ---- with a dense B */

/* Products are sent in the type of sums, in whole words, with row numbers if A's tile has them. */
static double dense_product_bytes(const sl_tiled_product *p, const task *t) {
  const double value = (double)sley_dtype_bytes(sl_sum_dtype(p->dtype));
  return ceil((double)t->stored * t->of.cols * value / WORD) * WORD +
         ((double)t->stored < t->of.rows ? (double)t->stored * WORD : 0);
}

static void size_dense(const sl_tiled_product *p, task *t) {
  const double value = (double)sley_dtype_bytes(p->dtype);
  t->of.entries_b = t->of.entries_c = -1;
  t->b = sl_tile_padded(t->of.inner * t->of.cols * value);
  t->c = dense_product_bytes(p, t);
}

/* ---- with a sparse B */

static double products_of_tile(const sl_tiled_product *p, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t l = 0; l < p->cut.between; l++)
    sum += (double)p->products[(i * p->cut.between + l) * p->cut.across + j];
  return sum;
}

/* Effective number of places of tile (i, j) of C: if all products of two numbers for the tile fell at random
 * on this many places, they would fill as many places as the tile has entries. From it the entries of a
 * product of two tiles are estimated. */
static double places_of_tile(const sl_tiled_product *p, int64_t i, int64_t j) {
  const double products = products_of_tile(p, i, j);
  const double hit = p->c.entries ? (double)p->c.entries[i * p->cut.across + j] : products / p->compression;
  return sl_places_of(products, hit);
}

static void size_sparse(const sl_tiled_product *p, const sl_words *w, double places, task *t) {
  const int64_t at = t->l * p->cut.across + t->j;
  const double entry_bytes = w->value + w->index;
  t->of.entries_b = (double)p->b.entries[at];
  t->of.products = (double)p->products[t->i * p->cut.between * p->cut.across + at];
  t->of.entries_c = sl_places_hit(places, t->of.products);
  t->b = sl_sparse_tile_bytes((int64_t)t->of.inner, p->b.filled[at], p->b.entries[at], entry_bytes);
  const double rows = fmin((double)t->stored, t->of.entries_c);
  t->c = t->of.entries_c > 0 ? sl_tile_padded((rows + 1) * WORD + t->of.entries_c * entry_bytes) : 0;
}

/* ---- all tasks */

static int maker(const sl_tiled_product *p, const task *t) {
  return p->stays == SL_STAYS_A   ? sl_tile_rank(&p->cut, t->i, t->l)
         : p->stays == SL_STAYS_B ? sl_tile_rank(&p->cut, t->l, t->j)
                                  : sl_tile_rank(&p->cut, t->i, t->j);
}

/* ---- stages */

/* The tiles of the stationary matrix, and the tasks of each. */
typedef struct shape {
  int64_t down, across, steps;
} shape;

static shape shape_of(const sl_tiled_product *p) {
  const sl_tile_cut *c = &p->cut;
  return p->stays == SL_STAYS_A   ? (shape){c->down, c->between, c->across}
         : p->stays == SL_STAYS_B ? (shape){c->between, c->across, c->down}
                                  : (shape){c->down, c->across, c->between};
}

/* Returns the number of stages, in which each rank runs at most one task, or, if tiles are broadcast, all its
 * tasks with one column of tiles of A. */
static int64_t count_stages(const sl_tiled_product *p) {
  const sl_tile_cut *c = &p->cut;
  const shape s = shape_of(p);
  return p->broadcasts ? c->between
                       : ((s.down - 1) / c->grid_rows + 1) * ((s.across - 1) / c->grid_cols + 1) * s.steps;
}

/* Returns the stage of a task: its place in the order of its rank's tasks (tile/products/walk.h). */
static int64_t stage_of(const sl_tiled_product *p, const task *t) {
  const sl_tile_cut *c = &p->cut;
  const shape s = shape_of(p);
  const int64_t row = p->stays == SL_STAYS_B ? t->l : t->i, col = p->stays == SL_STAYS_A ? t->l : t->j;
  const int64_t other = p->stays == SL_STAYS_A ? t->j : p->stays == SL_STAYS_B ? t->i : t->l;
  const int64_t step = ((other - row - col) % s.steps + s.steps) % s.steps;
  return p->broadcasts
             ? t->l
             : (row / c->grid_rows * ((s.across - 1) / c->grid_cols + 1) + col / c->grid_cols) * s.steps +
                   step;
}

static double sum_stages(const sl_tiled_product *p, int64_t stages) {
  double sum = 0;
  for (int64_t s = 0; s < stages; s++) {
    double most = 0;
    for (int r = 0; r < p->ranks; r++)
      most = fmax(most, p->stage_flops[s * p->ranks + r]);
    sum += most;
  }
  return sum;
}

/* ---- one task */

static void add_task(const sl_tiled_product *p, const sl_words *w, const task *t, sl_rank_tally *tally) {
  const int me = maker(p, t);
  sl_rank_tally *mine = &tally[me];
  mine->tasks++;
  mine->flops += sl_tile_flops(&t->of);
  p->stage_flops[stage_of(p, t) * p->ranks + me] += sl_tile_flops(&t->of);
  mine->local_bytes += sl_tile_local_bytes(w, &t->of);
  if (!p->products)
    mine->sums += sl_tally_sums(p->machine, p->crowd, w->value + w->index, t->of.cols * w->value,
                                t->of.entries_a, fmin(t->of.inner, t->of.entries_a), (double)t->stored);
  if (p->broadcasts) {
    sl_panel_sizes_add(&p->cut, p->panels, t->i, t->l, t->j, t->a, t->b);
    return;
  }
  sl_tally_move(tally, p->ranks_per_node, sl_tile_rank(&p->cut, t->i, t->l), me, t->a);
  sl_tally_move(tally, p->ranks_per_node, sl_tile_rank(&p->cut, t->l, t->j), me, t->b);
  sl_tally_move(tally, p->ranks_per_node, me, sl_tile_rank(&p->cut, t->i, t->j), t->c);
}

/* Counts the tasks that add to tile (i, j) of C. Tasks without entries of A, or without columns or entries of
 * B, are left out. */
static void count_tile_of_c(const sl_tiled_product *p, int64_t i, int64_t j, sl_rank_tally *tally) {
  const sl_tile_cut *cut = &p->cut;
  const int64_t width = sl_share_length(cut->cols, cut->across, j);
  const double places = p->products ? places_of_tile(p, i, j) : 0;
  task t = {.i = i, .j = j};
  t.of.rows = (double)sl_share_length(cut->rows, cut->down, i);
  t.of.cols = (double)width;
  for (t.l = 0; t.l < cut->between && width > 0; t.l++) {
    const int64_t at = i * cut->between + t.l, inner = sl_share_length(cut->inner, cut->between, t.l);
    const sl_words wa = words_of(p->dtype, sl_share_length(cut->inner, cut->between, 0));
    const sl_words wb = words_of(p->dtype, sl_share_length(cut->cols, cut->across, 0));
    if (p->a.entries[at] == 0 || (p->products && p->b.entries[t.l * cut->across + j] == 0))
      continue;
    t.of.inner = (double)inner;
    t.of.entries_a = (double)p->a.entries[at];
    t.stored = sl_tile_stored((int64_t)t.of.rows, p->a.filled[at]);
    t.a = sl_sparse_tile_bytes((int64_t)t.of.rows, p->a.filled[at], p->a.entries[at], wa.value + wa.index);
    if (p->products)
      size_sparse(p, &wb, places, &t);
    else
      size_dense(p, &t);
    add_task(p, &wa, &t, tally);
  }
}

static sley_status count_all(const sl_tiled_product *p, sl_rank_tally *tally) {
  for (int64_t i = 0; i < p->cut.down; i++)
    for (int64_t j = 0; j < p->cut.across; j++) {
      SL_TRY(sl_interrupted());
      count_tile_of_c(p, i, j, tally);
    }
  return SLEY_OK;
}

static sley_status count_broadcasts(sl_tiled_product *p, sl_rank_tally *tally) {
  sl_panel_sizes panels;
  sley_status status = sl_panel_sizes_open(&p->cut, &panels);
  p->panels = &panels;
  if (status == SLEY_OK)
    status = count_all(p, tally);
  if (status == SLEY_OK)
    sl_panel_sizes_move(p, &panels, tally);
  p->panels = NULL;
  sl_panel_sizes_close(&panels);
  return status;
}

sley_status sl_roofline_count(sl_tiled_product *p, sl_rank_tally *tally) {
  const int64_t stages = count_stages(p);
  SL_TRY(SL_NEW_ZERO(p->stage_flops, stages * p->ranks, "flops of stages"));
  const sley_status status = p->broadcasts ? count_broadcasts(p, tally) : count_all(p, tally);
  if (status == SLEY_OK)
    p->staged_flops = sum_stages(p, stages);
  sl_free(p->stage_flops);
  p->stage_flops = NULL;
  return status;
}
