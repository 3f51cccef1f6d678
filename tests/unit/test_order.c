/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings by example: what each does to a graph made for it, their arguments, and failing allocations. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "order/order.h"

/* The matrix under a shuffle of its rows and columns. */
static sley_matrix *shuffled(const sley_matrix *matrix, uint64_t seed) {
  sley_matrix_info info;
  sley_matrix *out;
  assert_sley_ok(sley_matrix_info_get(matrix, &info));
  int64_t *perm = calloc((size_t)info.rows + 1, sizeof *perm);
  assert_sley_ok(sley_order(matrix, "random", seed, 1, perm));
  assert_sley_ok(sley_matrix_permute(matrix, perm, perm, 1, &out));
  free(perm);
  return out;
}

static sley_matrix *read_shuffled(const char *name, uint64_t seed) {
  sley_matrix *plain;
  assert_sley_ok(sley_matrix_read(name, NULL, &plain));
  sley_matrix *out = shuffled(plain, seed);
  sley_matrix_destroy(plain);
  return out;
}

static int64_t bandwidth(const sley_matrix *matrix, const int64_t *perm) {
  int64_t widest = 0;
  for (int64_t i = 0; i < matrix->rows; i++)
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++) {
      int64_t j = sl_index_at(matrix->col, matrix->index, e);
      int64_t away = perm[i] > perm[j] ? perm[i] - perm[j] : perm[j] - perm[i];
      widest = away > widest ? away : widest;
    }
  return widest;
}

/* Distinct remote columns, summed over equal blocks of rows. */
static int64_t halo(const sley_matrix *matrix, const int64_t *perm, int ranks) {
  int64_t rows = matrix->rows, count = 0, *begin = calloc((size_t)ranks + 1, sizeof *begin);
  int *owner = calloc((size_t)rows, sizeof *owner);
  uint8_t *met = calloc((size_t)(rows * ranks), 1);
  assert_sley_ok(sley_partition_equal(rows, ranks, begin));
  for (int64_t i = 0; i < rows; i++)
    while (perm[i] >= begin[owner[i] + 1])
      owner[i]++;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++) {
      int64_t j = sl_index_at(matrix->col, matrix->index, e);
      if (owner[j] != owner[i] && !met[j * ranks + owner[i]]) {
        met[j * ranks + owner[i]] = 1;
        count++;
      }
    }
  free(met);
  free(owner);
  free(begin);
  return count;
}

static void none_and_degree_by_hand(void **state) {
  (void)state;
  /* Edges 0-1, 1-2, 1-3, 3-4 and a vertex alone, given in one direction only. */
  const int64_t rowptr[] = {0, 1, 3, 3, 4, 4, 4};
  const int32_t col[] = {1, 2, 3, 4};
  const float val[] = {1, 1, 1, 1};
  sley_csr csr = {6, 6, rowptr, col, val, SLEY_I32, SLEY_F32};
  sley_matrix *matrix;
  int64_t perm[6];
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_BORROW, &matrix));
  assert_sley_ok(sley_order(matrix, "none", 1, 1, perm));
  for (int i = 0; i < 6; i++)
    assert_int_equal(perm[i], i);
  assert_sley_ok(sley_order(matrix, "degree", 1, 1, perm));
  const int64_t want[] = {2, 0, 3, 1, 4, 5};
  assert_memory_equal(perm, want, sizeof want);
  sley_matrix_destroy(matrix);
}

static void random_follows_its_seed(void **state) {
  (void)state;
  sley_matrix *matrix;
  int64_t one[50], same[50], other[50];
  assert_sley_ok(sley_matrix_read("diag:n=50", NULL, &matrix));
  assert_sley_ok(sley_order(matrix, "random", 3, 1, one));
  assert_sley_ok(sley_order(matrix, "random", 3, 2, same));
  assert_sley_ok(sley_order(matrix, "random", 4, 1, other));
  assert_memory_equal(one, same, sizeof one);
  assert_memory_not_equal(one, other, sizeof one);
  sley_matrix_destroy(matrix);
}

