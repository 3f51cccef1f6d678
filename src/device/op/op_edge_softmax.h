/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_EDGE_SOFTMAX: the softmax of the values of each row's entries, and its gradient. */
#ifndef SLEY_DEVICE_OP_OP_EDGE_SOFTMAX_H
#define SLEY_DEVICE_OP_OP_EDGE_SOFTMAX_H

#include "device/pattern.h"

/* The definition, for each row i of a pattern by rows and each head h, over the entries j of the row:
 *
 *   grad NULL      out[j][h] = exp(in[j][h] - m) / sum_j exp(in[j][h] - m), m = max_j in[j][h]
 *   grad not NULL  in contains such an output P: out[j][h] = P[j][h] (grad[j][h] - sum_j P[j][h] grad[j][h])
 *
 * The value of entry j and head h has index j heads + h. A row with a NaN, or whose greatest value is
 * infinite, becomes NaN, except where exp(-inf) = 0; a row of only -inf becomes NaN. Sums are in the type of
 * sums, in stored order; each result is rounded once. out may be in or grad. */
typedef struct sl_edge_softmax_args {
  sl_pattern pattern;
  int64_t heads;
  sley_dtype dtype;
  const void *in, *grad;
  void *out;
} sl_edge_softmax_args;

#endif
