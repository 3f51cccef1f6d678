/* SPDX-License-Identifier: Apache-2.0 */
/* A and A^T as a pair of plans: both products agree with a float64 oracle, have the bits of plans that were
 * created separately, also after one plan was destroyed, and, after values were replaced, the bits of new
 * plans. Matrices are square and symmetric, square and unsymmetric, rectangular, or have few rows; some ranks
 * own no rows. */
#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "mirror.h"
#include "ops/spmm.h"
#include "ranks.h"

enum { MOST_RANKS = 8 };

static const char *const matrices[] = {"er:rows=41,cols=41,nnz=300,seed=3",
                                       "er:rows=41,cols=63,nnz=400,seed=4",
                                       "er:rows=57,cols=19,nnz=300,seed=5", "er:rows=3,cols=5,nnz=7,seed=6"};
enum { MATRICES = 4, SYMMETRIC = MATRICES }; /* SYMMETRIC is A + A^T of the first matrix */
static const int64_t widths[] = {0, 1, 5, 33};

typedef struct sample {
  sley_matrix *old, *fresh, *old_transposed, *fresh_transposed;
  int64_t row_begin[MOST_RANKS + 1], col_begin[MOST_RANKS + 1];
  int64_t k;
  const char *algo;
  bool reproducible, renewable;
  bool symmetric; /* the pattern is symmetric, and the partitions are equal */
} sample;

/* One direction: this rank's rows of the operands, in host and device memory, and the expected result. */
typedef struct side {
  const sley_matrix *whole; /* A or A^T, all rows */
  const int64_t *row_begin, *col_begin;
  char *values;
  char *x_host, *y_host, *first;
  int64_t x_rows, rows, bytes;
  mirror x, y;
} side;

static sley_status open_side(sley_comm *comm, const sample *s, const sley_matrix *whole,
                             const int64_t *row_begin, const int64_t *col_begin, side *out) {
  int rank = sley_comm_rank(comm);
  int64_t value = (int64_t)sley_dtype_bytes(whole->dtype);
  *out = (side){.whole = whole, .row_begin = row_begin, .col_begin = col_begin};
  out->rows = row_begin[rank + 1] - row_begin[rank];
  out->x_rows = col_begin[rank + 1] - col_begin[rank];
  out->bytes = out->rows * s->k * value;
  out->values = calloc((size_t)(out->x_rows + 2 * out->rows) * (size_t)s->k + 1, (size_t)value);
  out->x_host = out->values;
  out->y_host = out->x_host + out->x_rows * s->k * value;
  out->first = out->y_host + out->bytes;
  SL_TRY(sley_dense_random(5, col_begin[rank], out->x_rows, s->k, NULL, whole->dtype, out->x_host, s->k));
  SL_TRY(mirror_open(comm, out->x_host, out->x_rows * s->k * value, &out->x));
  return mirror_open(comm, out->y_host, out->bytes, &out->y);
}

static void close_side(side *s) {
  mirror_close(&s->y);
  mirror_close(&s->x);
  free(s->values);
}

static sley_status multiply(const sample *s, const side *one, sley_plan *plan) {
  SL_TRY(sley_spmm(plan, 1, one->x.here, s->k, 0, one->y.here, s->k));
  return mirror_fetch(&one->y);
}

/* Checks that the last product is the product with the rows of `whole`, within its rounding bound. */
static sley_status check_product(sley_comm *comm, const sample *s, const side *one,
                                 const sley_matrix *whole) {
  sley_matrix *rows = NULL;
  sley_check check;
  size_t value = sley_dtype_bytes(whole->dtype);
  char *x = calloc((size_t)(whole->cols * s->k) + 1, value);
  sley_status status = sley_dense_random(5, 0, whole->cols, s->k, NULL, whole->dtype, x, s->k);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(whole, one->row_begin[sley_comm_rank(comm)], one->rows, &rows);
  if (status == SLEY_OK)
    status = sley_check_spmm(rows, false, s->k, x, s->k, one->y_host, s->k, 1, &check);
  if (status == SLEY_OK && !check.ok)
    status = sl_fail(SLEY_ERR_INTERNAL, "%s: row %lld is off by %g, its bound is %g", s->algo,
                     (long long)check.row, check.max_error, check.bound);
  sley_matrix_destroy(rows);
  free(x);
  return status;
}

