/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k with error feedback: finds the threshold of a gradient from a sample of it, and removes the values
 * below it. What is left out stays in a residual, which is added to the next gradient.
 *
 * The sum at place i is g + r, g = src[i] and r = residual[i], added in the dtype's type of sums, which is
 * the residual's type. Sources: Aji and Heafield, Sparse communication for distributed gradient descent,
 * EMNLP 2017 (the sample); Stich et al., Sparsified SGD with memory, NeurIPS 2018 (the residual). */
#ifndef SLEY_DEVICE_OP_OP_SPARSIFY_H
#define SLEY_DEVICE_OP_OP_SPARSIFY_H

#include "base/random.h"
#include "base/types.h"

/* SL_OP_THRESHOLD. Sets *threshold to the magnitude of the given rank in the sample, counted from the
 * greatest; rank 0: to 0, and nothing is read. The magnitude of a sum is its absolute value, exact as a
 * double; it is infinity if src[i] is not finite or the sum is NaN. */
typedef struct sl_threshold_args {
  sley_dtype dtype;
  int64_t count;
  const void *src, *residual; /* count values each */
  int64_t sample;             /* places in the sample: 0 <= sample <= count */
  int64_t rank;               /* 0 <= rank <= sample */
  uint64_t seed;
  uint64_t *work; /* one element per place of the sample */
  double *threshold;
} sl_threshold_args;

/* Place number j of the sample: one in each of `sample` stretches into which the array is cut. */
SL_ANYWHERE int64_t sl_sample_place(int64_t count, int64_t sample, uint64_t seed, int64_t j) {
  const int64_t each = count / sample, longer = count % sample;
  const int64_t first = j * each + (j < longer ? j : longer);
  return first + sl_below(sl_random(seed, (uint64_t)j, 0), each + (j < longer));
}

/* SL_OP_SPARSIFY, for i < count, where s is the sum:
 *
 *   src[i] infinite or NaN           dst[i] = src[i], and residual[i] is unchanged
 *   else s infinite or NaN           dst[i] = s, residual[i] = 0
 *   else |s| >= threshold            dst[i] = s, as below, residual[i] = s - dst[i]
 *   else                             dst[i] = 0, residual[i] = s
 *
 * A finite s of a 16-bit type is rounded to nearest, ties to even; beyond the type's greatest number it
 * becomes that number, with its sign. Zeros written are +0; a NaN in dst is the type's positive quiet NaN
 * without payload. *kept = the number of values of dst that are not zero. src may be dst; nothing else
 * overlaps. */
typedef struct sl_sparsify_args {
  sley_dtype dtype;
  int64_t count;
  const void *src;
  void *dst, *residual;
  const double *threshold;
  int64_t *kept;
} sl_sparsify_args;

static inline bool sl_threshold_ok(const sl_threshold_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && a->rank >= 0 && a->rank <= a->sample && a->sample <= a->count;
}

static inline bool sl_sparsify_ok(const sl_sparsify_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && a->count >= 0;
}

#endif
