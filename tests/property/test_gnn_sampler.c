/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour sampling on random matrices with empty rows and repeated entries. A drawn graph must have the
 * rows and entries of its definition, hop by hop; the same seed, epoch and batch must draw the same graph in
 * any order of calls; every entry must be drawn equally often; wrong arguments must be refused. */
#include "support.h"

#include "sley_gnn.h"

#include "base/memory.h"
#include "base/random.h"

enum { MOST_ROWS = 70, MOST_DEGREE = 40, MOST_ENTRIES = MOST_ROWS * MOST_DEGREE, MOST_HOPS = 4, CASES = 300 };

/* A graph in which the value of an entry is its number, so that a drawn entry can be identified. */
typedef struct graph {
  int64_t rows, rowptr[MOST_ROWS + 1], col[MOST_ENTRIES];
  int32_t narrow[MOST_ENTRIES];
  double val[MOST_ENTRIES];
  sley_matrix *a;
} graph;

typedef struct words {
  int64_t row[MOST_ROWS], fan_out[MOST_HOPS];
  sley_gnn_sampler_options options;
} words;

static int64_t below(uint64_t seed, uint64_t what, uint64_t number, int64_t n) {
  return sl_below(sl_random(seed, what, number), n);
}

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* A random graph. A third of the rows is empty; columns ascend, and about every tenth column repeats. */
static void draw_graph(uint64_t seed, graph *g) {
  int64_t entries = 0;
  g->rows = 1 + below(seed, 0, 0, MOST_ROWS);
  for (int64_t i = 0; i < g->rows; i++) {
    const int64_t count = below(seed, 1, (uint64_t)i, 3) == 0 ? 0 : below(seed, 2, (uint64_t)i, MOST_DEGREE);
    g->rowptr[i] = entries;
    for (int64_t e = 0; e < count; e++)
      g->col[entries + e] = below(seed, 3 + (uint64_t)i, (uint64_t)e, g->rows);
    qsort(g->col + entries, (size_t)count, sizeof *g->col, compare);
    entries += count;
  }
  g->rowptr[g->rows] = entries;
  for (int64_t e = 0; e < entries; e++) {
    g->narrow[e] = (int32_t)g->col[e];
    g->val[e] = (double)e;
  }
  const bool wide = seed % 2;
  assert_sley_ok(sley_matrix_from_csr(&(sley_csr){.rows = g->rows,
                                                  .cols = g->rows,
                                                  .rowptr = g->rowptr,
                                                  .col = wide ? (void *)g->col : g->narrow,
                                                  .val = g->val,
                                                  .index = wide ? SLEY_I64 : SLEY_I32,
                                                  .dtype = SLEY_F64},
                                      SLEY_COPY, &g->a));
}

/* Random options: some of the rows in any order; fan-outs of 0, few, more than any row has, and all. */
static void draw_words(uint64_t seed, int64_t rows, words *w) {
  w->options = (sley_gnn_sampler_options)SLEY_GNN_SAMPLER_OPTIONS_INIT;
  for (int64_t i = 0; i < rows; i++)
    if (below(seed, 100, (uint64_t)i, 3) > 0)
      w->row[w->options.rows++] = i;
  for (int64_t i = w->options.rows - 1; i > 0; i--) {
    const int64_t other = below(seed, 101, (uint64_t)i, i + 1), row = w->row[i];
    w->row[i] = w->row[other];
    w->row[other] = row;
  }
  w->options.hops = 1 + (int)below(seed, 102, 0, MOST_HOPS);
  for (int hop = 0; hop < w->options.hops; hop++) {
    const int64_t kind = below(seed, 103, (uint64_t)hop, 8);
    w->fan_out[hop] = kind == 0 ? SLEY_GNN_ALL : kind == 1 ? MOST_DEGREE : kind == 2 ? 0 : kind;
  }
  w->options.row = w->row;
  w->options.fan_out = w->fan_out;
  w->options.batch = 1 + below(seed, 104, 0, rows + 5);
  w->options.seed = seed;
}

/* ---- one draw */

static sley_csr arrays_of(const sley_gnn_drawn *d) {
  sley_csr m;
  assert_sley_ok(sley_matrix_csr(d->graph, &m));
  assert_int_equal(m.rows, d->rows);
  assert_int_equal(m.cols, d->rows);
  return m;
}

