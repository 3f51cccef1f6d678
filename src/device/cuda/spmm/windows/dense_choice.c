/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spmm/windows/dense_choice.h"

#include <math.h>

#include "base/value.h"
#include "device/figures.h"

/* MARGIN: dense windows must be faster by more than the model's error. WORTH: the whole product must take
 * less than this share of its time without them. */
static const double MARGIN = 0.9, WORTH = 0.95;
/* SLOTS_MOST: most slots of all windows. ENOUGH: blocks per multiprocessor from which on windows are not cut
 * further. SHORTEST: fewest slots of a fragment, about. */
enum { SLOTS_MOST = 1 << 28, ENOUGH = 8, SHORTEST = 32 };

/* The figures and shapes that all windows of a product share. */
typedef struct others {
  const sl_spmm_problem *problem;
  const sl_window_figures *figures;
  int ways;
  bool tensor; /* Tensor cores are an alternative */
} others;

static others others_of(const sl_spmm_problem *p) {
  const sl_spmm_matrix *a = p->a;
  /* There are no figures for streams of f64, which take at least as long as those of f32. */
  const sley_dtype like = a->dtype == SLEY_F64 ? SLEY_F32 : a->dtype;
  return (others){.problem = p,
                  .figures = sl_window_figures_of(&p->figures->windows, like, p->tf32),
                  .ways = sl_stream_ways(p->figures, a->dtype, p->k, sl_spmm_entries(a), a->rows),
                  .tensor = a->dtype != SLEY_F64 && !p->lean};
}

static int64_t entries_of(const sl_spmm_matrix *a, int64_t w, int rows) {
  const int64_t from = w * rows, end = from + rows;
  return from < a->rows ? a->rowptr[end < a->rows ? end : a->rows] - a->rowptr[from] : 0;
}

/* Time of a window of 16 rows without dense windows. slots < 0: not known. */
static double other_time(const others *o, int64_t entries, int64_t slots) {
  const sl_spmm_problem *p = o->problem;
  const sl_window_shape shape = {slots, entries, 0, o->ways, p->a->rows, p->figures->cache};
  const double stream = sl_window_stream_time(o->figures, p->a->dtype, p->k, &shape);
  if (!o->tensor || slots <= 0)
    return stream;
  const double tensor = sl_window_tensor_time(o->figures, p->a->dtype, p->k, &shape);
  return tensor < stream ? tensor : stream;
}

static double dense_time(const sl_spmm_problem *p, int rows, int64_t slots, int64_t entries) {
  if (slots <= 0 || slots > sl_dense_slots_most(p->a->dtype, rows, entries))
    return HUGE_VAL;
  return sl_dense_time(p->figures, p->a->dtype, p->k, rows, slots) / MARGIN;
}

int64_t sl_dense_slots_most(sley_dtype dtype, int rows, int64_t entries) {
  /* A slot has a column of 4 bytes and words of 8; an entry's value is stored once, as in CSR. */
  const int64_t slot = 4 + 8 * (rows > 32 ? rows / 32 : 1), csr = 4 + (int64_t)sley_dtype_bytes(dtype);
  return entries * (3 * csr - 2 * (int64_t)sley_dtype_bytes(dtype)) / (2 * slot);
}

/* ------------------------------------------------------------------------------------------------ sample */

/* Time of a group without dense windows. */
static double group_time(const others *o, const sl_dense_sample *sample, int64_t i) {
  const int each = SL_DENSE_ROWS_MOST / SL_DENSE_ROWS_LEAST;
  double time = 0;
  for (int j = 0; j < each; j++) {
    const int64_t entries = entries_of(o->problem->a, sample->group[i] * each + j, SL_DENSE_ROWS_LEAST);
    if (entries > 0)
      time += other_time(o, entries, sample->slots[0][i * each + j]);
  }
  return time;
}

/* Time of a group if its windows of a height may be dense: each is, if that is faster than its share of
 * `other`. */
static double group_dense_time(const others *o, const sl_dense_sample *sample, int64_t i, int height,
                               double other) {
  const int rows = sl_dense_rows_of(height), each = SL_DENSE_ROWS_MOST / rows;
  const int64_t all = entries_of(o->problem->a, sample->group[i], SL_DENSE_ROWS_MOST);
  double time = 0;
  for (int j = 0; j < each; j++) {
    const int64_t entries = entries_of(o->problem->a, sample->group[i] * each + j, rows);
    const double share = all > 0 ? other * (double)entries / (double)all : 0;
    const double dense =
        entries > 0 ? dense_time(o->problem, rows, sample->slots[height][i * each + j], entries) : HUGE_VAL;
    time += dense < share ? dense : share;
  }
  return time;
}

