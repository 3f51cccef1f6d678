/* SPDX-License-Identifier: Apache-2.0 */
/* Random matrices of every shape written and read back in every format that keeps a general matrix, plain and
 * compressed, on one to three threads: the same bits come back. */
#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"
#include "base/value.h"
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

/* Distinct entries, about fill of each row; integers only if whole. */
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
          assert_sley_ok(sl_matrix_read_file(path, (sley_dtype)dtype, team, &b));
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

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_come_back)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
