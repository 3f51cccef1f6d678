/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU's kernels of graph networks share: how rows of a pattern are divided among a team, and how
 * innermost loops find dense rows. Included after block_math.h. */
#ifndef SLEY_DEVICE_CPU_GRAPH_KERNELS_H
#define SLEY_DEVICE_CPU_GRAPH_KERNELS_H

#include "device/cpu/cpu.h"

enum {
  /* A piece that a thread claims has about so many values to read. */
  GRAPH_GRAIN = 1 << 15,
  /* Entries from the one that is worked on to the one whose row is fetched, and lines that are fetched: the
     hardware follows with the rest. */
  GRAPH_AHEAD = 32,
  GRAPH_FETCHED_LINES = 4,
  GRAPH_LINE_VALUES = 64 / sizeof(value),
};

/* Kernels of one operation differ in their instruction sets alone. */
static inline double graph_cost(const sl_kernel_args *args) {
  (void)args;
  return 1.0 / LANES;
}

/* Works on rows [row, row_end) of the pattern of args. */
typedef void graph_body(const sl_kernel_args *args, int64_t row, int64_t row_end);

typedef struct graph_rows_loop {
  const sl_pattern *pattern;
  const sl_kernel_args *args;
  graph_body *body;
} graph_rows_loop;

/* The first row that begins at or after so many entries and rows. */
static inline int64_t graph_row_at(const sl_pattern *p, int64_t work) {
  int64_t low = 0, high = p->rows;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (p->rowptr[middle] + middle < work)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* A range of entries and rows: the rows that begin in it. */
static inline sley_status graph_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const graph_rows_loop *loop = context;
  const int64_t row = graph_row_at(loop->pattern, begin), row_end = graph_row_at(loop->pattern, end);
  if (row < row_end)
    loop->body(loop->args, row, row_end);
  return SLEY_OK;
}

/* Runs body over all rows, in pieces of about as many entries and rows. values: what an entry has to read. */
static inline sley_status graph_for_rows(sl_queue *queue, const sl_kernel_args *args,
                                         const sl_pattern *pattern, int64_t values, graph_body *body) {
  if (pattern->rows <= 0 || values <= 0)
    return SLEY_OK;
  graph_rows_loop loop = {pattern, args, body};
  return sl_team_for(sl_cpu_queue_team(queue), pattern->rowptr[pattern->rows] + pattern->rows,
                     GRAPH_GRAIN / values + 1, graph_range, &loop);
}

/* Entries ahead to fetch rows of, in a row of entries that ends at end: none where there are not as many. */
static inline int64_t graph_ahead(const sl_pattern *p, int64_t end) {
  return end <= p->rowptr[p->rows] - GRAPH_AHEAD ? GRAPH_AHEAD : 0;
}

/* Dense rows, from one of their features on: row i is at near + i near_stride if i < near_rows, else at far +
 * i far_stride; strides in bytes. */
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

/* Lines to fetch of so many values. */
BLOCK_INLINE int graph_lines(const int values) {
  const int lines = (values + GRAPH_LINE_VALUES - 1) / GRAPH_LINE_VALUES;
  return lines < (int)GRAPH_FETCHED_LINES ? lines : (int)GRAPH_FETCHED_LINES;
}

BLOCK_INLINE void graph_fetch(const value *row, const int lines) {
#pragma GCC unroll 8
  for (int line = 0; line < lines; line++)
    __builtin_prefetch((const char *)row + line * 64, 0, 3);
}

/* count values become sums. Up to LANES - 1 sums behind them are overwritten. */
static inline void graph_widen(const value *from, int64_t count, sum *to) {
  for (int64_t i = 0; i < count; i += LANES)
    vec_store(to + i, load_values_first(from + i, count - i));
}

#endif