static double slots_of(const sl_dense_sample *sample, int height) {
  const int64_t windows = sample->groups * (SL_DENSE_ROWS_MOST / sl_dense_rows_of(height));
  double slots = 0;
  for (int64_t i = 0; i < windows; i++)
    slots += sample->slots[height][i] > 0 ? sample->slots[height][i] : 0;
  return slots;
}

sl_dense_way sl_dense_choose_way(const sl_spmm_problem *problem, const sl_dense_sample *sample) {
  const others o = others_of(problem);
  double all = 0, time[SL_DENSE_HEIGHTS] = {0};
  int best = 0;
  for (int64_t i = 0; i < sample->groups; i++) {
    const double other = group_time(&o, sample, i);
    all += other;
    for (int h = 0; h < SL_DENSE_HEIGHTS; h++)
      time[h] += group_dense_time(&o, sample, i, h, other);
  }
  for (int h = 1; h < SL_DENSE_HEIGHTS; h++)
    if (time[h] < time[best])
      best = h;
  if (!(time[best] < WORTH * all))
    return (sl_dense_way){0};
  return (sl_dense_way){sl_dense_rows_of(best), slots_of(sample, 0) / slots_of(sample, best)};
}

/* ------------------------------------------------------------------------------------------------ choice */

int64_t sl_dense_choose(const sl_spmm_problem *problem, sl_dense_way way, const int32_t *slots,
                        bool *chosen) {
  const others o = others_of(problem);
  const sl_window_starts *starts = &problem->figures->window_starts;
  const sl_spmm_matrix *a = problem->a;
  const int parts = way.rows / SL_DENSE_ROWS_LEAST;
  const int64_t windows = (a->rows + way.rows - 1) / way.rows;
  int64_t count = 0, taken = 0;
  double without = starts->stream, with = sl_dense_start(problem->figures, a->dtype);
  for (int64_t w = 0; w < windows; w++) {
    const int64_t entries = entries_of(a, w, way.rows);
    const double each = way.slots * (double)(slots[w] > 0 ? slots[w] : 0) / parts;
    const double other = parts * other_time(&o, entries / parts, slots[w] < 0 ? -1 : (int64_t)each + 1),
                 dense = entries > 0 ? dense_time(problem, way.rows, slots[w], entries) : HUGE_VAL;
    chosen[w] = dense < other && taken + slots[w] <= SLOTS_MOST;
    taken += chosen[w] ? slots[w] : 0;
    count += chosen[w];
    without += other;
    with += chosen[w] ? dense : other;
  }
  if (count < windows)
    with += starts->second;
  if (count > 0 && with < WORTH * without)
    return count;
  for (int64_t w = 0; w < windows; w++)
    chosen[w] = false;
  return 0;
}

/* --------------------------------------------------------------------------------------------------- cut */

/* Blocks of a product's windows, and their effort: work of the busiest multiprocessor, relative to its share.
 */
typedef struct cutting {
  int64_t blocks;
  double effort;
} cutting;

/* Windows in fragments of at most `fragment` slots. JOIN: slots that storing and adding a fragment's sums
 * cost. FEW: blocks that keep a multiprocessor busy. */
static cutting cutting_of(const sl_spmm_problem *p, int64_t windows, const int64_t *first, int64_t fragment) {
  enum { JOIN = 40, FEW = 3 };
  int64_t parts = 0, joined = 0;
  for (int64_t w = 0; w < windows; w++) {
    const int64_t slots = first[w + 1] - first[w], count = (slots + fragment - 1) / fragment;
    parts += count;
    joined += count > 1 ? count : 0;
  }
  const int64_t blocks = parts * sl_dense_panels(p->a->dtype, p->k);
  const double all = (double)(first[windows] - first[0]),
               each = (double)blocks / (double)p->figures->processors;
  const double rounds = ceil(each) / each, idle = each < FEW ? FEW / each : 1;
  return (cutting){blocks, (rounds > idle ? rounds : idle) * (1 + JOIN * (double)joined / all)};
}

sl_chunk_sizes sl_dense_cut(const sl_spmm_problem *problem, int64_t windows, const int64_t *first) {
  int64_t longest = 1, best;
  for (int64_t w = 0; w < windows; w++)
    longest = first[w + 1] - first[w] > longest ? first[w + 1] - first[w] : longest;
  best = longest;
  cutting least = cutting_of(problem, windows, first, longest), now = least;
  for (int64_t parts = 2; now.blocks < ENOUGH * problem->figures->processors && longest / parts >= SHORTEST;
       parts++) {
    const int64_t fragment = (longest + parts - 1) / parts;
    now = cutting_of(problem, windows, first, fragment);
    if (now.effort < least.effort) {
      least = now;
      best = fragment;
    }
  }
  return (sl_chunk_sizes){1, best, best};
}

/* With one more part, a window has at most twice as many fragments. */
int64_t sl_dense_fragments_most(const sl_spmm_problem *problem) {
  return 2 * ENOUGH * problem->figures->processors;
}
