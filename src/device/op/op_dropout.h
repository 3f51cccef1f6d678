/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_DROPOUT: sets values to zero by a mask that depends only on numbers passed to it, after a bias and an
 * activation. */
#ifndef SLEY_DEVICE_OP_OP_DROPOUT_H
#define SLEY_DEVICE_OP_OP_DROPOUT_H

#include "base/types.h"

/* The definition, for i < rows and j < cols, where g is the number of row i: row[i], or first_row + i if row
 * is NULL. column is for single values of a matrix, such as the entries of a sparse one: cols is 1, there is
 * no bias, and column[i] replaces j in the choice of the word.
 *
 *   out[i][j] = word < floor(p 2^32) ? 0 : act(in[i][j] + bias[j]) / (1 - p),
 *
 * where word is word j mod 4 of Philox4x32-10 with the key (s mod 2^32, s / 2^32), s = seed, or *device_seed
 * if that is not NULL, and the counter (j / 4, g mod 2^32, g / 2^32, stream), with g taken modulo 2^64. The
 * sum and act (op_activate.h) are computed in double; if bias is NULL nothing is added. The quotient is a
 * product with 1 / (1 - p), which is rounded in double; so is the product, which is then rounded to the
 * dtype. Values set to zero are +0, whatever in was. 0 <= p < 1; cols is at most 2^34. out may be in, with
 * the same leading dimension; otherwise they do not overlap. So, without bias and act, the gradient is the
 * same operation on the gradient of out.
 *
 * Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011. */
typedef struct sl_dropout_args {
  sley_dtype dtype;
  double p;
  uint64_t seed;
  uint32_t stream;
  int64_t rows, cols, first_row;
  const int64_t *row;    /* NULL, or row numbers in device memory */
  const int64_t *column; /* NULL, or column numbers in device memory */
  const void *in;
  int64_t ld_in; /* leading dimension in elements, like the others */
  void *out;
  int64_t ld_out;
  const uint64_t *device_seed; /* NULL, or a seed in the device's memory */
  const void *bias;            /* cols values, or NULL */
  sley_activation act;
  double slope;
} sl_dropout_args;

enum { SL_DROPOUT_WORDS = 4 }; /* words per call of the generator */

static inline bool sl_dropout_ok(const sl_dropout_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && a->p >= 0 && a->p < 1 && a->cols <= INT64_C(1) << 34 &&
         (unsigned)a->act <= SLEY_ELU && (!a->column || (a->cols == 1 && !a->bias));
}

/* Words below this set a value to zero. */
static inline uint32_t sl_dropout_threshold(double p) {
  return (uint32_t)(p * 0x1p32);
}

#endif
