/* SPDX-License-Identifier: Apache-2.0 */
/* A dry plan for a described machine must predict the bytes that a real plan with the same number of ranks
 * counts, and its phases must add up to its time. */
#include <math.h>

#include "machines.h"
#include "support.h"

enum { N = 60, K = 5, MOST = 13 };

typedef struct shared {
  const sley_matrix *matrix;
  const sley_machine *machine;
  const char *algo;
  int64_t begin[MOST + 1];
  sley_plan_info dry;
  sley_traffic counted;
} shared;

static sley_status plan_dry(sley_comm *comm, shared *s, const sley_matrix *block) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan = NULL;
  sley_plan_info info;
  options.algo = s->algo;
  options.dry = true;
  options.machine = s->machine;
  sley_status status = sley_plan_create(comm, block, s->begin, s->begin, K, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && sley_comm_rank(comm) == 0)
    s->dry = info;
  sley_plan_destroy(plan);
  return status;
}

static sley_status plan_and_run(sley_comm *comm, shared *s, const sley_matrix *block) {
  static const float x[N * K];
  float y[N * K];
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan = NULL;
  sley_traffic counted;
  options.algo = s->algo;
  sley_status status = sley_plan_create(comm, block, s->begin, s->begin, K, &options, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1, x, K, 0, y, K);
  if (status == SLEY_OK)
    status = sley_plan_counted(plan, &counted);
  if (status == SLEY_OK && sley_comm_rank(comm) == 0)
    s->counted = counted;
  sley_plan_destroy(plan);
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  shared *s = arg;
  int rank = sley_comm_rank(comm);
  sley_matrix *block = NULL;
  sley_status status =
      sley_matrix_row_block(s->matrix, s->begin[rank], s->begin[rank + 1] - s->begin[rank], &block);
  if (status == SLEY_OK)
    status = plan_dry(comm, s, block);
  if (status == SLEY_OK)
    status = plan_and_run(comm, s, block);
  sley_matrix_destroy(block);
  return status;
}

static void check(shared *s, int ranks, int workgroup) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = ranks;
  options.workgroup = workgroup;
  options.threads = 1;
  assert_sley_ok(sley_partition_rows(s->matrix, ranks % 2 ? "rows" : "nnz", ranks, s->begin));
  for (const char *const *algo = sley_algorithms(); *algo; algo++) {
    s->algo = *algo;
    assert_sley_ok(sley_run_ranks(&options, rank_main, s));
    assert_memory_equal(&s->dry.predicted, &s->counted, sizeof s->counted);
    const sley_phases *p = &s->dry.phases;
    double sum = p->pack_ms + p->transfer_ms + p->local_ms + p->remote_ms + p->wait_ms;
    assert_true(p->pack_ms >= 0 && p->transfer_ms >= 0 && p->local_ms >= 0 && p->remote_ms >= 0 &&
                p->wait_ms >= 0);
    assert_true(fabs(sum - s->dry.predicted_ms) <= 1e-5 + 1e-6 * sum);
    assert_true(s->dry.rank_messages <= s->counted.direct_messages + s->counted.message_messages);
    assert_true(s->dry.rank_messages * ranks >= s->counted.direct_messages + s->counted.message_messages);
  }
}

static sley_machine *with_messages(const char *bandwidth) {
  return described_machine(
      "name test\nmeeting 1e-6\npack-bandwidth 1e9\nstream-bandwidth 1e9\nspmm-bandwidth 1e9\n"
      "link direct 0 1e9\nlink message 1e-6 %s\n",
      bandwidth);
}

static void volumes_equal_real_plans(void **state) {
  (void)state;
  static const int ranks[] = {1, 2, 3, 4, 8, MOST}, groups[] = {1, 2, 4};
  sley_machine *machine = with_messages("1e9");
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
      char text[80];
      snprintf(text, sizeof text, "er:n=%d,nnz=%d,seed=%d", N, 40 * (int)(i + 1), (int)(10 * i + g));
      sley_matrix *matrix;
      sley_read_options options = SLEY_READ_OPTIONS_INIT;
      options.dtype = SLEY_F32;
      assert_sley_ok(sley_matrix_read(text, &options, &matrix));
      shared s = {.matrix = matrix, .machine = machine};
      check(&s, ranks[i], groups[g] < ranks[i] ? groups[g] : ranks[i]);
      sley_matrix_destroy(matrix);
    }
  sley_machine_destroy(machine);
}

/* Slower links must increase the predicted time by the time of their bytes, and change no volume. */
static void slower_links_take_longer(void **state) {
  (void)state;
  double ms[2];
  for (int slow = 0; slow < 2; slow++) {
    sley_machine *machine = with_messages(slow ? "1e6" : "1e9");
    sley_matrix *matrix;
    assert_sley_ok(
        sley_matrix_read("er:n=60,nnz=300,seed=3", &(sley_read_options)SLEY_READ_OPTIONS_INIT, &matrix));
    shared s = {.matrix = matrix, .machine = machine, .algo = "halo-coalesced"};
    assert_sley_ok(sley_partition_rows(matrix, "rows", 4, s.begin));
    sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
    options.ranks = 4;
    options.workgroup = 1;
    options.threads = 1;
    assert_sley_ok(sley_run_ranks(&options, rank_main, &s));
    ms[slow] = s.dry.phases.transfer_ms;
    sley_matrix_destroy(matrix);
    sley_machine_destroy(machine);
  }
  assert_true(ms[1] > 10 * ms[0]);
}

/* The fixed cost of an exchange, here 1 s, must count only if the exchange has rows. */
static void nothing_to_exchange_is_no_meeting(void **state) {
  (void)state;
  static const char *const shapes[] = {"empty:rows=60,cols=60", "er:n=60,nnz=300,seed=3"};
  static const char *const algos[] = {"halo", "halo-coalesced", "halo-pipelined", "cover"};
  sley_machine *machine =
      described_machine("name test\nmeeting 1\npack-bandwidth 1e9\nstream-bandwidth 1e9\nspmm-bandwidth 1e9\n"
                        "link direct 0 1e9\nlink message 1e-6 1e9\n");
  for (int full = 0; full < 2; full++) {
    sley_matrix *matrix;
    assert_sley_ok(sley_matrix_read(shapes[full], &(sley_read_options)SLEY_READ_OPTIONS_INIT, &matrix));
    for (int i = 0; i < 4; i++) {
      shared s = {.matrix = matrix, .machine = machine, .algo = algos[i]};
      assert_sley_ok(sley_partition_rows(matrix, "rows", 4, s.begin));
      sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
      options.ranks = 4;
      options.workgroup = 2;
      options.threads = 1;
      assert_sley_ok(sley_run_ranks(&options, rank_main, &s));
      if (full)
        assert_true(s.dry.predicted_ms >= 1000);
      else
        assert_true(s.dry.predicted_ms < 1);
    }
    sley_matrix_destroy(matrix);
  }
  sley_machine_destroy(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(volumes_equal_real_plans),
                                     cmocka_unit_test(slower_links_take_longer),
                                     cmocka_unit_test(nothing_to_exchange_is_no_meeting)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
