/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE: each row of a pattern becomes the sum, mean, minimum or maximum of the rows of X that its
 * entries name. With a pattern by columns it is the gradient with respect to X. */
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
 *   MEAN      the sum divided by the row's number of entries; of an empty row 0
 *   MIN, MAX  the least or greatest term; of an empty row 0. arg[i features + f], if arg is not NULL: which
 *             entry of the row it is of, counted from 0; -1 of an empty row
 *
 * val NULL: 1; factor NULL: 1; scale NULL: 1; x.near and x.far NULL: X is 1 everywhere, and width is 1. scale
 * has the type of sums, f32 for f16 and bf16, else the dtype itself; it is for SUM alone.
 *
 * chosen not NULL, with SUM and a pattern by columns: only those terms count that were chosen:
 * chosen[col[j] features + f] == place[j]. It is the arg of the pattern by rows. chosen_bits: NULL, or
 * memory of sl_chosen_bits_bytes(chosen_entries, features) bytes for devices whose kernels want it, beginning
 * at a multiple of 16, where chosen_entries is of_row[cols], and how many entries col and place have. Two
 * things are left in it, which a later call need not make again: positions_kept: those that follow from col,
 * place and of_row, which are those of an earlier call; marked: all, as the call before had the same chosen
 * too.
 *
 * Order of summation, for each value of Y: acc = 0, or with add y; for each entry acc = fma(w, x, acc) with
 * one rounding, where w = val factor scale is multiplied in that order, with one rounding each, in the type
 * of sums; then for MEAN acc is divided by the number of entries, with one rounding; then it is rounded to
 * the dtype. A term of MIN and MAX is w x, rounded to the type of sums. Of equal terms the first counts, -0
 * and +0 being equal; of NaNs the first, before all numbers: Y is then NaN. Kernels of other devices may sum
 * fragments of a row, each from 0, in a fixed order, unless in_order is set. Y overlaps no other operand.
 * Source: Hamilton and others, GraphSAGE, NIPS 2017 (aggregators). */
typedef struct sl_aggregate_args {
  sl_pattern pattern; /* by rows it may list rows: Y and arg of others stay as they are */
  sl_heads shape;
  sley_dtype dtype; /* of val, factor, X and Y */
  sl_aggregate kind;
  const void *val, *factor;
  const void *scale;
  sl_split_rows x; /* rows: the pattern's columns */
  sl_split_rows y; /* rows: the pattern's */
  int32_t *arg;
  const int32_t *chosen;
  uint32_t *chosen_bits;
  int64_t chosen_entries;
  bool add, in_order, positions_kept, marked;
} sl_aggregate_args;

/* Of each entry by columns a bit for each feature, of up to 128 features at a time; then, of each entry by
 * rows, which one it is by columns. */
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
