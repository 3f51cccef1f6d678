/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the counts of ranks into the figures of the roofline.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * section 4. There all tiles are equal; here each tile is counted. */
#include "roofline/roofline.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/spgemm.h"

enum { MS = 1000 };

static void describe_rank(const sl_roofline_speeds *s, const sl_rank_tally *t, const sl_rank_seconds *seconds,
                          sley_roofline_rank *out) {
  const sl_reach network = s->nodes > 1 ? SL_REACH_BETWEEN : SL_REACH_INSIDE;
  *out = (sley_roofline_rank){.tasks = t->tasks,
                              .flops = t->flops,
                              .local_bytes = t->local_bytes,
                              .network_in = t->in[network],
                              .network_out = t->out[network],
                              .inside_in = s->nodes > 1 ? t->in[SL_REACH_INSIDE] : 0,
                              .inside_out = s->nodes > 1 ? t->out[SL_REACH_INSIDE] : 0,
                              .messages = t->messages[network],
                              .local_ms = MS * seconds->local,
                              .network_ms = MS * seconds->network,
                              .predicted_ms = MS * seconds->predicted};
}

static void add_rank(sley_roofline *out, const sley_roofline_rank *r) {
  out->tasks += r->tasks;
  out->flops += r->flops;
  out->local_bytes += r->local_bytes;
  out->network_bytes += r->network_in;
  out->inside_bytes += r->inside_in;
  out->messages += r->messages;
  out->flops_imbalance = fmax(out->flops_imbalance, r->flops); /* becomes a ratio at the end */
  out->local_ms = fmax(out->local_ms, r->local_ms);
  out->network_ms = fmax(out->network_ms, r->network_ms);
  out->predicted_ms = fmax(out->predicted_ms, r->predicted_ms);
}

/* seconds: the seconds of all ranks' local parts together. */
static void make_roofs(const sl_roofline_speeds *s, const sl_rank_seconds *seconds, sley_roofline *out) {
  out->local_intensity = sl_intensity(out->flops, out->local_bytes);
  out->network_intensity = sl_intensity(out->flops, out->network_bytes);
  out->memory_roof = sl_attainable(0, s->memory, out->local_intensity);
  const double by_sums = seconds->sums > 0 ? out->flops / seconds->sums : INFINITY;
  out->local_roof = fmin(out->memory_roof, by_sums);
  out->bound = by_sums < out->memory_roof ? SLEY_BOUND_SUMS : SLEY_BOUND_MEMORY;
  if (s->peak > 0 && s->peak < out->local_roof) {
    out->local_roof = s->peak;
    out->bound = SLEY_BOUND_ARITHMETIC;
  }
  out->network_roof = sl_attainable(0, s->share, out->network_intensity);
  out->attainable = sl_attainable(out->local_roof, s->share, out->network_intensity);
  if (out->network_roof < out->local_roof)
    out->bound = SLEY_BOUND_NETWORK;
}

/* Fills the figures for a product without work: no rate is finite, and all times are 0. */
static void make_nothing(sley_roofline *out) {
  out->local_intensity = out->network_intensity = 0;
  out->memory_roof = out->local_roof = out->network_roof = out->attainable = 0;
}

static void describe(const sl_roofline_speeds *s, const sl_tile_cut *cut, const sl_rank_tally *tally,
                     const sl_rank_seconds *seconds, double staged_flops, sley_roofline *out,
                     sley_roofline_rank *ranks) {
  sl_rank_seconds sum = {0};
  *out = (sley_roofline){.grid_rows = cut->grid_rows,
                         .grid_cols = cut->grid_cols,
                         .nodes = s->nodes,
                         .ranks_per_node = s->ranks_per_node,
                         .tiles_down = cut->down,
                         .tiles_between = cut->between,
                         .tiles_across = cut->across,
                         .memory_bandwidth = s->memory,
                         .network_bandwidth = s->share,
                         .peak = s->peak,
                         .stage_imbalance = staged_flops};
  for (int r = 0; r < s->ranks; r++) {
    sley_roofline_rank rank;
    describe_rank(s, &tally[r], &seconds[r], &rank);
    add_rank(out, &rank);
    sum.sums += seconds[r].sums;
    if (ranks)
      ranks[r] = rank;
  }
  make_roofs(s, &sum, out);
  if (out->flops > 0) {
    out->flops_imbalance *= s->ranks / out->flops;
    out->stage_imbalance *= s->ranks / out->flops;
    out->attainable_ms = MS * out->flops / (s->ranks * out->attainable);
  } else {
    make_nothing(out);
  }
}

/* Counts of all ranks, and their times. The caller calls close_ranks, also after an error. */
typedef struct rank_figures {
  sl_rank_tally *tally;
  sl_rank_seconds *seconds;
} rank_figures;

static sley_status open_ranks(int ranks, rank_figures *out) {
  *out = (rank_figures){0};
  SL_TRY(SL_NEW_ZERO(out->tally, ranks, "counts of ranks"));
  return SL_NEW_ZERO(out->seconds, ranks, "times of ranks");
}

static void close_ranks(rank_figures *f) {
  sl_free(f->tally);
  sl_free(f->seconds);
}

