/* SPDX-License-Identifier: Apache-2.0 */
/* Rutherford-Boeing and Harwell-Boeing: types, Fortran formats, refusals with their line, and writing. */
#include <math.h>
#include <unistd.h>

#include "formats.h"
#include "io/fortran.h"
#include "io/io.h"

#define TITLE "A title, whatever it says                                               |key\n"

static void reads_every_type(void **state) {
  (void)state;
  const double n = (double)NAN;
  static const char *const texts[] = {
      TITLE
      "  3  1  1  1\nrua            2 2 3 0\n(3I3)  (3I3)  (3F5.2)\n  1  3  4\n  1  2  2\n 1.50-2.00 4.00\n",
      TITLE "  3  1  1  1  0\nRUA            2 2 3 0\n( 3i3 )  (2I3)  (1P,2D10.3)\n  1  3  4\n  1  2\n  2\n"
            " 1.500D+00-2.000D+00\n  .4D+01\n",
      TITLE "  3  1  1  1  2\r\nRRA            2 2 3\r\n(3I3)  (3I3)  (3E5.0)  (3E5.0)\r\nF   1   0\r\n  1  "
            "3  4\r\n"
            "  1  2  2\r\n 1.5 -2.0 4.  \r\n 0.0  0.0\r\n 1 2\r\n",
  };
  sley_matrix *a;
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    assert_sley_ok(test_read("t", texts[t], SLEY_F64, &a));
    test_is(a, 2, 2, (double[]){1.5, n, -2, 4});
    sl_matrix_destroy(a);
  }
  assert_sley_ok(
      test_read("t", TITLE "3 1 1 1\nrsa  2 2 2 0\n(3I3) (3I3) (3F5.2)\n  1  3  3\n  1  2\n 1.50-2.00\n",
                SLEY_F32, &a));
  test_is(a, 2, 2, (double[]){1.5, -2, -2, n});
  assert_int_equal(a->entries_stored, 2);
  sl_matrix_destroy(a);
  assert_sley_ok(test_read("t", TITLE "3 1 1 1\nrza  2 2 1 0\n(3I3) (3I3) (3F5.2)\n  1  2  2\n  2\n 1.50\n",
                           SLEY_F32, &a));
  test_is(a, 2, 2, (double[]){n, -1.5, 1.5, n});
  sl_matrix_destroy(a);
  assert_sley_ok(
      test_read("t", TITLE "2 1 1 0\npsa  2 2 2 0\n(3I3) (3I3)\n  1  2  3\n  2  2\n", SLEY_F32, &a));
  test_is(a, 2, 2, (double[]){n, 1, 1, 1});
  sl_matrix_destroy(a);
  assert_sley_ok(test_read(
      "t", TITLE "3 1 1 1\nira  1 3 2 0\n(4I3) (3I3) (3I4)\n  1  2  2  3\n  1  1\n  -7  12\n", SLEY_F32, &a));
  test_is(a, 1, 3, (double[]){-7, n, 12});
  sl_matrix_destroy(a);
  assert_sley_ok(test_read("t", TITLE "1 1 0 0\nrra  3 0 0 0\n(4I3) (3I3) (3E9.1)\n  1\n", SLEY_F32, &a));
  assert_int_equal(a->rows, 3);
  assert_int_equal(a->cols, 0);
  sl_matrix_destroy(a);
}

typedef struct format_case {
  const char *text;
  char letter;
  int per_line, width, decimals, scale;
} format_case;

