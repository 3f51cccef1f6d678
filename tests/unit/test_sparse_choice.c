/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model of sparse collectives, on machines made for it. */
#include <math.h>
#include <string.h>

#include "collective/choose.h"
#include "support.h"

enum { MIB = 1 << 20, F32_PER_MIB = MIB / 4 };

/* Direct links as fast as given, messages ten times slower. */
static sl_machine machine_of(double bandwidth, double latency) {
  return (sl_machine){.device = "cuda",
                      .link = {[SL_LINK_SELF] = {.bandwidth = bandwidth},
                               [SL_LINK_DIRECT] = {.latency = latency, .bandwidth = bandwidth},
                               [SL_LINK_MESSAGE] = {.latency = latency, .bandwidth = bandwidth / 10}},
                      .meeting = latency};
}

/* A collective of so many MiB a rank, or of the whole array of an all-reduce. */
typedef struct shaped {
  sl_comm comm;
  sl_dense_spec spec;
  int64_t begin[65];
  sl_sparse_shape shape;
} shaped;

static void shape(shaped *s, sley_collective_kind kind, int size, int workgroup, int64_t values) {
  *s = (shaped){.comm = {.size = size, .workgroup = workgroup},
                .spec = {.kind = kind, .type = SLEY_TYPE_F32, .count = values}};
  sl_dense_lay_out(&s->spec, size, s->begin);
  s->shape = (sl_sparse_shape){.comm = &s->comm, .spec = &s->spec, .begin = s->begin};
}

static int64_t limit_of(const sl_sparse_costs *costs, const shaped *s, bool two_level) {
  return sl_choose_limit(costs, &s->shape, two_level, sl_dense_seconds(costs, &s->shape));
}

static void test_density_of_sums(void **state) {
  (void)state;
  assert_true(fabs(sl_density_of_sum(0.1, 0.2) - 0.28) < 1e-12);
  assert_true(fabs(sl_density_of_sum(0, 0.3) - 0.3) < 1e-12 && sl_density_of_sum(1, 0.3) == 1);
  double density = 0.1;
  for (int p = 1; p < 5; p++)
    density = sl_density_of_sum(density, 0.1);
  assert_true(fabs(sl_density_of_sums(0.1, 5) - density) < 1e-12);
  assert_true(sl_density_of_sums(0, 7) == 0 && sl_density_of_sums(1, 7) == 1);
}

/* By bytes where the link is slow: coo takes 4 bytes a value kept, pici an eighth of a byte a value. Where
 * the link is as fast as memory, nothing is worth compressing. */
