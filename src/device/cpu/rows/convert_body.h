/* SPDX-License-Identifier: Apache-2.0 */
/* Converts one row of values from one type to another, in fragments of f32. A file that includes this one
 * first defines
 *   static void narrow_f16(uint16_t *to, const float *from, int64_t count);
 *   static void widen_f16(float *to, const uint16_t *from, int64_t count);
 * for the instructions that it is compiled for. */
#ifndef SLEY_DEVICE_CPU_ROWS_CONVERT_BODY_H
#define SLEY_DEVICE_CPU_ROWS_CONVERT_BODY_H

#include "base/value.h"

enum { FRAGMENT = 256 }; /* values per fragment */

/* Written so that the compiler vectorizes it: no branches, and NaN is selected at the end. */
static void narrow_bf16(uint16_t *restrict to, const float *restrict from, int64_t count) {
  for (int64_t j = 0; j < count; j++) {
    const uint32_t bits = sl_bits_of_float(from[j]);
    const uint32_t near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
    to[j] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : near);
  }
}

static void widen_bf16(float *restrict to, const uint16_t *restrict from, int64_t count) {
  for (int64_t j = 0; j < count; j++)
    to[j] = sl_f32_of_bf16(from[j]);
}

/* Converts `count` values of 16 bits to f32, or f64 values on their way to 16 bits. The latter are rounded to
 * odd, so that the final rounding is the only one. */
static void to_floats(float *restrict to, sley_dtype from, const char *restrict src, int64_t count) {
  if (from == SLEY_F16)
    widen_f16(to, (const uint16_t *)(const void *)src, count);
  else if (from == SLEY_BF16)
    widen_bf16(to, (const uint16_t *)(const void *)src, count);
  else
    for (int64_t j = 0; j < count; j++)
      to[j] = sl_f32_odd_of_f64(((const double *)(const void *)src)[j]);
}

static void store_f32(float *restrict to, const float *restrict from, int64_t count, bool add) {
  for (int64_t j = 0; j < count; j++)
    to[j] = add ? to[j] + from[j] : from[j];
}

static void store_f64(double *restrict to, const float *restrict from, int64_t count, bool add) {
  for (int64_t j = 0; j < count; j++)
    to[j] = add ? to[j] + (double)from[j] : (double)from[j];
}

static void same_f64(double *restrict to, const double *restrict from, int64_t count, bool add) {
  for (int64_t j = 0; j < count; j++)
    to[j] = add ? to[j] + from[j] : from[j];
}

/* Converts k values (sl_convert_args). */
static void convert_row(char *dst, sley_dtype to, const char *src, sley_dtype from, int64_t k, bool add) {
  float fragment[FRAGMENT];
  const int64_t from_bytes = (int64_t)sley_dtype_bytes(from), to_bytes = (int64_t)sley_dtype_bytes(to);
  for (int64_t done = 0; done < k;
       done += FRAGMENT, dst += FRAGMENT * to_bytes, src += FRAGMENT * from_bytes) {
    const int64_t count = k - done < FRAGMENT ? k - done : FRAGMENT;
    const float *floats = (const float *)(const void *)src;
    if (from == SLEY_F64 && to == SLEY_F64) {
      same_f64((double *)(void *)dst, (const double *)(const void *)src, count, add);
      continue;
    }
    if (from != SLEY_F32) {
      to_floats(fragment, from, src, count);
      floats = fragment;
    }
    if (to == SLEY_F32)
      store_f32((float *)(void *)dst, floats, count, add);
    else if (to == SLEY_F64)
      store_f64((double *)(void *)dst, floats, count, add);
    else if (to == SLEY_F16)
      narrow_f16((uint16_t *)(void *)dst, floats, count);
    else
      narrow_bf16((uint16_t *)(void *)dst, floats, count);
  }
}

#endif
