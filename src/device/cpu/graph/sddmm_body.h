/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of SL_OP_SDDMM, the same for every type and instruction set. The including file has included the
 * headers that block_math.h names; it gets SDDMM_KERNEL, the descriptor.
 *
 * The features of one head of U's row stay in registers, if they are at most SDDMM_BLOCKS blocks, while a
 * chunk of the row's entries passes. The parameters declared const int or const bool are constants at every
 * call, and each call is inlined. */
#ifndef SLEY_DEVICE_CPU_GRAPH_SDDMM_BODY_H
#define SLEY_DEVICE_CPU_GRAPH_SDDMM_BODY_H

#include "device/cpu/graph/block_math.h"
#include "device/cpu/graph/pattern_rows.h"

enum {
  SDDMM_FIT = REGISTERS / 2 / BLOCK_VECTORS, /* blocks that take half of the registers */
  SDDMM_BLOCKS = SDDMM_FIT < 1   ? 1
                 : SDDMM_FIT > 4 ? 4
                                 : SDDMM_FIT,
  SDDMM_CHUNK = 64,  /* most entries at a time */
  SDDMM_HEADS = 64,  /* most heads at a time */
  SDDMM_SUMS = 1024, /* most sums at a time */
};

/* One head of one row. Consecutive entries' results lie `step` sums apart. */
typedef struct sddmm_head {
  const int32_t *col;
  graph_rows v; /* rows that begin at the head's first feature */
  const value *u;
  const int32_t *chosen; /* chosen entry of each feature of U's row, or NULL */
  int64_t left;          /* elements of `chosen` from the head's first feature on */
  int64_t width;
  int64_t begin; /* first entry of the row */
  bool fetch;    /* prefetch V, because this head's lines are not the lines of the previous head */
  int64_t ahead;
  int64_t step;
} sddmm_head;

BLOCK_INLINE const value *sddmm_row(const sddmm_head *h, int64_t j, const int lines) {
  if (h->ahead && h->fetch)
    graph_fetch(graph_row(&h->v, h->col[j + h->ahead]), lines);
  return graph_row(&h->v, h->col[j]);
}

BLOCK_INLINE block sddmm_load(const value *row, int64_t width, const int b, const int blocks,
                              const bool whole) {
  return whole || b < blocks - 1 ? block_load(row + b * BLOCK)
                                 : block_load_first(row + b * BLOCK, width - b * BLOCK);
}

/* Dot products of entries [j, stop) for a head of `blocks` blocks; whole: the last block is complete. */
BLOCK_INLINE void sddmm_dot(const sddmm_head *h, int64_t j, int64_t stop, sum *out, const int blocks,
                            const bool whole) {
  block u[SDDMM_BLOCKS];
  const int64_t width = h->width;
#pragma GCC unroll 4
  for (int b = 0; b < blocks; b++)
    u[b] = sddmm_load(h->u, width, b, blocks, whole);
  for (; j < stop; j++, out += h->step) {
    const value *v = sddmm_row(h, j, graph_lines(blocks * BLOCK));
    block acc = block_all(0);
#pragma GCC unroll 4
    for (int b = 0; b < blocks; b++)
      acc = block_fma(u[b], sddmm_load(v, width, b, blocks, whole), acc);
    *out = block_sum(acc);
  }
}

/* The next `lanes` of the `left` elements of chosen, padded with -1, which matches no entry. part: memory for
 * a copy. */
BLOCK_INLINE const int32_t *sddmm_chosen(const int32_t *chosen, int64_t left, int64_t lanes, int32_t *part) {
  if (left >= lanes)
    return chosen;
  for (int64_t l = 0; l < lanes; l++)
    part[l] = l < left ? chosen[l] : -1;
  return part;
}

/* Like sddmm_dot, for a head of any width. chosen: counts only the features of U's row for which the entry
 * was chosen. */
BLOCK_INLINE void sddmm_dot_wide(const sddmm_head *h, int64_t j, int64_t stop, sum *out, const bool chosen) {
  for (; j < stop; j++, out += h->step) {
    const value *v = sddmm_row(h, j, GRAPH_FETCHED_LINES);
    block acc = block_all(0);
    for (int64_t c = 0; c < h->width; c += BLOCK) {
      const int64_t count = h->width - c < BLOCK ? h->width - c : BLOCK;
      const block added = block_fma(block_load_some(h->u + c, count), block_load_some(v + c, count), acc);
      if (!chosen) {
        acc = added;
        continue;
      }
      int32_t part[BLOCK];
      const int32_t *of = sddmm_chosen(h->chosen + c, h->left - c, BLOCK, part), n = (int32_t)(j - h->begin);
      EACH_VECTOR acc.v[v_] = vec_if_same(of + v_ * LANES, n, added.v[v_], acc.v[v_]);
    }
    *out = block_sum(acc);
  }
}

typedef void sddmm_entries(const sddmm_head *h, int64_t j, int64_t stop, sum *out);

