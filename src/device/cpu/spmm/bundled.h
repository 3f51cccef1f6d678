/* SPDX-License-Identifier: Apache-2.0 */
/* Products in bundles (bundles.h): several rows at once, each with its own vectors of sums, or for k = 1 a
 * vector with one row per lane. Included by spmm_body.h. */
#ifndef SLEY_DEVICE_CPU_SPMM_BUNDLED_H
#define SLEY_DEVICE_CPU_SPMM_BUNDLED_H

#include <tgmath.h>

#include "device/cpu/spmm/bundles.h"
#include "device/cpu/spmm/moves.h"

enum {
  BUNDLE_BODIES = 4, /* most vectors of a row */
  MOST_BUNDLED = SL_SPMM_BUNDLED_BYTES < BUNDLE_BODIES * sizeof(vec) ? SL_SPMM_BUNDLED_BYTES / sizeof(vec)
                                                                     : BUNDLE_BODIES,
  SUMS =
      REGISTERS / 2, /* number of vectors of sums that are in registers at once, for several rows together */
  HEIGHT = SL_SPMM_HEIGHT_ONE,
  VECTORS = HEIGHT / LANES,
  /* k = 1: rows that have at least this many entries beyond the common entries are summed in turns
   * (add_rests). */
  IN_TURNS_LEAST = 16
};

/* Data that is the same for all bundles. */
typedef struct bundling {
  operands o;
  const int64_t *rowptr;
  const value *x;
  char *y;
  int64_t stride; /* bytes between rows of Y */
  bool adds;
} bundling;

/* Sums rows [first, first + together) of a bundle of `height` rows. *rest: index of the first entry beyond
 * the common entries; the function advances it. */
INLINE void sum_rows(const bundling *c, const sl_bundle *bundle, const int32_t *row, const int32_t *y,
                     const int32_t *x, const sum *val, int64_t *rest, const int first, const int together,
                     const int height, const int vectors, const int last) {
  vec acc[8][BUNDLE_BODIES];
#pragma GCC unroll 8
  for (int r = 0; r < together; r++)
    begin_plain(&c->o, false, NULL, acc[r], vectors, last);
  if (c->adds)
#pragma GCC unroll 8
    for (int r = 0; r < together; r++)
      begin_plain(&c->o, true, (const sum *)(c->y + y[first + r] * c->stride), acc[r], vectors, last);
  const int32_t *at = x + first, *const end = at + (int64_t)bundle->common * height;
  for (const sum *v = val + first; at < end; at += height, v += height)
#pragma GCC unroll 8
    for (int r = 0; r < together; r++)
      add_row(&c->o, c->x + at[r], v[r], acc[r], vectors, last);
  if (bundle->ragged) {
    int64_t j = *rest;
#pragma GCC unroll 8
    for (int r = 0; r < together; r++) {
      const int64_t *p = c->rowptr + row[first + r];
      for (int64_t left = p[1] - p[0] - bundle->common; left > 0; left--, j++)
        add_row(&c->o, c->x + x[j], val[j], acc[r], vectors, last);
    }
    *rest = j;
  }
#pragma GCC unroll 8
  for (int r = 0; r < together; r++)
    end_row(&c->o, false, c->y + y[first + r] * c->stride, acc[r], vectors, last);
}