static sley_status compare_bits(const sample *s, const side *one, const char *what) {
  if (memcmp(one->first, one->y_host, (size_t)one->bytes) == 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_INTERNAL, "%s%s: the bits are not those of %s", s->algo,
                 s->reproducible ? " reproducible" : "", what);
}

/* Stores the product of a separately created plan in one->first. */
static sley_status multiply_alone(sley_comm *comm, const sample *s, const sley_matrix *block, bool transpose,
                                  const side *one) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.reproducible = s->reproducible;
  options.renewable = s->renewable;
  options.transpose = transpose;
  sley_plan *plan;
  SL_TRY(sley_plan_create(comm, block, s->row_begin, s->col_begin, s->k, &options, &plan));
  sley_status status = multiply(s, one, plan);
  memcpy(one->first, one->y_host, (size_t)one->bytes);
  sley_plan_destroy(plan);
  return status;
}

/* Checks that both plans' products are right, and have the bits of separately created plans of the block with
 * these values. */
static sley_status check_pair(sley_comm *comm, const sample *s, const sley_matrix *block,
                              const sley_matrix *const whole[2], const side sides[2],
                              sley_plan *const pair[2]) {
  for (int i = 0; i < 2; i++) {
    SL_TRY(sl_agree(comm, multiply_alone(comm, s, block, i == 1, &sides[i])));
    SL_TRY(multiply(s, &sides[i], pair[i]));
    SL_TRY(sl_agree(comm, check_product(comm, s, &sides[i], whole[i])));
    SL_TRY(
        sl_agree(comm, compare_bits(s, &sides[i], i == 1 ? "a plan with transpose" : "a plan made alone")));
  }
  return SLEY_OK;
}

static const void *values_of(const sley_matrix *block) {
  return (const char *)block->val + (size_t)block->rowptr[0] * sley_dtype_bytes(block->dtype);
}

static sley_status use_pair(sley_comm *comm, const sample *s, sley_matrix *const block[2],
                            const side sides[2], sley_plan *pair[2]) {
  EXPECT((pair[0]->halo == pair[1]->halo) == s->symmetric); /* all results of the inspection are shared */
  const sley_matrix *old[2] = {s->old, s->old_transposed}, *fresh[2] = {s->fresh, s->fresh_transposed};
  SL_TRY(check_pair(comm, s, block[0], old, sides, pair));
  if (s->renewable) {
    for (int i = 0; i < 2; i++)
      SL_TRY(sley_plan_set_values(pair[i], values_of(block[1])));
    SL_TRY(check_pair(comm, s, block[1], fresh, sides, pair));
    for (int i = 1; i >= 0; i--)
      SL_TRY(sley_plan_set_values(pair[i], values_of(block[0])));
  }
  int gone = s->k % 2 == 0;
  sley_plan_destroy(pair[gone]);
  pair[gone] = NULL;
  SL_TRY(sl_agree(comm, multiply_alone(comm, s, block[0], !gone, &sides[!gone])));
  SL_TRY(multiply(s, &sides[!gone], pair[!gone]));
  return sl_agree(comm, compare_bits(s, &sides[!gone], "the plan before the other had gone"));
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  int64_t first = s->row_begin[comm->rank], rows = s->row_begin[comm->rank + 1] - first;
  sley_matrix *block[2] = {NULL, NULL};
  side sides[2];
  sley_plan *pair[2] = {NULL, NULL};
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.reproducible = s->reproducible;
  options.renewable = s->renewable;
  sley_status status = open_side(comm, s, s->old, s->row_begin, s->col_begin, &sides[0]);
  sley_status other = open_side(comm, s, s->old_transposed, s->col_begin, s->row_begin, &sides[1]);
  status = status == SLEY_OK ? other : status;
  if (status == SLEY_OK)
    status = sley_matrix_row_block(s->old, first, rows, &block[0]);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(s->fresh, first, rows, &block[1]);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status =
        sley_plan_create_pair(comm, block[0], s->row_begin, s->col_begin, s->k, &options, &pair[0], &pair[1]);
  if (status == SLEY_OK)
    status = use_pair(comm, s, block, sides, pair);
  sley_plan_destroy(pair[0]);
  sley_plan_destroy(pair[1]);
  sley_matrix_destroy(block[1]);
  sley_matrix_destroy(block[0]);
  close_side(&sides[1]);
  close_side(&sides[0]);
  return status;
}

