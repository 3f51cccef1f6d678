/* SPDX-License-Identifier: Apache-2.0 */
/* METIS graphs: every format number, isolated vertices, refusals with their line, and writing. */
#include <math.h>
#include <unistd.h>

#include "base/random.h"
#include "formats.h"
#include "io/io.h"

typedef struct format_case {
  const char *text;
  double weight; /* of the edge 1-2; the edge 2-4 has one more if weighted, else 1 */
} format_case;

static void reads_every_format(void **state) {
  (void)state;
  static const format_case cases[] = {
      {"4 2\n2\n1 4\n\n2\n", 1},
      {"% graph\n\n 4 2 0\n2\n% inside\n 4 1\n\n2", 1},
      {"4 2 000\r\n2\r\n1 4\r\n\r\n2\r\n", 1},
      {"4 2 1\n2 7\n1 7 4 8\n\n2 8\n", 7},
      {"4 2 001\n2 7.5\n4 8.5 1 7.5\n\n2 8.5\n\n \n", 7.5},
      {"4 2 10\n9 2\n9 1 4\n9\n9 2\n", 1},
      {"4 2 010 3\n9 8 7 2\n9 8 7 1 4\n9 8 7\n9 8 7 2\n", 1},
      {"4 2 11\n9 2 7\n9 1 7 4 8\n9\n9 2 8\n", 7},
      {"4 2 100\n5 2\n5 1 4\n5\n5 2\n", 1},
      {"4 2 111 2\n5 9 9 2 7\n5 9 9 1 7 4 8\n5 9 9\n5 9 9 2 8\n", 7},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int dtype = 0; dtype < 4; dtype++) {
      const double n = (double)NAN, w = cases[c].weight, v = w == 1 ? 1 : w + 1;
      sley_matrix *a;
      assert_sley_ok(test_read("t.graph", cases[c].text, (sley_dtype)dtype, &a));
      test_is(a, 4, 4, (double[]){n, w, n, n, w, n, n, v, n, n, n, n, n, v, n, n});
      assert_int_equal(a->entries_stored, 4);
      for (int64_t e = a->rowptr[1]; e + 1 < a->rowptr[2]; e++)
        assert_true(sl_index_at(a->col, a->index, e) < sl_index_at(a->col, a->index, e + 1));
      sl_matrix_destroy(a);
    }
}

static void is_told_by_content_too(void **state) {
  (void)state;
  sley_matrix *a;
  assert_sley_ok(test_read("t", "% x\n3 2\n2 3\n1\n1\n", SLEY_F32, &a));
  assert_int_equal(a->rows, 3);
  assert_int_equal(a->nnz, 4);
  sl_matrix_destroy(a);
  /* As many lines as the first number says, but the entries do not fit, and the lines are even: an edge list.
   */
  assert_sley_ok(test_read("t", "2 3\n0 1\n1 2\n", SLEY_F32, &a));
  assert_int_equal(a->rows, 4);
  sl_matrix_destroy(a);
  /* The last vertex has no neighbours, and the file ends before its line does. */
  assert_sley_ok(test_read("t.graph", "3 1\n2\n1\n", SLEY_F32, &a));
  assert_int_equal(a->rows, 3);
  assert_int_equal(a->nnz, 2);
  sl_matrix_destroy(a);
  assert_sley_ok(test_read("t", "0 0\n", SLEY_F32, &a));
  assert_int_equal(a->rows, 1);
  sl_matrix_destroy(a);
  assert_sley_ok(test_read("t.graph", "0 0\n", SLEY_F32, &a));
  assert_int_equal(a->rows, 0);
  sl_matrix_destroy(a);
}

static void refuses_with_the_line(void **state) {
  (void)state;
  static const test_refusal cases[] = {
      {"x y\n", SLEY_ERR_INPUT, 1, "no METIS header"},
      {"4 1\n2\n1\n", SLEY_ERR_INPUT, 4, "the file ends after 2 of 4 vertices"},
      {"3 1\n% x\n2\n1", SLEY_ERR_INPUT, 4, "the file ends after 2 of 3 vertices"},
      {"2 1\n2\n1\n\n1\n", SLEY_ERR_INPUT, 5, "a line follows"},
      {"2 1\n2\n3\n", SLEY_ERR_INPUT, 3, "outside 1 .. 2"},
      {"2 1\n2\n0\n", SLEY_ERR_INPUT, 3, "outside 1 .. 2"},
      {"2 1\n2\n-1\n", SLEY_ERR_INPUT, 3, "outside 1 .. 2"},
      {"% c\n2 1\n2\n1.5\n", SLEY_ERR_INPUT, 4, "not a whole number"},
      {"2 1\n2\nx\n", SLEY_ERR_INPUT, 3, "not a whole number"},
      {"2 1 1\n2 5\n1\n", SLEY_ERR_INPUT, 3, "no edge weight"},
      {"2 1 1\n2 5\n1 x\n", SLEY_ERR_INPUT, 3, "a weight is missing or not a number"},
      {"2 1 10\n1 2\n\n", SLEY_ERR_INPUT, 3, "a weight is missing or not a number"},
      {"2 1 10\n1 2\ny 1\n", SLEY_ERR_INPUT, 3, "a weight is missing or not a number"},
      {"% c\n2 2\n2\n1\n", SLEY_ERR_INPUT, 2, "counts 2 edges, but the lines hold 2"},
      {"2 1\n2\n\n", SLEY_ERR_INPUT, 1, "counts 1 edges, but the lines hold 1"},
      {"4 2\n2\n1\n1\n3\n", SLEY_ERR_INPUT, 4, "vertex 3 names 1 1 times, but is named by it 0 times"},
      {"4 2\n2\n1\n% c\n4 4\n\n", SLEY_ERR_INPUT, 5, "vertex 3 names 4 2 times"},
      {"2 1 1\n2 5\n1 6\n", SLEY_ERR_INPUT, 2, "two weights, 5 and 6"},
      {"9000000000000000000 1\n2\n1\n", SLEY_ERR_INPUT, 1, "cannot be in a file"},
  };
  test_refusals("t.graph", cases, sizeof cases / sizeof *cases);
}