static int64_t column_of(const sley_csr *m, int64_t e) {
  return m->index == SLEY_I64 ? ((const int64_t *)m->col)[e] : ((const int32_t *)m->col)[e];
}

/* Checks that the entries of a drawn row are entries of its row of A, each at most once, ordered by
 * columns. */
static void check_row(const graph *g, const sley_gnn_drawn *d, const sley_csr *m, int64_t i) {
  bool seen[MOST_ENTRIES] = {false};
  for (int64_t at = m->rowptr[i]; at < m->rowptr[i + 1]; at++) {
    const int64_t column = column_of(m, at), e = (int64_t)((const double *)m->val)[at];
    assert_in_range(e, g->rowptr[d->row[i]], g->rowptr[d->row[i] + 1] - 1);
    assert_false(seen[e]);
    seen[e] = true;
    assert_int_equal(g->col[e], d->row[column]);
    assert_true(at == m->rowptr[i] || column_of(m, at - 1) <= column);
  }
}

/* Checks the frontier of rows [begin, end): each has the right number of drawn entries, and the rows that
 * these reach for the first time are the next frontier. Returns the end of the next frontier. */
static int64_t check_frontier(const graph *g, const sley_csr *m, const sley_gnn_drawn *d, int64_t begin,
                              int64_t end, int64_t fan_out) {
  bool reached[MOST_ROWS] = {false};
  int64_t next = end;
  for (int64_t i = begin; i < end; i++) {
    const int64_t degree = g->rowptr[d->row[i] + 1] - g->rowptr[d->row[i]];
    assert_int_equal(m->rowptr[i + 1] - m->rowptr[i], degree < fan_out ? degree : fan_out);
    for (int64_t at = m->rowptr[i]; at < m->rowptr[i + 1]; at++) {
      const int64_t column = column_of(m, at);
      reached[column] = true;
      next = column + 1 > next ? column + 1 : next;
    }
  }
  for (int64_t i = end; i < next; i++)
    assert_true(reached[i]);
  return next;
}

static void check_draw(const graph *g, const words *w, const sley_gnn_drawn *d) {
  const sley_csr m = arrays_of(d);
  bool there[MOST_ROWS] = {false};
  assert_in_range(d->rows, d->seeds, g->rows);
  for (int64_t i = 0; i < d->rows; i++) {
    assert_in_range(d->row[i], 0, g->rows - 1);
    assert_false(there[d->row[i]]);
    there[d->row[i]] = true;
    check_row(g, d, &m, i);
  }
  int64_t begin = 0, end = d->seeds;
  for (int hop = 0; hop < w->options.hops; hop++) {
    const int64_t next = check_frontier(g, &m, d, begin, end, w->fan_out[hop]);
    begin = end;
    end = next;
  }
  assert_int_equal(end, d->rows);
  assert_int_equal(m.rowptr[d->rows], m.rowptr[begin]); /* the last frontier has no entries */
}

/* ---- epochs */

/* Each row to train on is in one batch. */
static void check_epoch(const graph *g, const words *w, sley_gnn_sampler *s, int64_t epoch) {
  bool there[MOST_ROWS] = {false};
  int64_t batches, seen = 0;
  assert_sley_ok(sley_gnn_sampler_batches(s, &batches));
  assert_int_equal(batches, (w->options.rows + w->options.batch - 1) / w->options.batch);
  for (int64_t batch = 0; batch < batches; batch++) {
    sley_gnn_drawn d;
    assert_sley_ok(sley_gnn_sampler_draw(s, epoch, batch, &d));
    assert_true(d.seeds == w->options.batch || batch == batches - 1);
    for (int64_t i = 0; i < d.seeds; i++, seen++) {
      assert_false(there[d.row[i]]);
      there[d.row[i]] = true;
    }
    check_draw(g, w, &d);
  }
  assert_int_equal(seen, w->options.rows);
  for (int64_t i = 0; i < w->options.rows; i++)
    assert_true(there[w->row[i]]);
}

static void draws_are_as_defined(void **state) {
  static graph g;
  (void)state;
  for (uint64_t seed = 0; seed < CASES; seed++) {
    words w = {0};
    sley_gnn_sampler *s;
    draw_graph(seed, &g);
    draw_words(seed, g.rows, &w);
    assert_sley_ok(sley_gnn_sampler_create(g.a, &w.options, &s));
    for (int64_t epoch = 0; epoch < 2; epoch++)
      check_epoch(&g, &w, s, epoch);
    sley_gnn_sampler_destroy(s);
    sley_matrix_destroy(g.a);
  }
}

