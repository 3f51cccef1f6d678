/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of SL_OP_AGGREGATE, the same for every type and instruction set. The including file has included
 * the headers that block_math.h names; it gets AGGREGATE_KERNEL, the descriptor.
 *
 * A panel of up to AGGREGATE_PANEL vectors of a row's features stays in registers while the row's entries
 * pass. The parameters declared const int or const bool are constants at every call, and each call is
 * inlined. */
#ifndef SLEY_DEVICE_CPU_GRAPH_AGGREGATE_BODY_H
#define SLEY_DEVICE_CPU_GRAPH_AGGREGATE_BODY_H

#include "device/cpu/graph/block_math.h"
#include "device/cpu/graph/pattern_rows.h"

enum {
  AGGREGATE_PANEL = 8,      /* most vectors of a panel */
  AGGREGATE_PANEL_FEW = 4,  /* most vectors of a panel if each feature needs two registers */
  AGGREGATE_CHUNK = 64,     /* most entries whose weights are computed at a time */
  AGGREGATE_WEIGHTS = 1024, /* most weights that are computed at a time */
};

/* A panel: features [feature, feature + width), which belong to heads [head, head + heads). */
typedef struct aggregate_pass {
  const sl_aggregate_args *a;
  const int32_t *col;
  graph_rows x, y; /* rows that begin at the panel's first feature */
  int64_t feature, features, head, heads;
  int64_t tail;                            /* number of values in the panel's last vector */
  sum sign;                                /* -1 for a minimum, which is the maximum of the negated terms;
                                            * else 1 */
  bool direct;                             /* true: the entries' values are used as weights without a copy */
  int64_t head_of[AGGREGATE_PANEL];        /* head of each vector's first lane, relative to `head` */
  int32_t head_in[AGGREGATE_PANEL][BLOCK]; /* head of each lane, relative to head_of */
  value ones[AGGREGATE_PANEL * LANES];     /* a row of ones, used where there is no X */
  sum weight[AGGREGATE_WEIGHTS + LANES];   /* weights of a chunk, for each entry the panel's heads */
} aggregate_pass;

/* Computes the weights of entries [j, *stop) of a row. On input *stop is the row's end; it is lowered if
 * fewer entries fit. Returns (entries) x (heads of the panel) weights. Not inlined, because every loop calls
 * it. */
static __attribute__((noinline)) const sum *aggregate_weigh(aggregate_pass *p, int64_t j, int64_t *stop) {
  const sl_aggregate_args *a = p->a;
  const int64_t heads = a->shape.heads, fit = AGGREGATE_WEIGHTS / p->heads;
  const int64_t most = fit < AGGREGATE_CHUNK ? fit : AGGREGATE_CHUNK;
  const int64_t count = *stop - j < most ? *stop - j : most, all = count * p->heads;
  const value *val = a->val, *factor = a->factor;
  sum *w = p->weight;
  *stop = j + count;
  if (!val && !factor)
    for (int64_t n = 0; n < all; n++)
      w[n] = 1;
  else if (!factor && !a->pattern.place && heads == p->heads)
    graph_widen(val + j * heads, all, w);
  else
    for (int64_t n = 0; n < count; n++) {
      const int64_t at = sl_pattern_entry(&a->pattern, j + n) * heads + p->head;
      graph_widen((val ? val : factor) + at, p->heads, w + n * p->heads);
      for (int64_t h = 0; val && factor && h < p->heads; h++)
        w[n * p->heads + h] *= widen(factor[at + h]);
    }
  if (a->scale)
    for (int64_t n = 0; n < count; n++)
      for (int64_t h = n * p->heads; h < (n + 1) * p->heads; h++)
        w[h] *= ((const sum *)a->scale)[p->col[j + n]];
  if (p->sign < 0)
    for (int64_t n = 0; n < all; n++)
      w[n] = -w[n];
  return w;
}

BLOCK_INLINE const sum *aggregate_weights(aggregate_pass *p, int64_t j, int64_t *stop, const bool by_lane) {
  if (!by_lane && p->direct)
    return (const sum *)p->a->val + j;
  return aggregate_weigh(p, j, stop);
}

