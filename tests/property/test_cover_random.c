/* SPDX-License-Identifier: Apache-2.0 */
/* Random bipartite graphs. The cover must touch every edge, a matching of the same size proves that it is
 * smallest, and the order of the edges must not change it. For blocks of graphs, the bound must be at most
 * the weight of their covers, close to it, and the same for any number of threads. */
#include "support.h"

#include "base/random.h"
#include "matrix/cover.h"
#include "algo/cover_blocks.h"

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

enum { BLOCKS = 3, BLOCK_ROUNDS = 300 };

/* One pass, in which each thread processes its share of the rows, as in passes over a matrix. */
static void pass(sl_cover_blocks *blocks, const sl_bipartite *b, bool stores) {
  for (int t = 0; t < blocks->threads; t++)
    for (int block = 0; block < BLOCKS; block++) {
      const sl_bipartite *g = &b[block];
      for (int32_t i = g->rows * t / blocks->threads; i < g->rows * (t + 1) / blocks->threads; i++)
        for (int64_t e = g->rowptr[i]; e < g->rowptr[i + 1]; e++) {
          sl_block_cursor *cursor = &sl_block_cursors(blocks, t)[block];
          if (stores)
            sl_block_store(blocks, cursor, block, i, blocks->first_col[block] + g->adjacency[e]);
          else
            sl_block_count(cursor, i);
        }
    }
}

/* Computes the bound of the blocks, and the weight of their covers. */
static int64_t bound_blocks(const sl_bipartite *b, int threads, int64_t weight, int64_t *size) {
  static uint8_t use[BLOCKS * MAX_SIDE];
  int64_t first_col[BLOCKS + 1] = {0}, sizes[BLOCKS], least;
  sl_cover_blocks blocks;
  sl_team *team;
  for (int i = 0; i < BLOCKS; i++)
    first_col[i + 1] = first_col[i] + b[i].cols;
  assert_sley_ok(sl_team_create(threads, &team));
  assert_sley_ok(sl_cover_blocks_begin(BLOCKS, threads, first_col, &blocks));
  pass(&blocks, b, false);
  assert_sley_ok(sl_cover_blocks_place(&blocks));
  pass(&blocks, b, true);
  assert_sley_ok(sl_cover_blocks_bound(&blocks, weight, INT64_MAX, team, &least));
  for (int64_t enough = 0; enough <= least + 1; enough += 1 + least / 3) { /* it may end earlier */
    int64_t some;
    assert_sley_ok(sl_cover_blocks_bound(&blocks, weight, enough, team, &some));
    assert_true(some <= least && (some >= enough || some == least));
  }
  assert_sley_ok(sl_cover_blocks_solve(&blocks, weight, team, NULL, use, sizes));
  *size = 0;
  for (int i = 0; i < BLOCKS; i++)
    *size += sizes[i];
  sl_cover_blocks_free(&blocks);
  sl_team_destroy(team);
  return least;
}

static void bound_is_below_the_covers(void **state) {
  (void)state;
  static graph g[BLOCKS];
  int64_t bounds = 0, sizes = 0;
  for (uint64_t seed = 0; seed < BLOCK_ROUNDS; seed++) {
    const int64_t weight = 1 + (int64_t)(seed % 2);
    int64_t size;
    sl_bipartite b[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
      b[i] = make(&g[i], BLOCKS * seed + (uint64_t)i);
    int64_t least = bound_blocks(b, 1, weight, &size);
    assert_true(least <= size);
    assert_int_equal(bound_blocks(b, 3, weight, &size), least);
    bounds += least;
    sizes += size;
  }
  assert_true((double)bounds >= 0.95 * (double)sizes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cover_is_least_and_canonical),
                                     cmocka_unit_test(bound_is_below_the_covers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