INLINE void sum_bundles(const sl_spmm_run *args, const sl_spmm_part *part, const int vectors,
                        const int last) {
  const sl_bundles s = *part->bundles;
  const panel p = {.width = args->problem->k};
  bundling c = {.o = operands_of(args, &p, vectors, false),
                .rowptr = args->problem->a->rowptr,
                .x = args->x,
                .y = args->y,
                .adds = args->beta == 1};
  c.stride = args->ldy * (int64_t)(is_rounded(&c.o) ? sizeof(value) : sizeof(sum));
  const int together = vectors * 8 <= (int)SUMS ? 8 : vectors * 4 <= (int)SUMS ? 4 : 2;
  for (int64_t i = part->bundle; i < part->bundle_end; i++) {
    const sl_bundle bundle = s.bundle[i];
    const int32_t *row = s.row + i * SL_SPMM_HEIGHT, *y = s.y + i * SL_SPMM_HEIGHT, *x = s.x + bundle.first;
    const sum *val = (const sum *)s.val + bundle.first;
    int64_t rest = (int64_t)bundle.common * SL_SPMM_HEIGHT;
    if (bundle.rows == SL_SPMM_HEIGHT)
#pragma GCC unroll 4
      for (int r = 0; r < SL_SPMM_HEIGHT; r += together)
        sum_rows(&c, &bundle, row, y, x, val, &rest, r, together, SL_SPMM_HEIGHT, vectors, last);
    else
      for (int r = 0; r < bundle.rows; r++)
        sum_rows(&c, &bundle, row + r, y + r, x, val, &rest, 0, 1, 1, vectors, last);
  }
}

/* k = 1: starts the sums of a bundle's rows with the values of Y. Not inlined, nor is the next function, so
 * that the loop over bundles has the registers. */
static __attribute__((noinline)) void begin_gathered(const sum *from, const int32_t *y, int64_t ldy, int rows,
                                                     sum *total) {
  memset(total, 0, HEIGHT * sizeof *total);
  for (int r = 0; r < rows; r++)
    total[r] = from[y[r] * ldy];
}

/* k = 1: the rows' entries beyond the common entries of their bundle, contiguous at x and val. */
typedef struct rests {
  const sum *from;
  const int32_t *x;
  const sum *val;
  int64_t left[HEIGHT];
} rests;

/* k = 1: sums the rests of rows [first, first + rows) in turns, so that their chains of dependent sums
 * overlap. */
INLINE void add_rests(rests *p, sum *total, const int first, const int rows) {
  const int32_t *x[4];
  const sum *val[4];
  sum one[4];
  int64_t common = INT64_MAX;
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) {
    const int64_t left = p->left[first + r];
    x[r] = p->x;
    val[r] = p->val;
    one[r] = total[first + r];
    common = left < common ? left : common;
    p->x += left;
    p->val += left;
  }
  for (int64_t n = 0; n < common; n++)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
      one[r] = fma(val[r][n], p->from[x[r][n]], one[r]);
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) {
    for (int64_t n = common; n < p->left[first + r]; n++)
      one[r] = fma(val[r][n], p->from[x[r][n]], one[r]);
    total[first + r] = one[r];
  }
}

/* k = 1: sums the rests of two rows, of `first` and `second` entries. Not inlined, because few bundles have
 * exactly two long rows left. */
static __attribute__((noinline)) void add_two_rests(const sum *from, const int32_t *x, const sum *val,
                                                    int64_t first, int64_t second, sum *total) {
  rests two = {.from = from, .x = x, .val = val, .left = {first, second}};
  add_rests(&two, total, 0, 2);
}

/* k = 1: adds the rows' entries beyond the common entries, which are at x and val. */
static __attribute__((noinline)) void add_ragged(const sl_spmm_run *args, const sl_bundle *bundle,
                                                 const int32_t *row, const int32_t *x, const sum *val,
                                                 sum *total) {
  const int64_t *rowptr = args->problem->a->rowptr;
  rests p = {.from = args->x, .x = x, .val = val};
  for (int r = 0; r < bundle->rows; r++)
    p.left[r] = rowptr[row[r] + 1] - rowptr[row[r]] - bundle->common;
  int r = 0;
  if (bundle->rows == HEIGHT)
    for (; r < HEIGHT && p.left[r + 3] >= IN_TURNS_LEAST; r += 4)
      add_rests(&p, total, r, 4);
  if (r + 1 < bundle->rows && p.left[r + 1] >= IN_TURNS_LEAST) {
    const int64_t both = p.left[r] + p.left[r + 1];
    add_two_rests(p.from, p.x, p.val, p.left[r], p.left[r + 1], total + r);
    p.x += both;
    p.val += both;
    r += 2;
  }
  for (; r < bundle->rows; r++)
    add_rests(&p, total, r, 1);
}

