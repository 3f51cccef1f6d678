/* SPDX-License-Identifier: Apache-2.0 */
/* Every algorithm on random matrices of unusual shapes must be right, repeat, and move exactly the predicted
 * bytes. */
#include "spmm_case.h"

#include "base/random.h"
#include "ranks.h"

static const int rank_counts[] = {1, 2, 3, 4, 7, 8};
static const int workgroups[] = {1, 2, 4, 0};
static const int64_t widths[] = {0, 1, 3, 32, 33, 128};
enum { RANK_COUNTS = 6, WORKGROUPS = 4, WIDTHS = 6 };

/* Square, wide, tall, tiny, with empty rows and columns, dense, without entries, power law, and smaller than
 * the ranks. */
static const char *const shapes[] = {"er:rows=97,cols=97,nnz=700,seed=1",
                                     "er:rows=40,cols=151,nnz=300,seed=2",
                                     "er:rows=151,cols=40,nnz=300,seed=3",
                                     "er:rows=5,cols=5,nnz=9,seed=4",
                                     "dense:rows=23,cols=19",
                                     "empty:rows=13,cols=11",
                                     "rmat:scale=8,edgefactor=6,seed=5",
                                     "er:rows=1,cols=60,nnz=30,seed=6",
                                     "er:rows=60,cols=1,nnz=30,seed=7",
                                     "grid:nx=9,ny=13"};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const sley_dtype dtypes[] = {SLEY_F32, SLEY_F16, SLEY_F64, SLEY_BF16};
enum { DTYPES = 4 };

static void check_all(const sley_matrix *matrix, bool reproducible, uint64_t *seed) {
  uint64_t bits[WIDTHS] = {0};
  bool seen[WIDTHS] = {false};
  for (const char *const *algo = sley_algorithms(); *algo; algo++)
    for (int r = 0; r < RANK_COUNTS; r++)
      for (int g = 0; g < WORKGROUPS; g++) {
        if (rank_counts[r] == 1 && g > 0)
          continue;
        if (test_draw(test_share()) != 0 && ++*seed)
          continue;
        int w = (int)sl_below(sl_random(++*seed, 1, 0), WIDTHS);
        spmm_case c = {.algo = *algo,
                       .ranks = rank_counts[r],
                       .workgroup = workgroups[g] ? workgroups[g] : rank_counts[r],
                       .threads = 1 + (int)(*seed % 2),
                       .k = widths[w],
                       .reproducible = reproducible,
                       .partition = *seed % 3 ? "rows" : "nnz",
                       .alpha = 1,
                       .pad = (int64_t)(*seed % 4)};
        spmm_outcome out;
        spmm_case_check(matrix, &c, &out);
        if (reproducible && seen[w] && bits[w] != out.bits)
          fail_msg("%s on %d ranks, workgroup %d, k %lld: not the bits of other ranks or algorithms", *algo,
                   c.ranks, c.workgroup, (long long)c.k);
        seen[w] = true;
        bits[w] = out.bits;
      }
}

static void every_algorithm_is_right(void **state) {
  (void)state;
  uint64_t seed = 0;
  for (int s = 0; s < SHAPES; s++) {
    sley_matrix *matrix = spmm_case_matrix(shapes[s], dtypes[s % DTYPES]);
    check_all(matrix, false, &seed);
    sley_matrix_destroy(matrix);
  }
}

static void reproducible_bits_are_the_same_everywhere(void **state) {
  (void)state;
  uint64_t seed = 1000;
  for (int s = 0; s < SHAPES; s++) {
    sley_matrix *matrix = spmm_case_matrix(shapes[s], dtypes[(s + 1) % DTYPES]);
    check_all(matrix, true, &seed);
    sley_matrix_destroy(matrix);
  }
}

/* Y = alpha A X + beta Y and A^T X, compared with the results of one rank. */
static void scaling_and_transpose(void **state) {
  (void)state;
  const uint64_t count = SHAPES * (uint64_t)count_algorithms();
  uint64_t number = 0;
  const uint64_t step = test_share_of(count), first = test_first(count);
  for (int s = 0; s < SHAPES; s++) {
    sley_matrix *matrix = spmm_case_matrix(shapes[s], dtypes[(s + 2) % DTYPES]);
    for (const char *const *algo = sley_algorithms(); *algo; algo++) {
      if (number++ % step != first)
        continue;
      spmm_case c = {.algo = *algo,
                     .ranks = 4,
                     .workgroup = 2,
                     .threads = 1,
                     .k = 7,
                     .partition = "nnz",
                     .alpha = 1,
                     .transpose = true};
      spmm_outcome out, one;
      spmm_case_check(matrix, &c, &out);
      c.ranks = c.workgroup = 1;
      spmm_case_check(matrix, &c, &out);
      c = (spmm_case){.algo = *algo,
                      .ranks = 6,
                      .workgroup = 2,
                      .threads = 1,
                      .k = 5,
                      .partition = "rows",
                      .alpha = 0.75,
                      .beta = -1.5,
                      .reproducible = true};
      spmm_case_check(matrix, &c, &out);
      c.ranks = c.workgroup = 1;
      spmm_case_check(matrix, &c, &one);
      assert_true(one.bits == out.bits);
    }
    sley_matrix_destroy(matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_algorithm_is_right),
                                     cmocka_unit_test(reproducible_bits_are_the_same_everywhere),
                                     cmocka_unit_test(scaling_and_transpose)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
