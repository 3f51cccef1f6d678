/* SPDX-License-Identifier: Apache-2.0 */
/* Random bipartite graphs: the cover touches every edge and a matching of its size proves it least; the order
 * in which edges are listed does not change it. */
#include "support.h"

#include "base/random.h"
#include "algo/cover.h"

enum { MAX_SIDE = 400, MAX_DEGREE = 6, ROUNDS = 1500 };

typedef struct graph {
  int64_t rowptr[MAX_SIDE + 1];
  int32_t adjacency[MAX_SIDE * MAX_DEGREE];
} graph;

/* Sparse graphs, where greedy matchings go wrong most; skewed ones draw columns toward 0. */
static sl_bipartite make(graph *g, uint64_t seed) {
  int32_t rows = (int32_t)sl_below(sl_random(seed, 0, 0), MAX_SIDE + 1);
  int32_t cols = (int32_t)sl_below(sl_random(seed, 0, 1), MAX_SIDE + 1);
  int64_t top = 1 + sl_below(sl_random(seed, 0, 2), MAX_DEGREE);
  bool skewed = sl_random(seed, 0, 3) & 1;
  g->rowptr[0] = 0;
  for (int32_t i = 0; i < rows; i++) {
    int64_t degree = cols == 0 ? 0 : sl_below(sl_random(seed, 1, (uint64_t)i), top + 1);
    g->rowptr[i + 1] = g->rowptr[i] + degree;
    for (int64_t e = g->rowptr[i]; e < g->rowptr[i + 1]; e++) {
      double u = sl_unit(sl_random(seed, 2, (uint64_t)e));
      g->adjacency[e] = (int32_t)((skewed ? u * u * u : u) * cols);
    }
  }
  return (sl_bipartite){rows, cols, g->rowptr, g->adjacency};
}

static void check(const sl_bipartite *b, const sl_cover *cover) {
  int64_t matched = 0, size = 0;
  uint8_t taken[MAX_SIDE] = {0};
  for (int32_t i = 0; i < b->rows; i++) {
    bool found = cover->row_match[i] < 0;
    for (int64_t e = b->rowptr[i]; e < b->rowptr[i + 1]; e++) {
      found |= b->adjacency[e] == cover->row_match[i];
      assert_true(cover->row_in[i] || cover->col_in[b->adjacency[e]]);
    }
    assert_true(found);
    size += cover->row_in[i];
    if (cover->row_match[i] >= 0) {
      assert_int_equal(taken[cover->row_match[i]]++, 0);
      matched++;
    }
  }
  for (int32_t c = 0; c < b->cols; c++)
    size += cover->col_in[c];
  assert_int_equal(size, cover->size);
  assert_int_equal(matched, cover->size);
}

static void cover_is_least_and_canonical(void **state) {
  (void)state;
  static graph g, reversed;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    sl_bipartite b = make(&g, seed), r = b;
    memcpy(reversed.rowptr, g.rowptr, sizeof g.rowptr);
    for (int32_t i = 0; i < b.rows; i++)
      for (int64_t e = g.rowptr[i]; e < g.rowptr[i + 1]; e++)
        reversed.adjacency[e] = g.adjacency[g.rowptr[i] + g.rowptr[i + 1] - 1 - e];
    r.rowptr = reversed.rowptr;
    r.adjacency = reversed.adjacency;
    sl_cover one, other;
    assert_sley_ok(sl_min_vertex_cover(&b, &one));
    assert_sley_ok(sl_min_vertex_cover(&r, &other));
    check(&b, &one);
    check(&r, &other);
    assert_memory_equal(one.row_in, other.row_in, (size_t)b.rows);
    assert_memory_equal(one.col_in, other.col_in, (size_t)b.cols);
    sl_cover_free(&other);
    sl_cover_free(&one);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cover_is_least_and_canonical)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
