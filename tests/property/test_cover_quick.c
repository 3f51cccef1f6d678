/* SPDX-License-Identifier: Apache-2.0 */
/* The quick bound of covers: on random matrices it is at most the weight of the smallest covers, grows with
 * what is enough, and does not depend on the number of threads. */
#include "ranks.h"

#include "algo/cover_blocks.h"
#include "algo/cover_choice.h"
#include "base/random.h"
#include "plan/inspect.h"

enum { CASES = 60, MOST = 5, BOUNDS = 3 };

typedef struct shared {
  const sley_matrix *matrix;
  int64_t begin[MOST + 1];
  int64_t bound[BOUNDS], cover_rows,
      halo_rows; /* sums over the ranks; bounds that stop early, and the last */
} shared;

static sley_status find(sl_comm *comm, sl_inspection *ins, shared *s) {
  const int64_t enough[BOUNDS] = {1, 1 + ins->halo_set.count / 2, INT64_MAX};
  int64_t bound[BOUNDS];
  bool chosen;
  for (int b = 0; b < BOUNDS; b++) {
    SL_TRY(sl_cover_quick_bound(ins, enough[b], &bound[b]));
    if (b > 0 && bound[b] < bound[b - 1])
      return sl_fail(SLEY_ERR_INTERNAL, "a bound that stops later is less");
  }
  if ((bound[0] > 0) != (ins->halo_set.count > 0))
    return sl_fail(SLEY_ERR_INTERNAL, "no bound above 0 was found for a halo");
  SL_TRY(sl_cover_choose(ins, 1, &chosen));
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, bound, BOUNDS));
  if (comm->rank > 0)
    return SLEY_OK;
  memcpy(s->bound, bound, sizeof bound);
  s->cover_rows = ins->cover_rows.all;
  s->halo_rows = ins->halo_all;
  return SLEY_OK;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  shared *s = arg;
  sley_matrix *block;
  sl_inspection ins;
  const sl_plan_wishes wishes = sl_plan_wishes_for(16, s->matrix->dtype);
  SL_TRY(sl_matrix_view(s->matrix, s->begin[comm->rank], s->begin[comm->rank + 1] - s->begin[comm->rank],
                        &block));
  sley_status status = sl_inspect(comm, block, s->begin, s->begin, &wishes, &ins);
  if (status == SLEY_OK) {
    status = find(comm, &ins, s);
    sl_inspection_free(&ins);
  }
  sley_matrix_destroy(block);
  return status;
}

static void run(shared *s, int ranks, int threads) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = ranks;
  options.threads = threads;
  assert_sley_ok(sley_run_ranks(&options, rank_main, s));
}

static void no_cover_is_smaller(void **state) {
  (void)state;
  double least = 1;
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    char text[96];
    const int scale = 6 + (int)(seed % 8), ranks = 2 + (int)(seed % (MOST - 1));
    sley_matrix *matrix;
    snprintf(text, sizeof text, "rmat:scale=%d,edgefactor=%g%s,seed=%d", scale,
             0.2 + 9 * sl_unit(sl_random(seed, 0, 0)), seed % 2 ? ",shuffle" : "", (int)seed);
    assert_sley_ok(sley_matrix_read(text, NULL, &matrix));
    shared one = {.matrix = matrix}, many = {.matrix = matrix};
    assert_sley_ok(sley_partition_rows(matrix, seed % 3 ? "nnz" : "rows", ranks, one.begin));
    memcpy(many.begin, one.begin, sizeof one.begin);
    run(&one, ranks, 1);
    run(&many, ranks, 3);
    assert_memory_equal(one.bound, many.bound, sizeof one.bound);
    assert_int_equal(one.cover_rows, many.cover_rows);
    assert_true(one.bound[BOUNDS - 1] <= one.cover_rows && one.cover_rows <= one.halo_rows);
    if (one.cover_rows > 0) {
      const double share = (double)one.bound[BOUNDS - 1] / (double)one.cover_rows;
      least = share < least ? share : least;
    }
    sley_matrix_destroy(matrix);
  }
  print_message("the bound is at least %.2f of the smallest covers\n", least);
  assert_true(least > 0.5); /* otherwise it would often be too small to decide */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_cover_is_smaller)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
