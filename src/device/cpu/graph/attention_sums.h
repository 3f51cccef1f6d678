/* SPDX-License-Identifier: Apache-2.0 */
/* The two loops over features used by attention: sums of a chunk's rows weighted per head, and dot products
 * per head. Included after attention_kernels.h. */
#ifndef SLEY_DEVICE_CPU_GRAPH_ATTENTION_SUMS_H
#define SLEY_DEVICE_CPU_GRAPH_ATTENTION_SUMS_H

#include "device/cpu/graph/attention_kernels.h"

/* The term that is summed for the value x of a row and the value t of a fixed row: x; x twice, with two
 * weights into two sums; leaky'(t + x); leaky(t + x). */
typedef enum sum_term { TERM_VALUE, TERM_TWICE, TERM_SLOPE, TERM_LEAKY } sum_term;

/* acc[f] += sum_e weight(e, head of f) term(row[e][f]), entries in order. */
typedef struct weighted_sum {
  const attention_layout *layout;
  const int32_t *head_of;
  const value *const *row; /* addresses of the rows of the chunk's entries */
  const sum *weight, *more_weight;
  const value *fixed;
  sum slope;
  sum *acc, *more_acc; /* sums per feature, by blocks */
  bool begun;          /* true: add to acc; false: overwrite it */
  const attention_chunk *chunk;
  const sl_split_rows *fetched; /* rows to prefetch for later entries; NULL: none */
} weighted_sum;

/* For each feature of a block, the value of its head. */
BLOCK_INLINE block spread_heads(const sum *of_heads, const int32_t *head, const head_spread spread) {
  block b;
  if (spread == SPREAD_ONE)
    return block_all(of_heads[head[0]]);
  if (spread == SPREAD_EACH)
    return block_load_sums(of_heads + head[0]);
  if (spread == SPREAD_EIGHT && BLOCK_VECTORS == 1)
    return block_first(block_all(of_heads[head[0]]), BLOCK / 2, block_all(of_heads[head[0] + 1]));
  if (spread == SPREAD_EIGHT)
    EACH_VECTOR b.v[v_] = vec_all(of_heads[head[0] + v_ * LANES / (BLOCK / 2)]);
  else
    EACH_VECTOR b.v[v_] = vec_gather(of_heads, head + v_ * LANES);
  return b;
}

static inline block spread_block(const attention_layout *l, const sum *of_heads, const int32_t *head) {
  if (ANY_ALONE)
    return spread_heads(of_heads, head, SPREAD_ANY);
  switch (l->spread) {
  case SPREAD_ONE:
    return spread_heads(of_heads, head, SPREAD_ONE);
  case SPREAD_EIGHT:
    return spread_heads(of_heads, head, SPREAD_EIGHT);
  case SPREAD_EACH:
    return spread_heads(of_heads, head, SPREAD_EACH);
  default:
    return spread_heads(of_heads, head, SPREAD_ANY);
  }
}