static sl_tile_cut cut_of(const sley_roofline_options *o, const sley_matrix *a, int64_t cols) {
  return (sl_tile_cut){.rows = a->rows,
                       .inner = a->cols,
                       .cols = cols,
                       .down = o->tiles_down,
                       .between = o->tiles_between,
                       .across = o->tiles_across,
                       .grid_rows = o->grid_rows,
                       .grid_cols = o->grid_cols};
}

static sl_stays stays_of(const char *algo) {
  return strcmp(algo, "tile-a") == 0 ? SL_STAYS_A : strcmp(algo, "tile-b") == 0 ? SL_STAYS_B : SL_STAYS_C;
}

static sl_tiled_product product_of(const sley_roofline_options *o, const sl_roofline_speeds *s,
                                   const sley_matrix *a, int64_t cols) {
  return (sl_tiled_product){.cut = cut_of(o, a, cols),
                            .stays = stays_of(o->algo),
                            .broadcasts = strcmp(o->algo, "tile-summa") == 0,
                            .ranks = s->ranks,
                            .ranks_per_node = s->ranks_per_node,
                            .dtype = a->dtype,
                            .crowd = s->crowd,
                            .machine = s->machine,
                            .compression = o->compression};
}

static sley_status count_tiles(sl_tiled_product *p, const sl_roofline_speeds *s, rank_figures *f) {
  SL_TRY(sl_roofline_count(p, f->tally));
  sl_roofline_seconds(s, f->tally, false, f->seconds);
  return SLEY_OK;
}

/* ---- Y = A X */

sley_status sl_roofline_spmm(const sley_matrix *a, int64_t k, const sley_roofline_options *o,
                             sley_roofline *out, sley_roofline_rank *ranks) {
  const sl_roofline_speeds s = sl_roofline_speeds_of(o);
  const bool summa = strcmp(o->algo, "summa-2d") == 0;
  sl_tiled_product p = product_of(o, &s, a, k);
  rank_figures f;
  double seconds = 0;
  sley_status status = open_ranks(o->ranks, &f);
  if (status == SLEY_OK && summa) {
    sl_roofline_summa_cut(o->ranks, &p.cut);
    status = sl_roofline_summa(a, k, &s, &p.cut, f.tally, &seconds, &p.staged_flops);
    if (status == SLEY_OK)
      sl_roofline_seconds(&s, f.tally, true, f.seconds);
  } else if (status == SLEY_OK) {
    status = sl_tile_sizes_count(a, p.cut.down, p.cut.between, &p.a);
    if (status == SLEY_OK)
      status = count_tiles(&p, &s, &f);
  }
  if (status == SLEY_OK)
    describe(&s, &p.cut, f.tally, f.seconds, p.staged_flops, out, ranks);
  if (status == SLEY_OK && summa)
    out->predicted_ms = MS * seconds;
  sl_tile_sizes_end(&p.a);
  close_ranks(&f);
  return status;
}

/* ---- C = A B */

/* Counts the entries of C by tiles, from its pattern. */
static sley_status count_c(const sley_matrix *a, const sley_matrix *b, sl_tiled_product *p) {
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  sley_matrix *c = NULL;
  sley_spgemm_info info;
  options.semiring = SLEY_PLUS_PAIR;
  sley_status status = sl_spgemm_matrix(a, b, &options, 0, &c, &info);
  if (status == SLEY_OK)
    status = sl_tile_sizes_count(c, p->cut.down, p->cut.across, &p->c);
  if (status == SLEY_OK)
    p->compression = info.compression;
  sl_matrix_destroy(c);
  return status;
}

static sley_status count_spgemm(const sley_matrix *a, const sley_matrix *b, const sl_roofline_speeds *s,
                                sl_tiled_product *p, rank_figures *f) {
  int64_t *products = NULL;
  SL_TRY(sl_tile_sizes_count(a, p->cut.down, p->cut.between, &p->a));
  SL_TRY(sl_tile_sizes_count(b, p->cut.between, p->cut.across, &p->b));
  if (p->compression <= 0)
    SL_TRY(count_c(a, b, p));
  SL_TRY(sl_tile_products_count(a, b, &p->cut, &products));
  p->products = products;
  const sley_status status = count_tiles(p, s, f);
  sl_free(products);
  return status;
}

sley_status sl_roofline_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_roofline_options *o,
                               sley_roofline *out, sley_roofline_rank *ranks) {
  const sl_roofline_speeds s = sl_roofline_speeds_of(o);
  sl_tiled_product p = product_of(o, &s, a, b->cols);
  rank_figures f;
  sley_status status = open_ranks(o->ranks, &f);
  if (status == SLEY_OK)
    status = count_spgemm(a, b, &s, &p, &f);
  if (status == SLEY_OK) {
    describe(&s, &p.cut, f.tally, f.seconds, p.staged_flops, out, ranks);
    out->compression = p.compression;
  }
  sl_tile_sizes_end(&p.a);
  sl_tile_sizes_end(&p.b);
  sl_tile_sizes_end(&p.c);
  close_ranks(&f);
  return status;
}
