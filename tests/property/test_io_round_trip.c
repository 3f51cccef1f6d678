/* SPDX-License-Identifier: Apache-2.0 */
/* Random matrices of every shape are written and read back in every format that can hold them, plain and
 * compressed, on one to three threads, and must have the same bits. Ten thousand small matrices test the
 * detection of formats: they have few lines, sizes that look like entries, and entries that look like
 * sizes. */
#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"
#include "base/value.h"
#include "formats.h"
#include "io/io.h"
#include "support.h"

static char folder[] = "/tmp/sley-round-trip-XXXXXX";

static double random_value(uint64_t seed, uint64_t e) {
  static const double special[] = {0,      -0.0, 1,   -1, 5e-324, 1.7976931348623157e308, 3.4028235e38f,
                                   1e-45f, 0.1,  1e22};
  uint64_t bits = sl_random(seed, e, 2);
  if (bits % 4 == 0)
    return special[bits / 4 % (sizeof special / sizeof *special)];
  return (sl_unit(bits) - 0.5) * (bits % 3 == 0 ? 1e-30 : 1e3);
}

/* A matrix with distinct entries, which fill about the share `fill` of each row; whole: all values are
 * integers. */
static sley_matrix *random_matrix(uint64_t seed, int64_t rows, int64_t cols, double fill, sley_dtype dtype) {
  int64_t most = (int64_t)((double)rows * (double)cols) + 1, nnz = 0;
  int64_t *rowptr = calloc((size_t)rows + 1, sizeof *rowptr);
  int32_t *col = malloc((size_t)most * sizeof *col);
  double *val = malloc((size_t)most * sizeof *val); /* of dtype */
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++)
      if (sl_unit(sl_random(seed, (uint64_t)i, (uint64_t)j)) < fill) {
        col[nnz] = (int32_t)j;
        sl_value_set(val, dtype, nnz, random_value(seed, (uint64_t)nnz));
        nnz++;
      }
    rowptr[i + 1] = nnz;
  }
  sley_csr csr = {rows, cols, rowptr, col, val, SLEY_I32, dtype};
  sley_matrix *a;
  assert_sley_ok(sl_matrix_from_csr(&csr, SLEY_COPY, NULL, &a));
  free(rowptr);
  free(col);
  free(val);
  return a;
}

static void the_same_bits_come_back(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{0, 0},  {0, 5},  {5, 0},   {1, 1},    {1, 40},
                                      {40, 1}, {7, 13}, {33, 32}, {150, 90}, {260, 200}};
  static const double fills[] = {0, 0.02, 0.3, 1};
  static const char *const names[] = {"a.mtx",    "a.mtx.gz", "a.mtx.zst", "a.sley", "a.sley.zst", "a.npz",
                                      "a.npz.gz", "a.rb",     "a.rb.zst",  "a.el",   "a.el.gz"};
  uint64_t seed = 1;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t f = 0; f < sizeof fills / sizeof *fills; f++)
      for (int dtype = 0; dtype < 4; dtype++, seed++) {
        sley_matrix *a = random_matrix(seed, shapes[s][0], shapes[s][1], fills[f], (sley_dtype)dtype), *b;
        sl_team *team;
        assert_sley_ok(sl_team_create((int)(seed % 3) + 1, &team));
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
          char path[128];
          snprintf(path, sizeof path, "%s/%s", folder, names[n]);
          assert_sley_ok(sl_matrix_write_file(a, path, team));
          assert_sley_ok(test_read_file(path, (sley_dtype)dtype, team, &b));
          assert_true(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->index == b->index);
          assert_memory_equal(a->rowptr, b->rowptr, (size_t)(a->rows + 1) * sizeof(int64_t));
          assert_memory_equal(a->col, b->col, (size_t)a->nnz * sizeof(int32_t));
          assert_memory_equal(a->val, b->val, (size_t)a->nnz * sley_dtype_bytes(a->dtype));
          sl_matrix_destroy(b);
          unlink(path);
        }
        sl_team_destroy(team);
        sl_matrix_destroy(a);
      }
}

enum { SMALL = 10000 };

