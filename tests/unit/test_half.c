/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit types: every one of their numbers against its definition, and rounding against the nearest of
 * all. */
#include "support.h"

#include <math.h>

#include "base/random.h"
#include "base/value.h"

typedef struct format {
  sley_dtype dtype;
  int fraction, bias;
} format;

static const format formats[] = {{SLEY_F16, 10, 15}, {SLEY_BF16, 7, 127}};
enum { FORMATS = 2, ALL = 1 << 16 };

/* By the definition: sign, exponent, fraction. */
static double by_definition(const format *f, uint32_t bits) {
  int exponent = (int)((bits & 0x7fff) >> f->fraction), most = (1 << (15 - f->fraction)) - 1;
  double fraction = ldexp((double)(bits & ((1u << f->fraction) - 1)), -f->fraction), size;
  if (exponent == most)
    size = fraction == 0 ? (double)INFINITY : (double)NAN;
  else
    size = exponent == 0 ? ldexp(fraction, 1 - f->bias) : ldexp(1 + fraction, exponent - f->bias);
  return bits & 0x8000 ? -size : size;
}

static double value_of(const format *f, uint16_t bits) {
  return (double)(f->dtype == SLEY_F16 ? sl_f32_of_f16(bits) : sl_f32_of_bf16(bits));
}

static uint16_t rounded(const format *f, double value) {
  return f->dtype == SLEY_F16 ? sl_f16_of_f64(value) : sl_bf16_of_f64(value);
}

static uint16_t rounded_single(const format *f, float value) {
  return f->dtype == SLEY_F16 ? sl_f16_of_f32(value) : sl_bf16_of_f32(value);
}

static void every_number_is_widened_and_comes_back(void **state) {
  (void)state;
  for (int i = 0; i < FORMATS; i++)
    for (uint32_t bits = 0; bits < ALL; bits++) {
      const format *f = &formats[i];
      double value = value_of(f, (uint16_t)bits), wanted = by_definition(f, bits);
      if (isnan(wanted)) {
        assert_true(isnan(value) && isnan(value_of(f, rounded(f, value))));
        assert_true(isnan(value_of(f, rounded_single(f, (float)value))));
        continue;
      }
      assert_true(value == wanted && !signbit(value) == !(bits & 0x8000));
      assert_int_equal(rounded(f, value), bits);
      assert_int_equal(rounded_single(f, (float)value), bits);
    }
}

/* Between each number and the next above it: half way to the even one, anything less to the nearer. The last
 * number's next is where infinity would be if the exponent went on. */
static void rounding_is_to_nearest_and_ties_to_even(void **state) {
  (void)state;
  for (int i = 0; i < FORMATS; i++) {
    const format *f = &formats[i];
    const uint32_t infinity = (uint32_t)((1 << (15 - f->fraction)) - 1) << f->fraction;
    for (uint32_t bits = 0; bits < infinity; bits++) {
      double low = value_of(f, (uint16_t)bits), high = value_of(f, (uint16_t)(bits + 1));
      if (bits + 1 == infinity)
        high = 2 * low - value_of(f, (uint16_t)(bits - 1));
      double middle = low + (high - low) / 2; /* exact */
      uint16_t even = (uint16_t)(bits & 1 ? bits + 1 : bits);
      double some = low + (high - low) * 0.499 * sl_unit(sl_random(7, bits, (uint64_t)i));
      for (int sign = 0; sign < 2; sign++) {
        double s = sign ? -1 : 1;
        uint16_t bit = (uint16_t)(sign << 15);
        assert_int_equal(rounded(f, s * middle), even | bit);
        assert_int_equal(rounded(f, s * nextafter(middle, 0)), bits | bit);
        assert_int_equal(rounded(f, s * nextafter(middle, INFINITY)), (bits + 1) | bit);
        assert_int_equal(rounded(f, s * some), bits | bit);
        float single = (float)middle;
        assert_true((double)single == middle);
        assert_int_equal(rounded_single(f, (float)s * single), even | bit);
        assert_int_equal(rounded_single(f, (float)s * nextafterf(single, 0)), bits | bit);
        assert_int_equal(rounded_single(f, (float)s * nextafterf(single, INFINITY)), (bits + 1) | bit);
      }
    }
  }
}

/* A double beside the middle of two numbers, by less than a float shows, must not be rounded twice. */
static void doubles_are_rounded_once(void **state) {
  (void)state;
  assert_int_equal(sl_f16_of_f64(1 + 0x1p-11 + 0x1p-50), 0x3c01);
  assert_int_equal(sl_f16_of_f64(1 + 0x1p-11), 0x3c00);
  assert_int_equal(sl_f16_of_f64(1 + 0x1p-11 - 0x1p-50), 0x3c00);
  assert_int_equal(sl_f16_of_f64(0x1p-25 + 0x1p-70), 1);
  assert_int_equal(sl_f16_of_f64(65520 - 0x1p-30), 0x7bff);
  assert_int_equal(sl_bf16_of_f64(1 + 0x1p-8 + 0x1p-50), 0x3f81);
  assert_int_equal(sl_bf16_of_f64(0x1p-134), 0);
  assert_int_equal(sl_bf16_of_f64(0x1p-134 + 0x1p-180), 1);
  const double extremes[] = {1e300, 1e-300, 0x1p128, 3.4e38, INFINITY, 0};
  for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++)
    for (int f = 0; f < FORMATS; f++) {
      uint16_t bits = rounded(&formats[f], extremes[i]);
      assert_int_equal(rounded(&formats[f], -extremes[i]), bits | 0x8000);
      double largest = formats[f].dtype == SLEY_F16 ? 65520 : 0x1.ffp127;
      assert_true(isinf(value_of(&formats[f], bits)) == (extremes[i] >= largest));
    }
}

static void arrays_are_converted(void **state) {
  (void)state;
  const double from[] = {1, -2.5, 1e-7, 70000, 0.1};
  enum { COUNT = sizeof from / sizeof *from };
  for (int f = 0; f < 4; f++)
    for (int t = 0; t < 4; t++) {
      double first[COUNT], second[COUNT];
      assert_sley_ok(sley_convert(SLEY_F64, from, (sley_dtype)f, first, COUNT));
      assert_sley_ok(sley_convert((sley_dtype)f, first, (sley_dtype)t, second, COUNT));
      for (int i = 0; i < COUNT; i++) {
        double expected[2];
        sl_value_set(expected, (sley_dtype)f, 0, from[i]);
        sl_value_set(expected + 1, (sley_dtype)t, 0, sl_value_at(expected, (sley_dtype)f, 0));
        assert_true(sl_value_at(second, (sley_dtype)t, i) == sl_value_at(expected + 1, (sley_dtype)t, 0));
      }
    }
  assert_int_equal(sley_convert((sley_dtype)9, from, SLEY_F32, NULL, 0), SLEY_ERR_ARG);
  assert_int_equal(sley_convert(SLEY_F64, from, SLEY_F32, NULL, 1), SLEY_ERR_ARG);
  assert_int_equal(sley_convert(SLEY_F64, from, SLEY_F32, NULL, -1), SLEY_ERR_ARG);
  assert_sley_ok(sley_convert(SLEY_F64, NULL, SLEY_BF16, NULL, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_number_is_widened_and_comes_back),
                                     cmocka_unit_test(rounding_is_to_nearest_and_ties_to_even),
                                     cmocka_unit_test(doubles_are_rounded_once),
                                     cmocka_unit_test(arrays_are_converted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