BLOCK_INLINE vec aggregate_load(const aggregate_pass *p, const value *row, const int v, const int vectors,
                                const bool whole) {
  return whole || v < vectors - 1 ? load_values(row + v * LANES)
                                  : load_values_first(row + v * LANES, p->tail);
}

BLOCK_INLINE void aggregate_store(const aggregate_pass *p, value *row, vec y, const int v, const int vectors,
                                  const bool whole) {
  if (whole || v < vectors - 1)
    store_values(row + v * LANES, y);
  else
    store_values_first(row + v * LANES, p->tail, y);
}

/* Weights of the lanes of vector v of an entry's row of X. */
BLOCK_INLINE vec aggregate_weight(const aggregate_pass *p, const sum *w, const int v, const bool by_lane) {
  return by_lane ? vec_pick(vec_load(w + p->head_of[v]), p->head_in[v]) : vec_all(*w);
}

BLOCK_INLINE const value *aggregate_row(const aggregate_pass *p, int64_t j, int64_t ahead,
                                        const int vectors) {
  if (ahead)
    graph_fetch(graph_row(&p->x, p->col[j + ahead]), graph_lines(vectors * LANES));
  return graph_row(&p->x, p->col[j]);
}

/* Indices of LANES features: the first `lanes` of chosen, then -1, which matches no entry. part: memory for a
 * copy. */
BLOCK_INLINE const int32_t *aggregate_places(const int32_t *chosen, int64_t lanes, int32_t *part) {
  if (lanes == LANES)
    return chosen;
  for (int64_t l = 0; l < LANES; l++)
    part[l] = l < lanes ? chosen[l] : -1;
  return part;
}

/* Adds the term of entry j to acc, only in the features for which this entry was chosen. */
BLOCK_INLINE void aggregate_add_chosen(const aggregate_pass *p, int64_t j, const value *x, const sum *w,
                                       vec *acc, const int vectors) {
  const int32_t *chosen = p->a->chosen + p->col[j] * p->features + p->feature;
  const int32_t place = p->a->pattern.place[j];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; v++) {
    int32_t part[BLOCK];
    const vec added =
        vec_fma(aggregate_weight(p, w, v, true), aggregate_load(p, x, v, vectors, false), acc[v]);
    const int64_t lanes = v < vectors - 1 ? LANES : p->tail;
    acc[v] = vec_if_same(aggregate_places(chosen + v * LANES, lanes, part), place, added, acc[v]);
  }
}

BLOCK_INLINE void aggregate_add(const aggregate_pass *p, const value *x, const sum *w, vec *acc,
                                const int vectors, const bool whole, const bool by_lane) {
#pragma GCC unroll 8
  for (int v = 0; v < vectors; v++)
    acc[v] = vec_fma(aggregate_weight(p, w, v, by_lane), aggregate_load(p, x, v, vectors, whole), acc[v]);
}

BLOCK_INLINE void aggregate_sum_rows(aggregate_pass *p, int64_t row, int64_t row_end, const int vectors,
                                     const bool whole, const bool by_lane, const bool chosen) {
  const sl_pattern *pattern = &p->a->pattern;
  for (int64_t n = row; n < row_end; n++) {
    const int64_t i = sl_pattern_work_row(pattern, n);
    vec acc[AGGREGATE_PANEL];
    value *y = graph_row(&p->y, i);
    const int64_t begin = pattern->rowptr[i], end = pattern->rowptr[i + 1];
    const int64_t ahead = graph_ahead(pattern, end);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
      acc[v] = p->a->add ? aggregate_load(p, y, v, vectors, whole) : vec_zero();
    for (int64_t j = begin; j < end;) {
      int64_t stop = end;
      const sum *w = aggregate_weights(p, j, &stop, by_lane);
      for (; j < stop; j++, w += by_lane ? p->heads : 1) {
        const value *x = aggregate_row(p, j, ahead, vectors);
        if (chosen)
          aggregate_add_chosen(p, j, x, w, acc, vectors);
        else
          aggregate_add(p, x, w, acc, vectors, whole, by_lane);
      }
    }
    const bool mean = p->a->kind == SL_AGGREGATE_MEAN;
    const vec count = vec_all(mean ? (sum)(end - begin) : 1);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
      const vec y_v = !mean ? acc[v] : end == begin ? vec_zero() : vec_div(acc[v], count);
      aggregate_store(p, y, y_v, v, vectors, whole);
    }
  }
}

