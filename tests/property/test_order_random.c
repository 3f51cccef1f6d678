/* SPDX-License-Identifier: Apache-2.0 */
/* On random graphs, also unsymmetric ones and graphs with loops, repeats, several components and 64-bit
 * columns, every ordering must return a permutation, and the same one with any number of threads. Real
 * matrices are also tested if they are available. */
#include "support.h"

#include "base/random.h"
#include "order/order.h"

enum { MAX_ROWS = 90, ROUNDS = 120, MAX_ENTRIES = MAX_ROWS * MAX_ROWS };

static void check_permutation(const int64_t *perm, int64_t rows) {
  uint8_t *met = calloc((size_t)rows + 1, 1);
  for (int64_t i = 0; i < rows; i++) {
    assert_true(perm[i] >= 0 && perm[i] < rows);
    assert_int_equal(met[perm[i]]++, 0);
  }
  free(met);
}

static void check_ordering(const sley_matrix *matrix, const char *name) {
  const int threads[] = {1, 2, 5};
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_info_get(matrix, &info));
  int64_t *first = calloc((size_t)info.rows + 1, sizeof *first),
          *perm = calloc((size_t)info.rows + 1, sizeof *perm);
  for (int t = 0; t < 3; t++) {
    memset(perm, 0xff, (size_t)info.rows * sizeof *perm);
    sley_status status = sley_order(matrix, name, 7, threads[t], perm);
    if (status == SLEY_ERR_UNSUPPORTED)
      break;
    if (status != SLEY_OK)
      fail_msg("%s: %s", name, sley_last_error());
    check_permutation(perm, info.rows);
    if (t == 0)
      memcpy(first, perm, (size_t)info.rows * sizeof *perm);
    assert_memory_equal(first, perm, (size_t)info.rows * sizeof *perm);
  }
  free(perm);
  free(first);
}

static void check_all(const sley_matrix *matrix) {
  for (int i = 0; sl_orderings[i]; i++)
    check_ordering(matrix, sl_orderings[i]->name);
}

/* A random graph in which repeated entries are kept. In a symmetric graph every entry is present in both
 * directions. */
static sley_matrix *random_graph(uint64_t seed) {
  static const int64_t sizes[] = {0, 1, 2, 3, 5, 17, 64, MAX_ROWS};
  static int64_t rowptr[MAX_ROWS + 1];
  static int32_t narrow[MAX_ENTRIES];
  static int64_t wide[MAX_ENTRIES];
  static float val[MAX_ENTRIES];
  int64_t n = sizes[sl_below(sl_random(seed, 0, 0), 8)], count = 0;
  double density = sl_unit(sl_random(seed, 0, 1)) * (sl_random(seed, 0, 2) % 3 == 0 ? 0.5 : 0.05);
  bool symmetric = sl_random(seed, 0, 3) & 1, is_wide = sl_random(seed, 0, 4) & 1;
  int64_t parts = 1 + sl_below(sl_random(seed, 0, 5), 4); /* no entry joins rows of different parts */
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      uint64_t a = (uint64_t)(symmetric && j < i ? j : i), b = (uint64_t)(symmetric && j < i ? i : j);
      uint64_t bits = sl_random(seed, 1 + a, b);
      int repeats = i % parts == j % parts && sl_unit(bits) < density ? 1 + (bits % 13 == 0) : 0;
      for (; repeats > 0 && count < MAX_ENTRIES; repeats--) {
        narrow[count] = (int32_t)j;
        wide[count++] = j;
      }
    }
    rowptr[i + 1] = count;
  }
  sley_csr csr = {
      n, n, rowptr, is_wide ? (void *)wide : (void *)narrow, val, is_wide ? SLEY_I64 : SLEY_I32, SLEY_F32};
  sley_matrix *out;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &out));
  return out;
}

static void random_graphs(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    sley_matrix *matrix = random_graph(seed);
    check_all(matrix);
    sley_matrix_destroy(matrix);
  }
}

static void power_law_graphs(void **state) {
  (void)state;
  const char *const names[] = {"twin:cyt:scale=0.02", "rmat:scale=11,edgefactor=6"};
  const char *const orderings[] = {"rabbit", "rcm", "degree", "loa", "loa-parts", "cover"};
  for (int i = 0; i < 2; i++) {
    sley_matrix *plain, *matrix;
    sley_matrix_info info;
    assert_sley_ok(sley_matrix_read(names[i], NULL, &plain));
    assert_sley_ok(sley_matrix_info_get(plain, &info));
    int64_t *perm = calloc((size_t)info.rows, sizeof *perm);
    assert_sley_ok(sley_order(plain, "random", 1, 1, perm));
    assert_sley_ok(sley_matrix_permute(plain, perm, perm, 1, &matrix));
    for (int o = 0; o < 6; o++)
      check_ordering(matrix, orderings[o]);
    free(perm);
    sley_matrix_destroy(matrix);
    sley_matrix_destroy(plain);
  }
}

static void view_with_an_offset(void **state) {
  (void)state;
  const int64_t rowptr[] = {3, 4, 6, 7};
  const int32_t col[] = {9, 9, 9, 1, 0, 2, 1};
  const float val[7] = {0};
  sley_csr csr = {3, 3, rowptr, col, val, SLEY_I32, SLEY_F32};
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_BORROW, &matrix));
  check_all(matrix);
  sley_matrix_destroy(matrix);
}

static void real_matrices(void **state) {
  (void)state;
  static const char *const files[] = {"edgelist/karate_multi_edge.csv", "edgelist/karate_s_loop.csv",
                                      "edgelist/netscience.csv", "gnn/cora.adj.mtx", "hb/bcsstk01.rb"};
  const char *dir = test_data_dir();
  if (!dir)
    skip();
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[4096];
    sley_matrix *matrix;
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    assert_sley_ok(sley_matrix_read(path, NULL, &matrix));
    check_all(matrix);
    sley_matrix_destroy(matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_graphs),
      cmocka_unit_test(power_law_graphs),
      cmocka_unit_test(view_with_an_offset),
      cmocka_unit_test(real_matrices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
