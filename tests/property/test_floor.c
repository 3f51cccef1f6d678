/* SPDX-License-Identifier: Apache-2.0 */
/* The floor of a division, in one and two tiers, compared with maximum matchings that the test computes. */
#include "support.h"

#include "base/random.h"
#include "dry_plan.h"
#include "matching.h"

enum { MOST_RANKS = 12, ROUNDS = 60 };

typedef struct job {
  sley_matrix *matrix;
  int64_t begin[MOST_RANKS + 1];
  int ranks, workgroup;
} job;

/* Draws a matrix: uniform entries, or a few hubs. */
static sley_matrix *draw(uint64_t seed) {
  char name[100];
  sley_matrix *matrix;
  int n = 1 + (int)(seed % 7 == 0 ? seed % 5 : sl_random(seed, 0, 0) % 300);
  if (seed % 3 == 0)
    snprintf(name, sizeof name, "rmat:scale=8,edgefactor=%d,seed=%d", 1 + (int)(seed % 8), (int)seed);
  else
    snprintf(name, sizeof name, "er:n=%d,nnz=%d,seed=%d", n,
             (int)(sl_random(seed, 0, 1) % (uint64_t)(3 * n + 1)) % (n * n + 1), (int)seed);
  assert_sley_ok(sley_matrix_read(name, NULL, &matrix));
  return matrix;
}

static void floors_equal_matchings(void **state) {
  (void)state;
  for (uint64_t seed = test_first(ROUNDS); seed < ROUNDS; seed += test_share_of(ROUNDS)) {
    job j = {.matrix = draw(seed), .ranks = 1 + (int)(sl_random(seed, 1, 0) % MOST_RANKS)};
    j.workgroup = 1 + (int)(sl_random(seed, 1, 1) % (uint64_t)j.ranks);
    sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
    options.ranks = j.ranks;
    options.workgroup = j.workgroup;
    options.threads = 1;
    assert_sley_ok(sley_partition_rows(j.matrix, seed % 2 ? "rows" : "nnz", j.ranks, j.begin));
    const sley_plan_info info = dry_plan(&options, j.matrix, j.begin, j.begin, 3, "cover");
    int *rank = calloc((size_t)j.matrix->rows + 1, sizeof *rank),
        *group = calloc((size_t)j.matrix->rows + 1, sizeof *group), group_of[MOST_RANKS];
    for (int r = 0; r < j.ranks; r++) {
      group_of[r] = r / j.workgroup;
      for (int64_t i = j.begin[r]; i < j.begin[r + 1]; i++) {
        rank[i] = r;
        group[i] = group_of[r];
      }
    }
    assert_int_equal(info.cover_rows, matching_edges(j.matrix, rank, j.ranks, NULL));
    assert_int_equal(info.floor_between, matching_edges(j.matrix, group, j.ranks, NULL));
    assert_int_equal(info.floor_inside, matching_edges(j.matrix, rank, j.ranks, group_of));
    free(group);
    free(rank);
    sley_matrix_destroy(j.matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(floors_equal_matchings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
