/* SPDX-License-Identifier: Apache-2.0 */
/* New values for a plan: after sley_plan_set_values a product has the bits of a new plan with the new values,
 * and after the old values are set again, the bits of the first product. For every algorithm and type, with
 * all columns at once and in blocks of columns. Plans that do not support it return an error on all ranks. */
#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "mirror.h"
#include "ranks.h"

enum { ROWS = 41, K = 67, MOST_RANKS = 8 };

typedef struct sample {
  sley_matrix *old, *fresh;
  int64_t begin[MOST_RANKS + 1], x_begin[MOST_RANKS + 1];
  const char *algo;
  bool reproducible, blocks;
} sample;

static sley_status make_plan(sley_comm *comm, const sample *s, const sley_matrix *block, bool renewable,
                             sley_plan **out) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.reproducible = s->reproducible;
  options.renewable = renewable;
  sley_plan_info info;
  if (s->blocks) { /* half of the memory that all columns need */
    options.dry = true;
    sley_plan *dry;
    SL_TRY(sley_plan_create(comm, block, s->begin, s->x_begin, K, &options, &dry));
    sley_status status = sley_plan_info_get(dry, &info);
    sley_plan_destroy(dry);
    SL_TRY(status);
    options.dry = false;
    options.mem_limit = info.needed_bytes * 3 / 4;
  }
  sley_status status = sley_plan_create(comm, block, s->begin, s->x_begin, K, &options, out);
  if (s->blocks && status == SLEY_ERR_MEMORY) { /* not even one column fits: use all columns */
    options.mem_limit = 0;
    status = sley_plan_create(comm, block, s->begin, s->x_begin, K, &options, out);
  }
  return status;
}

static sley_status multiply(sley_plan *plan, const mirror *x, const mirror *y, void *out) {
  SL_TRY(sley_spmm(plan, 1, x->here, K, 0, y->here, K));
  SL_TRY(mirror_fetch(y));
  memcpy(out, y->host, (size_t)y->bytes);
  return SLEY_OK;
}

/* Compares this rank's three products y. */
static sley_status compare(sley_comm *comm, const sample *s, sley_matrix *const block[2], const mirror *x,
                           const mirror *y, char *const product[3]) {
  const void *val[2];
  sley_plan *renewed = NULL, *plan = NULL;
  for (int i = 0; i < 2; i++)
    val[i] = (const char *)block[i]->val + (size_t)block[i]->rowptr[0] * sley_dtype_bytes(s->old->dtype);
  sley_status status = make_plan(comm, s, block[0], true, &renewed);
  /* auto only chooses renewable plans: both plans must request this, to get the same choice */
  if (status == SLEY_OK)
    status = make_plan(comm, s, block[1], strcmp(s->algo, "auto") == 0, &plan);
  if (status == SLEY_OK)
    status = multiply(renewed, x, y, product[0]);
  if (status == SLEY_OK)
    status = multiply(plan, x, y, product[1]);
  for (int i = 1; i >= 0 && status == SLEY_OK; i--) {
    status = sley_plan_set_values(renewed, val[i]);
    if (status == SLEY_OK)
      status = multiply(renewed, x, y, product[2]);
    if (status == SLEY_OK && memcmp(product[2], product[i], (size_t)y->bytes) != 0)
      status = sl_fail(SLEY_ERR_INTERNAL, "%s%s%s: the bits are not those of a new plan", s->algo,
                       s->reproducible ? " reproducible" : "", s->blocks ? " in blocks" : "");
  }
  status = sl_agree(comm, status);
  sley_plan_destroy(plan);
  sley_plan_destroy(renewed);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  int64_t x_first = s->x_begin[comm->rank], x_rows = s->x_begin[comm->rank + 1] - x_first;
  size_t value = sley_dtype_bytes(s->old->dtype);
  sley_matrix *block[2] = {NULL, NULL};
  char *values = calloc((size_t)(x_rows + 4 * rows) * K + 1, value),
       *y_values = values + (size_t)x_rows * K * value;
  char *product[3];
  mirror x = {0}, y = {0};
  for (int i = 0; i < 3; i++)
    product[i] = y_values + (size_t)((i + 1) * rows * K) * value;
  sley_status status = sley_dense_random(5, x_first, x_rows, K, NULL, s->old->dtype, values, K);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(s->old, first, rows, &block[0]);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(s->fresh, first, rows, &block[1]);
  if (status == SLEY_OK)
    status = mirror_open(comm, values, x_rows * K * (int64_t)value, &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, y_values, rows * K * (int64_t)value, &y);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = compare(comm, s, block, &x, &y, product);
  mirror_close(&y);
  mirror_close(&x);
  sley_matrix_destroy(block[1]);
  sley_matrix_destroy(block[0]);
  free(values);
  return status;
}