static void understands_formats(void **state) {
  (void)state;
  static const format_case cases[] = {
      {"(16I5)", 'I', 16, 5, 0, 0},
      {"(i8)", 'I', 1, 8, 0, 0},
      {" ( 10 I 8 ) x", 'I', 10, 8, 0, 0},
      {"(5E16.8)", 'E', 5, 16, 8, 0},
      {"(1P,4D20.13)", 'D', 4, 20, 13, 1},
      {"(1P3D24.15)", 'D', 3, 24, 15, 1},
      {"(3(E16.8))", 0, 0, 0, 0, 0},
      {"(0I5)", 0, 0, 0, 0, 0},
      {"(5E0.1)", 0, 0, 0, 0, 0},
      {"(-2P2F10.3)", 'F', 2, 10, 3, -2},
      {"(4G20.12E3)", 'G', 4, 20, 12, 0},
      {"(16I5", 0, 0, 0, 0, 0},
      {"16I5)", 0, 0, 0, 0, 0},
      {"(16A5)", 0, 0, 0, 0, 0},
      {"(999I5)", 0, 0, 0, 0, 0},
      {"(-3I5)", 0, 0, 0, 0, 0},
      {"()", 0, 0, 0, 0, 0},
      {"(1P)", 0, 0, 0, 0, 0},
      {"(I5.5)", 'I', 1, 5, 5, 0},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sl_fortran_format f;
    const char *after = sl_fortran_parse(cases[c].text, &f);
    if (!after != !cases[c].letter)
      fail_msg("%s is %s", cases[c].text, after ? "accepted" : "refused");
    if (after &&
        (f.letter != cases[c].letter || f.per_line != cases[c].per_line || f.width != cases[c].width ||
         f.decimals != cases[c].decimals || f.scale != cases[c].scale || after[-1] != ')'))
      fail_msg("%s is taken as %d%c%d.%d", cases[c].text, f.per_line, f.letter, f.width, f.decimals);
  }
}

typedef struct number_case {
  char letter;
  int decimals, scale;
  const char *field;
  double value; /* NAN: refused */
} number_case;

static void reads_numbers_as_fortran_does(void **state) {
  (void)state;
  static const number_case cases[] = {
      {'E', 3, 0, "  1.5E+02 ", 150},
      {'D', 3, 0, "1.5D-1", 0.15},
      {'E', 3, 0, "1.5-1", 0.15},
      {'F', 2, 0, "  150", 1.5},
      {'E', 2, 0, "150E1", 15},
      {'F', 2, 1, "1.5", 0.15},
      {'F', 2, 1, "1.5E0", 1.5},
      {'F', 2, -1, "1.5", 15},
      {'I', 0, 0, " -12 ", -12},
      {'I', 0, 0, "1.5", (double)NAN},
      {'E', 3, 0, "     ", (double)NAN},
      {'E', 3, 0, "1.5 2", (double)NAN},
      {'E', 3, 0, "1.5x", (double)NAN},
      {'F', 2, 1, "0", 0},
      {'F', 2, 1, "-Inf", -(double)INFINITY},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sl_fortran_format f = {cases[c].letter, 1, 10, cases[c].decimals, cases[c].scale};
    double value = (double)NAN;
    bool read = sl_fortran_real(&f, cases[c].field, cases[c].field + strlen(cases[c].field), &value);
    if (read == isnan(cases[c].value) || (read && value != cases[c].value))
      fail_msg("'%s' is %s, %.17g", cases[c].field, read ? "read" : "refused", value);
  }
}

#define FORMATS "(3I3) (3I3) (3F5.2)\n"

