/* SPDX-License-Identifier: Apache-2.0 */
/* Access to arrays of values of any dtype. A constant dtype compiles to a plain access. */
#ifndef SLEY_BASE_VALUE_H
#define SLEY_BASE_VALUE_H

#include "base/half.h"
#include "base/types.h"

/* Returns the type in which values of a dtype are summed. */
static inline sley_dtype sl_sum_dtype(sley_dtype dtype) {
  return dtype == SLEY_F64 ? SLEY_F64 : SLEY_F32;
}

/* Returns whether the dtype has 16 bits: its sums are wider than its values. */
static inline bool sl_is_16_bit(sley_dtype dtype) {
  return sl_sum_dtype(dtype) != dtype;
}

/* Value i of an array. */
static inline __attribute__((always_inline)) double sl_value_at(const void *array, sley_dtype dtype,
                                                                int64_t i) {
  switch (dtype) {
  case SLEY_F32:
    return (double)((const float *)array)[i];
  case SLEY_F64:
    return ((const double *)array)[i];
  case SLEY_F16:
    return (double)sl_f32_of_f16(((const uint16_t *)array)[i]);
  case SLEY_BF16:
    return (double)sl_f32_of_bf16(((const uint16_t *)array)[i]);
  }
  return 0;
}

/* Stores value at position i, rounded once. */
static inline __attribute__((always_inline)) void sl_value_set(void *array, sley_dtype dtype, int64_t i,
                                                               double value) {
  switch (dtype) {
  case SLEY_F32:
    ((float *)array)[i] = (float)value;
    break;
  case SLEY_F64:
    ((double *)array)[i] = value;
    break;
  case SLEY_F16:
    ((uint16_t *)array)[i] = sl_f16_of_f64(value);
    break;
  case SLEY_BF16:
    ((uint16_t *)array)[i] = sl_bf16_of_f64(value);
    break;
  }
}

/* Copies value `from` of other to value `to` of array, both of one dtype. */
static inline __attribute__((always_inline)) void sl_value_copy(void *array, int64_t to, const void *other,
                                                                int64_t from, sley_dtype dtype) {
  if (dtype == SLEY_F32)
    ((float *)array)[to] = ((const float *)other)[from];
  else if (dtype == SLEY_F64)
    ((double *)array)[to] = ((const double *)other)[from];
  else
    ((uint16_t *)array)[to] = ((const uint16_t *)other)[from];
}

/* Returns the number of significant decimal digits that restore every value exactly. */
int sl_value_digits(sley_dtype dtype);

/* All whole numbers up to this magnitude can be stored as doubles. */
#define SL_MOST_WHOLE 0x1p53

/* Returns the magnitude at which values become infinite when they are rounded to the dtype. */
double sl_dtype_limit(sley_dtype dtype);

/* Returns the end of a message about a value beyond the range of dtype. The text starts with the verb. */
const char *sl_dtype_beyond(sley_dtype dtype);

/* Converts count values from one dtype to another, each rounded once. */
void sl_values_convert(sley_dtype from, const void *src, sley_dtype to, void *dst, int64_t count);

/* Returns the position of the first value that is finite but becomes infinite when rounded to the dtype `to`;
 * -1 if there is none. */
int64_t sl_values_beyond(sley_dtype from, const void *src, sley_dtype to, int64_t count);

#endif
