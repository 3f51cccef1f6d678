/* SPDX-License-Identifier: Apache-2.0 */
/* The ordering loa: beside the same rule worked out with sets on random graphs, on graphs whose best windows
 * are known, on hubs, and on rows without entries. */
#include "support.h"

#include "base/random.h"
#include "order/builtin.h"

enum { WINDOW = SLEY_WINDOW_ROWS };

static sley_matrix *matrix_of(int32_t n, const int32_t *row, const int32_t *col, int64_t count,
                              sl_symmetry symmetry) {
  sl_coo coo = {n, n, count, SLEY_I32, SLEY_F32, (void *)row, (void *)col, NULL};
  sley_matrix *out;
  assert_sley_ok(sl_coo_to_csr(&coo, symmetry, SL_SUM_REPEATS, NULL, &out));
  return out;
}

/* The order of loa on 1 thread, checked to be a permutation and to be that on 3 threads; freed by free. */
static int64_t *order_of(const sley_matrix *matrix) {
  size_t count = (size_t)matrix->rows;
  int64_t *perm = calloc(count + 1, sizeof *perm), *other = calloc(count + 1, sizeof *other);
  uint8_t *met = calloc(count + 1, 1);
  assert_sley_ok(sley_order(matrix, "loa", 1, 1, perm));
  assert_sley_ok(sley_order(matrix, "loa", 2, 3, other));
  assert_memory_equal(perm, other, count * sizeof *perm);
  for (size_t i = 0; i < count; i++) {
    assert_true(perm[i] >= 0 && perm[i] < matrix->rows);
    assert_int_equal(met[perm[i]]++, 0);
  }
  free(met);
  free(other);
  return perm;
}

static sley_matrix *permuted(const sley_matrix *matrix, const int64_t *perm) {
  sley_matrix *out;
  assert_sley_ok(sley_matrix_permute(matrix, perm, perm, 1, &out));
  return out;
}

static sley_matrix *shuffled(const sley_matrix *matrix, uint64_t seed) {
  int64_t *perm = calloc((size_t)matrix->rows + 1, sizeof *perm);
  assert_sley_ok(sley_order(matrix, "random", seed, 1, perm));
  sley_matrix *out = permuted(matrix, perm);
  free(perm);
  return out;
}

static double intensity(const sley_matrix *matrix) {
  sley_window_info info;
  assert_sley_ok(sley_matrix_windows(matrix, NULL, 1, &info));
  return (double)info.entries / (double)info.columns;
}

/* ---- the rule, with sets */

enum { MOST = 1100 }; /* more than loa chooses from at a time */

typedef struct rule {
  int32_t n, degree[MOST], list[MOST];
  uint8_t joined[MOST][MOST], placed[MOST], column[MOST];
} rule;

static void read_pattern(rule *r, const sley_matrix *matrix) {
  memset(r, 0, sizeof *r);
  r->n = (int32_t)matrix->rows;
  for (int32_t i = 0; i < r->n; i++)
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++) {
      int64_t j = sl_index_at(matrix->col, matrix->index, e);
      r->joined[i][j] = r->joined[j][i] = 1;
    }
  int32_t listed = 0, least[MOST];
  for (int32_t i = 0; i < r->n; i++) {
    least[i] = r->n;
    for (int32_t j = r->n; j-- > 0;) {
      r->degree[i] += r->joined[i][j];
      least[i] = r->joined[i][j] ? j : least[i];
    }
  }
  for (int32_t j = 0; j < r->n; j++)
    for (int32_t i = 0; i < r->n; i++)
      if (least[i] == j)
        r->list[listed++] = i;
  for (int32_t i = 0; i < r->n; i++)
    if (r->degree[i] == 0)
      r->list[listed++] = i;
}

/* Distinct columns of the window with vertex v added to it. */
static int64_t columns_with(const rule *r, int32_t v) {
  int64_t count = 0;
  for (int32_t j = 0; j < r->n; j++)
    count += r->column[j] || r->joined[v][j];
  return count;
}

/* The unplaced vertex, of those at candidate[0 .. count), with which the window is densest. */
static int32_t densest(const rule *r, const int32_t *candidate, int count, int64_t entries) {
  int32_t best = -1;
  int64_t best_entries = 0, best_columns = 1;
  for (int c = 0; c < count; c++) {
    int32_t v = candidate[c];
    if (r->placed[v])
      continue;
    int64_t mine = entries + r->degree[v], columns = columns_with(r, v);
    if (best < 0 || mine * best_columns > best_entries * columns ||
        (mine * best_columns == best_entries * columns && r->degree[v] > r->degree[best])) {
      best = v;
      best_entries = mine;
      best_columns = columns;
    }
  }
  return best;
}

