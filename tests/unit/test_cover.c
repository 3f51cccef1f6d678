/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum vertex covers against brute force on every small graph, and on shapes made to be awkward. */
#include "support.h"

#include "base/memory.h"
#include "matrix/cover.h"

enum { SMALL = 4, LONG = 20000 };

/* The least cover by trying every set of rows: the columns must take what those leave. */
static int least_by_trial(int rows, int cols, unsigned edges) {
  int least = rows + cols;
  for (unsigned chosen = 0; chosen < 1u << rows; chosen++) {
    unsigned left = 0;
    for (int i = 0; i < rows; i++)
      if (!(chosen >> i & 1))
        left |= edges >> (i * cols) & ((1u << cols) - 1);
    int size = __builtin_popcount(chosen) + __builtin_popcount(left);
    least = size < least ? size : least;
  }
  return least;
}

/* Every promise of the header but minimality, which the matching certifies. */
static void check_cover(const sl_bipartite *graph, const sl_cover *cover) {
  int64_t matched = 0, size = 0;
  uint8_t *taken = calloc((size_t)graph->cols + 1, 1);
  for (int32_t i = 0; i < graph->rows; i++) {
    bool found = cover->row_match[i] < 0;
    for (int64_t e = graph->rowptr[i]; e < graph->rowptr[i + 1]; e++) {
      found |= graph->adjacency[e] == cover->row_match[i];
      assert_true(cover->row_in[i] || cover->col_in[graph->adjacency[e]]);
    }
    assert_true(found);
    size += cover->row_in[i];
    if (cover->row_match[i] >= 0) {
      assert_false(taken[cover->row_match[i]]);
      taken[cover->row_match[i]] = 1;
      matched++;
    }
  }
  for (int32_t c = 0; c < graph->cols; c++)
    size += cover->col_in[c];
  assert_int_equal(size, cover->size);
  assert_int_equal(matched, cover->size);
  free(taken);
}

static void every_small_graph(void **state) {
  (void)state;
  for (int rows = 0; rows <= SMALL; rows++)
    for (int cols = 0; cols <= SMALL; cols++)
      for (unsigned edges = 0; edges < 1u << (rows * cols); edges++) {
        int64_t rowptr[SMALL + 1] = {0};
        int32_t adjacency[SMALL * SMALL];
        for (int i = 0; i < rows; i++) {
          rowptr[i + 1] = rowptr[i];
          for (int c = 0; c < cols; c++)
            if (edges >> (i * cols + c) & 1)
              adjacency[rowptr[i + 1]++] = c;
        }
        sl_bipartite graph = {rows, cols, rowptr, adjacency};
        sl_cover cover;
        assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
        assert_int_equal(cover.size, least_by_trial(rows, cols, edges));
        check_cover(&graph, &cover);
        sl_cover_free(&cover);
      }
}

static void stars_take_their_centre(void **state) {
  (void)state;
  const int64_t out[] = {0, 5}, in[] = {0, 1, 2, 3, 4, 5};
  const int32_t leaves[] = {0, 1, 2, 3, 4}, centre[] = {0, 0, 0, 0, 0};
  sl_cover cover;
  sl_bipartite graph = {1, 5, out, leaves};
  assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
  assert_int_equal(cover.size, 1);
  assert_true(cover.row_in[0]);
  sl_cover_free(&cover);
  graph = (sl_bipartite){5, 1, in, centre};
  assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
  assert_int_equal(cover.size, 1);
  assert_true(cover.col_in[0]);
  sl_cover_free(&cover);
}

/* Row i is joined to columns i and i + 1 (the other order in odd rows): a path of 2 LONG edges. With closed
 * it is a ring, without a vertex of one edge to start from. */
static void long_chain(bool closed) {
  int64_t *rowptr = calloc(LONG + 1, sizeof *rowptr);
  int32_t *adjacency = calloc(2 * LONG, sizeof *adjacency);
  int32_t cols = closed ? LONG : LONG + 1;
  for (int32_t i = 0; i < LONG; i++) {
    rowptr[i + 1] = rowptr[i] + 2;
    adjacency[2 * i + i % 2] = i;
    adjacency[2 * i + 1 - i % 2] = (i + 1) % cols;
  }
  sl_bipartite graph = {LONG, cols, rowptr, adjacency};
  sl_cover cover;
  assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
  assert_int_equal(cover.size, LONG);
  check_cover(&graph, &cover);
  sl_cover_free(&cover);
  free(adjacency);
  free(rowptr);
}

static void long_chains(void **state) {
  (void)state;
  long_chain(false);
  long_chain(true);
}

/* A triangle of edges, row i to columns 0 .. i: rows taken greedily from the wrong end would block each
 * other. */
static void triangle_is_matched_whole(void **state) {
  (void)state;
  enum { N = 200 };
  int64_t rowptr[N + 1] = {0};
  int32_t *adjacency = calloc(N * (N + 1) / 2, sizeof *adjacency);
  for (int32_t i = 0; i < N; i++) {
    rowptr[i + 1] = rowptr[i];
    for (int32_t c = 0; c <= i; c++)
      adjacency[rowptr[i + 1]++] = c;
  }
  sl_bipartite graph = {N, N, rowptr, adjacency};
  sl_cover cover;
  assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
  assert_int_equal(cover.size, N);
  check_cover(&graph, &cover);
  sl_cover_free(&cover);
  free(adjacency);
}

static void repeated_edges_count_once(void **state) {
  (void)state;
  const int64_t rowptr[] = {0, 3, 6};
  const int32_t adjacency[] = {1, 1, 1, 1, 1, 2};
  sl_bipartite graph = {2, 3, rowptr, adjacency};
  sl_cover cover;
  assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
  assert_int_equal(cover.size, 2);
  check_cover(&graph, &cover);
  sl_cover_free(&cover);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const int64_t rowptr[] = {0, 2, 4, 6};
  const int32_t adjacency[] = {0, 1, 1, 2, 0, 2};
  sl_bipartite graph = {3, 3, rowptr, adjacency};
  int64_t before = sl_memory_now();
  sley_status status = SLEY_ERR_MEMORY;
  int64_t nth = 1;
  for (; status != SLEY_OK; nth++) {
    sl_cover cover;
    sl_memory_fail_at(nth);
    status = sl_min_vertex_cover(&graph, &cover);
    assert_true(status == SLEY_OK || status == SLEY_ERR_MEMORY);
    if (status == SLEY_OK)
      sl_cover_free(&cover);
    assert_int_equal(sl_memory_now(), before);
  }
  sl_memory_fail_at(0);
  assert_true(nth > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_small_graph),
      cmocka_unit_test(stars_take_their_centre),
      cmocka_unit_test(long_chains),
      cmocka_unit_test(triangle_is_matched_whole),
      cmocka_unit_test(repeated_edges_count_once),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