/* Stores a whole number in a lane as bits, which are only moved, never computed with; aggregate_store_numbers
 * converts back. Requires a little-endian machine. */
BLOCK_INLINE sum aggregate_sum_of_bits(int64_t n) {
  sum s;
  memcpy(&s, &n, sizeof s);
  return s;
}

BLOCK_INLINE void aggregate_store_numbers(int32_t *to, int64_t count, vec numbers) {
  sum lane[LANES];
  vec_store(lane, numbers);
  for (int64_t l = 0; l < count; l++)
    memcpy(to + l, lane + l, sizeof *to);
}

BLOCK_INLINE void aggregate_best_rows(aggregate_pass *p, int64_t row, int64_t row_end, const int vectors) {
  const sl_pattern *pattern = &p->a->pattern;
  for (int64_t n = row; n < row_end; n++) {
    const int64_t i = sl_pattern_work_row(pattern, n);
    vec best[AGGREGATE_PANEL_FEW], number[AGGREGATE_PANEL_FEW];
    const int64_t begin = pattern->rowptr[i], end = pattern->rowptr[i + 1];
    const int64_t ahead = graph_ahead(pattern, end);
    const bool empty = begin == end;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) { /* less than every term; if all are -infinity, the first wins */
      best[v] = vec_all(empty ? 0 : -(sum)INFINITY);
      number[v] = vec_all(aggregate_sum_of_bits(empty ? -1 : 0));
    }
    for (int64_t j = begin; j < end;) {
      int64_t stop = end;
      const sum *w = aggregate_weights(p, j, &stop, true);
      for (; j < stop; j++, w += p->heads) {
        const value *x = aggregate_row(p, j, ahead, vectors);
        const vec at = vec_all(aggregate_sum_of_bits(j - begin));
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
          const vec term = vec_mul(aggregate_weight(p, w, v, true), aggregate_load(p, x, v, vectors, false));
          number[v] = vec_if_above(term, best[v], at, number[v]);
          best[v] = vec_if_above(term, best[v], term, best[v]);
        }
      }
    }
    value *y = graph_row(&p->y, i);
    const vec sign = vec_all(empty ? 1 : p->sign);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
      aggregate_store(p, y, vec_mul(best[v], sign), v, vectors, false);
      if (p->a->arg)
        aggregate_store_numbers(p->a->arg + i * p->features + p->feature + v * LANES,
                                v < vectors - 1 ? LANES : p->tail, number[v]);
    }
  }
}

/* The same signature as graph_body, with a pass instead of arguments. */
typedef void aggregate_rows(aggregate_pass *p, int64_t row, int64_t row_end);

/* One function for each number of vectors in a panel. */
#define AGGREGATE_SUM(name, vectors, whole, by_lane, chosen)                                                 \
  static __attribute__((noinline)) void aggregate_##name##_##vectors(aggregate_pass *p, int64_t row,         \
                                                                     int64_t row_end) {                      \
    aggregate_sum_rows(p, row, row_end, vectors, whole, by_lane, chosen);                                    \
  }
#define AGGREGATE_SUMS(name, whole, by_lane)                                                                 \
  AGGREGATE_SUM(name, 1, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 2, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 3, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 4, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 5, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 6, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 7, whole, by_lane, false)                                                              \
  AGGREGATE_SUM(name, 8, whole, by_lane, false)                                                              \
  static aggregate_rows *const aggregate_##name[] = {                                                        \
      aggregate_##name##_1, aggregate_##name##_2, aggregate_##name##_3, aggregate_##name##_4,                \
      aggregate_##name##_5, aggregate_##name##_6, aggregate_##name##_7, aggregate_##name##_8};
#define AGGREGATE_BEST(vectors)                                                                              \
  static __attribute__((noinline)) void aggregate_best_##vectors(aggregate_pass *p, int64_t row,             \
                                                                 int64_t row_end) {                          \
    aggregate_best_rows(p, row, row_end, vectors);                                                           \
  }
