/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_DROPOUT: values are set to zero by a mask that depends on nothing but numbers, after a bias and an
 * activation. */
#ifndef SLEY_DEVICE_OP_OP_DROPOUT_H
#define SLEY_DEVICE_OP_OP_DROPOUT_H

#include "base/types.h"

/* The definition, for i < rows and j < cols, with g the number of row i: row[i], or first_row + i where row
 * is NULL. With column, for single values of a matrix, such as the entries of a sparse one: cols is 1, there
 * is no bias, and the word is that of column[i] instead of j.
 *
 *   out[i][j] = word < floor(p 2^32) ? 0 : act(in[i][j] + bias[j]) / (1 - p),
 *
 * word being word j mod 4 of Philox4x32-10 with the key (s mod 2^32, s / 2^32), s = seed, or *device_seed
 * where that is there, and the counter (j / 4, g mod 2^32, g / 2^32, stream), g taken modulo 2^64. The sum
 * and act (op_activate.h) are made in double; with bias NULL nothing is added. The quotient is that times
 * 1 / (1 - p), which is rounded in double, as is the product, which is then rounded to the dtype. What is set
 * to zero is +0, whatever in was. 0 <= p < 1; cols at most 2^34. out may be in, with the same leading
 * dimension; else they do not overlap. So, without bias and act, the gradient is the same operation on the
 * gradient of out.
 *
 * Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011. */
typedef struct sl_dropout_args {
  sley_dtype dtype;
  double p;
  uint64_t seed;
  uint32_t stream;
  int64_t rows, cols, first_row;
  const int64_t *row;    /* NULL, or rows numbers in the device's memory */
  const int64_t *column; /* the same */
  const void *in;
  int64_t ld_in; /* elements, as ld_out */
  void *out;
  int64_t ld_out;
  const uint64_t *device_seed; /* NULL, or in the device's memory */
  const void *bias;            /* cols values, or NULL */
  sley_activation act;
  double slope;
} sl_dropout_args;

enum { SL_DROPOUT_WORDS = 4 }; /* of a call of the generator */

static inline bool sl_dropout_ok(const sl_dropout_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && a->p >= 0 && a->p < 1 && a->cols <= INT64_C(1) << 34 &&
         (unsigned)a->act <= SLEY_ELU && (!a->column || (a->cols == 1 && !a->bias));
}

/* Words below it set to zero. */
static inline uint32_t sl_dropout_threshold(double p) {
  return (uint32_t)(p * 0x1p32);
}

#endif