static void refuses_with_the_line(void **state) {
  (void)state;
  static const test_refusal cases[] = {
      {TITLE "3 1 1 1\ncua  2 2 3 0\n" FORMATS, SLEY_ERR_UNSUPPORTED, 3, "complex"},
      {TITLE "3 1 1 1\nqua  2 2 3 0\n" FORMATS, SLEY_ERR_UNSUPPORTED, 3, "second file"},
      {TITLE "3 1 1 1\nrse  2 2 3 9\n" FORMATS, SLEY_ERR_UNSUPPORTED, 3, "unassembled"},
      {TITLE "3 1 1 1\nrsa  2 3 3 0\n" FORMATS "  1  2\n", SLEY_ERR_INPUT, 3, "square"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n(3I3) (3X) (3F5.2)\n  1  2\n", SLEY_ERR_INPUT, 4,
       "no format of row numbers"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n(3I3) (3I3)\n  1  2\n", SLEY_ERR_INPUT, 4, "no format of values"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n(3F3.1) (3I3) (3F5.2)\n  1  2\n", SLEY_ERR_INPUT, 4, "need an I format"},
      {TITLE "3 1 1 1\nrua  2 2000 3 0\n" FORMATS "  1  2\n", SLEY_ERR_INPUT, 3, "cannot be in a file"},
      {TITLE "3 1 1 1\nrua  2 2 3000 0\n" FORMATS "  1  2\n", SLEY_ERR_INPUT, 3, "cannot be in a file"},
      {TITLE "3 1 1 1\nrua  9000000000000000000 2 3 0\n" FORMATS "  1  2\n", SLEY_ERR_INPUT, 3,
       "more than a file"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3\n", SLEY_ERR_INPUT, 5, "'' among the pointers"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  2  3  4\n", SLEY_ERR_INPUT, 5,
       "2 among the pointers is outside 1 .. 1"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  5  4\n", SLEY_ERR_INPUT, 5,
       "5 among the pointers is outside 1 .. 4"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  2\n", SLEY_ERR_INPUT, 5,
       "2 among the pointers is outside 3 .. 4"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  3\n  1  2  2\n", SLEY_ERR_INPUT, 5,
       "the last pointer is 3"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n", SLEY_ERR_INPUT, 6,
       "the file ends among the row numbers"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  3  2\n", SLEY_ERR_INPUT, 6, "outside 1 .. 2"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  x  2\n", SLEY_ERR_INPUT, 6,
       "'x' among the row numbers"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n", SLEY_ERR_INPUT, 7,
       "the file ends among the values"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n 1.50 x.00 4.00\n", SLEY_ERR_INPUT, 7,
       "'x.00' among the values is not a number"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n 1.50 1.00\n", SLEY_ERR_INPUT, 7,
       "'' among the values"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n 1.50 1.00 2.00\n\n 3.00\n",
       SLEY_ERR_INPUT, 9, "more lines follow"},
      {TITLE "3 1 1 1\nrsa  2 2 2 0\n" FORMATS "  1  2  3\n  2  1\n 1.50 1.00\n", SLEY_ERR_INPUT, 6,
       "other triangle"},
      {TITLE "3 1 1 1\nrza  2 2 2 0\n" FORMATS "  1  2  3\n  2  2\n 1.50 1.00\n", SLEY_ERR_INPUT, 7,
       "zeros on its diagonal"},
  };
  test_refusals("t.rb", cases, sizeof cases / sizeof *cases);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{0, 0}, {1, 1},   {0, 5},  {5, 0},  {1, 7},
                                     {7, 1}, {13, 13}, {31, 8}, {40, 90}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int dtype = 0; dtype < 4; dtype++) {
      sley_matrix *a = test_random_matrix(s + 20, sizes[s][0], sizes[s][1], 0.2, (sley_dtype)dtype, false);
      test_round_trip(a, ".rb", NULL);
      sl_matrix_destroy(a);
    }
}

static void keeps_extreme_values(void **state) {
  (void)state;
  sley_matrix *a;
  assert_sley_ok(
      test_read("t.el", "0 0 -1.7976931348623157e308\n0 1 5e-324\n1 0 -inf\n1 1 0.1\n", SLEY_F64, &a));
  test_round_trip(a, ".rb", NULL);
  sl_matrix_destroy(a);
}

static void writes_the_layout(void **state) {
  (void)state;
  sley_matrix *a;
  assert_sley_ok(test_read("t.el", "0 1 2\n1 0 -3\n1 1 4\n", SLEY_F32, &a));
  const char *path = test_path("layout.rb");
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  sl_matrix_destroy(a);
  char text[1024] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  assert_string_equal(strchr(text, '\n') + 1,
                      "             3             1             1             1\n"
                      "rua                        2             2             3             0\n"
                      "(40I2)          (40I2)          (5E16.8)            \n"
                      " 1 2 4\n 2 1 2\n -3.00000000E+00  2.00000000E+00  4.00000000E+00\n");
  unlink(path);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char text[] =
      TITLE "3 1 1 1\nrsa  2 2 2 0\n(3I3) (3I3) (3F5.2)\n  1  3  3\n  1  2\n 1.50-2.00\n";
  test_reading_short_of_memory("t.rb", text, sizeof text - 1);
  sley_matrix *a = test_random_matrix(1, 9, 9, 0.3, SLEY_F32, false);
  test_writing_short_of_memory(a, ".rb");
  sl_matrix_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_type),
      cmocka_unit_test(understands_formats),
      cmocka_unit_test(reads_numbers_as_fortran_does),
      cmocka_unit_test(refuses_with_the_line),
      cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(keeps_extreme_values),
      cmocka_unit_test(writes_the_layout),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
