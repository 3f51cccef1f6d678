/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion, transpose, permutation and checks of matrices, compared with simple references on random shapes
 * and types. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"

typedef struct triple {
  int64_t row, col, order;
  double val;
} triple;

static int by_place(const void *left, const void *right) {
  const triple *a = left, *b = right;
  if (a->row != b->row)
    return a->row < b->row ? -1 : 1;
  if (a->col != b->col)
    return a->col < b->col ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

static const int64_t shapes[][3] = {/* rows, cols, entries */
                                    {0, 0, 0},          {0, 5, 0},         {5, 0, 0},       {1, 1, 0},
                                    {1, 1, 3},          {1, 3000, 2500},   {2500, 1, 4000}, {7, 5, 40},
                                    {33, 33, 90},       {100, 3, 50},      {64, 64, 1000},  {997, 1013, 6000},
                                    {3000, 3000, 2000}, {5000, 300, 20000}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A combination of types: the lowest bit is the index, the next two the dtype. */
enum { TYPES = 8 };

static sley_index index_of(int types) {
  return types & 1 ? SLEY_I64 : SLEY_I32;
}

static sley_dtype dtype_of(int types) {
  return (sley_dtype)(types / 2 % 4);
}

static double value_at(const sley_matrix *a, int64_t e) {
  return sl_value_at(a->val, a->dtype, e);
}

/* Values that floats add exactly, so that references need not round in the same way. */
static double small_value(uint64_t bits) {
  return (double)(int)(bits % 33) - 16.0;
}

static sl_coo random_coo(uint64_t seed, int64_t rows, int64_t cols, int64_t count, sley_index index,
                         sley_dtype dtype, bool pattern) {
  sl_coo coo = {.rows = rows, .cols = cols, .count = count, .index = index, .dtype = dtype};
  coo.row = sl_alloc(count, sl_index_bytes(index), "rows");
  coo.col = sl_alloc(count, sl_index_bytes(index), "columns");
  coo.val = pattern ? NULL : sl_alloc(count, sley_dtype_bytes(dtype), "values");
  for (int64_t e = 0; e < count; e++) {
    uint64_t bits = sl_random(seed, (uint64_t)e, 0);
    int64_t row = sl_below(bits, rows);
    if (bits % 8 == 0)
      row = rows / 2; /* a long row */
    sl_index_set(coo.row, index, e, row);
    sl_index_set(coo.col, index, e, sl_below(sl_random(seed, (uint64_t)e, 1), cols));
    if (pattern)
      continue;
    double val = small_value(sl_random(seed, (uint64_t)e, 2));
    sl_value_set(coo.val, dtype, e, val);
  }
  return coo;
}

/* The triples that sl_coo_to_csr must return, computed by a sort. Returns their number. */
static int64_t expected_triples(const sl_coo *coo, sl_symmetry symmetry, sl_repeats repeats, triple *list) {
  int64_t count = 0;
  for (int64_t e = 0; e < coo->count; e++) {
    int64_t row = sl_index_at(coo->row, coo->index, e), col = sl_index_at(coo->col, coo->index, e);
    double val = 1.0;
    if (coo->val)
      val = sl_value_at(coo->val, coo->dtype, e);
    list[count] = (triple){row, col, count, val};
    count++;
    if (symmetry != SL_GENERAL && row != col) {
      list[count] = (triple){col, row, count, symmetry == SL_SKEW ? -val : val};
      count++;
    }
  }
  qsort(list, (size_t)count, sizeof *list, by_place);
  int64_t kept = 0;
  for (int64_t e = 0; e < count; e++) {
    if (kept > 0 && list[kept - 1].row == list[e].row && list[kept - 1].col == list[e].col) {
      if (repeats == SL_SUM_REPEATS)
        list[kept - 1].val += list[e].val;
    } else {
      list[kept++] = list[e];
    }
  }
  for (int64_t i = 0; i < kept; i++) { /* a sum is rounded once */
    double rounded;
    sl_value_set(&rounded, coo->dtype, 0, list[i].val);
    list[i].val = sl_value_at(&rounded, coo->dtype, 0);
  }
  return kept;
}

static void assert_is(const sley_matrix *a, int64_t rows, int64_t cols, const triple *list, int64_t count) {
  assert_int_equal(a->rows, rows);
  assert_int_equal(a->cols, cols);
  assert_int_equal(a->nnz, count);
  assert_int_equal(a->rowptr[rows] - a->rowptr[0], count);
  int64_t at = 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++, at++) {
      assert_int_equal(list[at].row, i);
      assert_int_equal(list[at].col, sl_index_at(a->col, a->index, e));
      assert_true(list[at].val == value_at(a, e));
    }
}

static triple *triples_of(const sley_matrix *a) {
  triple *list = sl_alloc(a->nnz, sizeof *list, "triples");
  int64_t at = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++, at++)
      list[at] = (triple){i, sl_index_at(a->col, a->index, e), at, value_at(a, e)};
  return list;
}

