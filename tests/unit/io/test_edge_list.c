/* SPDX-License-Identifier: Apache-2.0 */
/* Edge lists: dialects, numbering, refusals with their line, and writing. */
#include <math.h>
#include <unistd.h>

#include "base/random.h"
#include "formats.h"
#include "io/io.h"

typedef struct sizes_case {
  const char *text;
  int64_t rows, cols, nnz, stored;
} sizes_case;

static void reads_every_dialect(void **state) {
  (void)state;
  static const sizes_case cases[] = {
      {"# Nodes: 3 Edges: 2\n# From\tTo\n0\t1\n2\t1\n", 3, 3, 2, 2}, /* SNAP */
      {"0 1\n1 2 \n\n 2 0", 3, 3, 3, 3},                             /* no line end at the end */
      {"id_1,id_2\n0,5\n1,2\n", 6, 6, 2, 2},                         /* CSV with names */
      {"\"source\",\"target\",\"weight\"\r\n1,2,0.5\r\n2,3,4\r\n", 3, 3, 2, 2},
      {"0;1;2.5\n1 ; 0 ; 3\n", 2, 2, 2, 2},
      {"\xef\xbb\xbf"
       "from,to\r\n0,5\r\n1,2\r\n",
       6, 6, 2, 2}, /* a byte order mark */
      {"\xef\xbb\xbf"
       "0 5 1\n1 2\n",
       6, 6, 2, 2},
      {"0 1 1.0\n0 1 2.0\n1 1\n", 2, 2, 2, 3},              /* repeats */
      {"3 4\n4 5\n", 6, 6, 2, 2},                           /* from 0: the smallest is not 1 */
      {"1 4\n4 5\n", 5, 5, 2, 2},                           /* from 1 */
      {"% asym positive\n% 2 7 7\n2 3\n3 2\n", 7, 7, 2, 2}, /* KONECT with sizes */
      {"% asym\n2 3\n3 2\n", 3, 3, 2, 2},                   /* and without */
      {"% bip unweighted\n% 2 3 8\n1 8\n3 1\n", 3, 8, 2, 2},
      {"% bip\n% 2 3 3000000000\n1 3000000000\n3 1\n", 3, 3000000000, 2, 2}, /* 64-bit columns */
      {"% bip weighted\n2 8 1\n3 1 1\n", 3, 8, 2, 2}, /* without sizes: rows and columns apart */
      {"% a note\n\n0 1 # more\n% x\n\t# y\n1 2 0.5 7 8 x\n", 3, 3, 2, 2},
      {"0,1,\n1,0,2\n", 2, 2, 2, 2},
      {"% asym\n% 0 4 4\n", 4, 4, 0, 0},
      {"0 0\n", 1, 1, 1, 1},
      {"0 1 2\n1 0 -3\n1 1 4\n", 2, 2, 3, 3}, /* a row 0 of no rows: not the sizes of a bare Matrix Market */
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sley_matrix *a;
    assert_sley_ok(test_read("t.el", cases[c].text, SLEY_F64, &a));
    if (a->rows != cases[c].rows || a->cols != cases[c].cols || a->nnz != cases[c].nnz ||
        a->entries_stored != cases[c].stored)
      fail_msg("case %zu reads as %lld x %lld, %lld nonzeros, %lld stored", c, (long long)a->rows,
               (long long)a->cols, (long long)a->nnz, (long long)a->entries_stored);
    sl_matrix_destroy(a);
  }
}

