/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of arrays of values between types. */
#include "base/value.h"

#include <math.h>

_Static_assert((int)SLEY_TYPE_F32 == (int)SLEY_F32 && (int)SLEY_TYPE_F64 == (int)SLEY_F64 &&
                   (int)SLEY_TYPE_F16 == (int)SLEY_F16 && (int)SLEY_TYPE_BF16 == (int)SLEY_BF16,
               "dtypes are types of arrays and of collectives");

int sl_value_digits(sley_dtype dtype) {
  static const int digits[] = {[SLEY_F32] = 9, [SLEY_F64] = 17, [SLEY_F16] = 5, [SLEY_BF16] = 4};
  return digits[dtype];
}

double sl_dtype_limit(sley_dtype dtype) {
  /* Half a unit in the last place above the largest value: the tie rounds up. */
  static const double limits[] = {
      [SLEY_F32] = 0x1.ffffffp127, [SLEY_F64] = INFINITY, [SLEY_F16] = 0x1.ffep15, [SLEY_BF16] = 0x1.ffp127};
  return limits[dtype];
}

const char *sl_dtype_beyond(sley_dtype dtype) {
  static const char *const texts[] = {[SLEY_F32] = "is beyond the range of f32; read it as f64",
                                      [SLEY_F64] = "is beyond the range of f64",
                                      [SLEY_F16] = "is beyond the range of f16; read it as f32 or f64",
                                      [SLEY_BF16] = "is beyond the range of bf16; read it as f64"};
  return texts[dtype];
}

static inline __attribute__((always_inline)) void convert(sley_dtype from, const void *src, sley_dtype to,
                                                          void *dst, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    sl_value_set(dst, to, i, sl_value_at(src, from, i));
}

void sl_values_convert(sley_dtype from, const void *src, sley_dtype to, void *dst, int64_t count) {
  if (from == SLEY_F32 && to == SLEY_F64)
    convert(SLEY_F32, src, SLEY_F64, dst, count);
  else if (from == SLEY_F64 && to == SLEY_F32)
    convert(SLEY_F64, src, SLEY_F32, dst, count);
  else if (from == to)
    for (int64_t i = 0; i < count; i++)
      sl_value_copy(dst, i, src, i, to);
  else
    convert(from, src, to, dst, count);
}

int64_t sl_values_beyond(sley_dtype from, const void *src, sley_dtype to, int64_t count) {
  double limit = sl_dtype_limit(to);
  if (sl_dtype_limit(from) <= limit)
    return -1;
  for (int64_t i = 0; i < count; i++) {
    double size = fabs(sl_value_at(src, from, i));
    if (size >= limit && !isinf(size))
      return i;
  }
  return -1;
}