static void assert_same(const sley_matrix *a, const sley_matrix *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(a->nnz, b->nnz);
  assert_memory_equal(a->rowptr, b->rowptr, (size_t)(a->rows + 1) * sizeof(int64_t));
  if (a->nnz == 0)
    return;
  assert_memory_equal(a->col, b->col, (size_t)a->nnz * sl_index_bytes(a->index));
  assert_memory_equal(a->val, b->val, (size_t)a->nnz * sley_dtype_bytes(a->dtype));
}

/* A random matrix with a combination of types; a view omits its first rows, so that rowptr[0] > 0. */
static sley_matrix *random_matrix(int shape, int types, sl_team *team) {
  const int64_t *s = shapes[shape];
  sl_coo coo = random_coo((uint64_t)(shape * TYPES + types), s[0], s[1], s[2], index_of(types),
                          dtype_of(types), false);
  sley_matrix *a;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, team, &a));
  sl_coo_free(&coo);
  return a;
}

static void coo_becomes_csr(void **state) {
  (void)state;
  for (int threads = 1; threads <= 49; threads *= 7) { /* more threads than chunks are worth, too */
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    for (int shape = 0; shape < SHAPES; shape++)
      for (int types = 0; types < 2 * TYPES; types++)
        for (int symmetry = SL_GENERAL; symmetry <= SL_SKEW; symmetry++)
          for (int repeats = SL_SUM_REPEATS; repeats <= SL_DROP_REPEATS; repeats++) {
            const int64_t *s = shapes[shape];
            if (symmetry != SL_GENERAL && s[0] != s[1])
              continue;
            sl_coo coo = random_coo((uint64_t)shape, s[0], s[1], s[2], index_of(types), dtype_of(types),
                                    types >= TYPES);
            triple *list = sl_alloc(2 * s[2], sizeof *list, "triples");
            int64_t count = expected_triples(&coo, (sl_symmetry)symmetry, (sl_repeats)repeats, list);
            sley_matrix *a;
            assert_sley_ok(sl_coo_to_csr(&coo, (sl_symmetry)symmetry, (sl_repeats)repeats, team, &a));
            assert_is(a, s[0], s[1], list, count);
            assert_int_equal(a->entries_stored, s[2]);
            assert_int_equal(a->index, coo.index);
            assert_int_equal(a->dtype, coo.dtype);
            sl_matrix_destroy(a);
            sl_free(list);
            sl_coo_free(&coo);
          }
    sl_team_destroy(team);
  }
}

