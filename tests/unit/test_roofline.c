/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline's equations and counts, on cases worked by hand. */
#include <math.h>

#include "roofline/intensity.h"
#include "sley_roofline.h"
#include "machines.h"
#include "support.h"

static void near_to(double found, double expected) {
  if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
    fail_msg("%.15g, expected %.15g", found, expected);
}

/* Section 4 of the paper, with m = k = 1200, n = 32, p = 4, d m k / p = 900 and w = 4. */
static void dense_products_are_those_of_the_paper(void **state) {
  (void)state;
  const sl_words w = {4, 4, 4};
  const sl_product_sizes t = {600, 600, 16, 900, -1, -1, 0};
  const double flops = 2 * 900 * 16, a = 2 * 900 + 600 + 1, b = 600 * 16, c = 600 * 16;
  near_to(sl_tile_flops(&t), flops);
  near_to(sl_intensity(flops, sl_tile_local_bytes(&w, &t)), flops / (4 * (a + b + c)));
}

/* Where A, B and C have as many entries the bytes are those of the bound by the compression: 2 cf / ((3 + 2
 * cf) b), here 8 / (11 x 8). */
static void sparse_products_are_those_of_the_paper(void **state) {
  (void)state;
  const sl_words w = {4, 4, 8};
  const sl_product_sizes t = {50, 60, 70, 100, 100, 100, 400};
  near_to(sl_tile_flops(&t), 800);
  near_to(sl_intensity(800, sl_tile_local_bytes(&w, &t)), 1.0 / 11);
}

static void the_lower_roof_bounds(void **state) {
  (void)state;
  near_to(sl_attainable(10, 4, 2), 8);
  near_to(sl_attainable(10, 4, 3), 10);
  near_to(sl_attainable(0, 4, 3), 12);
  near_to(sl_attainable(10, 4, INFINITY), 10);
  assert_true(isinf(sl_intensity(5, 0)));
  near_to(sl_overlapped_seconds(3, 8, 4), 8.75);
  near_to(sl_overlapped_seconds(8, 3, 1), 11);
  near_to(sl_overlapped_seconds(8, 0, 0), 8);
}

static void places_are_found_from_what_was_hit(void **state) {
  (void)state;
  near_to(sl_places_hit(100, 100), 100 * (1 - exp(-1)));
  near_to(sl_places_hit(INFINITY, 7), 7);
  assert_true(isinf(sl_places_of(7, 7)));
  near_to(sl_places_of(100, sl_places_hit(250, 100)), 250);
  near_to(sl_places_hit(sl_places_of(1e6, 10), 1e6), 10);
  assert_true(sl_places_hit(0, 0) == 0);
}

/* A full matrix of 4 x 4 and as many columns of X, in tiles of 2 x 2 on as many ranks, each of which has two
 * tasks. A tile of A takes 2 pointers and one more, of 8 bytes, and 4 entries of 8: 56, stored as 64; one of
 * X 16 bytes, stored as 64; a product that is pushed 16. */
static sley_matrix *full_matrix(void) {
  static const int64_t rowptr[] = {0, 4, 8, 12, 16};
  static const int32_t col[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  static const float val[16] = {1};
  const sley_csr csr = {
      .rows = 4, .cols = 4, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I32, .dtype = SLEY_F32};
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &matrix));
  return matrix;
}

static sley_roofline_options four_ranks(const char *algo) {
  sley_roofline_options o = SLEY_ROOFLINE_OPTIONS_INIT;
  o.algo = algo;
  o.ranks = 4;
  o.memory_bandwidth = o.network_bandwidth = 1e6;
  o.latency = 1e-3;
  return o;
}

/* tile-c: every rank fetches a tile of A and one of X. tile-a and tile-b: the ranks of the diagonal have one
 * of the two tiles that they need, the others none; each gets one product from another. */
