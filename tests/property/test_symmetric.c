/* SPDX-License-Identifier: Apache-2.0 */
/* The test of whether a matrix equals its transpose, compared with all entries in a dense array: symmetric
 * matrices, and matrices with one entry added, removed, moved or with another value. Some ranks own nothing,
 * and some rows do not ascend or repeat a column. */
#include "ranks.h"

#include "base/random.h"
#include "base/value.h"
#include "plan/symmetric_block.h"

enum { ROUNDS = 800, MAX_RANKS = 5, ROWS = 30 };

typedef enum change {
  SYMMETRIC,
  VALUE,
  SIGN_OF_ZERO,
  ONE_MORE,
  ELSEWHERE,
  DESCENDING,
  REPEATED,
  CHANGES
} change;

typedef struct sample {
  uint64_t round;
  const sley_matrix *matrix;
  int64_t begin[MAX_RANKS + 1], columns[MAX_RANKS + 1];
  bool symmetric;
} sample;

typedef struct dense {
  int64_t n;
  bool there[ROWS][ROWS];
  double value[ROWS][ROWS];
} dense;

static int64_t draw(const sample *s, int what, int64_t i, int64_t below) {
  return sl_below(sl_random(100 + (uint64_t)what, s->round, (uint64_t)i), below);
}

static dense make_dense(const sample *s, change made) {
  dense d = {.n = 1 + draw(s, 0, 0, ROWS)};
  const int64_t odds = 1 + draw(s, 0, 1, 8);
  for (int64_t i = 0; i < d.n; i++)
    for (int64_t j = 0; j <= i; j++)
      if (draw(s, 1, i * ROWS + j, odds) == 0) {
        d.there[i][j] = d.there[j][i] = true;
        d.value[i][j] = d.value[j][i] = (double)draw(s, 2, i * ROWS + j, 5) / 4;
      }
  const int64_t i = draw(s, 3, 0, d.n), j = draw(s, 3, 1, d.n), other = draw(s, 3, 2, d.n);
  if (made == VALUE && d.there[i][j])
    d.value[i][j] += 1;
  if (made == SIGN_OF_ZERO && d.there[i][j]) {
    d.value[i][j] = 0.0;
    d.value[j][i] = -0.0;
  }
  if (made == ONE_MORE)
    d.there[i][j] = !d.there[i][j];
  if (made == ELSEWHERE && d.there[i][j]) { /* as many entries as before */
    d.there[i][j] = false;
    d.there[i][other] = true;
    d.value[i][other] = d.value[i][j];
  }
  return d;
}

static bool is_symmetric(const dense *d) {
  for (int64_t i = 0; i < d->n; i++)
    for (int64_t j = 0; j < d->n; j++)
      if (d->there[i][j] != d->there[j][i] ||
          (d->there[i][j] && memcmp(&d->value[i][j], &d->value[j][i], sizeof(double)) != 0))
        return false;
  return true;
}

/* *ordered: the rows of the matrix ascend without repetition. */
static sley_matrix *make_matrix(const sample *s, const dense *d, change made, bool *ordered) {
  sley_csr csr = {.rows = d->n,
                  .cols = d->n,
                  .index = s->round % 5 ? SLEY_I32 : SLEY_I64,
                  .dtype = s->round % 2 ? SLEY_F64 : SLEY_F32};
  int64_t rowptr[ROWS + 1] = {0}, at = 0, odd = draw(s, 4, 0, d->n);
  char col[ROWS * (ROWS + 1) * 8], val[ROWS * (ROWS + 1) * 8];
  for (int64_t i = 0; i < d->n; i++) {
    const bool turned = made == DESCENDING && i == odd;
    for (int64_t c = 0; c < d->n; c++) {
      const int64_t j = turned ? d->n - 1 - c : c;
      for (int copies = d->there[i][j] + (made == REPEATED && i == odd && d->there[i][j]); copies > 0;
           copies--) {
        sl_index_set(col, csr.index, at, j);
        sl_value_set(val, csr.dtype, at++, d->value[i][j]);
      }
    }
    rowptr[i + 1] = at;
  }
  csr.rowptr = rowptr;
  csr.col = col;
  csr.val = val;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &matrix));
  *ordered = true;
  for (int64_t i = 0; i < d->n; i++)
    for (int64_t e = matrix->rowptr[i] + 1; e < matrix->rowptr[i + 1]; e++)
      *ordered &= sl_index_at(matrix->col, csr.index, e) > sl_index_at(matrix->col, csr.index, e - 1);
  return matrix;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_matrix *block;
  sl_inspection ins;
  sl_plan_wishes wishes = sl_plan_wishes_for(4, s->matrix->dtype);
  SL_TRY(sl_matrix_view(s->matrix, s->begin[comm->rank], s->begin[comm->rank + 1] - s->begin[comm->rank],
                        &block));
  sley_status status = sl_inspect(comm, block, s->begin, s->columns, &wishes, &ins);
  if (status == SLEY_OK) {
    bool found = !s->symmetric;
    status = sl_is_symmetric(&ins, &found);
    if (status == SLEY_OK && found != s->symmetric)
      status = sl_fail(SLEY_ERR_INTERNAL, "round %llu: found to be %ssymmetric", (unsigned long long)s->round,
                       found ? "" : "not ");
    sl_inspection_free(&ins);
  }
  sley_matrix_destroy(block);
  return status;
}

/* Random cuts, some of which are equal. */
static void cut(const sample *s, int what, int64_t n, int ranks, int64_t *begin) {
  begin[0] = 0;
  begin[ranks] = n;
  for (int p = 1; p < ranks; p++)
    begin[p] = begin[p - 1] + draw(s, what, p, n - begin[p - 1] + 1) / (1 + s->round % 2);
}

static void found_as_in_a_dense_array(void **state) {
  (void)state;
  int seen[2] = {0, 0};
  sample s = {0};
  for (s.round = 0; s.round < ROUNDS; s.round++) {
    const change made = (change)(s.round % CHANGES);
    const int ranks = 1 + (int)draw(&s, 5, 0, MAX_RANKS);
    const dense d = make_dense(&s, made);
    bool ordered;
    sley_matrix *matrix = make_matrix(&s, &d, made, &ordered);
    s.matrix = matrix;
    cut(&s, 6, d.n, ranks, s.begin);
    cut(&s, s.round % 10 == 9 ? 7 : 6, d.n, ranks, s.columns);
    s.symmetric =
        ordered && is_symmetric(&d) && memcmp(s.begin, s.columns, ((size_t)ranks + 1) * sizeof *s.begin) == 0;
    seen[s.symmetric]++;
    const rank_case c = {
        .transport = "threads", .ranks = ranks, .workgroup = ranks, .threads = 1 + (int)(s.round % 3)};
    assert_case_ok(&c, run_case(&c, rank_main, &s));
    sley_matrix_destroy(matrix);
  }
  assert_true(seen[false] > ROUNDS / 4 && seen[true] > ROUNDS / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(found_as_in_a_dense_array)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
