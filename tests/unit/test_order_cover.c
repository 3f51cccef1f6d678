/* SPDX-License-Identifier: Apache-2.0 */
/* The ordering cover: refined parts have the sizes asked for, and covers that touch every entry and are as
 * small as maximum matchings that the test computes; the order has fewer rows in its covers than its starts;
 * and shapes that leave little to divide. */
#include "support.h"

#include "base/random.h"
#include "matching.h"
#include "order/cover_moves.h"

static sley_matrix *read_matrix(const char *name) {
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_read(name, NULL, &matrix));
  return matrix;
}

/* A graph whose entries are mirrored if `symmetric`. */
static sley_matrix *draw(uint64_t seed, int32_t n, bool symmetric) {
  int64_t count = 1 + sl_below(sl_random(seed, 0, 0), 6 * n);
  int32_t *row = calloc((size_t)count, sizeof *row), *col = calloc((size_t)count, sizeof *col);
  for (int64_t e = 0; e < count; e++) {
    double place = sl_unit(sl_random(seed, 1, (uint64_t)e));
    row[e] = (int32_t)sl_below(sl_random(seed, 2, (uint64_t)e), n);
    col[e] = (int32_t)(place * place * place * n); /* hubs come first */
  }
  sl_coo coo = {n, n, count, SLEY_I32, SLEY_F32, row, col, NULL};
  sley_matrix *out;
  assert_sley_ok(sl_coo_to_csr(&coo, symmetric ? SL_SYMMETRIC : SL_GENERAL, SL_SUM_REPEATS, NULL, &out));
  free(col);
  free(row);
  return out;
}

static void check_covers(const sley_matrix *matrix, const sl_cover_parts *parts) {
  const int own = parts->pattern->sides == 1 ? SL_OF_COLUMNS : SL_OF_ROWS;
  for (int64_t i = 0; i < matrix->rows; i++)
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++) {
      int32_t j = (int32_t)sl_index_at(matrix->col, matrix->index, e);
      if (parts->part[i] != parts->part[j])
        assert_true(sl_is_sent(parts, own, (int32_t)i, parts->part[j]) ||
                    sl_is_sent(parts, SL_OF_COLUMNS, j, parts->part[i]));
    }
  assert_int_equal(sl_cover_parts_rows(parts), matching_edges(matrix, parts->part, parts->parts, NULL));
}

static void refined_parts_are_as_asked(void **state) {
  (void)state;
  enum { ROUNDS = 60, MOST = 256 };
  for (uint64_t seed = test_first(ROUNDS); seed < ROUNDS; seed += test_share_of(ROUNDS)) {
    static const int divisions[][2] = {{1, 1}, {2, 2}, {4, 2}, {16, 16}, {64, 8}, {MOST, MOST}};
    const int *division = divisions[seed % 6], count = division[0], siblings = division[1];
    const int32_t n = 1 + (int32_t)sl_below(sl_random(seed, 5, 0), 400);
    sley_matrix *matrix = draw(seed, n, seed % 2);
    sl_pattern pattern;
    sl_cover_parts parts;
    int64_t target[MOST] = {0};
    int32_t *part = calloc((size_t)n, sizeof *part);
    assert_sley_ok(sl_pattern_create(matrix, &pattern));
    assert_true(pattern.sides == 2 || seed % 2 || n < 9);
    for (int32_t v = 0; v < n; v++) { /* targets that differ from the sizes, but not their sums by siblings */
      part[v] = (int32_t)sl_below(sl_random(seed, 6, (uint64_t)v), count);
      target[part[v] - part[v] % siblings + sl_below(sl_random(seed, 7, (uint64_t)v), siblings)]++;
    }
    assert_sley_ok(sl_cover_parts_create(&pattern, count, part, 0, &parts));
    check_covers(matrix, &parts);
    assert_sley_ok(sl_cover_refine(&parts, siblings, target, seed));
    check_covers(matrix, &parts);
    assert_memory_equal(parts.size, target, (size_t)count * sizeof *target);
    for (int32_t v = 0; v < n; v++) {
      assert_int_equal(parts.part[v] / siblings, part[v] / siblings);
      target[parts.part[v]]--;
    }
    for (int p = 0; p < count; p++)
      assert_int_equal(target[p], 0);
    sl_cover_parts_free(&parts);
    sl_pattern_free(&pattern);
    free(part);
    sley_matrix_destroy(matrix);
  }
}

/* The rows in the covers of equal blocks of an order. Returns -1 if the build lacks the order. */
static int64_t cover_rows(const sley_matrix *matrix, const char *order, int ranks) {
  int64_t *perm = calloc((size_t)matrix->rows, sizeof *perm), begin[129], rows = -1;
  int *block = calloc((size_t)matrix->rows, sizeof *block);
  sley_status status = sley_order(matrix, order, 1, 1, perm);
  if (status != SLEY_ERR_UNSUPPORTED) {
    assert_int_equal(status, SLEY_OK);
    assert_sley_ok(sley_partition_equal(matrix->rows, ranks, begin));
    for (int64_t i = 0; i < matrix->rows; i++)
      while (perm[i] >= begin[block[i] + 1])
        block[i]++;
    rows = matching_edges(matrix, block, ranks, NULL);
  }
  free(block);
  free(perm);
  return rows;
}

/* The graphs have a multiple of 256 rows, so that the blocks of 16 and of 128 ranks begin at the same rows.
 */
static void covers_are_smaller_than_before(void **state) {
  (void)state;
  const char *const names[] = {"rmat:scale=11,edgefactor=4,seed=5", "rmat:scale=11,edgefactor=4,undirected",
                               "grid:nx=64,ny=48"};
  const char *const starts[] = {"rabbit", "metis"};
  for (int i = 0; i < 3; i++) {
    sley_matrix *matrix = read_matrix(names[i]);
    int64_t at16 = cover_rows(matrix, "cover", 16), at128 = cover_rows(matrix, "cover", 128);
    for (int s = 0; s < 2; s++) {
      int64_t start16 = cover_rows(matrix, starts[s], 16), start128 = cover_rows(matrix, starts[s], 128);
      if (start16 >= 0 && at16 * at128 * 100 > start16 * start128 * 95)
        fail_msg("%s: %lld and %lld rows, with %s %lld and %lld", names[i], (long long)at16, (long long)at128,
                 starts[s], (long long)start16, (long long)start128);
    }
    sley_matrix_destroy(matrix);
  }
}

/* A star needs one row for each other block; a matrix without entries off the diagonal needs none. */
static void shapes_with_known_covers(void **state) {
  (void)state;
  enum { N = 500 };
  static const char *const bare[] = {"diag:n=37", "empty:rows=600,cols=600", "diag:n=1"};
  int32_t row[N], col[N] = {0};
  for (int32_t i = 0; i < N; i++)
    row[i] = i;
  sl_coo coo = {N, N, N, SLEY_I32, SLEY_F32, row, col, NULL};
  sley_matrix *star;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, NULL, &star));
  assert_int_equal(cover_rows(star, "cover", 16), 2 * 15);
  assert_int_equal(cover_rows(star, "cover", 128), 2 * 127);
  sley_matrix_destroy(star);
  for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
    sley_matrix *matrix = read_matrix(bare[i]);
    assert_int_equal(cover_rows(matrix, "cover", 128), 0);
    sley_matrix_destroy(matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refined_parts_are_as_asked),
      cmocka_unit_test(covers_are_smaller_than_before),
      cmocka_unit_test(shapes_with_known_covers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