/* Returns a matrix with the same pattern and other values. */
static sley_matrix *revalue(const sley_matrix *old) {
  char *val = malloc((size_t)old->nnz * sley_dtype_bytes(old->dtype) + 1);
  for (int64_t e = 0; e < old->nnz; e++)
    sl_value_set(val, old->dtype, e, sl_unit(sl_random(9, 0, (uint64_t)e)) - 0.5);
  sley_csr csr = sl_matrix_csr(old);
  csr.val = val;
  sley_matrix *fresh;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &fresh));
  free(val);
  return fresh;
}

/* Returns a matrix with entries at all positions of the square matrix and of its transpose. */
static sley_matrix *symmetric_of(sley_matrix *a) {
  sl_coo coo = {.rows = a->rows, .cols = a->cols, .index = a->index, .dtype = a->dtype};
  int64_t at = 0;
  coo.count = 2 * a->nnz;
  coo.row = calloc((size_t)coo.count, 8);
  coo.col = calloc((size_t)coo.count, 8);
  coo.val = calloc((size_t)coo.count, 8);
  for (int64_t row = 0; row < a->rows; row++)
    for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
      for (int mirrored = 0; mirrored < 2; mirrored++, at++) {
        int64_t col = sl_index_at(a->col, a->index, e);
        sl_index_set(coo.row, a->index, at, mirrored ? col : row);
        sl_index_set(coo.col, a->index, at, mirrored ? row : col);
        sl_value_set(coo.val, a->dtype, at, sl_unit(sl_random(7, 0, (uint64_t)at)));
      }
  sley_matrix *out;
  assert_sley_ok(sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, NULL, &out));
  free(coo.val);
  free(coo.col);
  free(coo.row);
  sley_matrix_destroy(a);
  return out;
}

static void run_sample(const rank_case *c, sample *s) {
  if (!test_on_cpu() && strcmp(s->algo, "rowwise") == 0 && !s->reproducible)
    return; /* its kernel's order of summation is chosen by timing */
  sley_status status = run_case(c, rank_main, s);
  if (s->renewable && entries_travel(s->algo, s->reproducible, c->ranks))
    assert_int_equal(status, SLEY_ERR_UNSUPPORTED);
  else
    assert_case_ok(c, status);
}