/* One function for each number of blocks, up to SDDMM_BLOCKS. */
#define SDDMM_DOT(name, blocks, whole)                                                                       \
  static __attribute__((noinline)) void sddmm_##name##_##blocks(const sddmm_head *h, int64_t j,              \
                                                                int64_t stop, sum *out) {                    \
    sddmm_dot(h, j, stop, out, (int)SDDMM_BLOCKS < (blocks) ? (int)SDDMM_BLOCKS : (blocks), whole);          \
  }
#define SDDMM_DOTS(name, whole)                                                                              \
  SDDMM_DOT(name, 1, whole)                                                                                  \
  SDDMM_DOT(name, 2, whole)                                                                                  \
  SDDMM_DOT(name, 3, whole)                                                                                  \
  SDDMM_DOT(name, 4, whole)                                                                                  \
  static sddmm_entries *const sddmm_##name[] = {sddmm_##name##_1, sddmm_##name##_2, sddmm_##name##_3,        \
                                                sddmm_##name##_4};

SDDMM_DOTS(whole, true)
SDDMM_DOTS(part, false)

static __attribute__((noinline)) void sddmm_wide(const sddmm_head *h, int64_t j, int64_t stop, sum *out) {
  sddmm_dot_wide(h, j, stop, out, false);
}
static __attribute__((noinline)) void sddmm_wide_chosen(const sddmm_head *h, int64_t j, int64_t stop,
                                                        sum *out) {
  sddmm_dot_wide(h, j, stop, out, true);
}

/* Selects the function for a head of a's width. */
static sddmm_entries *sddmm_of(const sl_sddmm_args *a) {
  const int64_t blocks = (a->shape.width + BLOCK - 1) / BLOCK;
  if (a->chosen)
    return sddmm_wide_chosen;
  if (blocks > SDDMM_BLOCKS || blocks == 0)
    return sddmm_wide;
  return a->shape.width % BLOCK == 0 ? sddmm_whole[blocks - 1] : sddmm_part[blocks - 1];
}

/* A chunk of a row: its entries [j, stop) and heads [head, head + heads). The row begins at entry `begin`. */
typedef struct sddmm_chunk {
  int64_t i, begin, j, stop, head, heads, ahead;
} sddmm_chunk;

/* Sets sums[n heads + h] to sum_c U[i][f] V[col[j + n]][f]. */
static void sddmm_dots(const sl_sddmm_args *a, sddmm_entries *entries, const sddmm_chunk *k, sum *sums) {
  const int64_t width = a->shape.width, features = sl_features(&a->shape), each = sizeof(value);
  for (int64_t h = 0; h < k->heads; h++) {
    const int64_t f = (k->head + h) * width;
    const sddmm_head head = {.col = a->pattern.col,
                             .v = graph_rows_of(&a->v, f),
                             .u = (const value *)a->u + k->i * a->ldu + f,
                             .chosen = a->chosen ? a->chosen + k->i * features + f : NULL,
                             .left = features - f,
                             .width = width,
                             .begin = k->begin,
                             .fetch = h == 0 || f * each / 64 != (f - 1) * each / 64,
                             .ahead = k->ahead,
                             .step = k->heads};
    entries(&head, k->j, k->stop, sums + h);
  }
}

/* Returns whether heads are so narrow that a vector holds several. */
static bool sddmm_is_narrow(const sl_heads *shape) {
  return shape->heads > 1 && shape->width > 0 && shape->width < LANES && LANES % shape->width == 0;
}

/* How lanes are added: step s adds to each head's lanes the lanes width / 2, width / 4 .. 1 away; at the end
 * the first lane of each head holds its sum. */
typedef struct sddmm_fold {
  int steps;
  int32_t from[4][BLOCK], first[BLOCK];
} sddmm_fold;

static sddmm_fold sddmm_fold_of(int64_t width) {
  sddmm_fold f = {0};
  for (int64_t half = width / 2; half > 0; half /= 2, f.steps++)
    for (int64_t l = 0; l < LANES; l++)
      f.from[f.steps][l] = (int32_t)(l ^ half);
  for (int64_t l = 0; l * width < LANES; l++)
    f.first[l] = (int32_t)(l * width);
  return f;
}

/* Like sddmm_dots, for narrow heads. Adds 0, because the definition adds sums p >= width that are 0, which
 * turns -0 into 0. A vector writes past its last head; the next vector overwrites that. */
static __attribute__((noinline)) void sddmm_narrow(const sl_sddmm_args *a, const sddmm_fold *fold,
                                                   const sddmm_chunk *k, sum *sums) {
  const int64_t width = a->shape.width, values = k->heads * width, f = k->head * width,
                features = sl_features(&a->shape), each = LANES / width; /* each: heads per vector */
  const graph_rows v = graph_rows_of(&a->v, f);
  const value *u = (const value *)a->u + k->i * a->ldu + f;
  const int32_t *chosen = a->chosen ? a->chosen + k->i * features + f : NULL, *col = a->pattern.col;
  for (int64_t j = k->j; j < k->stop; j++, sums += k->heads) {
    const value *row = graph_row(&v, col[j]);
    if (k->ahead)
      graph_fetch(graph_row(&v, col[j + k->ahead]), GRAPH_FETCHED_LINES);
    sum *out = sums;
    for (int64_t t = 0; t < values; t += LANES) {
      int32_t part[BLOCK];
      vec s =
          vec_fma(load_values_first(u + t, values - t), load_values_first(row + t, values - t), vec_zero());
      if (chosen)
        s = vec_if_same(sddmm_chosen(chosen + t, features - f - t, LANES, part), (int32_t)(j - k->begin), s,
                        vec_zero());
      s = vec_add(s, vec_zero());
      for (int n = 0; n < fold->steps; n++)
        s = vec_add(s, vec_pick(s, fold->from[n]));
      vec_store(out, vec_pick(s, fold->first));
      out += each;
    }
  }
}