static void four_ranks_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *algo;
    double on, off; /* messages that bring tiles: on the diagonal, and off it */
    double product; /* bytes */
  } cases[] = {{"tile-c", 2, 2, 0}, {"tile-a", 1, 2, 16}, {"tile-b", 1, 2, 16}};
  sley_matrix *a = full_matrix();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const sley_roofline_options o = four_ranks(cases[i].algo);
    sley_roofline line;
    sley_roofline_rank rank[4];
    double bytes = 0;
    assert_sley_ok(sley_roofline_spmm(a, 4, &o, &line, rank));
    for (int r = 0; r < 4; r++) {
      const double tiles = r == 0 || r == 3 ? cases[i].on : cases[i].off;
      const double in = 64 * tiles + cases[i].product, messages = tiles + (cases[i].product > 0);
      assert_int_equal(rank[r].tasks, 2);
      near_to(rank[r].flops, 2 * (2 * 4 * 2));
      near_to(rank[r].network_in, in);
      near_to(rank[r].network_out, in);
      near_to(rank[r].messages, messages);
      near_to(rank[r].local_bytes, 2 * (56 + 16 + 16));
      near_to(rank[r].local_ms, 0.176);
      near_to(rank[r].network_ms, messages + in / 1e3);
      near_to(rank[r].predicted_ms, messages + in / 1e3 + 0.176 / 2);
      bytes += in;
    }
    near_to(line.network_bytes, bytes);
    near_to(line.network_intensity, 128 / bytes);
    near_to(line.local_intensity, 32 / 176.0);
    near_to(line.memory_roof, 1e6 * 32 / 176);
    near_to(line.network_roof, 1e6 * 128 / bytes);
    near_to(line.attainable, fmin(line.memory_roof, line.network_roof));
    near_to(line.flops_imbalance, 1);
    assert_int_equal(line.bound, SLEY_BOUND_MEMORY);
  }
  sley_matrix_destroy(a);
}

/* Two ranks a node: of the tile-c case above rank (0, 0) fetches its tile of A within its node, and its tile
 * of X from the other; a node's link carries what both fetch. */
static void ranks_of_a_node_share_its_link(void **state) {
  (void)state;
  sley_matrix *a = full_matrix();
  sley_roofline_options o = four_ranks("tile-c");
  sley_roofline line;
  sley_roofline_rank rank[4];
  o.ranks_per_node = 2;
  o.latency = 0;
  assert_sley_ok(sley_roofline_spmm(a, 4, &o, &line, rank));
  assert_int_equal(line.nodes, 2);
  near_to(line.network_bandwidth, 5e5);
  near_to(line.network_bytes, 4 * 64);
  near_to(line.inside_bytes, 4 * 64);
  near_to(rank[0].network_ms, 2 * 64 / 1e3);
  o.network_bandwidth = 1e4;
  assert_sley_ok(sley_roofline_spmm(a, 4, &o, &line, NULL));
  assert_int_equal(line.bound, SLEY_BOUND_NETWORK);
  o.network_bandwidth = 1e9;
  o.peak = 1000;
  assert_sley_ok(sley_roofline_spmm(a, 4, &o, &line, NULL));
  assert_int_equal(line.bound, SLEY_BOUND_ARITHMETIC);
  near_to(line.attainable_ms, 1e3 * 128 / (4 * 1000));
  sley_matrix_destroy(a);
}

static sley_machine *described(const char *more) {
  return described_machine(
      "name test\nmeeting 1e-6\npack-bandwidth 1e6\nstream-bandwidth 1e6\nlink direct 0 1e6\n"
      "link message 1e-3 1e6\n%s",
      more);
}

/* tile-c as above by machines. A rank's sums: 8 entries with rows of X of 8 bytes, and 4 rows of Y. */
static void figures_come_from_the_machine(void **state) {
  (void)state;
  static const struct {
    const char *machine;
    int nodes;
    double local, network, predicted;
    sley_bound bound; /* of the local roof, unless the network's is lower */
  } cases[] = {       /* Messages are work of the rank, one after the other. */
               {"spmm-bandwidth 1e6\nranks-per-node 1\n", 4, 0.176, 2.128, 2.304, SLEY_BOUND_MEMORY},
               /* They go on beside sums. */
               {"spmm-bandwidth 1e6\nranks-per-node 1\nnode-bandwidth 1e6\noverlap messages\n", 4, 0.176,
                2.128, 2.128 + 0.176 / 2, SLEY_BOUND_MEMORY},
               /* One core for four ranks of a node. */
               {"spmm-bandwidth 1e6\ncores 1\n", 1, 4 * 0.176, 0.128, 4 * 0.176 + 0.128, SLEY_BOUND_MEMORY},
               /* Memory is shared by the ranks. */
               {"spmm-bandwidth 1e6\nmemory-bandwidth 2e6\n", 1, 2 * 0.176, 0.128, 2 * 0.176 + 0.128,
                SLEY_BOUND_MEMORY},
               /* Sums are slower than memory. */
               {"spmm-bandwidth 1e5\n", 1, 8 * 16 / 1e2 + 4 * 8 / 1e3, 0.128,
                8 * 16 / 1e2 + 4 * 8 / 1e3 + 0.128, SLEY_BOUND_SUMS}};
  sley_matrix *a = full_matrix();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sley_machine *machine = described(cases[i].machine);
    sley_roofline_options o = SLEY_ROOFLINE_OPTIONS_INIT;
    sley_roofline line;
    sley_roofline_rank rank[4];
    o.ranks = 4;
    o.machine = machine;
    assert_sley_ok(sley_roofline_spmm(a, 4, &o, &line, rank));
    assert_int_equal(line.nodes, cases[i].nodes);
    for (int r = 0; r < 4; r++) {
      near_to(rank[r].local_ms, cases[i].local);
      near_to(rank[r].network_ms, cases[i].network);
      near_to(rank[r].predicted_ms, cases[i].predicted);
    }
    near_to(line.predicted_ms, cases[i].predicted);
    assert_int_equal(line.bound, line.network_roof < line.local_roof ? SLEY_BOUND_NETWORK : cases[i].bound);
    near_to(line.local_roof, 32 / (cases[i].local / 1e3));
    sley_machine_destroy(machine);
  }
  sley_matrix_destroy(a);
}