static void test_format_of_a_message(void **state) {
  (void)state;
  sl_machine slow = machine_of(1e10, 0), fast = machine_of(1e15, 0);
  sl_sparse_costs costs = sl_sparse_costs_of(&slow, 1), at_once = sl_sparse_costs_of(&fast, 1);
  static const struct {
    double density;
    sl_compressed_format format;
  } cases[] = {{0, SL_COMPRESSED_COO},       {0.001, SL_COMPRESSED_COO},  {0.02, SL_COMPRESSED_COO},
               {0.05, SL_COMPRESSED_PICI32}, {0.5, SL_COMPRESSED_PICI32}, {0.99, SL_COMPRESSED_DENSE},
               {1, SL_COMPRESSED_DENSE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(sl_choose_format(&costs, SL_LINK_MESSAGE, SLEY_TYPE_F32, MIB, cases[i].density, true),
                     cases[i].format);
    if (cases[i].density >= 0.5)
      assert_int_equal(sl_choose_format(&at_once, SL_LINK_DIRECT, SLEY_TYPE_F32, MIB, cases[i].density, true),
                       SL_COMPRESSED_DENSE);
  }
  assert_int_equal(sl_choose_format(&costs, SL_LINK_MESSAGE, SLEY_TYPE_F32, INT64_C(1) << 33, 0.1, true),
                   SL_COMPRESSED_PICI64);
  assert_int_equal(sl_choose_format(&costs, SL_LINK_MESSAGE, SLEY_TYPE_F32, INT64_C(1) << 33, 0.001, true),
                   SL_COMPRESSED_PICI64); /* positions of coo are too short */
}

/* The slower link compresses up to a higher density. */
static double dense_from(const sl_sparse_costs *costs, sl_link link) {
  double density = 0;
  while (density < 1 &&
         sl_choose_format(costs, link, SLEY_TYPE_F32, MIB, density, true) != SL_COMPRESSED_DENSE)
    density += 0.01;
  return density;
}

static void test_format_by_link(void **state) {
  (void)state;
  sl_machine machine = machine_of(1e12, 0);
  sl_sparse_costs costs = sl_sparse_costs_of(&machine, 1);
  double direct = dense_from(&costs, SL_LINK_DIRECT), message = dense_from(&costs, SL_LINK_MESSAGE);
  assert_true(direct > 0 && direct < message && message <= 1);
}

/* More nonzeros take more time, but for a little where a format takes over whose work is on another side. */
static void test_times_grow(void **state) {
  (void)state;
  sl_machine machine = machine_of(1e11, 1e-6);
  for (int device = 0; device < 2; device++) {
    strcpy(machine.device, device ? "cuda" : "cpu");
    sl_sparse_costs costs = sl_sparse_costs_of(&machine, 4);
    for (int kind = SLEY_ALLREDUCE; kind <= SLEY_ALLGATHER; kind++)
      for (int size = 2; size <= 64; size = size * 3 - 1) {
        shaped s;
        shape(&s, (sley_collective_kind)kind, size, size < 4 ? size : 4, 1000003);
        double direct = 0, levels = 0;
        for (double density = 0; density <= 1; density += 0.125) {
          double next = sl_direct_seconds(&costs, &s.shape, density);
          assert_true(next >= direct * 0.9 && next > 0);
          direct = next;
          next = sl_two_level_seconds(&costs, &s.shape, density);
          assert_true(size <= 4 || (next >= levels * 0.9 && next > 0));
          levels = next;
        }
      }
  }
}

/* On the built-in machine of GPUs: large arrays of few nonzeros are compressed over NVLink, dense ones are
 * not, and small ones never. */
static void test_limits_of_gpus(void **state) {
  (void)state;
  sl_sparse_costs costs = sl_sparse_costs_of(&sl_machine_h200, 1);
  for (int kind = SLEY_ALLREDUCE; kind <= SLEY_ALLGATHER; kind++) {
    shaped s;
    shape(&s, (sley_collective_kind)kind, 4, 4,
          kind == SLEY_ALLREDUCE ? 512 * F32_PER_MIB : 128 * F32_PER_MIB);
    int64_t limit = limit_of(&costs, &s, false);
    assert_in_range(limit, 100000, 990000);
    shape(&s, (sley_collective_kind)kind, 4, 4, 1024);
    assert_int_equal(limit_of(&costs, &s, false), -1);
    assert_int_equal(limit_of(&costs, &s, true), -1);
  }
}

/* In place no device is waited for: the limit is no lower than with copies. Faster links lower it, down to
 * where dense is faster whatever the values are; small arrays are there over any link. */
static void test_limits_in_place(void **state) {
  (void)state;
  static const double links[] = {5e10, 1e11, 2e11, 3e11, 1e15};
  for (int kind = SLEY_ALLREDUCE; kind <= SLEY_ALLGATHER; kind++) {
    int64_t last = SL_DENSITY_UNIT;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
      sl_machine machine = machine_of(links[i], 0);
      machine.meeting = 3e-5;
      sl_sparse_costs costs = sl_sparse_costs_of(&machine, 1);
      shaped s;
      shape(&s, (sley_collective_kind)kind, 4, 4, (kind == SLEY_ALLREDUCE ? 64 : 16) * F32_PER_MIB);
      int64_t copies = limit_of(&costs, &s, false);
      s.shape.in_place = true;
      int64_t limit = limit_of(&costs, &s, false);
      assert_true(limit >= copies && limit <= last && (links[i] < 1e12 ? limit > 0 : limit == -1));
      last = limit;
      shape(&s, (sley_collective_kind)kind, 4, 4, 1024);
      s.shape.in_place = true;
      assert_int_equal(limit_of(&costs, &s, false), -1);
    }
  }
}

