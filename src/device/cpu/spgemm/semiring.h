/* SPDX-License-Identifier: Apache-2.0 */
/* The semirings, on values of the type `sum`, which the including file has defined. The semiring is a
 * constant, so each function reduces to one operation. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SEMIRING_H
#define SLEY_DEVICE_CPU_SPGEMM_SEMIRING_H

#include <math.h>

#include "sley.h"

static inline __attribute__((always_inline)) sum first_sum(sley_semiring s) {
  return s == SLEY_MIN_PLUS ? (sum)INFINITY : s == SLEY_OR_AND ? (sum)0 : (sum)-0.0;
}

static inline __attribute__((always_inline)) sum product_of(sley_semiring s, sum a, sum b) {
  switch (s) {
  case SLEY_PLUS_TIMES:
    return a * b;
  case SLEY_PLUS_PAIR:
    return 1;
  case SLEY_MIN_PLUS:
    return a + b;
  case SLEY_OR_AND:
    return (a != 0) & (b != 0) ? (sum)1 : (sum)0;
  }
  return 0;
}

static inline __attribute__((always_inline)) sum add_product(sley_semiring s, sum so_far, sum p) {
  switch (s) {
  case SLEY_PLUS_TIMES:
  case SLEY_PLUS_PAIR:
    return so_far + p;
  case SLEY_MIN_PLUS:
    return (p < so_far) | (p != p) ? p : so_far;
  case SLEY_OR_AND:
    return p > so_far ? p : so_far;
  }
  return 0;
}

#endif