static void assert_same(const sley_gnn_drawn *a, const sley_gnn_drawn *b) {
  const sley_csr m = arrays_of(a), n = arrays_of(b);
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->seeds, b->seeds);
  assert_memory_equal(a->row, b->row, (size_t)a->rows * sizeof *a->row);
  assert_memory_equal(m.rowptr, n.rowptr, (size_t)(a->rows + 1) * sizeof *m.rowptr);
  assert_memory_equal(m.val, n.val, (size_t)m.rowptr[a->rows] * sizeof(double));
}

static void the_same_seed_draws_the_same(void **state) {
  static graph g;
  (void)state;
  for (uint64_t seed = 0; seed < 50; seed++) {
    words w = {0};
    sley_gnn_sampler *s, *t;
    int64_t batches;
    draw_graph(seed, &g);
    draw_words(seed, g.rows, &w);
    assert_sley_ok(sley_gnn_sampler_create(g.a, &w.options, &s));
    assert_sley_ok(sley_gnn_sampler_create(g.a, &w.options, &t));
    assert_sley_ok(sley_gnn_sampler_batches(s, &batches));
    for (int64_t i = 0; i < 3 * batches; i++) { /* the other one backwards */
      sley_gnn_drawn first, second, other;
      const int64_t j = 3 * batches - 1 - i;
      assert_sley_ok(sley_gnn_sampler_draw(t, j / batches, j % batches, &other));
      assert_sley_ok(sley_gnn_sampler_draw(s, i / batches, i % batches, &first));
      assert_sley_ok(sley_gnn_sampler_draw(t, i / batches, i % batches, &second));
      assert_same(&first, &second);
    }
    sley_gnn_sampler_destroy(t);
    sley_gnn_sampler_destroy(s);
    sley_matrix_destroy(g.a);
  }
}

/* ---- chances */

enum { STAR = 12, DRAWN = 4, EPOCHS = 6000 };

/* A graph whose row 0 has an entry for each of STAR other rows; every row is a training row, with one row per
 * batch. */
static sley_gnn_sampler *star(sley_matrix **a) {
  static int64_t rowptr[STAR + 2], row[STAR + 1], fan_out[] = {DRAWN};
  static int32_t col[STAR];
  static double val[STAR];
  sley_gnn_sampler_options o = SLEY_GNN_SAMPLER_OPTIONS_INIT;
  sley_gnn_sampler *s;
  for (int i = 0; i <= STAR; i++) {
    rowptr[i + 1] = STAR;
    row[i] = i;
  }
  for (int i = 0; i < STAR; i++)
    col[i] = i + 1;
  assert_sley_ok(sley_matrix_from_csr(
      &(sley_csr){
          .rows = STAR + 1, .cols = STAR + 1, .rowptr = rowptr, .col = col, .val = val, .dtype = SLEY_F64},
      SLEY_COPY, a));
  o.row = row;
  o.rows = STAR + 1;
  o.batch = 1;
  o.fan_out = fan_out;
  o.hops = 1;
  assert_sley_ok(sley_gnn_sampler_create(*a, &o, &s));
  return s;
}

static void assert_near(int64_t count, double chance) {
  const double expected = EPOCHS * chance, deviation = expected * (1 - chance);
  assert_true(((double)count - expected) * ((double)count - expected) <= 25 * deviation);
}

/* The frequency of each entry, of each pair of entries, and of each row at each position is within five
 * standard deviations. */
static void chances_are_equal(void **state) {
  static int64_t pair[STAR + 1][STAR + 1], place[STAR + 1][STAR + 1];
  sley_matrix *a;
  sley_gnn_sampler *s = star(&a);
  (void)state;
  for (int64_t epoch = 0; epoch < EPOCHS; epoch++)
    for (int64_t batch = 0; batch <= STAR; batch++) {
      sley_gnn_drawn d;
      assert_sley_ok(sley_gnn_sampler_draw(s, epoch, batch, &d));
      place[batch][d.row[0]]++;
      for (int64_t i = 1; i < d.rows; i++)
        for (int64_t j = 1; j < d.rows; j++)
          pair[d.row[i]][d.row[j]]++;
    }
  for (int i = 1; i <= STAR; i++)
    for (int j = 1; j <= STAR; j++)
      assert_near(pair[i][j],
                  i == j ? (double)DRAWN / STAR : (double)DRAWN * (DRAWN - 1) / ((double)STAR * (STAR - 1)));
  for (int i = 0; i <= STAR; i++)
    for (int j = 0; j <= STAR; j++)
      assert_near(place[i][j], 1.0 / (STAR + 1));
  sley_gnn_sampler_destroy(s);
  sley_matrix_destroy(a);
}