/* A full matrix squared: each of 16 entries of C has 4 products. */
static void sparse_products_are_counted(void **state) {
  (void)state;
  sley_matrix *a = full_matrix();
  sley_roofline_options o = four_ranks("tile-c");
  sley_roofline line;
  assert_sley_ok(sley_roofline_spgemm(a, NULL, &o, &line, NULL));
  near_to(line.flops, 2 * 64);
  near_to(line.compression, 4);
  near_to(line.network_bytes, 4 * (64 + 64));
  o.compression = 2;
  assert_sley_ok(sley_roofline_spgemm(a, a, &o, &line, NULL));
  near_to(line.compression, 2);
  sley_matrix_destroy(a);
}

static void nothing_takes_no_time(void **state) {
  (void)state;
  sley_matrix *a = full_matrix();
  const sley_roofline_options o = four_ranks("tile-c");
  sley_roofline line;
  assert_sley_ok(sley_roofline_spmm(a, 0, &o, &line, NULL));
  assert_true(line.flops == 0 && line.predicted_ms == 0 && line.attainable == 0 && line.flops_imbalance == 0);
  sley_matrix_destroy(a);
}

static void wrong_options_are_refused(void **state) {
  (void)state;
  sley_matrix *a = full_matrix();
  sley_roofline line;
#define REFUSED(text, field, value)                                                                          \
  do {                                                                                                       \
    sley_roofline_options o = four_ranks("tile-c");                                                          \
    o.field = value;                                                                                         \
    assert_int_equal(sley_roofline_spmm(a, 4, &o, &line, NULL), SLEY_ERR_ARG);                               \
    if (!strstr(sley_last_error(), text))                                                                    \
      fail_msg("%s: no \"%s\" in it", sley_last_error(), text);                                              \
  } while (0)
  REFUSED("no algorithm \"halo\"", algo, "halo");
  REFUSED("0 ranks", ranks, 0);
  REFUSED("does not have 4 ranks", grid_rows, 3);
  REFUSED("a grid of -1", grid_rows, -1);
  REFUSED("tiles must not be negative", tiles_across, -1);
  REFUSED("more than 16777216", tiles_between, INT64_MAX);
  REFUSED("must be 0 or more", memory_bandwidth, -1);
  REFUSED("must be 0 or more", network_bandwidth, NAN);
  REFUSED("must be 0 or more", latency, INFINITY);
  REFUSED("an entry of C has at least 1 product", compression, 0.5);
#undef REFUSED
  sley_roofline_options o = four_ranks("summa-2d");
  assert_int_equal(sley_roofline_spgemm(a, a, &o, &line, NULL), SLEY_ERR_ARG);
  o.grid_rows = 2;
  assert_int_equal(sley_roofline_spmm(a, 4, &o, &line, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_roofline_spmm(NULL, 4, NULL, &line, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_roofline_spmm(a, -1, NULL, &line, NULL), SLEY_ERR_ARG);
  assert_null(sley_bound_name((sley_bound)4));
  assert_string_equal(sley_bound_name(SLEY_BOUND_NETWORK), "network");
  sley_matrix_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(dense_products_are_those_of_the_paper),
                                     cmocka_unit_test(sparse_products_are_those_of_the_paper),
                                     cmocka_unit_test(the_lower_roof_bounds),
                                     cmocka_unit_test(places_are_found_from_what_was_hit),
                                     cmocka_unit_test(four_ranks_are_counted),
                                     cmocka_unit_test(ranks_of_a_node_share_its_link),
                                     cmocka_unit_test(figures_come_from_the_machine),
                                     cmocka_unit_test(sparse_products_are_counted),
                                     cmocka_unit_test(nothing_takes_no_time),
                                     cmocka_unit_test(wrong_options_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