/* Sums of repeated entries with rounding must not depend on the team's size. */
static void repeats_add_in_order(void **state) {
  (void)state;
  enum { COUNT = 20000, ROWS = 37 };
  sl_coo coo = random_coo(5, ROWS, ROWS, COUNT, SLEY_I32, SLEY_F64, false);
  for (int64_t e = 0; e < COUNT; e++)
    ((double *)coo.val)[e] = sl_unit(sl_random(9, (uint64_t)e, 0)) * 1e9 - 1.0 / (double)(e + 1);
  triple *list = sl_alloc(2 * COUNT, sizeof *list, "triples");
  int64_t count = expected_triples(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, list);
  for (int threads = 1; threads <= 7; threads++) {
    sl_team *team;
    sley_matrix *a;
    assert_sley_ok(sl_team_create(threads, &team));
    assert_sley_ok(sl_coo_to_csr(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, team, &a));
    assert_is(a, ROWS, ROWS, list, count);
    sl_matrix_destroy(a);
    sl_team_destroy(team);
  }
  sl_free(list);
  sl_coo_free(&coo);
}

static void symmetry_needs_a_square(void **state) {
  (void)state;
  sl_coo coo = random_coo(1, 3, 4, 5, SLEY_I32, SLEY_F32, false);
  sley_matrix *a;
  assert_int_equal(sl_coo_to_csr(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, NULL, &a), SLEY_ERR_INPUT);
  assert_null(a);
  sl_coo_free(&coo);
}

static void transpose_swaps(void **state) {
  (void)state;
  for (int threads = 1; threads <= 36; threads *= 6) { /* more threads than chunks are worth, too */
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    for (int shape = 0; shape < SHAPES; shape++)
      for (int types = 0; types < TYPES; types++) {
        sley_matrix *a = random_matrix(shape, types, team), *view, *t, *back;
        assert_sley_ok(sl_matrix_view(a, a->rows / 3, a->rows - a->rows / 3, &view));
        triple *list = triples_of(view);
        for (int64_t e = 0; e < view->nnz; e++)
          list[e] = (triple){list[e].col, list[e].row, e, list[e].val};
        qsort(list, (size_t)view->nnz, sizeof *list, by_place);
        assert_sley_ok(sl_matrix_transpose(view, team, &t));
        assert_is(t, view->cols, view->rows, list, view->nnz);
        sl_matrix_destroy(t);
        sl_matrix_destroy(view);
        assert_sley_ok(sl_matrix_transpose(a, team, &t));
        assert_sley_ok(sl_matrix_transpose(t, team, &back));
        assert_same(a, back);
        sl_matrix_destroy(back);
        sl_matrix_destroy(t);
        sl_matrix_destroy(a);
        sl_free(list);
      }
    sl_team_destroy(team);
  }
}

/* Gaps after merging are closed in runs of blocks that grow with the distance, up to all threads at once. */
static void gaps_close_alike_on_any_team(void **state) {
  (void)state;
  enum { ROWS = 30000, COUNT = 3000000 };
  sl_coo coo = random_coo(6, ROWS, 150, COUNT, SLEY_I32, SLEY_F32, false);
  sley_matrix *one, *many;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, NULL, &one));
  assert_true(one->nnz < COUNT / 10 * 9);
  for (int threads = 2; threads <= 9; threads += 7) {
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, team, &many));
    assert_same(one, many);
    sl_matrix_destroy(many);
    sl_team_destroy(team);
  }
  sl_matrix_destroy(one);
  sl_coo_free(&coo);
}

/* The entries of the undirected graph, in order: sums of repeats of A and of A^T, and their mean if both have
 * the entry. Returns their number. */