static void rcm_narrows_a_grid(void **state) {
  (void)state;
  sley_matrix *grid = read_shuffled("grid:nx=60,ny=30", 5);
  int64_t *perm = calloc((size_t)grid->rows, sizeof *perm);
  assert_sley_ok(sley_order(grid, "none", 1, 1, perm));
  assert_true(bandwidth(grid, perm) > 1000);
  assert_sley_ok(sley_order(grid, "rcm", 1, 1, perm));
  assert_true(bandwidth(grid, perm) <= 45);
  free(perm);
  sley_matrix_destroy(grid);
}

static void rcm_walks_a_path_from_its_end(void **state) {
  (void)state;
  sley_matrix *path = read_shuffled("grid:nx=200,ny=1", 2);
  int64_t perm[200];
  assert_sley_ok(sley_order(path, "rcm", 1, 1, perm));
  assert_int_equal(bandwidth(path, perm), 1);
  sley_matrix_destroy(path);
}

/* Groups of GROUP vertices with INSIDE edges of each vertex within its group and OUTSIDE elsewhere, shuffled.
 */
enum { GROUPS = 16, GROUP = 150, INSIDE = 6, OUTSIDE = 2 };

static sley_matrix *planted_groups(void) {
  enum { N = GROUPS * GROUP, EACH = INSIDE + OUTSIDE };
  int32_t *row = calloc(N * EACH, sizeof *row), *col = calloc(N * EACH, sizeof *col);
  for (int32_t e = 0; e < N * EACH; e++) {
    uint64_t bits = sl_random(9, 0, (uint64_t)e);
    row[e] = e / EACH;
    col[e] =
        (int32_t)(e % EACH < INSIDE ? row[e] / GROUP * GROUP + sl_below(bits, GROUP) : sl_below(bits, N));
  }
  sl_coo coo = {N, N, N * EACH, SLEY_I32, SLEY_F32, row, col, NULL};
  sley_matrix *plain;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, NULL, &plain));
  sley_matrix *out = shuffled(plain, 4);
  sley_matrix_destroy(plain);
  free(col);
  free(row);
  return out;
}

/* A random order leaves about 3 distinct remote columns in 4; the planted groups about 1 in 5. */
static void community_orders_find_planted_groups(void **state) {
  (void)state;
  const char *const names[] = {"rabbit", "scotch", "metis"};
  sley_matrix *matrix = planted_groups();
  int64_t *perm = calloc((size_t)matrix->rows, sizeof *perm);
  assert_sley_ok(sley_order(matrix, "none", 1, 1, perm));
  int64_t before = halo(matrix, perm, GROUPS);
  for (int i = 0; i < 3; i++) {
    sley_status status = sley_order(matrix, names[i], 1, 2, perm);
    if (status == SLEY_ERR_UNSUPPORTED)
      continue;
    assert_int_equal(status, SLEY_OK);
    int64_t after = halo(matrix, perm, GROUPS);
    if (after * 5 > before * 2)
      fail_msg("%s leaves a halo of %lld rows of %lld", names[i], (long long)after, (long long)before);
  }
  free(perm);
  sley_matrix_destroy(matrix);
}

/* A grid that was shuffled: dividers bring back most of what the grid's own order had. */
static void dividers_find_a_grid(void **state) {
  (void)state;
  const char *const names[] = {"scotch", "metis"};
  sley_matrix *plain;
  assert_sley_ok(sley_matrix_read("grid:nx=64,ny=64", NULL, &plain));
  sley_matrix *matrix = shuffled(plain, 5);
  int64_t *perm = calloc((size_t)matrix->rows, sizeof *perm);
  assert_sley_ok(sley_order(matrix, "none", 1, 1, perm));
  int64_t before = halo(matrix, perm, 8);
  for (int i = 0; i < 2; i++) {
    sley_status status = sley_order(matrix, names[i], 1, 2, perm);
    if (status == SLEY_ERR_UNSUPPORTED)
      continue;
    assert_int_equal(status, SLEY_OK);
    int64_t after = halo(matrix, perm, 8);
    if (after * 8 > before)
      fail_msg("%s leaves a halo of %lld rows of %lld", names[i], (long long)after, (long long)before);
  }
  free(perm);
  sley_matrix_destroy(plain);
  sley_matrix_destroy(matrix);
}