/* The limit is where the times, with the margin, meet. */
static void test_limit_is_exact(void **state) {
  (void)state;
  sl_machine machine = machine_of(2e11, 1e-6);
  sl_sparse_costs costs = sl_sparse_costs_of(&machine, 1);
  shaped s;
  shape(&s, SLEY_ALLREDUCE, 8, 4, 64 * F32_PER_MIB);
  for (int two_level = 0; two_level < 2; two_level++) {
    int64_t limit = limit_of(&costs, &s, two_level);
    assert_in_range(limit, 1, SL_DENSITY_UNIT); /* two levels send less even of dense arrays */
    double dense = sl_dense_seconds(&costs, &s.shape), at = (double)limit / (double)SL_DENSITY_UNIT;
    double sparse =
        two_level ? sl_two_level_seconds(&costs, &s.shape, at) : sl_direct_seconds(&costs, &s.shape, at);
    assert_true(sparse < dense && (limit == SL_DENSITY_UNIT || sparse > 0.8 * dense));
    assert_int_equal(sl_choose_limit(&costs, &s.shape, two_level, dense / 1000), -1);
    assert_int_equal(sl_choose_limit(&costs, &s.shape, two_level, dense * 1000), SL_DENSITY_UNIT);
  }
}

/* Where messages share the link of a node, two levels are faster, and the node's limit counts for both. */
static void test_two_levels_between_nodes(void **state) {
  (void)state;
  sl_machine machine = machine_of(3e11, 1e-6);
  machine.node_bandwidth = 1e10;
  sl_sparse_costs costs = sl_sparse_costs_of(&machine, 1);
  shaped s;
  shape(&s, SLEY_ALLREDUCE, 16, 8, 512 * F32_PER_MIB);
  double direct = sl_direct_seconds(&costs, &s.shape, 0.05);
  assert_true(sl_two_level_seconds(&costs, &s.shape, 0.05) < direct / 2);
  machine.node_bandwidth = 1e9;
  assert_true(sl_direct_seconds(&costs, &s.shape, 0.05) > 5 * direct);
}

/* What was measured of the machine goes before what is built in, pass by pass: slower passes lower the limit,
 * faster ones raise it, and threads share them. */
static void test_measured_passes(void **state) {
  (void)state;
  sl_machine machine = machine_of(5e8, 1e-6);
  strcpy(machine.device, "cpu");
  shaped s;
  shape(&s, SLEY_ALLREDUCE, 4, 4, 64 * F32_PER_MIB);
  sl_sparse_costs built_in = sl_sparse_costs_of(&machine, 1);
  machine.pass[SL_PASS_PICI] = (sl_pass_cost){.bandwidth = 1e12, .kept = 1e-12};
  sl_sparse_costs faster = sl_sparse_costs_of(&machine, 1), shared = sl_sparse_costs_of(&machine, 3);
  assert_true(faster.compress.bandwidth == 1e12 && faster.compress.kept == 1e-12);
  assert_true(shared.compress.bandwidth == 3e12 && fabs(shared.compress.kept * 3 - 1e-12) < 1e-20);
  assert_true(faster.sum.bandwidth == built_in.sum.bandwidth &&
              faster.count.bandwidth == built_in.count.bandwidth);
  for (int i = 0; i < SL_PASSES; i++)
    machine.pass[i] = (sl_pass_cost){.bandwidth = 1e14, .kept = 1e-14};
  sl_sparse_costs fastest = sl_sparse_costs_of(&machine, 1);
  for (int i = SL_PASS_PICI; i <= SL_PASS_SUM_OWN; i++)
    machine.pass[i] = (sl_pass_cost){.bandwidth = 1e9, .kept = 1e-7};
  sl_sparse_costs slowest = sl_sparse_costs_of(&machine, 1);
  assert_true(limit_of(&fastest, &s, false) > limit_of(&built_in, &s, false));
  assert_true(limit_of(&slowest, &s, false) < limit_of(&built_in, &s, false));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_density_of_sums), cmocka_unit_test(test_format_of_a_message),
      cmocka_unit_test(test_format_by_link),  cmocka_unit_test(test_times_grow),
      cmocka_unit_test(test_limits_of_gpus),  cmocka_unit_test(test_limits_in_place),
      cmocka_unit_test(test_limit_is_exact),  cmocka_unit_test(test_two_levels_between_nodes),
      cmocka_unit_test(test_measured_passes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
