/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a vector have the bits of sley_spmm with the same plan, and are within rounding of a product
 * in double precision. A plan of another width is refused. */
#include "base/random.h"
#include "matrix/matrix.h"
#include "ranks.h"

enum { MOST_RANKS = 8 };

typedef struct sample {
  sley_matrix *matrix;
  int64_t begin[MOST_RANKS + 1];
  sley_dtype dtype;
  double alpha, beta;
  bool refused; /* a rank has seen the expected error */
} sample;

/* Vectors of one rank in device memory, and their expected values in host memory. */
typedef struct vectors {
  void *x_host, *y_host[2], *x, *y;
  int64_t bytes;
} vectors;

static sley_status open_vectors(sl_comm *comm, const sample *s, vectors *v) {
  int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  v->bytes = rows * (int64_t)sley_dtype_bytes(s->dtype);
  SL_TRY(sley_buffer_alloc(v->bytes, &v->x_host));
  SL_TRY(sley_dense_random(3, first, rows, 1, NULL, s->dtype, v->x_host, 1));
  SL_TRY(sley_comm_alloc(comm, v->bytes, &v->x));
  SL_TRY(sley_comm_alloc(comm, v->bytes, &v->y));
  return sley_comm_copy(comm, v->x, v->x_host, v->bytes, SLEY_TO_DEVICE);
}

static void close_vectors(sl_comm *comm, vectors *v) {
  sley_comm_free(comm, v->x);
  sley_comm_free(comm, v->y);
  sley_buffer_free(v->x_host);
  sley_buffer_free(v->y_host[0]);
  sley_buffer_free(v->y_host[1]);
}

/* y starts with the values of x, so that beta y matters. */
static sley_status multiply(sl_comm *comm, sley_plan *plan, const sample *s, vectors *v, bool vector,
                            int to) {
  SL_TRY(sley_buffer_alloc(v->bytes, &v->y_host[to]));
  SL_TRY(sley_comm_copy(comm, v->y, v->x_host, v->bytes, SLEY_TO_DEVICE));
  SL_TRY(vector ? sley_spmv(plan, s->alpha, v->x, s->beta, v->y)
                : sley_spmm(plan, s->alpha, v->x, 1, s->beta, v->y, 1));
  return sley_comm_copy(comm, v->y_host[to], v->y, v->bytes, SLEY_TO_HOST);
}

static sley_status check(const sample *s, const void *x, const void *y) {
  sley_check result;
  SL_TRY(sley_check_scaled(s->matrix, false, 1, s->alpha, x, 1, s->beta, x, 1, y, 1, 1, &result));
  EXPECT(result.ok);
  return SLEY_OK;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  vectors v = {0};
  sley_matrix *block;
  sley_plan *plan;
  SL_TRY(sley_matrix_row_block(s->matrix, first, rows, &block));
  SL_TRY(sley_plan_create(comm, block, s->begin, s->begin, 1, NULL, &plan));
  sley_status status = open_vectors(comm, s, &v);
  if (status == SLEY_OK)
    status = multiply(comm, plan, s, &v, false, 0);
  if (status == SLEY_OK)
    status = multiply(comm, plan, s, &v, true, 1);
  if (status == SLEY_OK && memcmp(v.y_host[0], v.y_host[1], (size_t)v.bytes) != 0)
    status = sl_fail(SLEY_ERR_INTERNAL, "the bits of sley_spmv differ from those of sley_spmm");
  if (status == SLEY_OK && comm->size == 1)
    status = check(s, v.x_host, v.y_host[1]);
  close_vectors(comm, &v);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static void run_samples(const rank_case *c) {
  uint64_t draw = sl_random(c->seed, 7, 0);
  char text[96];
  sample s = {.dtype = (sley_dtype)(draw & 3),
              .alpha = draw >> 2 & 1 ? 1 : -0.5,
              .beta = (double)(draw >> 3 & 1) * 0.75};
  sley_read_options read = SLEY_READ_OPTIONS_INIT;
  read.dtype = s.dtype;
  snprintf(text, sizeof text, "er:n=%d,nnz=500,seed=%d", draw >> 4 & 1 ? 60 : 23, (int)(draw >> 40 & 1023));
  assert_sley_ok(sley_matrix_read(text, &read, &s.matrix));
  assert_sley_ok(sley_partition_rows(s.matrix, "nnz", c->ranks, s.begin));
  assert_case_ok(c, run_case(c, rank_main, &s));
  sley_matrix_destroy(s.matrix);
}

static void vectors_have_the_bits_of_one_column(void **state) {
  (void)state;
  each_case(run_samples);
}

static sley_status wide_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  sley_plan *plan;
  SL_TRY(sley_plan_create(comm, s->matrix, s->begin, s->begin, 2, NULL, &plan));
  float x[20] = {0}, y[20];
  EXPECT(sley_spmv(plan, 1, x, 0, y) == SLEY_ERR_ARG && strstr(sley_last_error(), "2 columns"));
  EXPECT(sley_spmv(NULL, 1, x, 0, y) == SLEY_ERR_ARG);
  s->refused = true;
  sley_plan_destroy(plan);
  return SLEY_OK;
}

static void other_widths_are_refused(void **state) {
  (void)state;
  sample s = {.begin = {0, 20}};
  rank_case c = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 1};
  assert_sley_ok(sley_matrix_read("er:n=20,nnz=60", NULL, &s.matrix));
  (void)run_case(&c, wide_main, &s); /* the comm is aborted */
  assert_true(s.refused);
  sley_matrix_destroy(s.matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_have_the_bits_of_one_column),
                                     cmocka_unit_test(other_widths_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