static void places_values(void **state) {
  (void)state;
  const double n = (double)NAN;
  sley_matrix *a;
  assert_sley_ok(test_read("t.csv", "0,1,2.5\n0,1,-1\n2,0\n1,2,3e2,9\n", SLEY_F64, &a));
  test_is(a, 3, 3, (double[]){n, 1.5, n, n, n, 300, 1, n, n});
  sl_matrix_destroy(a);
  /* A weight appears late: the lines before it get 1. */
  assert_sley_ok(test_read("t.el", "1 2\n2 1\n2 2 7\n", SLEY_F32, &a));
  test_is(a, 2, 2, (double[]){n, 1, 1, 7});
  sl_matrix_destroy(a);
  assert_sley_ok(test_read("t.el", "% bip\n% 2 2 3\n1 3 -4\n2 1 nan\n", SLEY_F32, &a));
  test_is(a, 2, 3, (double[]){n, n, -4, n, n, n});
  assert_int_equal(a->nnz, 2);
  sl_matrix_destroy(a);
}

static void refuses_with_the_line(void **state) {
  (void)state;
  static const test_refusal cases[] = {
      {"# nothing\n", SLEY_ERR_INPUT, 1, "no line holds an entry"},
      {"only words\n", SLEY_ERR_INPUT, 1, "no line holds an entry"},
      {"0 1\n1\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"0 1\n\n# x\n1 x\n", SLEY_ERR_INPUT, 4, "two whole numbers"},
      {"0 1\nsome words\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"names\nother names\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"0 1\n1.5 2\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"0 1\n1 2.0\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"0 1\n1,,2\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"0 1\n1 99999999999999999999\n", SLEY_ERR_INPUT, 2, "two whole numbers"},
      {"0 1\n\n1 -2\n", SLEY_ERR_INPUT, 3, "negative"},
      {"0 1\n-1 2\n", SLEY_ERR_INPUT, 2, "negative"},
      {"0 1 2\n1 2 x\n", SLEY_ERR_INPUT, 2, "not a number"},
      {"0 1 2\n1 2 3x\n", SLEY_ERR_INPUT, 2, "not a number"},
      {"0 1 2\n1 2 1e\n", SLEY_ERR_INPUT, 2, "not a number"},
      {"0 1 0,5\n", SLEY_ERR_INPUT, 1, "a comma in the value"},
      {"0;1;1.000,5\n", SLEY_ERR_INPUT, 1, "not a number"},
      {"0 1 {'weight': 2}\n", SLEY_ERR_INPUT, 1, "not a number"},
      {"0 1 2 3\n1 2\n", SLEY_ERR_INPUT, 1, "4 fields, where other lines have 2"},
      {"0 1\n\n1 2 3\n", SLEY_ERR_INPUT, 3, "3 fields, where other lines have 2"},
      {"graph 3\n1 2\n", SLEY_ERR_INPUT, 1, "nor names of columns"},
      {"% asym\n% 3 3 3\n1 2\n2 1\n", SLEY_ERR_INPUT, 2, "counts 3 entries, but 2 lines follow"},
      {"% asym\n% 1 3 3\n1 2\n2 1\n", SLEY_ERR_INPUT, 2, "counts 1 entries, but 2 lines follow"},
      {"% asym\n% 2 3 3\n1 2\n0 1\n", SLEY_ERR_INPUT, 4, "start from 1"},
      {"% asym\n% 2 3 3\n1 2\n4 1\n", SLEY_ERR_INPUT, 4, "the row is above the 3"},
      {"% bip\n% 2 3 2\n1 2\n\n1 3\n", SLEY_ERR_INPUT, 5, "the column is above the 2"},
      {"0 1\n1 9223372036854775807\n", SLEY_ERR_INPUT, 2, "too large"},
      {"0 1\n1 9223372036854775806\n2 3\n", SLEY_ERR_INPUT, 2, "more than a file"},
      {"% asym\n% 2 9000000000000000000 9000000000000000000\n1 2\n1 3\n", SLEY_ERR_INPUT, 1,
       "more than a file"},
  };
  test_refusals("t.txt", cases, sizeof cases / sizeof *cases);
}

static void a_zero_byte_is_no_line_end(void **state) {
  (void)state;
  sley_matrix *a;
  char text[5000];
  memset(text, '#',
         sizeof text); /* a comment long enough to hide the zero from the look at the first bytes */
  memcpy(text + 4900, "\n0 1\0 2\n1 2\n", 12);
  assert_int_equal(test_read_memory("t", text, 4912, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
  assert_non_null(strstr(sley_last_error(), "t:2: "));
}

/* A list of several pieces; entry wrong (if >= 0) is not a number. */
static char *large_text(int64_t entries, int64_t wrong, size_t *size) {
  char *text = malloc((size_t)entries * 48), *p = text;
  for (int64_t e = 0; e < entries; e++) {
    if (e % 1000 == 7)
      p += sprintf(p, e % 2000 == 7 ? "\n" : "  # note\n");
    p += sprintf(p, "%lld\t%lld%s", (long long)(sl_random(1, (uint64_t)e, 0) % 5000),
                 (long long)(sl_random(1, (uint64_t)e, 1) % 5000), e == wrong ? " x\n" : "\n");
    if (e % 3 == 1)
      p += sprintf(p - 1, " %g\n", sl_unit(sl_random(1, (uint64_t)e, 2))) - 1;
  }
  *size = (size_t)(p - text);
  return text;
}

static void threads_do_not_change_the_result(void **state) {
  (void)state;
  size_t size;
  char *text = large_text(100000, -1, &size);
  sley_matrix *one, *a;
  assert_sley_ok(test_read_memory("t.el", text, size, SLEY_F64, NULL, &one));
  assert_int_equal(one->entries_stored, 100000);
  for (int threads = 2; threads <= 3; threads++) {
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    assert_sley_ok(test_read_memory("t.el", text, size, SLEY_F64, team, &a));
    test_same(one, a);
    sl_matrix_destroy(a);
    sl_team_destroy(team);
  }
  sl_matrix_destroy(one);
  free(text);
}

static void tells_the_first_wrong_line_of_a_later_piece(void **state) {
  (void)state;
  size_t size;
  char *text = large_text(100000, 90002, &size);
  sley_matrix *a;
  assert_int_equal(test_read_memory("big.el", text, size, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
  assert_memory_equal(sley_last_error(), "big.el:90093: ", 14);
  free(text);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{0, 0}, {1, 1},   {0, 5},  {5, 0},  {1, 7},
                                     {7, 1}, {13, 13}, {31, 8}, {40, 90}};
  sl_team *team;
  assert_sley_ok(sl_team_create(2, &team));
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int dtype = 0; dtype < 4; dtype++) {
      sley_matrix *a = test_random_matrix(s, sizes[s][0], sizes[s][1], 0.2, (sley_dtype)dtype, false);
      test_round_trip(a, ".el", team);
      sl_matrix_destroy(a);
    }
  sl_team_destroy(team);
}

static void leaves_out_values_that_are_all_one(void **state) {
  (void)state;
  sley_matrix *a;
  assert_sley_ok(test_read("t.el", "0 1\n2 2\n", SLEY_F32, &a));
  const char *path = test_path("ones.el");
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  sl_matrix_destroy(a);
  char text[128] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  assert_string_equal(text, "% asym unweighted\n% 2 3 3\n1 2\n3 3\n");
  unlink(path);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char text[] = "0 1\n1 2 3\n3000 4\n";
  test_reading_short_of_memory("t.el", text, sizeof text - 1);
  sley_matrix *a = test_random_matrix(1, 9, 9, 0.3, SLEY_F32, false);
  test_writing_short_of_memory(a, ".el");
  test_writing_short_of_memory(a, ".el.gz");
  sl_matrix_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_dialect),
      cmocka_unit_test(places_values),
      cmocka_unit_test(refuses_with_the_line),
      cmocka_unit_test(a_zero_byte_is_no_line_end),
      cmocka_unit_test(threads_do_not_change_the_result),
      cmocka_unit_test(tells_the_first_wrong_line_of_a_later_piece),
      cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(leaves_out_values_that_are_all_one),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