/* Fills a window of vertices with neighbours from place on; returns the next free place. */
static int64_t fill(rule *r, int64_t place, int64_t *perm) {
  int32_t candidate[SL_LOA_AHEAD + 1];
  int64_t entries = 0;
  int count = 0;
  for (int32_t i = 0; i < r->n && count <= SL_LOA_AHEAD; i++)
    if (!r->placed[r->list[i]] && r->degree[r->list[i]] > 0)
      candidate[count++] = r->list[i];
  memset(r->column, 0, sizeof r->column);
  for (int row = 0; row < WINDOW && row < count; row++) {
    int32_t v = row == 0 ? candidate[0] : densest(r, candidate, count, entries);
    r->placed[v] = 1;
    perm[v] = place++;
    entries += r->degree[v];
    for (int32_t j = 0; j < r->n; j++)
      r->column[j] |= r->joined[v][j];
  }
  return count > 0 ? place : -1;
}

static void check_rule(const sley_matrix *matrix) {
  static rule r;
  int64_t want[MOST + 1] = {0}, place = 0;
  read_pattern(&r, matrix);
  for (int64_t next; (next = fill(&r, place, want)) >= 0;)
    place = next;
  for (int32_t i = 0; i < r.n; i++)
    if (r.degree[i] == 0)
      want[i] = place++;
  int64_t *perm = order_of(matrix);
  for (int32_t i = 0; i < r.n; i++)
    if (perm[i] != want[i])
      fail_msg("row %d of %d goes to place %lld, by the rule to %lld", i, r.n, (long long)perm[i],
               (long long)want[i]);
  free(perm);
}

/* Random pairs, some columns far more often than others; in most graphs not all rows have entries. */
static sley_matrix *random_graph(uint64_t seed) {
  static const int32_t sizes[] = {0, 1, 2, 15, 16, 17, 40, 200, 600, MOST};
  enum { EDGES = 4 * MOST };
  int32_t n = sizes[sl_below(sl_random(seed, 0, 0), 10)], row[EDGES], col[EDGES];
  int64_t count = n > 0 ? sl_below(sl_random(seed, 0, 1), 4 * n + 1) : 0;
  for (int64_t e = 0; e < count; e++) {
    double far = sl_unit(sl_random(seed, 1, (uint64_t)e));
    row[e] = (int32_t)sl_below(sl_random(seed, 2, (uint64_t)e), n);
    col[e] = (int32_t)(far * far * far * n);
  }
  bool symmetric = sl_random(seed, 0, 2) & 1;
  return matrix_of(n, row, col, count, symmetric ? SL_SYMMETRIC : SL_GENERAL);
}

static void random_graphs_follow_the_rule(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 24; seed++) {
    sley_matrix *matrix = random_graph(seed);
    check_rule(matrix);
    sley_matrix_destroy(matrix);
  }
}

static void a_grid_follows_the_rule(void **state) {
  (void)state;
  sley_matrix *grid;
  assert_sley_ok(sley_matrix_read("grid:nx=33,ny=30", NULL, &grid));
  sley_matrix *mixed = shuffled(grid, 3);
  check_rule(grid);
  check_rule(mixed);
  sley_matrix_destroy(mixed);
  sley_matrix_destroy(grid);
}

/* Every second entry of a row stands twice. */
static sley_matrix *with_repeats(const sley_matrix *matrix) {
  int64_t *rowptr = calloc((size_t)matrix->rows + 1, sizeof *rowptr), count = 0;
  int32_t *col = calloc((size_t)matrix->nnz * 2 + 1, sizeof *col);
  float *val = calloc((size_t)matrix->nnz * 2 + 1, sizeof *val);
  for (int64_t i = 0; i < matrix->rows; i++) {
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++) {
      col[count++] = (int32_t)sl_index_at(matrix->col, matrix->index, e);
      if ((col[count - 1] + i) % 2 == 0) {
        col[count] = col[count - 1];
        count++;
      }
    }
    rowptr[i + 1] = count;
  }
  sley_csr csr = {matrix->rows, matrix->cols, rowptr, col, val, SLEY_I32, SLEY_F32};
  sley_matrix *out;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &out));
  free(val);
  free(col);
  free(rowptr);
  return out;
}

