/* SPDX-License-Identifier: Apache-2.0 */
#include "dense_oracle.h"

#include <math.h>

#include "base/half.h"

static const double special[] = {0.0,      -0.0,      INFINITY, -INFINITY, NAN,    0x1p-24,   -0x1p-24,
                                 0x1p-149, 0x1p-1074, 65504,    -65504,    3.4e38, -3.4e38,   1.7e308,
                                 -1.7e308, 1,         -1,       0x1p-133,  2049,   1 + 0x1p-8};

void oracle_set(void *array, sley_type type, int64_t i, double value) {
  if (type == SLEY_TYPE_F32)
    ((float *)array)[i] = (float)value;
  else if (type == SLEY_TYPE_F64)
    ((double *)array)[i] = value;
  else if (type == SLEY_TYPE_F16)
    ((uint16_t *)array)[i] = sl_f16_of_f64(value);
  else
    ((uint16_t *)array)[i] = sl_bf16_of_f64(value);
}

double oracle_get(const void *value, sley_type type) {
  if (type == SLEY_TYPE_F32)
    return (double)*(const float *)value;
  if (type == SLEY_TYPE_F64)
    return *(const double *)value;
  return (double)(type == SLEY_TYPE_F16 ? sl_f32_of_f16(*(const uint16_t *)value)
                                        : sl_f32_of_bf16(*(const uint16_t *)value));
}

void oracle_draw(void *array, sley_type type, int64_t i, uint64_t bits) {
  if (type == SLEY_TYPE_I64) {
    uint64_t mixed = bits * UINT64_C(0x9e3779b97f4a7c15);
    ((uint64_t *)array)[i] = bits % 4 ? mixed >> 44 : mixed; /* sums of the large ones wrap around */
    return;
  }
  if (type == SLEY_TYPE_I8 || type == SLEY_TYPE_U8) {
    ((uint8_t *)array)[i] = (uint8_t)bits;
    return;
  }
  double value = ldexp((double)(int64_t)(bits >> 11) - 0x1p52, (int)(bits % 9) - 54);
  if (bits % 7 == 0)
    value = special[bits / 7 % (sizeof special / sizeof *special)];
  oracle_set(array, type, i, value);
}

static double join(sley_reduce op, sley_type type, double a, double b) {
  if (op == SLEY_SUM)
    return type == SLEY_TYPE_F64 ? a + b : (double)((float)a + (float)b);
  if (isnan(a) || isnan(b))
    return NAN;
  if (a == b)
    return (op == SLEY_MIN) == (signbit(a) != 0) ? a : b;
  return (op == SLEY_MIN) == (a < b) ? a : b;
}

static void reduce_i64(sley_reduce op, int count, const void *const *values, void *out) {
  uint64_t sum;
  memcpy(&sum, values[0], sizeof sum);
  for (int p = 1; p < count; p++) {
    uint64_t next;
    memcpy(&next, values[p], sizeof next);
    if (op == SLEY_SUM)
      sum += next;
    else if ((op == SLEY_MIN) == ((int64_t)next < (int64_t)sum))
      sum = next;
  }
  memcpy(out, &sum, sizeof sum);
}

void oracle_reduce(sley_reduce op, sley_type type, int count, const void *const *values, void *out) {
  static const uint32_t nan32 = 0x7fc00000;
  static const uint64_t nan64 = UINT64_C(0x7ff8000000000000);
  if (type == SLEY_TYPE_I64) {
    reduce_i64(op, count, values, out);
    return;
  }
  double sum = oracle_get(values[0], type);
  for (int p = 1; p < count; p++)
    sum = join(op, type, sum, oracle_get(values[p], type));
  oracle_set(out, type, 0, sum);
  if (!isnan(sum))
    return;
  if (type == SLEY_TYPE_F32)
    memcpy(out, &nan32, sizeof nan32);
  else if (type == SLEY_TYPE_F64)
    memcpy(out, &nan64, sizeof nan64);
  else
    *(uint16_t *)out = type == SLEY_TYPE_F16 ? 0x7e00 : 0x7fc0;
}