static int64_t expected_undirected(const sley_matrix *a, triple *list) {
  triple *own = triples_of(a);
  int64_t count = 0, kept = 0;
  for (int64_t e = 0; e < a->nnz; e++) {
    list[count++] = (triple){own[e].row, own[e].col, 0, own[e].val};
    list[count++] = (triple){own[e].col, own[e].row, 1, own[e].val};
  }
  sl_free(own);
  qsort(list, (size_t)count, sizeof *list, by_place);
  for (int64_t e = 0, end; e < count; e = end) {
    double sum[2] = {0};
    bool has[2] = {false};
    for (end = e; end < count && list[end].row == list[e].row && list[end].col == list[e].col; end++) {
      sum[list[end].order] += list[end].val;
      has[list[end].order] = true;
    }
    double rounded;
    sl_value_set(&rounded, a->dtype, 0, (sum[0] + sum[1]) / (has[0] + has[1]));
    list[kept++] = (triple){list[e].row, list[e].col, 0, sl_value_at(&rounded, a->dtype, 0)};
  }
  return kept;
}

static void undirected_has_both_directions(void **state) {
  (void)state;
  for (int threads = 1; threads <= 36; threads *= 6) {
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    for (int shape = 0; shape < SHAPES; shape++)
      for (int types = 0; types < TYPES; types++) {
        const int64_t n = shapes[shape][0];
        sley_matrix *a, *b, *again;
        if (n != shapes[shape][1])
          continue;
        a = random_matrix(shape, types, team);
        triple *list = sl_alloc(2 * a->nnz, sizeof *list, "triples");
        assert_sley_ok(sl_matrix_undirected(a, team, &b));
        assert_is(b, n, n, list, expected_undirected(a, list));
        assert_int_equal(b->dtype, a->dtype);
        assert_sley_ok(sl_matrix_undirected(b, team, &again)); /* it is its own undirected graph */
        assert_same(b, again);
        sl_matrix_destroy(again);
        sl_matrix_destroy(b);
        sl_matrix_destroy(a);
        sl_free(list);
      }
    sl_team_destroy(team);
  }
  sley_matrix *a = random_matrix(9, 0, NULL), *b; /* 100 x 3 */
  assert_int_equal(sl_matrix_undirected(a, NULL, &b), SLEY_ERR_ARG);
  assert_null(b);
  sl_matrix_destroy(a);
}

/* With A, A^T and the result, the undirected graph takes at most 2.5 times the memory of the result. */
static void undirected_is_lean(void **state) {
  (void)state;
  enum { ROWS = 40000, COUNT = 640000 };
  sl_team *team;
  assert_sley_ok(sl_team_create(4, &team));
  sl_coo coo = random_coo(8, ROWS, ROWS, COUNT, SLEY_I32, SLEY_F32, false);
  int64_t before = sl_memory_now() - 3 * COUNT * (int64_t)sizeof(int32_t);
  sley_matrix *a, *b;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, team, &a));
  sl_coo_free(&coo);
  sl_memory_peak_reset();
  assert_sley_ok(sl_matrix_undirected(a, team, &b));
  double used = (double)(sl_memory_peak() - before), result = (double)b->storage_bytes;
  if (used > 2.5 * result)
    fail_msg("%g bytes for a result of %g", used, result);
  sl_matrix_destroy(a);
  before = sl_memory_now();
  sl_memory_peak_reset();
  assert_sley_ok(sl_matrix_undirected(b, team, &a)); /* b is undirected already, so it is copied */
  used = (double)(sl_memory_peak() - before);
  if (used > 1.1 * result)
    fail_msg("%g bytes for a copy of %g", used, result);
  sl_matrix_destroy(b);
  sl_matrix_destroy(a);
  sl_team_destroy(team);
}

static int64_t *random_permutation(uint64_t seed, int64_t count) {
  int64_t *perm = sl_alloc(count, sizeof *perm, "a permutation");
  for (int64_t i = 0; i < count; i++) {
    int64_t j = sl_below(sl_random(seed, (uint64_t)i, 7), i + 1);
    perm[i] = perm[j];
    perm[j] = i;
  }
  return perm;
}