/* Sets sums[n heads + h] to U[i][h] + V[col[j + n]][h]. A vector writes past the last head; the next entry
 * overwrites that. */
static void sddmm_additions(const sl_sddmm_args *a, const sddmm_chunk *k, sum *sums) {
  const graph_rows v = graph_rows_of(&a->v, k->head);
  const value *u = (const value *)a->u + k->i * a->ldu + k->head;
  for (int64_t j = k->j; j < k->stop; j++, sums += k->heads) {
    const value *row = graph_row(&v, a->pattern.col[j]);
    for (int64_t h = 0; h < k->heads; h += LANES)
      vec_store(sums + h,
                vec_add(load_values_first(u + h, k->heads - h), load_values_first(row + h, k->heads - h)));
  }
}

/* Sets s[n] to val[n] scale sums[n], for n < count; val may be NULL. */
static void sddmm_finish(const sum *sums, const sum *scale, const value *val, value *s, int64_t count) {
  const vec factor = vec_all(scale ? *scale : 1);
  for (int64_t n = 0; n < count; n += LANES) {
    vec v = vec_load(sums + n);
    if (scale)
      v = vec_mul(v, factor);
    if (val)
      v = vec_mul(v, load_values_first(val + n, count - n));
    store_values_first(s + n, count - n, v);
  }
}

/* Like sddmm_finish, for a chunk. The chunk's values are contiguous if it has all heads. */
static void sddmm_finish_chunk(const sl_sddmm_args *a, const sddmm_chunk *k, const sum *sums) {
  const sum *scale = a->scale ? (const sum *)a->scale + k->i : NULL;
  const int64_t heads = a->shape.heads, count = k->stop - k->j;
  const int64_t pieces = k->heads == heads ? 1 : count;
  for (int64_t n = 0; n < pieces; n++) {
    const int64_t at = (k->j + n) * heads + k->head;
    sddmm_finish(sums + n * k->heads, scale, a->val ? (const value *)a->val + at : NULL, (value *)a->s + at,
                 pieces == 1 ? count * k->heads : k->heads);
  }
}

static void sddmm_body(const sl_kernel_args *args, int64_t row, int64_t row_end) {
  const sl_sddmm_args *a = &args->sddmm;
  const int64_t *rowptr = a->pattern.rowptr, heads = a->shape.heads;
  sddmm_entries *const entries = sddmm_of(a);
  const bool narrow = sddmm_is_narrow(&a->shape);
  const sddmm_fold fold = sddmm_fold_of(narrow ? a->shape.width : 1);
  sum sums[SDDMM_SUMS + BLOCK];
  for (int64_t n = row; n < row_end; n++) {
    const int64_t i = sl_pattern_work_row(&a->pattern, n);
    for (int64_t head = 0, count; head < heads; head += count) {
      count = heads - head < SDDMM_HEADS ? heads - head : SDDMM_HEADS;
      const int64_t end = rowptr[i + 1], fit = SDDMM_SUMS / count;
      const int64_t most = fit < SDDMM_CHUNK ? fit : SDDMM_CHUNK;
      for (int64_t j = rowptr[i], stop; j < end; j = stop) {
        stop = end - j < most ? end : j + most;
        const sddmm_chunk chunk = {.i = i,
                                   .begin = rowptr[i],
                                   .j = j,
                                   .stop = stop,
                                   .head = head,
                                   .heads = count,
                                   .ahead = graph_ahead(&a->pattern, end)};
        if (a->form == SL_SDDMM_DOT && narrow)
          sddmm_narrow(a, &fold, &chunk, sums);
        else if (a->form == SL_SDDMM_DOT)
          sddmm_dots(a, entries, &chunk, sums);
        else
          sddmm_additions(a, &chunk, sums);
        sddmm_finish_chunk(a, &chunk, sums);
      }
    }
  }
}

static sley_status sddmm_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_sddmm_args *a = &args->sddmm;
  return graph_for_rows(queue, args, &a->pattern, a->shape.heads * (a->shape.width + 1), sddmm_body);
}

static bool sddmm_ok(const sl_kernel_args *args) {
  return args->sddmm.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define SDDMM_KERNEL(kernel_name)                                                                            \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_SDDMM, .ok = sddmm_ok, .cost = graph_cost, SL_KERNEL_KEEPS_NOTHING,     \
    .run = sddmm_run                                                                                         \
  }

#endif