/* Returns a matrix with the same pattern and other values. */
static sley_matrix *revalue(const sley_matrix *old) {
  char *val = malloc((size_t)old->nnz * sley_dtype_bytes(old->dtype) + 1);
  for (int64_t e = 0; e < old->nnz; e++)
    sl_value_set(val, old->dtype, e, sl_unit(sl_random(9, 0, (uint64_t)e)) - 0.5);
  sley_csr csr = {.rows = old->rows,
                  .cols = old->cols,
                  .index = old->index,
                  .dtype = old->dtype,
                  .rowptr = old->rowptr,
                  .col = old->col,
                  .val = val};
  sley_matrix *fresh;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &fresh));
  free(val);
  return fresh;
}

static void run_sample(const rank_case *c, sample *s) {
  if (!test_on_cpu() && strcmp(s->algo, "rowwise") == 0 && !s->reproducible)
    return; /* its kernel's order of summation is chosen by timing */
  sley_status status = run_case(c, rank_main, s);
  if (entries_travel(s->algo, s->reproducible, c->ranks))
    assert_int_equal(status, SLEY_ERR_UNSUPPORTED);
  else
    assert_case_ok(c, status);
}

/* The matrices are views that begin behind the first row, so that also with one rank the arrays begin
 * elsewhere than the values. */
static void run_samples(const rank_case *c) {
  enum { SKIPPED = 5 };
  sley_matrix *whole, *revalued;
  uint64_t draw = sl_random(c->seed, 0, 0) >> 8;
  sample s = {.reproducible = draw % 3 == 1, .blocks = draw % 3 == 2};
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = (sley_dtype)(draw / 3 % 4);
  assert_sley_ok(sley_matrix_read(draw / 12 % 2 ? "er:rows=41,cols=41,nnz=400,seed=3"
                                                : "er:rows=41,cols=63,nnz=500,seed=4",
                                  &options, &whole));
  revalued = revalue(whole);
  assert_sley_ok(sley_matrix_row_block(whole, SKIPPED, whole->rows - SKIPPED, &s.old));
  assert_sley_ok(sley_matrix_row_block(revalued, SKIPPED, whole->rows - SKIPPED, &s.fresh));
  assert_sley_ok(sley_partition_rows(s.old, "nnz", c->ranks, s.begin));
  assert_sley_ok(sley_partition_equal(s.old->cols, c->ranks, s.x_begin));
  const uint64_t turn = draw + test_first(test_share());
  for (int a = 0; sley_algorithms()[a]; a++)
    if ((turn + (uint64_t)a) % test_share() == 0) {
      s.algo = sley_algorithms()[a];
      run_sample(c, &s);
    }
  s.algo = "auto";
  run_sample(c, &s);
  sley_matrix_destroy(s.fresh);
  sley_matrix_destroy(s.old);
  sley_matrix_destroy(revalued);
  sley_matrix_destroy(whole);
}

static void values_are_renewed(void **state) {
  (void)state;
  each_case(run_samples);
}

/* One rank uses the arrays of its view as they are. Runs some seeds, which draw types and options. */
static void values_of_one_rank_are_renewed(void **state) {
  enum { SEEDS = 8 };
  (void)state;
  rank_case c = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 1};
  for (c.seed = 0; c.seed < SEEDS; c.seed++)
    run_samples(&c);
}

/* Setting values is refused if it was not requested. */
static sley_status refuse_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_plan *plan;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  SL_TRY(sley_plan_create(comm, s->old, s->begin, s->begin, K, &options, &plan));
  sley_status status = sley_plan_set_values(plan, s->old->val);
  sley_plan_destroy(plan);
  EXPECT(status == SLEY_ERR_ARG && strstr(sley_last_error(), "renewable"));
  options.renewable = options.dry = true;
  SL_TRY(sley_plan_create(comm, s->old, s->begin, s->begin, K, &options, &plan));
  status = sley_plan_set_values(plan, s->old->val);
  sley_plan_destroy(plan);
  EXPECT(status == SLEY_ERR_ARG && strstr(sley_last_error(), "dry"));
  EXPECT(sley_plan_set_values(NULL, s->old->val) == SLEY_ERR_ARG);
  return SLEY_OK;
}

static void others_are_refused(void **state) {
  (void)state;
  sample s = {.begin = {0, 20}};
  rank_case c = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 1};
  assert_sley_ok(sley_matrix_read("er:n=20,nnz=60", NULL, &s.old));
  assert_case_ok(&c, run_case(&c, refuse_main, &s));
  sley_matrix_destroy(s.old);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_renewed),
                                     cmocka_unit_test(values_of_one_rank_are_renewed),
                                     cmocka_unit_test(others_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