static void repeated_entries_count_once(void **state) {
  (void)state;
  sley_matrix *graph;
  assert_sley_ok(sley_matrix_read("rmat:scale=9,edgefactor=6,undirected", NULL, &graph));
  sley_matrix *twice = with_repeats(graph);
  assert_true(twice->nnz > graph->nnz);
  int64_t *perm = order_of(graph), *same = order_of(twice);
  assert_memory_equal(perm, same, (size_t)graph->rows * sizeof *perm);
  free(same);
  free(perm);
  sley_matrix_destroy(twice);
  sley_matrix_destroy(graph);
}

/* ---- what it is for */

/* GROUPS of SIZE vertices, each joined to EACH drawn ones of its group and OUTSIDE drawn of all. */
static sley_matrix *groups(int32_t count, int32_t size, int each, int outside) {
  int32_t n = count * size;
  int64_t edges = (int64_t)n * (each + outside), e = 0;
  int32_t *row = calloc((size_t)edges, sizeof *row), *col = calloc((size_t)edges, sizeof *col);
  for (int32_t v = 0; v < n; v++)
    for (int i = 0; i < each + outside; i++, e++) {
      uint64_t bits = sl_random(5, 0, (uint64_t)e);
      row[e] = v;
      col[e] = (int32_t)(i < each ? v / size * size + sl_below(bits, size) : sl_below(bits, n));
    }
  sley_matrix *out = matrix_of(n, row, col, edges, SL_SYMMETRIC);
  free(col);
  free(row);
  return out;
}

/* Full blocks of 16 rows and columns, shuffled, are found again: every window is full. */
static void full_blocks_are_found(void **state) {
  (void)state;
  enum { BLOCKS = 50, EDGES = BLOCKS * WINDOW * WINDOW };
  int32_t *row = calloc(EDGES, sizeof *row), *col = calloc(EDGES, sizeof *col);
  for (int32_t e = 0; e < EDGES; e++) {
    row[e] = e / WINDOW;
    col[e] = e / (WINDOW * WINDOW) * WINDOW + e % WINDOW;
  }
  sley_matrix *plain = matrix_of(BLOCKS * WINDOW, row, col, EDGES, SL_GENERAL), *mixed = shuffled(plain, 7);
  int64_t *perm = order_of(mixed);
  sley_matrix *ordered = permuted(mixed, perm);
  assert_true(intensity(mixed) < 1.5);
  assert_true(intensity(ordered) == WINDOW);
  sley_matrix_destroy(ordered);
  free(perm);
  sley_matrix_destroy(mixed);
  sley_matrix_destroy(plain);
  free(col);
  free(row);
}

/* 100 groups of 40 vertices, 10 edges of each inside and 1 outside. */
static void planted_groups_are_denser(void **state) {
  (void)state;
  sley_matrix *plain = groups(100, 40, 10, 1), *mixed = shuffled(plain, 2);
  int64_t *perm = order_of(mixed);
  sley_matrix *ordered = permuted(mixed, perm);
  double before = intensity(mixed), after = intensity(ordered);
  if (after < 2 * before)
    fail_msg("an intensity of %.3f becomes %.3f", before, after);
  sley_matrix_destroy(ordered);
  free(perm);
  sley_matrix_destroy(mixed);
  sley_matrix_destroy(plain);
}

/* The columns of other blocks in each of `parts` equal blocks of rows. */
static int64_t halo_rows(const sley_matrix *matrix, int64_t parts) {
  const int64_t n = matrix->rows;
  int64_t count = 0;
  for (int64_t p = 0; p < parts; p++) {
    uint8_t *seen = calloc((size_t)n, 1);
    const int64_t begin = n * p / parts, end = n * (p + 1) / parts;
    for (int64_t e = matrix->rowptr[begin]; e < matrix->rowptr[end]; e++) {
      const int64_t c = sl_index_at(matrix->col, matrix->index, e);
      count += (c < begin || c >= end) && !seen[c];
      seen[c] = 1;
    }
    free(seen);
  }
  return count;
}