static void rabbit_keeps_components_together(void **state) {
  (void)state;
  enum { PATHS = 7, LENGTH = 9, N = PATHS * LENGTH };
  int32_t row[N], col[N];
  int64_t count = 0, perm[N];
  for (int32_t i = 0; i + 1 < N; i++)
    if ((i + 1) % LENGTH != 0) {
      row[count] = i;
      col[count++] = i + 1;
    }
  sl_coo coo = {N, N, count, SLEY_I32, SLEY_F32, row, col, NULL};
  sley_matrix *plain;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, NULL, &plain));
  assert_sley_ok(sley_order(plain, "rabbit", 1, 1, perm));
  for (int p = 0; p < PATHS; p++) {
    int64_t low = N, high = 0;
    for (int i = p * LENGTH; i < (p + 1) * LENGTH; i++) {
      low = perm[i] < low ? perm[i] : low;
      high = perm[i] > high ? perm[i] : high;
    }
    assert_int_equal(high - low, LENGTH - 1);
  }
  sley_matrix_destroy(plain);
}

static void arguments_are_checked(void **state) {
  (void)state;
  sley_matrix *square, *wide;
  int64_t perm[4];
  assert_sley_ok(sley_matrix_read("diag:n=4", NULL, &square));
  assert_sley_ok(sley_matrix_read("empty:rows=2,cols=4", NULL, &wide));
  assert_int_equal(sley_order(square, "alphabet", 1, 1, perm), SLEY_ERR_ARG);
  for (int i = 0; sl_orderings[i]; i++)
    assert_non_null(strstr(sley_last_error(), sl_orderings[i]->name));
  assert_int_equal(sley_order(wide, "rcm", 1, 1, perm), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "2 x 4"));
  assert_int_equal(sley_order(square, NULL, 1, 1, perm), SLEY_ERR_ARG);
  assert_int_equal(sley_order(NULL, "rcm", 1, 1, perm), SLEY_ERR_ARG);
  assert_int_equal(sley_order(square, "rcm", 1, 1, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_order(square, "rcm", 1, -1, perm), SLEY_ERR_ARG);
  sley_matrix_destroy(wide);
  sley_matrix_destroy(square);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const char *const names[] = {"degree", "rcm", "rabbit", "loa", "loa-parts", "scotch", "metis", "cover"};
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_read("er:n=60,nnz=200,seed=3", NULL, &matrix));
  int64_t perm[60];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int64_t before = sl_memory_now(), nth = 1;
    sley_status status = SLEY_ERR_MEMORY;
    for (; status == SLEY_ERR_MEMORY; nth++) {
      sl_memory_fail_at(nth);
      status = sley_order(matrix, names[i], 1, 2, perm);
      assert_int_equal(sl_memory_now(), before);
    }
    sl_memory_fail_at(0);
    assert_true(status == SLEY_OK || status == SLEY_ERR_UNSUPPORTED);
    assert_true(status == SLEY_ERR_UNSUPPORTED || nth > 6);
  }
  sley_matrix_destroy(matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(none_and_degree_by_hand),
      cmocka_unit_test(random_follows_its_seed),
      cmocka_unit_test(rcm_narrows_a_grid),
      cmocka_unit_test(rcm_walks_a_path_from_its_end),
      cmocka_unit_test(community_orders_find_planted_groups),
      cmocka_unit_test(dividers_find_a_grid),
      cmocka_unit_test(rabbit_keeps_components_together),
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