static void permute_renumbers(void **state) {
  (void)state;
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  for (int shape = 0; shape < SHAPES; shape++)
    for (int types = 0; types < TYPES; types++)
      for (int sides = 0; sides < 4; sides++) {
        sley_matrix *a = random_matrix(shape, types, team), *view, *b;
        assert_sley_ok(sl_matrix_view(a, a->rows / 4, a->rows - a->rows / 4, &view));
        int64_t *row_perm = sides & 1 ? random_permutation(11, view->rows) : NULL;
        int64_t *col_perm = sides & 2 ? random_permutation(12, view->cols) : NULL;
        if (row_perm)
          assert_sley_ok(sl_permutation_check(row_perm, view->rows, "row_perm"));
        triple *list = triples_of(view);
        for (int64_t e = 0; e < view->nnz; e++) {
          list[e].row = row_perm ? row_perm[list[e].row] : list[e].row;
          list[e].col = col_perm ? col_perm[list[e].col] : list[e].col;
        }
        qsort(list, (size_t)view->nnz, sizeof *list, by_place);
        assert_sley_ok(sl_matrix_permute(view, row_perm, col_perm, team, &b));
        assert_is(b, view->rows, view->cols, list, view->nnz);
        sl_matrix_destroy(b);
        sl_matrix_destroy(view);
        sl_matrix_destroy(a);
        sl_free(list);
        sl_free(row_perm);
        sl_free(col_perm);
      }
  sl_team_destroy(team);
}

static void wrong_permutations_are_refused(void **state) {
  (void)state;
  const int64_t twice[] = {0, 2, 2, 1}, outside[] = {0, 1, 2, 4}, negative[] = {-1, 0, 1, 2};
  assert_int_equal(sl_permutation_check(twice, 4, "perm"), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "perm[2]"));
  assert_int_equal(sl_permutation_check(outside, 4, "perm"), SLEY_ERR_ARG);
  assert_int_equal(sl_permutation_check(negative, 4, "perm"), SLEY_ERR_ARG);
}

/* Shuffled rows must be sorted, with repeated entries in their original order. */
static void rows_are_sorted_stably(void **state) {
  (void)state;
  sl_team *team;
  assert_sley_ok(sl_team_create(2, &team));
  for (int types = 0; types < TYPES; types++)
    for (int64_t length = 0; length < 3000; length = length * 2 + 1) {
      enum { ROWS = 5 };
      int64_t rowptr[ROWS + 1];
      for (int i = 0; i <= ROWS; i++)
        rowptr[i] = 3 + i * length;
      sley_index index = index_of(types);
      sley_dtype dtype = dtype_of(types);
      int64_t room = rowptr[ROWS];
      void *col = sl_alloc_zero(room, sl_index_bytes(index), "columns");
      void *val = sl_alloc_zero(room, sley_dtype_bytes(dtype), "values");
      triple *list = sl_alloc(room, sizeof *list, "triples");
      for (int64_t e = rowptr[0]; e < room; e++) {
        int64_t c = sl_below(sl_random(3, (uint64_t)e, (uint64_t)length), length);
        list[e - 3] = (triple){(e - 3) / length, c, e, (double)(e % 251)};
        sl_index_set(col, index, e, c);
        sl_value_set(val, dtype, e, (double)(e % 251)); /* whole in 8 bits */
      }
      sley_csr given = {ROWS, length, rowptr, col, val, index, dtype};
      bool sorted;
      assert_sley_ok(sl_csr_validate(&given, team, &sorted));
      assert_int_equal(sorted, length < 2);
      sley_matrix *a;
      assert_sley_ok(sl_matrix_from_csr(&given, SLEY_BORROW, team, &a));
      assert_int_equal(a->col == col, length < 2); /* borrowed unless it had to be sorted */
      qsort(list, (size_t)(room - 3), sizeof *list, by_place);
      assert_is(a, ROWS, length, list, room - 3);
      sl_matrix_destroy(a);
      sl_free(list);
      sl_free(val);
      sl_free(col);
    }
  sl_team_destroy(team);
}