/* On a shuffled grid loa-parts needs a small part of loa's halo, and its windows are no less dense. */
static void parts_serve_windows_and_halo(void **state) {
  (void)state;
  enum { RANKS = 16 };
  static const char *const names[] = {"loa", "loa-parts"};
  sley_matrix *grid, *by[2];
  assert_sley_ok(sley_matrix_read("grid:nx=100,ny=90", NULL, &grid));
  sley_matrix *mixed = shuffled(grid, 3);
  for (int i = 0; i < 2; i++) {
    int64_t *perm = calloc((size_t)mixed->rows, sizeof *perm);
    assert_sley_ok(sley_order(mixed, names[i], 1, 2, perm));
    by[i] = permuted(mixed, perm);
    free(perm);
  }
  if (halo_rows(by[1], RANKS) * 4 > halo_rows(by[0], RANKS) || intensity(by[1]) < intensity(by[0]))
    fail_msg("halo rows %lld and %lld, intensities %.3f and %.3f", (long long)halo_rows(by[0], RANKS),
             (long long)halo_rows(by[1], RANKS), intensity(by[0]), intensity(by[1]));
  sley_matrix_destroy(by[1]);
  sley_matrix_destroy(by[0]);
  sley_matrix_destroy(mixed);
  sley_matrix_destroy(grid);
}

/* ---- hubs */

/* Rows 1 to LEAVES have an entry in column 0 alone, and row 0 in all of their columns: windows of 16 leaves
 * have an intensity of 16, and the hub, whose smallest neighbour is 1, comes last. Work that grows with the
 * square of the hub's degree would not end within the test's time. */
static void a_star(void **state) {
  (void)state;
  enum { LEAVES = 400000 };
  int32_t *row = calloc(LEAVES, sizeof *row), *col = calloc(LEAVES, sizeof *col);
  for (int32_t i = 0; i < LEAVES; i++)
    row[i] = i + 1;
  sley_matrix *star = matrix_of(LEAVES + 1, row, col, LEAVES, SL_SYMMETRIC);
  int64_t *perm = order_of(star);
  for (int32_t i = 0; i < LEAVES; i++)
    assert_int_equal(perm[i + 1], i);
  assert_int_equal(perm[0], LEAVES);
  free(perm);
  sley_matrix_destroy(star);
  free(col);
  free(row);
}

/* Every row has the same HUBS columns, and one of its own. */
static void hubs_shared_by_all_rows(void **state) {
  (void)state;
  enum { N = 60000, HUBS = 8, EDGES = N * (HUBS + 1) };
  int32_t *row = calloc(EDGES, sizeof *row), *col = calloc(EDGES, sizeof *col);
  for (int32_t e = 0; e < EDGES; e++) {
    row[e] = e / (HUBS + 1);
    col[e] = e % (HUBS + 1) < HUBS ? e % (HUBS + 1) : row[e];
  }
  sley_matrix *matrix = matrix_of(N, row, col, EDGES, SL_SYMMETRIC);
  int64_t *perm = order_of(matrix);
  sley_matrix *ordered = permuted(matrix, perm);
  assert_true(intensity(ordered) > 5);
  sley_matrix_destroy(ordered);
  free(perm);
  sley_matrix_destroy(matrix);
  free(col);
  free(row);
}

/* ---- few rows */

static void rows_without_entries_come_last(void **state) {
  (void)state;
  const int32_t row[] = {5, 7, 9}, col[] = {7, 7, 1};
  sley_matrix *matrix = matrix_of(11, row, col, 3, SL_GENERAL);
  int64_t *perm = order_of(matrix);
  /* Smallest neighbours: 1 has 9, 5 has 7, 7 has 5, 9 has 1. So the list is 9, 7, 5, 1. With all columns new,
   * 7, of degree 2, is taken after 9; then 5, which brings none. */
  const int64_t want[] = {4, 3, 5, 6, 7, 2, 8, 1, 9, 0, 10};
  assert_memory_equal(perm, want, sizeof want);
  free(perm);
  sley_matrix_destroy(matrix);
}

static void no_row_and_one(void **state) {
  (void)state;
  const char *const names[] = {"empty:rows=0,cols=0", "empty:rows=1,cols=1", "diag:n=1",
                               "empty:rows=40,cols=40"};
  for (int i = 0; i < 4; i++) {
    sley_matrix *matrix;
    assert_sley_ok(sley_matrix_read(names[i], NULL, &matrix));
    int64_t *perm = order_of(matrix);
    for (int64_t r = 0; r < matrix->rows; r++)
      assert_int_equal(perm[r], r);
    free(perm);
    sley_matrix_destroy(matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_graphs_follow_the_rule),
      cmocka_unit_test(a_grid_follows_the_rule),
      cmocka_unit_test(repeated_entries_count_once),
      cmocka_unit_test(full_blocks_are_found),
      cmocka_unit_test(planted_groups_are_denser),
      cmocka_unit_test(parts_serve_windows_and_halo),
      cmocka_unit_test(a_star),
      cmocka_unit_test(hubs_shared_by_all_rows),
      cmocka_unit_test(rows_without_entries_come_last),
      cmocka_unit_test(no_row_and_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
