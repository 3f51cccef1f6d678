/* SPDX-License-Identifier: Apache-2.0 */
/* The two 16-bit types as bits: f16 is IEEE 754's binary16 (5 exponent, 10 fraction bits), bf16 the upper
 * half of an f32 (8 and 7). Conversion to float is exact; conversion from float rounds once, to nearest with
 * ties to even. Subnormals, signs of zeros, infinities and NaN (made quiet) are kept; values that are too
 * large become infinite.
 */
#ifndef SLEY_BASE_HALF_H
#define SLEY_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float sl_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t sl_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float sl_f32_of_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00) /* infinity, NaN */
    return sl_float_of_bits(sign | 0x7f800000 | (rest & 0x3ff ? 0x400000 | (rest & 0x3ff) << 13 : 0));
  if (rest < 0x400) /* subnormal, zero: a whole number of 2^-24 */
    return sl_float_of_bits(sign | sl_bits_of_float((float)rest * 0x1p-24f));
  return sl_float_of_bits(sign | ((rest << 13) + ((127 - 15) << 23)));
}

static inline uint16_t sl_f16_of_f32(float value) {
  const uint32_t bits = sl_bits_of_float(value), size = bits & 0x7fffffff;
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (size > 0x7f800000)
    return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff));
  if (size >= 0x477ff000) /* 65520, halfway between the largest number and the next */
    return sign | 0x7c00;
  if (size < 0x38800000) /* below 2^-14: adding 1/2 makes the last bit of the float stand for 2^-24 */
    return (uint16_t)(sign | (sl_bits_of_float(sl_float_of_bits(size) + 0.5f) - 0x3f000000));
  return (uint16_t)(sign | (size - ((127 - 15) << 23) + 0xfff + (size >> 13 & 1)) >> 13);
}

static inline float sl_f32_of_bf16(uint16_t half) {
  return sl_float_of_bits((uint32_t)half << 16);
}

static inline uint16_t sl_bf16_of_f32(float value) {
  const uint32_t bits = sl_bits_of_float(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Converts value to the nearest float towards zero, with the last bit set if that is not exact. Rounding the
 * result to a type with at least two bits less rounds value itself, once (round to odd: Boldo and Melquiond
 * 2008). */
static inline float sl_f32_odd_of_f64(double value) {
  float near = (float)value;
  double back = near, size = back < 0 ? -back : back, wanted = value < 0 ? -value : value;
  uint32_t bits = sl_bits_of_float(near);
  if (size == wanted || value != value)
    return near;
  return sl_float_of_bits((size > wanted ? bits - 1 : bits) | 1);
}

static inline uint16_t sl_f16_of_f64(double value) {
  return sl_f16_of_f32(sl_f32_odd_of_f64(value));
}

static inline uint16_t sl_bf16_of_f64(double value) {
  return sl_bf16_of_f32(sl_f32_odd_of_f64(value));
}

#endif