static void run_matrix(const rank_case *c, uint64_t draw) {
  int which = (int)(draw % (MATRICES + 1));
  sample s = {.reproducible = draw / 5 % 3 == 1, .renewable = draw / 15 % 2, .k = widths[draw / 30 % 4]};
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = (sley_dtype)(draw / 120 % 4);
  assert_sley_ok(sley_matrix_read(matrices[which % MATRICES], &options, &s.old));
  if (which == SYMMETRIC)
    s.old = symmetric_of(s.old);
  s.fresh = revalue(s.old);
  assert_sley_ok(sley_matrix_transpose(s.old, 1, &s.old_transposed));
  assert_sley_ok(sley_matrix_transpose(s.fresh, 1, &s.fresh_transposed));
  assert_sley_ok(sley_partition_rows(s.old, "nnz", c->ranks, s.row_begin));
  if (which == SYMMETRIC)
    memcpy(s.col_begin, s.row_begin, sizeof s.col_begin);
  else
    assert_sley_ok(sley_partition_equal(s.old->cols, c->ranks, s.col_begin));
  if (draw / 480 % 4 == 0 && c->ranks > 1) /* the first rank owns no row */
    s.row_begin[1] = 0;
  s.symmetric = which == SYMMETRIC && memcmp(s.row_begin, s.col_begin, sizeof s.row_begin) == 0;
  const uint64_t turn = draw + test_first(test_share());
  for (int a = 0; sley_algorithms()[a]; a++)
    if ((turn + (uint64_t)a) % (3 * test_share()) == 0) {
      s.algo = sley_algorithms()[a];
      run_sample(c, &s);
    }
  s.algo = "auto";
  run_sample(c, &s);
  sley_matrix_destroy(s.fresh_transposed);
  sley_matrix_destroy(s.old_transposed);
  sley_matrix_destroy(s.fresh);
  sley_matrix_destroy(s.old);
}

static void run_samples(const rank_case *c) {
  for (uint64_t i = test_first(4); i < 4; i += test_share())
    run_matrix(c, sl_random(c->seed, i, 0) >> 8);
}

static void pairs_are_two_plans(void **state) {
  (void)state;
  each_case(run_samples);
}

/* A wrong array on one rank is an error on all ranks, and all memory is freed. */
static sley_status refuse_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_plan *pair[2];
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_matrix *block;
  int64_t first = s->row_begin[comm->rank], rows = s->row_begin[comm->rank + 1] - first;
  SL_TRY(sley_matrix_row_block(s->old, first, rows, &block));
  options.transpose = true;
  EXPECT(sley_plan_create_pair(comm, block, s->row_begin, s->row_begin, 3, &options, &pair[0], &pair[1]) ==
         SLEY_ERR_ARG);
  EXPECT(sley_plan_create_pair(NULL, block, s->row_begin, s->row_begin, 3, NULL, &pair[0], &pair[1]) ==
         SLEY_ERR_ARG);
  options.transpose = false;
  EXPECT(sley_plan_create_pair(comm, comm->rank ? block : NULL, s->row_begin, s->row_begin, 3, &options,
                               &pair[0], &pair[1]) == (comm->rank ? SLEY_ERR_PEER : SLEY_ERR_ARG));
  options.renewable = true;
  SL_TRY(sley_plan_create_pair(comm, block, s->row_begin, s->row_begin, 3, &options, &pair[0], &pair[1]));
  EXPECT(sley_plan_set_values(pair[1], comm->rank ? values_of(block) : NULL) ==
         (comm->rank ? SLEY_ERR_PEER : SLEY_ERR_ARG));
  SL_TRY(sley_plan_set_values(pair[1], values_of(block)));
  sley_plan_destroy(pair[1]);
  sley_plan_destroy(pair[0]);
  options.dry = true;
  SL_TRY(sley_plan_create_pair(comm, block, s->row_begin, s->row_begin, 3, &options, &pair[0], &pair[1]));
  EXPECT(sley_plan_set_values(pair[1], values_of(block)) == SLEY_ERR_ARG);
  sley_plan_destroy(pair[0]);
  sley_plan_destroy(pair[1]);
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static void wrong_pairs_are_refused(void **state) {
  (void)state;
  sample s = {.row_begin = {0, 7, 20}};
  rank_case c = {.transport = "threads", .ranks = 2, .workgroup = 2, .threads = 1};
  assert_sley_ok(sley_matrix_read("er:n=20,nnz=60", NULL, &s.old));
  assert_case_ok(&c, run_case(&c, refuse_main, &s));
  sley_matrix_destroy(s.old);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_two_plans),
                                     cmocka_unit_test(wrong_pairs_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
