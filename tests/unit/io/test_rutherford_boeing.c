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

/* The items of a format, in words: "I5 E16.8" and so on; | marks where lines after the first begin. */
static void describe(const sl_fortran_format *f, char *text, size_t room) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < f->count && used + 24 < room; i++) {
    const sl_fortran_item *item = &f->item[i];
    static const char *const words[] = {"I%d.%d", "R%d.%d", "M%d", "T%d", "/", "P%d", "B%d"};
    used += (size_t)snprintf(text + used, room - used, "%s", i > 0 && i == f->again ? "| " : "");
    used += (size_t)snprintf(text + used, room - used, words[item->kind], item->width, item->decimals);
    used += (size_t)snprintf(text + used, room - used, "%s", i + 1 < f->count ? " " : "");
  }
}

static void understands_formats(void **state) {
  (void)state;
  static const struct {
    const char *text, *items; /* NULL: refused */
  } cases[] = {
      {"(3I5)", "I5.0 I5.0 I5.0"},
      {"(i8)", "I8.0"},
      {" ( 1 0 I 8 ) x", "I8.0 I8.0 I8.0 I8.0 I8.0 I8.0 I8.0 I8.0 I8.0 I8.0"},
      {"(2E16.8)", "R16.8 R16.8"},
      {"(1P,2D20.13)", "P1 R20.13 R20.13"},
      {"(1P2D24.15)", "P1 R24.15 R24.15"},
      {"(1P 2E24.15)", "P1 R24.15 R24.15"},
      {"(3(E16.8))", "R16.8 R16.8 R16.8"},
      {"(3(1P,E24.16))", "P1 R24.16 P1 R24.16 P1 R24.16"},
      {"(1X,2I9)", "M1 I9.0 I9.0"},
      {"(X,I9,TR3,I2,TL2,I2)", "M1 I9.0 M3 I2.0 M-2 I2.0"},
      {"(2(F5.2,2X))", "R5.2 M2 R5.2 M2"},
      {"(I5,2(F5.2,1(I1)))", "I5.0 | R5.2 I1.0 R5.2 I1.0"},
      {"((I5),I6,(I7))", "I5.0 I6.0 | I7.0"},
      {"(-2P2F10.3)", "P-2 R10.3 R10.3"},
      {"(+1P,F10.3,0P,F10.3)", "P1 R10.3 P0 R10.3"},
      {"(2G20.12E3)", "R20.12 R20.12"},
      {"(ES24.16E3, EN12.3)", "R24.16 R12.3"},
      {"(BN,SP,I5,S,BZ,:,I5)", "B0 I5.0 B1 I5.0"},
      {"(I5/T3,I5)", "I5.0 / T2 I5.0"},
      {"(I5.5)", "I5.5"},
      {"(0I5)", NULL},
      {"(5E0.1)", NULL},
      {"(16I5", NULL},
      {"16I5)", NULL},
      {"(16A5)", NULL},
      {"(999I5)", NULL},
      {"(200(3I5))", NULL},
      {"(9(9(9(9(9(9I1))))))", NULL},
      {"(-3I5)", NULL},
      {"(P,I5)", NULL},
      {"()", NULL},
      {"(1P)", NULL},
      {"(3X)", NULL},
      {"(I5,(1X))", NULL},
      {"(1P,(E16.8,('x')))", NULL},
      {"(E16.)", NULL},
      {"(2T5,I5)", NULL},
      {"(I5))", "I5.0"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sl_fortran_format f;
    char items[512] = "";
    const char *after = sl_fortran_parse(cases[c].text, &f);
    if (after)
      describe(&f, items, sizeof items);
    if (!after != !cases[c].items || (after && (strcmp(items, cases[c].items) != 0 || after[-1] != ')')))
      fail_msg("%s is taken as '%s'", cases[c].text, after ? items : "no format");
  }
}

static void reads_numbers_as_fortran_does(void **state) {
  (void)state;
  static const struct {
    int decimals, scale;
    bool zeros;
    const char *field;
    double value; /* NAN: refused */
  } cases[] = {
      {3, 0, false, "  1.5E+02 ", 150},
      {3, 0, false, "1.5D-1", 0.15},
      {3, 0, false, "1.5-1", 0.15},
      {9, 0, false, " 1.000000000D 00", 1},
      {9, 0, false, "-3.3 33D - 01", -0.3333},
      {9, 0, false, "1.5 + 2", 150},
      {2, 0, false, "  150", 1.5},
      {4, 0, false, "     12345", 1.2345},
      {4, 0, false, "-12", -0.0012},
      {0, 0, false, "12345", 12345},
      {2, 0, false, "150E1", 15},
      {2, 1, false, "1.5", 0.15},
      {2, 1, false, "1.1", 0.11}, /* rounded once */
      {4, 1, false, "12345", 0.12345},
      {2, 1, false, "1.5E0", 1.5},
      {2, -1, false, "1.5", 15},
      {20, 0, false, "9007199254740993", 9007199254740993e-20},
      {3, 0, false, "1 2 3 4", 1.234},
      {3, 0, true, " 12 4 ", 12.040},
      {1, 0, true, "1.5E1 ", 1.5e10},
      {3, 0, false, "     ", (double)NAN},
      {3, 0, true, "     ", (double)NAN},
      {3, 0, false, "1.5 2.5", (double)NAN},
      {3, 0, false, "1.5x", (double)NAN},
      {3, 0, false, "1,5", (double)NAN},
      {3, 0, false, "1.5D", (double)NAN},
      {3, 0, false, "1\t5", (double)NAN},
      {3, 0, false, ".", (double)NAN},
      {2, 1, false, "0", 0},
      {2, 1, false, "-Inf", -(double)INFINITY},
      {2, 1, false, "1E999999999999999999", (double)INFINITY}, /* which the reader refuses */
      {2, 1, false, "1E-99999999999999999999", 0},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sl_fortran_item item = {SL_FORTRAN_REAL, 10, (int16_t)cases[c].decimals};
    char text[SL_FORTRAN_TEXT];
    double value = (double)NAN;
    bool read = sl_fortran_real(&item, cases[c].scale, cases[c].zeros, cases[c].field,
                                cases[c].field + strlen(cases[c].field), text, &value);
    if (read == isnan(cases[c].value) || (read && value != cases[c].value))
      fail_msg("'%s' is %s, %.17g", cases[c].field, read ? "read" : "refused", value);
  }
  int64_t whole;
  assert_true(sl_fortran_int(false, " -1 2", " -1 2" + 5, &whole) && whole == -12);
  static const char with_zeros[] = " 1 2 ";
  assert_true(sl_fortran_int(true, with_zeros, with_zeros + 5, &whole) && whole == 1020);
  static const char *const wrong[] = {"1.5", "", "  ", "1x", "0x1"};
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
    assert_false(sl_fortran_int(false, wrong[w], wrong[w] + strlen(wrong[w]), &whole));
}

/* Formats of public files whose numbers are not where blanks would say. */
static void reads_the_formats_of_public_files(void **state) {
  (void)state;
  const double n = (double)NAN;
  sley_matrix *a;
  assert_sley_ok(
      test_read(/* NIST's s3dkq4m2 */
                "t",
                TITLE
                "  3  1  1  1  0\nRSA            3 3 4 0\n(1X,8I9)        (1X,8I9)        (3(1P,E24.16))\n"
                "         1        3        4        5\n         1        3        2        3\n"
                "  4.5000000000000000E+00 -1.2500000000000000E+00  3.7500000000000000E+00\n"
                " -1.0000000000000000E-01\n",
                SLEY_F64, &a));
  test_is(a, 3, 3, (double[]){4.5, n, -1.25, n, 3.75, n, -1.25, n, -0.1});
  sl_matrix_destroy(a);
  assert_sley_ok(
      test_read(/* illc1033 */
                "t",
                TITLE "  3  1  1  1  0\nRRA            3 2 3 0\n(16I5)          (16I5)          (1P,5D16.9)\n"
                      "    1    3    4\n    1    3    2\n 1.000000000D 00-3.333333333D-01 2.5        D 01\n",
                SLEY_F64, &a));
  test_is(a, 3, 2, (double[]){1, n, n, 25, -0.3333333333, n});
  sl_matrix_destroy(a);
  assert_sley_ok(test_read(/* the line that / ends after the last number is blank, or not there */
                           "t",
                           TITLE "  3  1  1  1  0\nRUA            1 2 2 0\n(3I3/)  (2I3)  (2F3.1/)\n  1  2  "
                                 "3\n\n  1  1\n 15 25\n",
                           SLEY_F64, &a));
  test_is(a, 1, 2, (double[]){1.5, 2.5});
  sl_matrix_destroy(a);
  /* A format that goes on differently after the first line, and blanks that count as zeros. */
  assert_sley_ok(test_read("t",
                           TITLE
                           "  8  2  1  4  0\nRUA            2 2 4 0\n(2I3)  (4I3)  (F4.1/1P,(BZ,F4.2))\n"
                           "  1  3\n  5\n  1  2  1  2\n  15\n15  \n 150\n1.5\n",
                           SLEY_F64, &a));
  test_is(a, 2, 2, (double[]){1.5, 0.15, 1.5, 0.15});
  sl_matrix_destroy(a);
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
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4  4\n", SLEY_ERR_INPUT, 5,
       "more on the line than the format of the pointers takes: '4'"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2 x\n", SLEY_ERR_INPUT, 6,
       "more on the line than the format of the row numbers takes: 'x'"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n 1.50 2.00 4.00  \t.5\n",
       SLEY_ERR_INPUT, 7, "more on the line than the format of the values takes"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n(1X,3I3) (3I3) (3F5.2)\n1  1  3  4\n", SLEY_ERR_INPUT, 5,
       "more on the line than the format of the pointers takes: '1  1  3  4'"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n 1.50 1e99 4.00\n", SLEY_ERR_INPUT, 7,
       "beyond the range of f32"},
      {TITLE "3 1 1 1\niua  2 2 3 0\n" FORMATS "  1  3  4\n  1  2  2\n 1.50 1.00 4.00\n", SLEY_ERR_INPUT, 7,
       "no whole number"},
      {TITLE "3 1 1 1 1\nrua  2 2 3 0\n" FORMATS "F 1 0\n  1  3  4\n  1  2  2\n 1.50 1.00 4.00\n 1.0\n 2.0\n",
       SLEY_ERR_INPUT, 10, "promised right-hand sides"},
      {TITLE "3 1 1 1\nrua  2 2 3 0\n(3I3) (3I3) (3F5.2) x\n  1  3  4\n", SLEY_ERR_INPUT, 4,
       "no format, but 'x'"},
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

static void integers_beyond_2_53_are_refused(void **state) {
  (void)state;
  static const char *const numbers[] = {"9007199254740992", "9007199254740993", "-9007199254740993",
                                        "9223372036854775807"};
  static const char *const types[][2] = {
      {"iua", "(I20)"}, {"rua", "(I20)"}, {"iua", "(F20.0)"}, {"rua", "(F20.0)"}};
  for (int t = 0; t < 4; t++)
    for (int i = 0; i < 4; i++) {
      char text[512];
      sley_matrix *a = NULL;
      snprintf(text, sizeof text, "%s3 1 1 1\n%s  1 1 1 0\n(3I3) (3I3) %s\n  1  2\n  1\n%20s\n", TITLE,
               types[t][0], types[t][1], numbers[i]);
      sley_status status = test_read("t.rb", text, SLEY_F64, &a);
      if (status != (i == 0 || t == 3 ? SLEY_OK : SLEY_ERR_INPUT))
        fail_msg("%s as %s %s: %s", numbers[i], types[t][0], types[t][1], sley_last_error());
      if (status == SLEY_OK)
        sl_matrix_destroy(a);
      else
        assert_non_null(strstr(sley_last_error(), "t.rb:7: the value"));
    }
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
      cmocka_unit_test(reads_the_formats_of_public_files),
      cmocka_unit_test(refuses_with_the_line),
      cmocka_unit_test(integers_beyond_2_53_are_refused),
      cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(keeps_extreme_values),
      cmocka_unit_test(writes_the_layout),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