static void splits_are_even(void **state) {
  (void)state;
  for (int shape = 0; shape < SHAPES; shape++) {
    sley_matrix *a = random_matrix(shape, 0, NULL);
    for (int parts = 1; parts < 9; parts++) {
      int64_t before = 0;
      for (int part = 0; part <= parts; part++) {
        int64_t row = sl_csr_split(a->rows, a->rowptr, part, parts);
        assert_in_range(row, before, a->rows);
        before = row;
      }
      assert_int_equal(sl_csr_split(a->rows, a->rowptr, 0, parts), 0);
      assert_int_equal(before, a->rows);
    }
    sl_matrix_destroy(a);
  }
}

/* Each allocation of conversion, transpose, permutation, the undirected graph and copying fails once: the
 * call must return a status and leak nothing. */
static void failing_memory_is_an_error(void **state) {
  (void)state;
  sl_coo coo = random_coo(2, 50, 50, 3000, SLEY_I32, SLEY_F32, false);
  int64_t *perm = random_permutation(3, 50);
  sley_matrix *a;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, NULL, &a));
  sley_csr csr = sl_matrix_csr(a);
  int64_t before = sl_memory_now();
  for (int what = 0; what < 5; what++) {
    sley_status status = SLEY_ERR_MEMORY;
    for (int64_t nth = 1; status != SLEY_OK; nth++) {
      sley_matrix *b = NULL;
      sl_memory_fail_at(nth);
      if (what == 0)
        status = sl_coo_to_csr(&coo, SL_SYMMETRIC, SL_SUM_REPEATS, NULL, &b);
      else if (what == 1)
        status = sl_matrix_transpose(a, NULL, &b);
      else if (what == 2)
        status = sl_matrix_permute(a, perm, perm, NULL, &b);
      else if (what == 3)
        status = sl_matrix_undirected(a, NULL, &b);
      else
        status = sl_matrix_from_csr(&csr, SLEY_COPY, NULL, &b);
      sl_memory_fail_at(0);
      if (status != SLEY_OK) {
        assert_int_equal(status, SLEY_ERR_MEMORY);
        assert_null(b);
      } else {
        assert_true(nth > 3);
      }
      sl_matrix_destroy(b);
      assert_int_equal(sl_memory_now(), before);
    }
  }
  sl_matrix_destroy(a);
  sl_free(perm);
  sl_coo_free(&coo);
}

/* Conversion may use little memory besides triplets, result and counts. */
static void conversion_is_lean(void **state) {
  (void)state;
  enum { ROWS = 20000, COUNT = 640000 };
  sl_team *team;
  assert_sley_ok(sl_team_create(4, &team));
  sl_coo coo = random_coo(8, ROWS, 1 << 30, COUNT, SLEY_I32, SLEY_F32, false);
  int64_t before = sl_memory_now();
  sl_memory_peak_reset();
  sley_matrix *a;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, team, &a));
  double used = (double)(sl_memory_peak() - before), result = (double)a->storage_bytes;
  if (used > 1.5 * result) /* counts of 4 chunks are 8 words a row of 33; the longest row is sorted aside */
    fail_msg("%g bytes for a result of %g", used, result);
  sl_matrix_destroy(a);
  sl_coo_free(&coo);
  sl_team_destroy(team);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(coo_becomes_csr),
      cmocka_unit_test(repeats_add_in_order),
      cmocka_unit_test(symmetry_needs_a_square),
      cmocka_unit_test(transpose_swaps),
      cmocka_unit_test(permute_renumbers),
      cmocka_unit_test(wrong_permutations_are_refused),
      cmocka_unit_test(rows_are_sorted_stably),
      cmocka_unit_test(splits_are_even),
      cmocka_unit_test(failing_memory_is_an_error),
      cmocka_unit_test(conversion_is_lean),
      cmocka_unit_test(gaps_close_alike_on_any_team),
      cmocka_unit_test(undirected_has_both_directions),
      cmocka_unit_test(undirected_is_lean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
