/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ATTENTION and its gradients: score, softmax and weighted sum of each row's entries in one pass,
 * without an array of values per entry. */
#ifndef SLEY_DEVICE_OP_OP_ATTENTION_H
#define SLEY_DEVICE_OP_OP_ATTENTION_H

#include "device/pattern.h"

typedef enum sl_attention { SL_ATTENTION_GAT, SL_ATTENTION_GATV2, SL_ATTENTION_DOT } sl_attention;

/* Operands. For row i, entry j with column n = col[j], head h and c < width, f = h width + c; leaky(t) is t,
 * or slope t if t < 0:
 *
 *   GAT    score(j, h) = leaky(q[i][h] + k[n][h]), with heads values in a row of q and k
 *   GATV2  score(j, h) = sum_c a[f] leaky(q[i][f] + v[n][f]); k is not read
 *   DOT    score(j, h) = slope sum_c q[i][f] k[n][f]
 *
 *   P(j, h) = exp(score(j, h) - m(i, h)) / s(i, h)
 *   m(i, h) = the greatest score of the row
 *   s(i, h) = sum_j exp(score(j, h) - m(i, h))
 *   Y[i][f] = sum_j P(j, h) v[n][f]; 0 for an empty row
 *
 * stats, if not NULL, receives m and s in the type of sums, at (i heads + h) 2 and the next element; 0 and 0
 * for an empty row. side, if not NULL, for GAT, has rows of features + heads values in the type of sums, from
 * which the gradient with respect to q is computed without another pass over the entries. leaky'(j, h) is 1,
 * or slope if q + k < 0:
 *
 *   side[i][f]            = sum_j P(j, h) leaky'(j, h) v[n][f]
 *   side[i][features + h] = sum_j P(j, h) leaky'(j, h)
 *
 * Sums are in the type of sums. Sums of features are in stored order. A kernel may compute s and other values
 * per head in another fixed order (on the CPU: lanes of a block of sixteen, then p and p + 8, p and p + 4,
 * and so on). It may keep the greatest score so far and rescale its sums when it grows, and may divide by s
 * at the end. Scores that are dot products are summed as in SL_OP_SDDMM; exp is accurate to 2 units in the
 * last place. A NaN score makes the row's values of that head NaN, and m unspecified; so do scores that are
 * all -infinity. Sources: GAT (Velickovic and others, ICLR 2018), GATV2 (Brody and others, ICLR 2022), DOT
 * (Vaswani and others, NIPS 2017). */
typedef struct sl_attention_args {
  /* By rows; for ATTENTION_COLUMNS by columns. Only the pattern of ATTENTION may list rows: Y, stats and side
   * of other rows are unchanged. */
  sl_pattern pattern;
  sl_heads shape;
  sley_dtype dtype; /* type of q, k, v, a, Y and gradients */
  sl_attention kind;
  double slope; /* slope of leaky; for DOT the factor of scores */
  const void *q;
  int64_t ldq;
  sl_split_rows k, v; /* as many rows as the matrix has columns; k and v may be parts of the same rows */
  const void *a;      /* one value per feature */
  void *y;
  int64_t ldy;
  void *stats, *side;
} sl_attention_args;

/* SL_OP_ATTENTION_ROWS: gradients that belong to rows. SL_OP_ATTENTION_COLUMNS: gradients that belong to
 * columns. dy is the gradient with respect to Y. With D(i, h) = sum_c dy[i][f] Y[i][f], dS is the gradient
 * with respect to scores:
 *
 *   dS(j, h) = P(j, h) (sum_c dy[i][f] v[n][f] - D(i, h))
 *
 * Rows; for a row without entries D uses Y as it is, and dq is 0. ROWS runs before COLUMNS, which reads
 * delta:
 *
 *   all    delta[i heads + h] = D(i, h), in the type of sums
 *   GAT    dq[i][h] = sum_j dS(j, h) leaky'(j, h)
 *                   = sum_c dy[i][f] side[i][f] - D(i, h) side[i][features + h]; side must not be NULL
 *   GATV2  dq[i][f] = a[f] sum_j dS(j, h) leaky'(q[i][f] + v[n][f])
 *          da[f] = sum_i sum_j dS(j, h) leaky(q[i][f] + v[n][f]), in the type of sums
 *   DOT    dq[i][f] = slope sum_j dS(j, h) k[n][f]
 *
 * Columns, sums over the entries of column n; 0 for a column without entries:
 *
 *   all    dv[n][f] = sum P(j, h) dy[i][f]
 *   GAT    dk[n][h] = sum dS(j, h) leaky'(j, h)
 *                   = sum_c v[n][f] (sum P leaky' dy[i][f]) - sum P leaky' D(i, h)
 *   GATV2  dv[n][f] += a[f] sum dS(j, h) leaky'(q[i][f] + v[n][f])
 *   DOT    dk[n][f] = slope sum dS(j, h) q[i][f]
 *
 * P is computed again from stats, which must not be NULL. Sums are as in ATTENTION; da is summed by blocks of
 * rows of a fixed size, then over the blocks in ascending order. */
typedef struct sl_attention_grad_args {
  sl_attention_args
      of; /* arguments of ATTENTION: y, stats and side are read; the pattern is by rows or by columns */
  const void *dy;
  int64_t lddy;
  void *delta;
  void *dq;
  int64_t lddq;
  void *da;             /* for GATV2; in the type of sums */
  void *work;           /* for GATV2 and ROWS: sl_attention_work bytes */
  sl_split_rows dk, dv; /* as many rows as the matrix has columns */
} sl_attention_grad_args;

/* SL_ATTENTION_BLOCK: rows of a block of da. SL_ATTENTION_LONG: most blocks of long rows, which some kernels
 * sum separately. */
enum { SL_ATTENTION_BLOCK = 256, SL_ATTENTION_LONG = 512 };
static inline int64_t sl_attention_blocks(int64_t rows) {
  return (rows + SL_ATTENTION_BLOCK - 1) / SL_ATTENTION_BLOCK;
}
static inline int64_t sl_attention_long_blocks(int64_t long_rows) {
  return long_rows < SL_ATTENTION_LONG ? long_rows : SL_ATTENTION_LONG;
}

/* Bytes of `work` for the pattern by rows. */
static inline int64_t sl_attention_work(const sl_pattern *p, int64_t features, sley_dtype dtype) {
  const int64_t blocks = sl_attention_blocks(p->rows) + sl_attention_long_blocks(p->long_rows);
  return blocks * features * (dtype == SLEY_F64 ? 8 : 4);
}

#endif