/* A value of the given kind: a small whole number, one, explicit zero, or any value. */
static double small_value(uint64_t kind, uint64_t seed, uint64_t e) {
  uint64_t bits = sl_random(seed, e, 3);
  return kind == 0   ? 1
         : kind == 1 ? (double)(1 + bits % 6)
         : kind == 2 ? (double)(bits % 3)
                     : random_value(seed, e);
}

/* A matrix of up to 6 x 6, whose last rows or columns are often empty. With graph it is square and symmetric,
 * with an empty diagonal and positive whole values, as METIS requires. */
static sley_matrix *small_matrix(uint64_t seed, sley_dtype dtype, bool graph) {
  int64_t rows = (int64_t)(sl_random(seed, 0, 10) % 7), cols = (int64_t)(sl_random(seed, 0, 11) % 7), nnz = 0;
  uint64_t kind = graph ? sl_random(seed, 0, 12) % 2 : sl_random(seed, 0, 12) % 4;
  double fill = (double)(sl_random(seed, 0, 13) % 5) / 4;
  int64_t used = rows - (int64_t)(sl_random(seed, 0, 14) % 3);
  int64_t rowptr[8] = {0};
  int32_t col[64];
  double val[64]; /* of dtype */
  cols = graph ? rows : cols;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      uint64_t a = (uint64_t)(graph && j < i ? j : i), b = (uint64_t)(graph && j < i ? i : j);
      if ((graph && (i == j || j >= used)) || i >= used || sl_unit(sl_random(seed, a, b + 20)) >= fill)
        continue;
      col[nnz] = (int32_t)j;
      sl_value_set(val, dtype, nnz, small_value(kind, seed, 100 * a + b));
      nnz++;
    }
    rowptr[i + 1] = nnz;
  }
  sley_csr csr = {rows, cols, rowptr, col, val, SLEY_I32, dtype};
  sley_matrix *a;
  assert_sley_ok(sl_matrix_from_csr(&csr, SLEY_COPY, NULL, &a));
  return a;
}

static bool comes_back(const sley_matrix *a, const char *name, const char *format) {
  char path[128];
  sley_matrix *b;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  if (test_read_file(path, a->dtype, NULL, &b) != SLEY_OK) {
    print_message("%s\n", sley_last_error());
    return false;
  }
  sley_matrix_source source;
  sl_source_tell(&b->source, &source);
  bool same = a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
              strcmp(source.format, format) == 0 &&
              memcmp(a->rowptr, b->rowptr, (size_t)(a->rows + 1) * sizeof(int64_t)) == 0 &&
              memcmp(a->col, b->col, (size_t)a->nnz * sizeof(int32_t)) == 0 &&
              memcmp(a->val, b->val, (size_t)a->nnz * sley_dtype_bytes(a->dtype)) == 0;
  sl_matrix_destroy(b);
  return same;
}

static void small_matrices_come_back(void **state) {
  (void)state;
  static const char *const formats[][2] = {
      {"s.el", "edgelist"}, {"s.rb", "rb"}, {"s.mtx", "mtx"}, {"s.npz", "npz"}, {"s.sley", "sley"}};
  enum { FORMATS = sizeof formats / sizeof *formats, TEXTS = 1 }; /* the others in turn */
  int wrong = 0;
  for (uint64_t seed = 1; seed <= SMALL; seed++) {
    sley_dtype dtype = (sley_dtype)(seed % 4);
    bool graph = seed % 5 == 0;
    sley_matrix *a = small_matrix(seed, dtype, graph);
    for (int f = 0; f < FORMATS; f++)
      if ((f < TEXTS || f - TEXTS == (int)(seed % (FORMATS - TEXTS))) &&
          !comes_back(a, formats[f][0], formats[f][1])) {
        print_message("matrix %d does not come back from %s\n", (int)seed, formats[f][0]);
        wrong++;
      }
    wrong += graph && !comes_back(a, "s.graph", "metis");
    sl_matrix_destroy(a);
  }
  assert_int_equal(wrong, 0);
  for (int f = 0; f <= FORMATS; f++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, f < FORMATS ? formats[f][0] : "s.graph");
    unlink(path);
  }
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_come_back),
                                     cmocka_unit_test(small_matrices_come_back)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
