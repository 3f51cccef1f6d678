/* SPDX-License-Identifier: Apache-2.0 */
/* If `cover` is left out of the choice because its smallest cover has too many rows, it must not have been
 * the fastest: on random matrices and machines its predicted time must be at least that of the chosen
 * algorithm. A deviation of a few percent is allowed, because the gain of fewer rows is predicted from their
 * total number, not rank by rank. */
#include <math.h>

#include "machines.h"
#include "support.h"

#include "base/random.h"

enum { CASES = 80, K = 64, MOST = 5 };

typedef struct shared {
  const sley_matrix *matrix;
  const sley_machine *machine;
  int64_t begin[MOST + 1];
  double auto_ms, cover_ms;
  bool takes_cover, leaves_out;
} shared;

static sley_status predict(sley_comm *comm, const shared *s, const sley_matrix *block, const char *algo,
                           sley_plan_info *info, sley_plan **plan) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  options.dry = true;
  options.machine = s->machine;
  sley_status status = sley_plan_create(comm, block, s->begin, s->begin, K, &options, plan);
  return status == SLEY_OK ? sley_plan_info_get(*plan, info) : status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  shared *s = arg;
  int rank = sley_comm_rank(comm);
  sley_matrix *block = NULL;
  sley_plan *chosen = NULL, *cover = NULL;
  sley_plan_info chosen_info, cover_info;
  sley_status status =
      sley_matrix_row_block(s->matrix, s->begin[rank], s->begin[rank + 1] - s->begin[rank], &block);
  if (status == SLEY_OK)
    status = predict(comm, s, block, "auto", &chosen_info, &chosen);
  if (status == SLEY_OK)
    status = predict(comm, s, block, "cover", &cover_info, &cover);
  if (status == SLEY_OK && rank == 0) {
    s->auto_ms = chosen_info.predicted_ms;
    s->cover_ms = cover_info.predicted_ms;
    s->takes_cover = strcmp(chosen_info.algo, "cover") == 0;
    s->leaves_out = strstr(chosen_info.reason, "cover not considered: it needs too many rows");
  }
  sley_plan_destroy(cover);
  sley_plan_destroy(chosen);
  sley_matrix_destroy(block);
  return status;
}

/* 10 to a random power from low to high. */
static double drawn(uint64_t seed, uint64_t i, double low, double high) {
  return pow(10, low + (high - low) * sl_unit(sl_random(seed, 0, i)));
}

static sley_machine *draw_machine(uint64_t seed) {
  return described_machine(
      "name drawn\nmeeting 1e-6\npack-bandwidth %g\nstream-bandwidth %g\nspmm-bandwidth %g\n"
      "link direct 0 %g\nlink message 1e-6 %g\noverlap %s\n",
      drawn(seed, 0, 9, 11), drawn(seed, 1, 10, 11), drawn(seed, 2, 10, 11), drawn(seed, 3, 8, 10),
      drawn(seed, 4, 7, 10), seed % 2 ? "yes" : "no");
}

static sley_matrix *draw_matrix(uint64_t seed) {
  char text[96];
  sley_matrix *matrix;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = seed % 5 == 0 ? SLEY_BF16 : SLEY_F32;
  if (seed % 4 < 2)
    snprintf(text, sizeof text, "er:n=1500,nnz=%d,seed=%d", (int)drawn(seed, 5, 3.2, 4.5), (int)seed);
  else
    snprintf(text, sizeof text, "rmat:scale=11,edgefactor=%d,seed=%d", (int)drawn(seed, 5, 0.3, 1.5),
             (int)seed);
  assert_sley_ok(sley_matrix_read(text, &options, &matrix));
  return matrix;
}

static void no_cover_is_left_out_that_wins(void **state) {
  (void)state;
  int taken = 0, left_out = 0;
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    sley_machine *machine = draw_machine(seed);
    sley_matrix *matrix = draw_matrix(seed);
    shared s = {.matrix = matrix, .machine = machine};
    sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
    options.ranks = 2 + (int)(seed % (MOST - 1));
    options.workgroup = seed % 3 == 0 ? options.ranks : 1;
    options.threads = 1 + (int)(seed % 2);
    assert_sley_ok(sley_partition_rows(matrix, "rows", options.ranks, s.begin));
    assert_sley_ok(sley_run_ranks(&options, rank_main, &s));
    if (s.leaves_out)
      assert_true(s.cover_ms >= 0.95 * s.auto_ms);
    taken += s.takes_cover;
    left_out += s.leaves_out;
    sley_matrix_destroy(matrix);
    sley_machine_destroy(machine);
  }
  print_message("cover is chosen in %d of %d cases, left out as too large in %d\n", taken, CASES, left_out);
  assert_true(taken > 0 && left_out > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_cover_is_left_out_that_wins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
