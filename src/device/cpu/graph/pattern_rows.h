/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the CPU's kernels of graph networks: how rows of a pattern are divided among a team, and how
 * innermost loops find dense rows. Included after block_math.h. */
#ifndef SLEY_DEVICE_CPU_GRAPH_PATTERN_ROWS_H
#define SLEY_DEVICE_CPU_GRAPH_PATTERN_ROWS_H

#include "device/cpu/cpu.h"

enum {
  /* Approximate number of values that a claimed piece reads. */
  GRAPH_GRAIN = 1 << 15,
  /* GRAPH_AHEAD: how many entries ahead rows are prefetched. GRAPH_FETCHED_LINES: lines prefetched per row;
   * the hardware fetches the rest. */
  GRAPH_AHEAD = 32,
  GRAPH_FETCHED_LINES = 4,
  /* If only some rows of a pattern are worked on, pieces are larger by the ratio of all rows to those rows,
   * but at most by this factor. */
  GRAPH_FEW = 8,
  GRAPH_LINE_VALUES = 64 / sizeof(value),
};

/* Cost that ranks the kernels of one operation, which differ only in their instruction sets. */
static inline double graph_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 1.0 / LANES;
}

/* Processes the rows with numbers n to n_end - 1 in the list of rows to be worked on. */
typedef void graph_body(const sl_kernel_args *args, int64_t n, int64_t n_end);

typedef struct graph_rows_loop {
  const sl_pattern *pattern;
  const sl_kernel_args *args;
  graph_body *body;
} graph_rows_loop;

/* Number of entries and rows before row i; graph_work returns the number in the whole pattern. All rows
 * count, whether they are worked on or not. */
static inline int64_t graph_work_before(const sl_pattern *p, int64_t i) {
  return p->rowptr[i] - p->rowptr[0] + i;
}
static inline int64_t graph_work(const sl_pattern *p) {
  return graph_work_before(p, p->rows);
}

/* Returns the number, in the list of rows to be worked on, of the first row that begins at or after this
 * amount of entries and rows. */
static inline int64_t graph_row_at(const sl_pattern *p, int64_t work) {
  int64_t low = 0, high = sl_pattern_work_rows(p);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (graph_work_before(p, sl_pattern_work_row(p, middle)) < work)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns an amount of entries and rows of the whole pattern that contains about `work` to be worked on. */
static inline int64_t graph_spread(const sl_pattern *p, int64_t work) {
  if (!p->listed)
    return work;
  const int64_t times = p->rows / (p->listed_rows > 0 ? p->listed_rows : 1);
  return work * (times < 1 ? 1 : times < GRAPH_FEW ? times : GRAPH_FEW);
}

/* Processes the rows to be worked on that begin in a range of entries and rows. */
static inline sley_status graph_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const graph_rows_loop *loop = context;
  const int64_t n = graph_row_at(loop->pattern, begin), n_end = graph_row_at(loop->pattern, end);
  if (n < n_end)
    loop->body(loop->args, n, n_end);
  return SLEY_OK;
}

/* Runs body over all rows to be worked on, in pieces that threads claim. Pieces have about equal numbers of
 * entries and rows of the whole pattern, because no prefix sums exist for listed rows. values: number of
 * values that each entry reads. */
static inline sley_status graph_for_rows(sl_queue *queue, const sl_kernel_args *args,
                                         const sl_pattern *pattern, int64_t values, graph_body *body) {
  if (sl_pattern_work_rows(pattern) <= 0 || values <= 0)
    return SLEY_OK;
  graph_rows_loop loop = {pattern, args, body};
  return sl_team_for(sl_cpu_queue_team(queue), graph_work(pattern),
                     graph_spread(pattern, GRAPH_GRAIN / values + 1), graph_range, &loop);
}

/* How many entries ahead to prefetch in a row that ends at `end`; 0 if fewer entries follow in the pattern.
 * Some prefetched entries may belong to rows that are not worked on. */
static inline int64_t graph_ahead(const sl_pattern *p, int64_t end) {
  return end <= p->rowptr[p->rows] - GRAPH_AHEAD ? GRAPH_AHEAD : 0;
}

/* Dense rows, from a given feature on: row i is at near + i near_stride if i < near_rows, else at far + i
 * far_stride. Strides are in bytes. */
typedef struct graph_rows {
  uintptr_t near, far;
  int64_t near_rows, near_stride, far_stride;
} graph_rows;

static inline graph_rows graph_rows_of(const sl_split_rows *s, int64_t feature) {
  const int64_t each = sizeof(value);
  return (graph_rows){.near = (uintptr_t)s->near + (uintptr_t)(feature * each),
                      .far = (uintptr_t)s->far + (uintptr_t)((feature - s->near_rows * s->far_ld) * each),
                      .near_rows = s->near_rows,
                      .near_stride = s->near_ld * each,
                      .far_stride = s->far_ld * each};
}

BLOCK_INLINE value *graph_row(const graph_rows *r, int64_t i) {
  const bool near = i < r->near_rows;
  return (value *)((near ? r->near : r->far) + (uintptr_t)(i * (near ? r->near_stride : r->far_stride)));
}

/* Number of lines to prefetch for a row of `values` values. */
BLOCK_INLINE int graph_lines(const int values) {
  const int lines = (values + GRAPH_LINE_VALUES - 1) / GRAPH_LINE_VALUES;
  return lines < (int)GRAPH_FETCHED_LINES ? lines : (int)GRAPH_FETCHED_LINES;
}

BLOCK_INLINE void graph_fetch(const value *row, const int lines) {
#pragma GCC unroll 8
  for (int line = 0; line < lines; line++)
    __builtin_prefetch((const char *)row + line * 64, 0, 3);
}

/* Converts `count` values to sums. Overwrites up to LANES - 1 sums after them. */
static inline void graph_widen(const value *from, int64_t count, sum *to) {
  for (int64_t i = 0; i < count; i += LANES)
    vec_store(to + i, load_values_first(from + i, count - i));
}

#endif
