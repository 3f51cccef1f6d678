/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles of real graphs: the sums of A A by plus-pair where A has entries are 6 times as many, counted
 * here by intersecting lists of neighbours. */
#include "support.h"

/* Neighbours of i that are below and also neighbours of j. */
static int64_t common(const sley_csr *a, int64_t i, int64_t j) {
  const int32_t *col = a->col;
  int64_t at = a->rowptr[i], other = a->rowptr[j], count = 0;
  while (at < a->rowptr[i + 1] && other < a->rowptr[j + 1] && col[at] < j) {
    count += col[at] == col[other];
    const bool forward = col[at] <= col[other];
    other += col[other] <= col[at];
    at += forward;
  }
  return count;
}

static int64_t count_triangles(const sley_csr *a) {
  int64_t count = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++)
      if (((const int32_t *)a->col)[e] < i)
        count += common(a, i, ((const int32_t *)a->col)[e]);
  return count;
}

static void check_graph(const char *dir, const char *name) {
  char path[4096];
  sley_matrix *a, *c;
  sley_csr graph, made;
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  double sum = 0;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  sley_read_options read = SLEY_READ_OPTIONS_INIT;
  read.dtype = SLEY_F64;
  assert_sley_ok(sley_matrix_read(path, &read, &a));
  assert_sley_ok(sley_matrix_csr(a, &graph));
  options.semiring = SLEY_PLUS_PAIR;
  options.mask = a;
  assert_sley_ok(sley_spgemm(a, a, &options, &c, NULL));
  assert_sley_ok(sley_matrix_csr(c, &made));
  for (int64_t e = 0; e < made.rowptr[made.rows]; e++)
    sum += ((const double *)made.val)[e];
  const int64_t triangles = count_triangles(&graph);
  print_message("%s: %lld triangles\n", name, (long long)triangles);
  assert_true(triangles > 0 && sum == 6 * (double)triangles);
  sley_matrix_destroy(a);
  sley_matrix_destroy(c);
}

static void triangles_are_counted(void **state) {
  (void)state;
  /* symmetric, without loops */
  static const char *const names[] = {"metis/astro-ph.graph.gz", "metis/jazz.graph", "metis/wing.graph.gz",
                                      "mtx/delaunay_n16.mtx.gz"};
  const char *dir = test_data_dir();
  if (!dir)
    skip();
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    check_graph(dir, names[n]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(triangles_are_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