/* k = 1: sums bundles with one row per lane. */
static __attribute__((noinline)) void sum_gathered(const sl_spmm_run *args, const sl_spmm_part *part) {
  const sl_bundles s = *part->bundles;
  const bool adds = args->beta == 1;
  const int64_t ldy = args->ldy;
  const sum *from = args->x;
  sum *to = args->y;
  for (int64_t i = part->bundle; i < part->bundle_end; i++) {
    const sl_bundle *bundle = &s.bundle[i];
    const int32_t *y = s.y + i * HEIGHT, *x = s.x + bundle->first;
    const sum *val = (const sum *)s.val + bundle->first;
    sum total[HEIGHT];
    vec acc[VECTORS];
    for (int v = 0; v < VECTORS; v++)
      acc[v] = vec_zero();
    if (adds) {
      begin_gathered(to, y, ldy, bundle->rows, total);
      for (int v = 0; v < VECTORS; v++)
        acc[v] = vec_load(total + v * LANES);
    }
    for (const int32_t *const end = x + (int64_t)bundle->common * HEIGHT; x < end; x += HEIGHT, val += HEIGHT)
      for (int v = 0; v < VECTORS; v++)
        acc[v] = vec_fma(vec_load(val + v * LANES), vec_gather(from, x + v * LANES), acc[v]);
    const bool joins = ldy == 1 && bundle->joined && !bundle->ragged;
    sum *const out = joins ? to + y[0] : total;
    for (int v = 0; v < VECTORS; v++)
      vec_store(out + v * LANES, acc[v]);
    if (joins)
      continue;
    if (bundle->ragged)
      add_ragged(args, bundle, s.row + i * HEIGHT, x, val, total);
    for (int r = 0; r < bundle->rows; r++)
      to[y[r] * ldy] = total[r];
  }
}

/* Separate functions: inside one function the loops would keep each other's constants in registers. */
#define BUNDLES_BODY(vectors, last)                                                                          \
  static __attribute__((noinline)) void bundles_##vectors##_##last(const sl_spmm_run *args,                  \
                                                                   const sl_spmm_part *part) {               \
    if (exists(last) && vectors <= (int)MOST_BUNDLED)                                                        \
      sum_bundles(args, part, vectors, last);                                                                \
  }

#define BUNDLES_BODIES(vectors)                                                                              \
  BUNDLES_BODY(vectors, WHOLE)                                                                               \
  BUNDLES_BODY(vectors, MASKED)                                                                              \
  BUNDLES_BODY(vectors, QUARTER)                                                                             \
  BUNDLES_BODY(vectors, HALF)                                                                                \
  static const sl_spmm_part_body bundles_##vectors[] = {                                                     \
      bundles_##vectors##_WHOLE, bundles_##vectors##_MASKED, bundles_##vectors##_QUARTER,                    \
      bundles_##vectors##_HALF};
BUNDLES_BODIES(1)
BUNDLES_BODIES(2)
BUNDLES_BODIES(3)
BUNDLES_BODIES(4)

/* Sums a part in bundles if it has bundles and values need no scaling. Returns whether it did. */
static bool run_bundles(const sl_spmm_run *args, const sl_spmm_part *part) {
  static const sl_spmm_part_body *const body[] = {bundles_1, bundles_2, bundles_3, bundles_4};
  const int64_t k = args->problem->k;
  const bool rounded = NARROW && !args->problem->wide_y;
  if (!part->bundles || args->ldx != k || args->alpha != 1 ||
      (args->beta != 0 && (args->beta != 1 || rounded)))
    return false;
  if (part->bundles->height == SL_SPMM_HEIGHT_ONE) {
    sum_gathered(args, part);
    return true;
  }
  if (k > (int)MOST_BUNDLED * LANES)
    return false;
  body[(k - 1) / LANES][last_of(k)](args, part);
  return true;
}

#endif
