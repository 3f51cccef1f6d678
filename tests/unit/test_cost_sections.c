/* SPDX-License-Identifier: Apache-2.0 */
/* Times of plans whose ranks wait for each other between their sums. */
#include <math.h>
#include <stdlib.h>

#include "machines.h"
#include "ranks.h"

enum { RANKS = 2 };

typedef struct wanted {
  const sley_matrix *matrix;
  const sley_machine *machine;
  const char *algo;
  bool dry;
  int64_t begin[RANKS + 1];
  sley_plan_info info;
} wanted;

static sley_status look(sley_comm *comm, void *arg) {
  wanted *w = arg;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan = NULL;
  sley_matrix *block = NULL;
  sley_plan_info info;
  int rank = sley_comm_rank(comm);
  options.algo = w->algo;
  options.dry = w->dry;
  options.machine = w->machine;
  sley_status status =
      sley_matrix_row_block(w->matrix, w->begin[rank], w->begin[rank + 1] - w->begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, w->begin, w->begin, 64, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && rank == 0)
    w->info = info;
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_plan_info info_of(wanted *w, const char *text, const char *algo, bool dry) {
  sley_matrix *matrix;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  options.workgroup = 1;
  options.threads = 1;
  options.device = "cpu";
  assert_sley_ok(sley_matrix_read(text, NULL, &matrix));
  assert_sley_ok(sley_partition_rows(matrix, "rows", RANKS, w->begin));
  w->matrix = matrix;
  w->algo = algo;
  w->dry = dry;
  assert_sley_ok(sley_run_ranks(&options, look, w));
  sley_matrix_destroy(matrix);
  return w->info;
}

/* Of a grid nearly all entries are local: each rank's sums are another stage of the broadcast. */
static void broadcasts_wait_for_local_parts(void **state) {
  (void)state;
  static const char grid[] = "grid:nx=400,ny=400";
  wanted w = {0};
  sley_plan_info bcast = info_of(&w, grid, "bcast-1d", true),
                 halo = info_of(&w, grid, "halo-coalesced", true);
  assert_true(bcast.phases.wait_ms > 0.8 * bcast.phases.local_ms);
  assert_true(halo.phases.wait_ms < 0.2 * halo.phases.local_ms);
}

/* Whether a described machine's ranks would wait so is not known. */
static void described_machines_do_not(void **state) {
  (void)state;
  sley_machine *machine = described_machine(
      "name test\nmeeting 1e-6\npack-bandwidth 1e9\nstream-bandwidth 1e9\nspmm-bandwidth 1e9\n"
      "link direct 0 1e9\nlink message 1e-6 1e9\n");
  wanted w = {.machine = machine};
  sley_plan_info bcast = info_of(&w, "grid:nx=400,ny=400", "bcast-1d", true);
  assert_true(bcast.phases.wait_ms < 0.2 * bcast.phases.local_ms);
  sley_machine_destroy(machine);
}

/* What the choice goes by is what the plan that is built then says. */
static void built_plans_are_predicted_as_dry_ones(void **state) {
  (void)state;
  for (const char *const *algo = sley_algorithms(); *algo; algo++) {
    wanted w = {0};
    double dry = info_of(&w, "er:n=3000,nnz=20000", *algo, true).predicted_ms;
    double built = info_of(&w, "er:n=3000,nnz=20000", *algo, false).predicted_ms;
    if (fabs(dry - built) > 0.02 * built)
      fail_msg("%s: %g ms dry, %g ms built", *algo, dry, built);
  }
}

/* If the rate of copies does not depend on their size, one core that all ranks share is busy with them for as
 * many times longer as there are ranks. */
static void crowded_ranks_copy_as_much(void **state) {
  (void)state;
  static const char figures[] = "name test\nmeeting 1e-6\npack-bandwidth 1e9\nstream-bandwidth 1e9\n"
                                "spmm-bandwidth 1e9\nlink direct 0 1e9\nlink message 1e-6 1e9\ncores %d\n";
  double pack_ms[2];
  for (int cores = 1; cores <= 2; cores++) {
    char text[300];
    snprintf(text, sizeof text, figures, cores);
    sley_machine *machine = described_machine(text);
    wanted w = {.machine = machine};
    pack_ms[cores - 1] = info_of(&w, "er:n=3000,nnz=20000", "halo-coalesced", true).phases.pack_ms;
    sley_machine_destroy(machine);
  }
  assert_true(pack_ms[1] > 0 && fabs(pack_ms[0] - RANKS * pack_ms[1]) < 0.01 * pack_ms[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broadcasts_wait_for_local_parts), cmocka_unit_test(described_machines_do_not),
      cmocka_unit_test(crowded_ranks_copy_as_much), cmocka_unit_test(built_plans_are_predicted_as_dry_ones)};
  setenv("SLEY_MACHINE", "builtin", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
