/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE: each row of a pattern becomes the sum, mean, minimum or maximum of the rows of X that its
 * entries name. With a pattern by columns this is the gradient with respect to X. */
#ifndef SLEY_DEVICE_OP_OP_AGGREGATE_H
#define SLEY_DEVICE_OP_OP_AGGREGATE_H

#include "device/pattern.h"

typedef enum sl_aggregate {
  SL_AGGREGATE_SUM,
  SL_AGGREGATE_MEAN,
  SL_AGGREGATE_MIN,
  SL_AGGREGATE_MAX
} sl_aggregate;

/* The definition, for each row i of the pattern, head h and c < width, with f = h width + c, over the entries
 * j of the row in stored order, where e = sl_pattern_entry(j):
 *
 *   term(j) = val[e heads + h] factor[e heads + h] scale[col[j]] X[col[j]][f]
 *   SUM       Y[i][f] = sum of the terms (+ Y[i][f] with add)
 *   MEAN      the sum divided by the row's number of entries; 0 for an empty row
 *   MIN, MAX  the least or greatest term; 0 for an empty row. arg[i features + f], if arg is not NULL: the
 *             number of the term's entry in the row, from 0; -1 for an empty row
 *
 * val NULL: 1; factor NULL: 1; scale NULL: 1; x.near and x.far NULL: X is 1 everywhere, and width is 1. scale
 * has the type of sums, f32 for f16 and bf16, else the dtype itself; it is only for SUM.
 *
 * chosen, if not NULL, with SUM and a pattern by columns: only chosen terms count, those with chosen[col[j]
 * features + f] == place[j]. chosen is the arg of the pattern by rows. chosen_bits: NULL, or working memory
 * of sl_chosen_bits_bytes(chosen_entries, features) bytes for kernels that use it, aligned to 16 bytes, where
 * chosen_entries = of_row[cols] is the number of entries of col and place. It keeps two results, which a
 * later call may reuse. positions_kept: the positions, which depend on col, place and of_row; set it if these
 * are unchanged. marked: everything; set it if chosen is unchanged as well.
 *
 * Order of summation, for each value of Y: acc = 0, or y with add; for each entry acc = fma(w, x, acc) with
 * one rounding, where w = val factor scale is multiplied in that order, with one rounding each, in the type
 * of sums; then for MEAN acc is divided by the number of entries, with one rounding; then it is rounded to
 * the dtype. A term of MIN and MAX is w x, rounded to the type of sums. Among equal terms the first counts,
 * and -0 equals +0. A NaN counts before all numbers, the first NaN before others; Y is then NaN. Kernels of
 * other devices may sum fragments of a row, each from 0, in a fixed order, unless in_order is set. Y overlaps
 * no other operand. Source: Hamilton and others, GraphSAGE, NIPS 2017 (aggregators). */
typedef struct sl_aggregate_args {
  sl_pattern pattern; /* by rows, which may list rows: then Y and arg of other rows are unchanged */
  sl_heads shape;
  sley_dtype dtype; /* type of val, factor, X and Y */
  sl_aggregate kind;
  const void *val, *factor;
  const void *scale;
  sl_split_rows x; /* as many rows as the pattern has columns */
  sl_split_rows y; /* as many rows as the pattern */
  int32_t *arg;
  const int32_t *chosen;
  uint32_t *chosen_bits;
  int64_t chosen_entries;
  bool add, in_order, positions_kept, marked;
} sl_aggregate_args;

/* Words per entry in chosen_bits: for each entry by columns a bit for each feature, for up to 128 features at
 * a time. After the bits come the positions: for each entry by rows, its number by columns. */
static inline int64_t sl_chosen_words(int64_t features) {
  return features <= 32 ? 1 : features <= 64 ? 2 : 4;
}
static inline int64_t sl_chosen_positions_at(int64_t entries, int64_t features) {
  return (entries * sl_chosen_words(features) * 4 + 7) / 8 * 8;
}
static inline int64_t sl_chosen_bits_bytes(int64_t entries, int64_t features) {
  return sl_chosen_positions_at(entries, features) + entries * (entries > UINT32_MAX ? 8 : 4);
}

#endif