/* A graph of several pieces as text: vertex v is joined with v +- 1, and with v +- 1000 if far. */
static char *large_text(int64_t vertices, int64_t wrong, size_t *size) {
  char *text = malloc((size_t)vertices * 48 + 64), *p = text;
  p += sprintf(p, "%lld %lld\n", (long long)vertices, (long long)(vertices - 1 + vertices - 1000));
  for (int64_t v = 1; v <= vertices; v++) {
    if (v % 1000 == 7)
      p += sprintf(p, "%% note\n");
    for (int64_t far = -1000; far <= 1000; far += far == -1000 || far == 1 ? 999 : 2) {
      int64_t u = v + (far == -1 || far == 1 ? far : (far < 0 ? -1000 : 1000));
      if (u >= 1 && u <= vertices)
        p += sprintf(p, "%lld ", (long long)(v == wrong && far == 1 ? v : u));
    }
    *p++ = '\n';
  }
  *size = (size_t)(p - text);
  return text;
}

static void threads_do_not_change_the_result(void **state) {
  (void)state;
  size_t size;
  char *text = large_text(50000, -1, &size);
  sley_matrix *one, *a;
  assert_sley_ok(test_read_memory("t.graph", text, size, SLEY_F32, NULL, &one));
  assert_int_equal(one->nnz, 2 * (49999 + 49000));
  for (int threads = 2; threads <= 3; threads++) {
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    assert_sley_ok(test_read_memory("t.graph", text, size, SLEY_F32, team, &a));
    test_same(one, a);
    sl_matrix_destroy(a);
    sl_team_destroy(team);
  }
  sl_matrix_destroy(one);
  free(text);
}

static void finds_one_edge_that_has_no_way_back(void **state) {
  (void)state;
  size_t size;
  char *text = large_text(50000, 41005, &size); /* names itself in place of 41006 */
  sley_matrix *a;
  assert_int_equal(test_read_memory("big.graph", text, size, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
  assert_string_equal(sley_last_error(),
                      "big.graph:41048: vertex 41006 names 41005 1 times, but is named by it 0 times");
  free(text);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 13, 40, 300};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int dtype = 0; dtype < 4; dtype++) {
      sley_matrix *a = test_random_matrix(s + 10, sizes[s], sizes[s], 0.2, (sley_dtype)dtype, true);
      test_round_trip(a, ".graph", NULL);
      sl_matrix_destroy(a);
    }
}

static void refuses_to_write_what_metis_cannot_hold(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"% bip\n% 1 2 3\n1 2\n", "is square"},           {"0 1\n1 0\n1 1\n", "diagonal"},
      {"0 1\n1 0\n1 2\n", "row 1 and column 1 differ"}, {"0 1 2\n1 0 3\n", "row 0 and column 0 differ"},
      {"0 1 2.5\n1 0 2.5\n", "positive whole"},         {"0 1 -2\n1 0 -2\n", "positive whole"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sley_matrix *a;
    const char *path = test_path("no.graph");
    assert_sley_ok(test_read("t.el", cases[c].text, SLEY_F32, &a));
    assert_int_equal(sl_matrix_write_file(a, path, NULL), SLEY_ERR_UNSUPPORTED);
    if (!strstr(sley_last_error(), cases[c].says))
      fail_msg("case %zu: %s", c, sley_last_error());
    assert_int_not_equal(access(path, F_OK), 0);
    sl_matrix_destroy(a);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char text[] = "3 2 1\n3 4 2 3\n1 3\n1 4\n";
  test_reading_short_of_memory("t.graph", text, sizeof text - 1);
  sley_matrix *a = test_random_matrix(1, 9, 9, 0.3, SLEY_F32, true);
  test_writing_short_of_memory(a, ".graph");
  sl_matrix_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_format),
      cmocka_unit_test(is_told_by_content_too),
      cmocka_unit_test(refuses_with_the_line),
      cmocka_unit_test(threads_do_not_change_the_result),
      cmocka_unit_test(finds_one_edge_that_has_no_way_back),
      cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(refuses_to_write_what_metis_cannot_hold),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
