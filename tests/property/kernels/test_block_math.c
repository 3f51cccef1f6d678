/* SPDX-License-Identifier: Apache-2.0 */
/* The exponential function of blocks over its whole range, compared with that of long double, and the sum of
 * a block, for any processor. Tests of kernels check that other instruction sets have the same bits. */
#include <math.h>

#include "block_exp.h"
#include "kernels.h"

enum { COUNT = 1000 };

/* The distance between the value and the next one, at least that of subnormal values. */
static double unit_at(double x, int digits, double least) {
  int exponent;
  frexp(x, &exponent);
  return fmax(ldexp(1, exponent - digits), least);
}

static void assert_exp(double x, double found, int digits, double least, double most) {
  const long double exact = expl((long double)x);
  if (isnan(x) ? isnan(found) : exact > (long double)most ? found == (double)INFINITY : false)
    return;
  const double unit = unit_at((double)exact, digits, least);
  if (!(fabsl((long double)found - exact) <= 2 * (long double)unit))
    fail_msg("exp(%.17g) is %.17g, not %.17Lg", x, found, exact);
}

static void check_f32(const float *in) {
  float out[COUNT];
  block_exp_f32(in, COUNT, out);
  for (int i = 0; i < COUNT; i++)
    assert_exp((double)in[i], (double)out[i], 24, 0x1p-149, 0x1.fffffep127);
}

static void check_f64(const double *in) {
  double out[COUNT];
  block_exp_f64(in, COUNT, out);
  for (int i = 0; i < COUNT; i++)
    assert_exp(in[i], out[i], 53, 0x1p-1074, 0x1.fffffffffffffp1023);
}

/* A random argument: from results of 0 to results of infinity; near multiples of ln 2 / 2; tiny; special. */
static double draw_argument(double low, double high, int64_t i) {
  static const double special[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e30, -1e30};
  const double x = low + (high - low) * (draw_real() + 1) / 2;
  switch (i % 5) {
  case 0:
    return rint(x / 0.34657359027997264) * 0.34657359027997264 * (1 + draw_real() * 0x1p-20);
  case 1:
    return draw(7) ? ldexp(draw_real(), -(int)draw(60)) : special[draw(7)];
  default:
    return x;
  }
}

static void exp_is_right_in_f32(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(1500); repeat++) {
    float in[COUNT];
    for (int i = 0; i < COUNT; i++)
      in[i] = (float)draw_argument(repeat % 3 ? -110 : -104, repeat % 3 ? 92 : -86, i);
    check_f32(in);
  }
}

static void exp_is_right_in_f64(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(1500); repeat++) {
    double in[COUNT];
    for (int i = 0; i < COUNT; i++)
      in[i] = draw_argument(repeat % 3 ? -750 : -746, repeat % 3 ? 715 : -707, i);
    check_f64(in);
  }
}

/* Values next to the ends of the range, and beyond. */
static void exp_ends_as_it_should(void **state) {
  (void)state;
  const float infinite = (float)INFINITY,
              in[] = {infinite, 88.72284F, 88.72283F, 0, -0.0F, -103.9F, -105, -infinite};
  float out[8];
  block_exp_f32(in, 8, out);
  assert_true(out[0] == infinite && out[1] == infinite && out[2] < infinite && out[2] > 0x1.fffep127F);
  assert_true(out[3] == 1 && out[4] == 1 && out[5] == 0x1p-149F && out[6] == 0 && out[7] == 0);
  const double none = (double)INFINITY, wide[] = {none, 709.79, 709.78, 0, -0.0, -745.1, -747, -none};
  double found[8];
  block_exp_f64(wide, 8, found);
  assert_true(found[0] == none && found[1] == none && found[2] < none && found[2] > 0x1.fep1023);
  assert_true(found[3] == 1 && found[4] == 1 && found[5] == 0x1p-1074 && found[6] == 0 && found[7] == 0);
}

static void sums_are_in_order(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(1000); repeat++) {
    float narrow[16], part[16];
    double wide[16], whole[16];
    for (int p = 0; p < 16; p++) {
      whole[p] = wide[p] = draw_real();
      part[p] = narrow[p] = (float)draw_real();
    }
    for (int half = 8; half > 0; half /= 2)
      for (int p = 0; p < half; p++) {
        part[p] += part[p + half];
        whole[p] += whole[p + half];
      }
    assert_true(block_sum_f32(narrow) == part[0] && block_sum_f64(wide) == whole[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exp_is_right_in_f32), cmocka_unit_test(exp_is_right_in_f64),
      cmocka_unit_test(exp_ends_as_it_should), cmocka_unit_test(sums_are_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
