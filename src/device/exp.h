/* SPDX-License-Identifier: Apache-2.0 */
/* The exponential function of the dense operations. It consists of additions and multiplications alone, so
 * that it returns the same bits on every processor and GPU, and compilers can vectorize it. Files that
 * include it must be compiled without contraction of products and sums. */
#ifndef SLEY_DEVICE_EXP_H
#define SLEY_DEVICE_EXP_H

#include <stdint.h>
#include <string.h>

#include "base/anywhere.h"

/* 2^n for a whole number n, -1022 <= n <= 1023. The lowest bits of magic + n contain n. */
SL_ANYWHERE double sl_power_of_2(double n) {
  const double magic = 0x1.8p52;
  double shifted = n + magic, power;
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  memcpy(&power, &bits, sizeof power);
  return power;
}

/* exp(x), to 2 units in the last place if the result is a normal number; 0 or infinity outside the range, NaN
 * for NaN. exp(x) = 2^n exp(r), |r| <= ln 2 / 2, with exp(r) by its Taylor polynomial. n ln 2 is subtracted
 * in two parts, of which the first is exact. 2^n is applied as two factors, so that subnormal results are
 * correct. */
SL_ANYWHERE double sl_exp(double x) {
  const double magic = 0x1.8p52, high = 0x1.62e42fee00000p-1, low = 0x1.a39ef35793c76p-33;
  x = x < -746 ? -746 : x;
  x = x > 710 ? 710 : x;
  const double n = (x * 0x1.71547652b82fep+0 + magic) - magic;
  const double r = (x - n * high) - n * low;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  const double half = (n * 0.5 + magic) - magic;
  return p * sl_power_of_2(half) * sl_power_of_2(n - half);
}

#endif