/* ---- errors */

static sley_status create_and_draw(const graph *g, const words *w) {
  sley_gnn_sampler *s;
  sley_gnn_drawn d;
  sley_status status = sley_gnn_sampler_create(g->a, &w->options, &s);
  if (status != SLEY_OK)
    return status;
  status = sley_gnn_sampler_draw(s, 0, 0, &d);
  if (status == SLEY_ERR_MEMORY) { /* then it still draws */
    sl_memory_fail_at(0);
    assert_sley_ok(sley_gnn_sampler_draw(s, 1, 0, &d));
    check_draw(g, w, &d);
  }
  sley_gnn_sampler_destroy(s);
  return status;
}

static void memory_may_be_short(void **state) {
  static graph g;
  words w = {0};
  int64_t nth = 1;
  sley_status status = SLEY_ERR_MEMORY;
  (void)state;
  draw_graph(3, &g);
  draw_words(3, g.rows, &w);
  const int64_t before = sl_memory_now();
  for (; status == SLEY_ERR_MEMORY; nth++) {
    sl_memory_fail_at(nth);
    status = create_and_draw(&g, &w);
    sl_memory_fail_at(0);
    assert_int_equal(sl_memory_now(), before);
  }
  assert_sley_ok(status);
  assert_true(nth > 9);
  sley_matrix_destroy(g.a);
}

static void assert_refused(const graph *g, const sley_gnn_sampler_options *o, const char *why) {
  sley_gnn_sampler *s = NULL;
  assert_int_equal(sley_gnn_sampler_create(g->a, o, &s), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), why));
  assert_null(s);
}

static void what_is_refused(void **state) {
  static graph g;
  words w = {0};
  sley_gnn_sampler *s;
  sley_gnn_drawn d;
  int64_t batches;
  (void)state;
  draw_graph(5, &g);
  w.row[1] = g.rows - 1;
  w.fan_out[0] = 3;
  w.options = (sley_gnn_sampler_options)SLEY_GNN_SAMPLER_OPTIONS_INIT;
  w.options.row = w.row;
  w.options.rows = 2;
  w.options.fan_out = w.fan_out;
  w.options.hops = 1;
  sley_gnn_sampler_options o = w.options;
  o.batch = 0;
  assert_refused(&g, &o, "batch is 0");
  o = w.options;
  o.hops = 0;
  assert_refused(&g, &o, "hops is 0");
  o = w.options;
  o.rows = -1;
  assert_refused(&g, &o, "rows is -1");
  w.fan_out[0] = -1;
  assert_refused(&g, &w.options, "fan_out[0] is -1");
  w.fan_out[0] = 3;
  w.row[1] = g.rows;
  assert_refused(&g, &w.options, "row[1] is");
  w.row[1] = 0;
  assert_refused(&g, &w.options, "row[0] and row[1] are both 0");
  o = w.options;
  o.rows = 1;
  assert_sley_ok(sley_gnn_sampler_create(g.a, &o, &s));
  assert_sley_ok(sley_gnn_sampler_batches(s, &batches));
  assert_int_equal(batches, 1);
  assert_int_equal(sley_gnn_sampler_draw(s, 0, 1, &d), SLEY_ERR_ARG);
  assert_int_equal(sley_gnn_sampler_draw(s, -1, 0, &d), SLEY_ERR_ARG);
  assert_int_equal(sley_gnn_sampler_draw(NULL, 0, 0, &d), SLEY_ERR_ARG);
  sley_gnn_sampler_destroy(s);
  sley_gnn_sampler_destroy(NULL);
  sley_matrix_destroy(g.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_are_as_defined), cmocka_unit_test(the_same_seed_draws_the_same),
      cmocka_unit_test(chances_are_equal), cmocka_unit_test(memory_may_be_short),
      cmocka_unit_test(what_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
