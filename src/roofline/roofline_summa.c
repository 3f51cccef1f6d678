/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic and sums of the stages of summa-2d (algo/algo_summa_2d.c): X arrives in row blocks and Y is
 * returned to them, so both are sent, too. */
#include <math.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "roofline/roofline.h"

enum { WORD = 8 };

typedef struct summa {
  const sl_roofline_speeds *speeds;
  const sl_tile_cut *cut;
  const sl_tile_sizes *a;
  int64_t k;
  sley_dtype dtype;
  sl_rank_tally *stage; /* all ranks, for the current stage alone */
  sl_rank_seconds *seconds;
  double *staged_flops; /* sum over the stages of the most flops of a rank */
} summa;

void sl_roofline_summa_cut(int ranks, sl_tile_cut *cut) {
  cut->grid_rows = 1;
  for (int d = 2; d <= ranks / d; d++)
    if (ranks % d == 0)
      cut->grid_rows = d;
  cut->grid_cols = ranks / cut->grid_rows;
  cut->down = cut->grid_rows;
  cut->across = cut->between = cut->grid_cols;
  while (cut->between % cut->grid_rows != 0)
    cut->between += cut->grid_cols;
}

/* Number of columns in slice j, if the k columns of X are cut into slices. */
static double slice(const summa *s, int j) {
  return (double)(s->k * (j + 1) / s->cut->grid_cols - s->k * j / s->cut->grid_cols);
}

static double eights(double bytes) {
  return ceil(bytes / WORD) * WORD;
}

/* Sends the panel of A along grid row i: stored rows with their numbers. */
static void move_tile(const summa *s, int i, int64_t panel) {
  const int pc = s->cut->grid_cols;
  const int64_t at = i * s->cut->between + panel;
  const double entries = (double)s->a->entries[at], stored = (double)s->a->filled[at];
  const double value = (double)sley_dtype_bytes(s->dtype);
  const double index = (double)sl_index_bytes(sl_index_for(s->cut->inner));
  const double bytes = (2 * stored + 1) * WORD + eights(entries * value) + eights(entries * index);
  if (entries == 0)
    return;
  for (int j = 0; j < pc; j++)
    sl_tally_move(s->stage, s->speeds->ranks_per_node, i * pc + (int)(panel % pc), i * pc + j, bytes);
}

/* Sends rank p's rows of X, in slices, to all columns of the grid. */
static void move_rows_of_x(const summa *s, int p) {
  const int ranks = s->speeds->ranks;
  const double value = (double)sley_dtype_bytes(s->dtype);
  const double rows = (double)sl_share_length(s->cut->inner, ranks, p);
  for (int to = 0; to < ranks; to++)
    sl_tally_move(s->stage, s->speeds->ranks_per_node, p, to,
                  rows * slice(s, to % s->cut->grid_cols) * value);
}

static void sum_tile(const summa *s, int rank, int64_t panel) {
  const int i = rank / s->cut->grid_cols;
  const int64_t at = i * s->cut->between + panel, width = s->cut->inner / s->cut->between;
  const sl_words words = {(double)sley_dtype_bytes(s->dtype),
                          (double)sl_index_bytes(sl_index_for(s->cut->inner)), WORD};
  const double entries = (double)s->a->entries[at], cols = slice(s, rank % s->cut->grid_cols);
  sl_rank_tally *t = &s->stage[rank];
  if (entries == 0)
    return;
  const sl_product_sizes product = {.rows = (double)s->a->filled[at],
                                    .inner = (double)width,
                                    .cols = cols,
                                    .entries_a = entries,
                                    .entries_b = -1,
                                    .entries_c = -1};
  t->tasks++;
  t->flops += sl_tile_flops(&product);
  t->local_bytes += sl_tile_local_bytes(&words, &product);
  t->sums +=
      sl_tally_sums(s->speeds->machine, s->speeds->crowd, words.value + words.index, cols * words.value,
                    entries, fmin((double)width, entries), (double)s->a->filled[at]);
}

/* Sends slices of Y to the ranks that own the rows. */
static void move_rows_of_y(const summa *s) {
  const double value = (double)sley_dtype_bytes(sl_sum_dtype(s->dtype));
  const int pc = s->cut->grid_cols;
  for (int to = 0; to < s->speeds->ranks; to++)
    for (int from = to / pc * pc; from < (to / pc + 1) * pc; from++)
      sl_tally_move(s->stage, s->speeds->ranks_per_node, from, to,
                    (double)sl_share_length(s->cut->rows, s->speeds->ranks, to) * slice(s, from % pc) *
                        value);
}

/* Adds the stage to the tallies, and clears it for the next. Returns its seconds: of the longest transfer,
 * plus of the longest sum. */
static double end_stage(const summa *s, sl_rank_tally *tally) {
  double moving = 0, local = 0, flops = 0;
  sl_roofline_seconds(s->speeds, s->stage, true, s->seconds);
  for (int r = 0; r < s->speeds->ranks; r++) {
    sl_rank_tally *from = &s->stage[r], *to = &tally[r];
    local = fmax(local, s->seconds[r].local);
    moving = fmax(moving, s->seconds[r].predicted - s->seconds[r].local);
    to->tasks += from->tasks;
    to->flops += from->flops;
    flops = fmax(flops, from->flops);
    to->local_bytes += from->local_bytes;
    to->sums += from->sums;
    for (int reach = 0; reach < SL_REACHES; reach++) {
      to->in[reach] += from->in[reach];
      to->out[reach] += from->out[reach];
      to->messages[reach] += from->messages[reach];
    }
    *from = (sl_rank_tally){0};
  }
  *s->staged_flops += flops;
  return moving + local;
}

static sley_status run_stages(const summa *s, sl_rank_tally *tally, double *seconds) {
  const int ranks = s->speeds->ranks, panel_ranks = ranks / (int)s->cut->between;
  *seconds = 0;
  for (int64_t panel = 0; panel < s->cut->between; panel++) {
    SL_TRY(sl_interrupted());
    for (int p = 0; p < panel_ranks; p++)
      move_rows_of_x(s, (int)panel * panel_ranks + p);
    for (int i = 0; i < s->cut->grid_rows; i++)
      move_tile(s, i, panel);
    for (int r = 0; r < ranks; r++)
      sum_tile(s, r, panel);
    *seconds += end_stage(s, tally);
  }
  move_rows_of_y(s);
  *seconds += end_stage(s, tally);
  return SLEY_OK;
}

sley_status sl_roofline_summa(const sley_matrix *a, int64_t k, const sl_roofline_speeds *speeds,
                              const sl_tile_cut *cut, sl_rank_tally *tally, double *seconds,
                              double *staged_flops) {
  sl_tile_sizes sizes;
  summa s = {
      .speeds = speeds, .cut = cut, .a = &sizes, .k = k, .dtype = a->dtype, .staged_flops = staged_flops};
  *staged_flops = 0;
  sley_status status = sl_tile_sizes_count(a, cut->down, cut->between, &sizes);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(s.stage, speeds->ranks, "counts of ranks");
  if (status == SLEY_OK)
    status = SL_NEW(s.seconds, speeds->ranks, "times of ranks");
  if (status == SLEY_OK)
    status = run_stages(&s, tally, seconds);
  sl_free(s.seconds);
  sl_free(s.stage);
  sl_tile_sizes_end(&sizes);
  return status;
}