/* Sums `blocks` blocks from block b on, in registers. */
BLOCK_INLINE void sum_blocks(const weighted_sum *w, const int64_t b, const int blocks, const bool whole,
                             const head_spread spread, const sum_term term) {
  const attention_layout *l = w->layout;
  const int64_t stride = l->stride, count = w->chunk->count, some = whole ? BLOCK : l->features;
  const int64_t ahead = w->fetched && b == 0 ? w->chunk->after - ATTENTION_AHEAD : 0;
  const int64_t bytes = fetched_bytes(l);
  const block slope = block_all(w->slope);
  block acc[4], more[4], fixed[4];
  int64_t at[4];
#pragma GCC unroll 4
  for (int i = 0; i < blocks; i++) {
    at[i] = block_feature(l, b + i);
    acc[i] = w->begun ? block_load_sums(w->acc + (b + i) * BLOCK) : block_all(0);
    if (term == TERM_TWICE)
      more[i] = w->begun ? block_load_sums(w->more_acc + (b + i) * BLOCK) : block_all(0);
    if (term == TERM_SLOPE || term == TERM_LEAKY)
      fixed[i] = block_load_part(w->fixed + at[i], some);
  }
  for (int64_t e = 0; e < count; e++) {
    if (e < ahead)
      fetch_values(split_values(w->fetched, w->chunk->col[e + ATTENTION_AHEAD]), bytes);
    const value *row = w->row[e];
    const sum *weight = w->weight + e * stride;
#pragma GCC unroll 4
    for (int i = 0; i < blocks; i++) {
      const int32_t *head = w->head_of + (b + i) * BLOCK;
      block x = whole ? block_load(row + at[i]) : block_load_part(row, some);
      if (term == TERM_SLOPE)
        x = block_if_less(block_add(fixed[i], x), block_all(0), slope, block_all(1));
      if (term == TERM_LEAKY)
        x = block_leaky(block_add(fixed[i], x), slope);
      acc[i] = block_fma(spread_heads(weight, head, spread), x, acc[i]);
      if (term == TERM_TWICE)
        more[i] = block_fma(spread_heads(w->more_weight + e * stride, head, spread), x, more[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < blocks; i++) {
    block_store_sums(w->acc + (b + i) * BLOCK, acc[i]);
    if (term == TERM_TWICE)
      block_store_sums(w->more_acc + (b + i) * BLOCK, more[i]);
  }
}

/* Number of blocks whose sums fit in registers, with `each` sums per value. */
#define BLOCKS_AT_ONCE(each)                                                                                 \
  ((REGISTERS - 4) / (BLOCK_VECTORS * (each)) >= 4   ? 4                                                     \
   : (REGISTERS - 4) / (BLOCK_VECTORS * (each)) >= 2 ? 2                                                     \
                                                     : 1)

BLOCK_INLINE void sum_by_spread(const weighted_sum *w, const head_spread spread, const sum_term term) {
  const int at_once = term == TERM_VALUE ? BLOCKS_AT_ONCE(1) : BLOCKS_AT_ONCE(2);
  const int64_t blocks = w->layout->feature_blocks;
  int64_t b = 0;
  for (; at_once > 1 && b + at_once <= blocks; b += at_once)
    sum_blocks(w, b, at_once, true, spread, term);
  for (; b < blocks; b++)
    sum_blocks(w, b, 1, true, spread, term);
}

/* Sums a row that has less than one block. */
BLOCK_INLINE void sum_part(const weighted_sum *w, const sum_term term) {
  if (!ANY_ALONE && w->layout->spread == SPREAD_ONE)
    sum_blocks(w, 0, 1, false, SPREAD_ONE, term);
  else
    sum_blocks(w, 0, 1, false, SPREAD_ANY, term);
}

BLOCK_INLINE void sum_by_term(const weighted_sum *w, const sum_term term) {
  const attention_layout *l = w->layout;
  if (l->features < BLOCK) {
    if (l->features > 0)
      sum_part(w, term);
  } else if (ANY_ALONE) {
    sum_by_spread(w, SPREAD_ANY, term);
  } else if (l->spread == SPREAD_ONE) {
    sum_by_spread(w, SPREAD_ONE, term);
  } else if (l->spread == SPREAD_EIGHT) {
    sum_by_spread(w, SPREAD_EIGHT, term);
  } else if (l->spread == SPREAD_EACH) {
    sum_by_spread(w, SPREAD_EACH, term);
  } else {
    sum_by_spread(w, SPREAD_ANY, term);
  }
}
static void sum_values(const weighted_sum *w) {
  sum_by_term(w, TERM_VALUE);
}
static void sum_twice(const weighted_sum *w) {
  sum_by_term(w, TERM_TWICE);
}
static void sum_slopes(const weighted_sum *w) {
  sum_by_term(w, TERM_SLOPE);
}
static void sum_leaky(const weighted_sum *w) {
  sum_by_term(w, TERM_LEAKY);
}

/* Dot products per head: dot(e, h) = sum_c a[f] leaky(fixed[f] + row[e][f]) if a is not NULL, else sum_c
 * fixed[f] row[e][f]; in the order of SL_OP_SDDMM. */
typedef struct head_dots {
  const attention_layout *layout;
  const value *const *row;
  int64_t count;
  const value *fixed, *a;
  sum slope;
  sum *dot; /* dot products of a chunk: entries x heads */
  const attention_chunk *chunk;
  const sl_split_rows *fetched; /* rows to prefetch for later entries; NULL: none */
} head_dots;

/* Adds the terms of `some` features, from feature f on, to acc. */
BLOCK_INLINE block dot_block(const head_dots *d, const value *row, int64_t f, int64_t some, block acc,
                             const bool leaky) {
  const block x = block_load_part(row + f, some), fixed = block_load_part(d->fixed + f, some);
  if (!leaky)
    return block_fma(fixed, x, acc);
  return block_fma(block_load_part(d->a + f, some), block_leaky(block_add(fixed, x), block_all(d->slope)),
                   acc);
}

BLOCK_INLINE sum dot_head(const head_dots *d, const value *row, int64_t h, const bool whole,
                          const bool leaky) {
  const int64_t first = h * d->layout->width, end = first + d->layout->width;
  block acc = block_all(0);
  for (int64_t f = first; f < end; f += BLOCK)
    acc = dot_block(d, row, f, whole || end - f >= BLOCK ? BLOCK : end - f, acc, leaky);
  return block_sum(acc);
}

/* Two heads of eight features. Equivalent to the tree of sixteen values of which eight are zeros, wherever
 * the zeros are. */
BLOCK_INLINE void dot_pair(const head_dots *d, const value *row, int64_t h, sum *dot, const bool leaky) {
  const block zero = block_all(0), both = dot_block(d, row, h * (BLOCK / 2), BLOCK, zero, leaky);
  dot[h] = block_sum(block_first(both, BLOCK / 2, zero));
  dot[h + 1] = block_sum(block_first(zero, BLOCK / 2, both));
}

typedef sum sums_4 __attribute__((vector_size(4 * sizeof(sum))));
typedef sum sums_8 __attribute__((vector_size(8 * sizeof(sum))));

/* Four heads of eight features at once: p and p + 4, then p and p + 2, p and p + 1. A sum that begins with an
 * fma to 0 is never -0, so the zeros in dot_pair's tree would change nothing. */
BLOCK_INLINE void dot_four(const head_dots *d, const value *row, int64_t h, sum *dot, const bool leaky) {
  sums_8 head[4], half[2];
  for (int i = 0; i < 2; i++) {
    const block two = dot_block(d, row, (h + 2 * i) * (BLOCK / 2), BLOCK, block_all(0), leaky);
    memcpy(head + 2 * i, &two, sizeof two);
    half[i] = __builtin_shufflevector(head[2 * i], head[2 * i + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
              __builtin_shufflevector(head[2 * i], head[2 * i + 1], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  const sums_8 quarter = __builtin_shufflevector(half[0], half[1], 0, 1, 8, 9, 4, 5, 12, 13) +
                         __builtin_shufflevector(half[0], half[1], 2, 3, 10, 11, 6, 7, 14, 15);
  const sums_4 whole = __builtin_shufflevector(quarter, quarter, 0, 4, 2, 6) +
                       __builtin_shufflevector(quarter, quarter, 1, 5, 3, 7);
  memcpy(dot + h, &whole, sizeof whole);
}

BLOCK_INLINE void dots_of_eight(const head_dots *d, const value *row, sum *dot, const bool leaky) {
  int64_t h = 0;
  for (; LANES >= 8 && h + 4 <= d->layout->heads; h += 4)
    dot_four(d, row, h, dot, leaky);
  for (; h < d->layout->heads; h += 2)
    dot_pair(d, row, h, dot, leaky);
}

BLOCK_INLINE void dots_by_width(const head_dots *d, const bool leaky) {
  const attention_layout *l = d->layout;
  const int64_t ahead = d->fetched ? d->chunk->after - ATTENTION_AHEAD : 0;
  for (int64_t e = 0; e < d->count; e++) {
    sum *dot = d->dot + e * l->stride;
    if (e < ahead)
      fetch_values(split_values(d->fetched, d->chunk->col[e + ATTENTION_AHEAD]), fetched_bytes(l));
    if (!ANY_ALONE && l->spread == SPREAD_EIGHT)
      dots_of_eight(d, d->row[e], dot, leaky);
    else if (!ANY_ALONE && l->width % BLOCK == 0)
      for (int64_t h = 0; h < l->heads; h++)
        dot[h] = dot_head(d, d->row[e], h, true, leaky);
    else
      for (int64_t h = 0; h < l->heads; h++)
        dot[h] = dot_head(d, d->row[e], h, false, leaky);
  }
}
static void find_dots(const head_dots *d) {
  if (d->a)
    dots_by_width(d, true);
  else
    dots_by_width(d, false);
}

/* Sums the values of features per head, in the order of SL_OP_SDDMM. product must have a spare block, which
 * is overwritten. */
static void sum_heads(const attention_layout *l, const sum *product, sum *of_heads) {
  for (int64_t h = 0; h < l->heads; h++) {
    block acc = block_all(0);
    for (int64_t c = 0; c < l->width; c += BLOCK) {
      const block next = block_load_sums(product + h * l->width + c);
      acc = block_add(acc, block_first(next, l->width - c, block_all(0)));
    }
    of_heads[h] = block_sum(acc);
  }
}

#endif