#define AGGREGATE_FEW(name)                                                                                  \
  static aggregate_rows *const aggregate_##name[] = {aggregate_##name##_1, aggregate_##name##_2,             \
                                                     aggregate_##name##_3, aggregate_##name##_4};

AGGREGATE_SUMS(whole, true, false)
AGGREGATE_SUMS(part, false, false)
AGGREGATE_SUMS(by_lane, false, true)
AGGREGATE_SUM(chosen, 1, false, true, true)
AGGREGATE_SUM(chosen, 2, false, true, true)
AGGREGATE_SUM(chosen, 3, false, true, true)
AGGREGATE_SUM(chosen, 4, false, true, true)
AGGREGATE_FEW(chosen)
AGGREGATE_BEST(1)
AGGREGATE_BEST(2)
AGGREGATE_BEST(3)
AGGREGATE_BEST(4)
AGGREGATE_FEW(best)

/* Number of vectors in the next panel, chosen so that no panel is much narrower than the others. */
static int64_t aggregate_panel(int64_t left, int64_t most) {
  if (left <= most)
    return left;
  return left >= most + most / 2 ? most : (left + 1) / 2;
}

/* Sets the head of each lane for a panel of `width` features. */
static void aggregate_find_heads(aggregate_pass *p, int64_t width) {
  const int64_t each = p->a->shape.width, last = p->feature + width - 1;
  p->head = p->feature / each;
  p->heads = last / each - p->head + 1;
  for (int64_t v = 0; v * LANES < width; v++) {
    const int64_t first = (p->feature + v * LANES) / each;
    p->head_of[v] = first - p->head;
    for (int64_t l = 0; l < LANES; l++) {
      const int64_t f = p->feature + v * LANES + l;
      p->head_in[v][l] = (int32_t)((f < last ? f : last) / each - first);
    }
  }
}

/* Runs panel after panel, each over all rows. */
static void aggregate_body(const sl_kernel_args *args, int64_t row, int64_t row_end) {
  const sl_aggregate_args *a = &args->aggregate;
  const bool best = a->kind == SL_AGGREGATE_MIN || a->kind == SL_AGGREGATE_MAX;
  const int64_t most = best || a->chosen ? AGGREGATE_PANEL_FEW : AGGREGATE_PANEL;
  aggregate_pass p; /* too large to be cleared each time */
  p.a = a;
  p.col = a->pattern.col;
  p.features = sl_features(&a->shape);
  p.sign = a->kind == SL_AGGREGATE_MIN ? -1 : 1;
  p.direct = !NARROW && a->val && !a->factor && !a->scale && !a->pattern.place;
  for (int v = 0; v < AGGREGATE_PANEL; v++)
    store_values(p.ones + v * LANES, vec_all(1));
  int64_t width;
  for (p.feature = 0; p.feature < p.features; p.feature += width) {
    const int64_t left = p.features - p.feature, vectors = aggregate_panel((left + LANES - 1) / LANES, most);
    width = left < vectors * LANES ? left : vectors * LANES;
    p.tail = width - (vectors - 1) * LANES;
    p.x = a->x.near || a->x.far ? graph_rows_of(&a->x, p.feature)
                                : (graph_rows){.near = (uintptr_t)p.ones, .near_rows = INT64_MAX};
    p.y = graph_rows_of(&a->y, p.feature);
    aggregate_find_heads(&p, width);
    aggregate_rows *const *body = best                 ? aggregate_best
                                  : a->chosen          ? aggregate_chosen
                                  : a->shape.heads > 1 ? aggregate_by_lane
                                  : p.tail == LANES    ? aggregate_whole
                                                       : aggregate_part;
    body[vectors - 1](&p, row, row_end);
  }
}

static sley_status aggregate_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  return graph_for_rows(queue, args, &a->pattern, sl_features(&a->shape), aggregate_body);
}

static bool aggregate_ok(const sl_kernel_args *args) {
  return args->aggregate.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define AGGREGATE_KERNEL(kernel_name)                                                                        \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_AGGREGATE, .ok = aggregate_ok, .cost = graph_cost,                      \
    SL_KERNEL_KEEPS_NOTHING, .run = aggregate_run                                                            \
  }

#endif
