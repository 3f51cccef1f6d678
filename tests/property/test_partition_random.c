/* SPDX-License-Identifier: Apache-2.0 */
/* Balanced splits of random row lengths: cuts must ascend, and no other position of a cut may be closer to
 * its target. */
#include "support.h"

#include "base/random.h"
#include "partition/partition.h"

enum { MAX_ROWS = 60, MAX_RANKS = 12, ROUNDS = 3000 };

static int64_t distance(const int64_t *rowptr, int64_t split, int64_t nnz, int rank, int ranks) {
  int64_t d = (rowptr[split] - rowptr[0]) * ranks - nnz * rank;
  return d < 0 ? -d : d;
}

static void cuts_are_nearest(void **state) {
  (void)state;
  for (uint64_t round = 0; round < ROUNDS; round++) {
    int64_t rowptr[MAX_ROWS + 1], begin[MAX_RANKS + 1];
    int64_t rows = sl_below(sl_random(1, round, 0), MAX_ROWS + 1);
    int ranks = 1 + (int)sl_below(sl_random(1, round, 1), MAX_RANKS);
    int64_t longest = sl_below(sl_random(1, round, 2), 20) + 1;
    rowptr[0] = sl_below(sl_random(1, round, 3), 3) * 17;
    for (int64_t i = 0; i < rows; i++) {
      uint64_t bits = sl_random(2, round, (uint64_t)i);
      rowptr[i + 1] = rowptr[i] + (bits % 3 == 0 ? 0 : sl_below(bits, longest) * (bits % 11 == 0 ? 30 : 1));
    }
    sley_matrix matrix = {.rows = rows, .cols = 1, .nnz = rowptr[rows] - rowptr[0], .rowptr = rowptr};
    sl_partition_nnz(&matrix, ranks, begin);
    assert_int_equal(begin[0], 0);
    assert_int_equal(begin[ranks], rows);
    for (int r = 0; r < ranks; r++) {
      assert_true(begin[r] <= begin[r + 1]);
      for (int64_t i = begin[r]; i < begin[r + 1]; i++)
        assert_int_equal(sl_partition_owner(begin, ranks, i), r);
    }
    for (int r = 1; r < ranks; r++)
      for (int64_t split = 0; split <= rows; split++)
        assert_true(distance(rowptr, begin[r], matrix.nnz, r, ranks) <=
                    distance(rowptr, split, matrix.nnz, r, ranks));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cuts_are_nearest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
