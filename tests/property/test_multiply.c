/* SPDX-License-Identifier: Apache-2.0 */
/* sley_multiply: the bits of every call, what is kept and dropped, threads at the same time, forks. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "sley_multiply.h"

enum { ROWS = 700, MOST = 40 };

static sley_matrix *drawn(sley_dtype dtype) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  sley_matrix *m;
  options.dtype = dtype;
  assert_sley_ok(sley_matrix_read("er:n=700,nnz=14000", &options, &m));
  return m;
}

static double at(const void *data, sley_dtype dtype, int64_t i) {
  return dtype == SLEY_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void put(void *data, sley_dtype dtype, int64_t i, double value) {
  if (dtype == SLEY_F64)
    ((double *)data)[i] = value;
  else
    ((float *)data)[i] = (float)value;
}

/* The definition: each sum in the order of the entries; for A^T that is the order of A's rows. */
static void expect(const sley_matrix *m, const sley_multiply_options *o, int64_t k, sley_dtype dtype,
                   const void *x, int64_t ldx, void *y, int64_t ldy) {
  sley_csr a;
  assert_sley_ok(sley_matrix_csr(m, &a));
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t c = 0; c < k; c++)
      put(y, dtype, i * ldy + c, o->beta == 0 ? 0 : o->beta * at(y, dtype, i * ldy + c));
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t e = a.rowptr[i]; e < a.rowptr[i + 1]; e++) {
      const int64_t col = ((const int32_t *)a.col)[e], from = o->transpose ? i : col,
                    to = o->transpose ? col : i;
      for (int64_t c = 0; c < k; c++) {
        const double sum = at(y, dtype, to * ldy + c), v = at(x, dtype, from * ldx + c);
        const double factor = o->alpha * at(a.val, dtype, e);
        put(y, dtype, to * ldy + c,
            dtype == SLEY_F64 ? fma(factor, v, sum) : (double)fmaf((float)factor, (float)v, (float)sum));
      }
    }
}

typedef struct operands {
  double x[ROWS * MOST], y[ROWS * MOST], want[ROWS * MOST], before[ROWS * MOST];
} operands;

static void fill(operands *s, sley_dtype dtype) {
  for (int64_t i = 0; i < ROWS * MOST; i++) {
    put(s->x, dtype, i, (double)(i * 37 % 101) / 7 - 6);
    put(s->before, dtype, i, (double)(i * 11 % 13) / 3);
  }
}

static void check(sley_matrix *m, int64_t k, const sley_multiply_options *o, sley_dtype dtype, operands *s) {
  const int64_t ldx = o->ldx ? o->ldx : k, ldy = o->ldy ? o->ldy : k;
  memcpy(s->want, s->before, sizeof s->want);
  memcpy(s->y, s->before, sizeof s->y);
  expect(m, o, k, dtype, s->x, ldx, s->want, ldy);
  assert_sley_ok(sley_multiply_with(m, k, o, s->x, s->y));
  assert_memory_equal(s->y, s->want, sizeof s->y);
  sley_csr a;
  assert_sley_ok(sley_matrix_csr(m, &a));
  memcpy(s->y, s->before, sizeof s->y);
  assert_sley_ok(sley_multiply_csr(&a, k, o, s->x, s->y));
  assert_memory_equal(s->y, s->want, sizeof s->y);
}

/* Arrays that no matrix is made of: 32-bit row pointers that do not begin at 0, columns of 32 and 64 bits in
 * any order, and columns and row pointers out of range. */
static void arrays_in_any_order(void **state) {
  (void)state;
  operands *s = malloc(sizeof *s);
  sley_matrix *m = drawn(SLEY_F64);
  sley_csr a;
  assert_sley_ok(sley_matrix_csr(m, &a));
  const int64_t nnz = a.rowptr[a.rows], before = 5;
  int32_t *rowptr = malloc((ROWS + 1) * sizeof *rowptr), *col = malloc((size_t)(nnz + before) * sizeof *col);
  int64_t *wide = malloc((size_t)(nnz + before) * sizeof *wide);
  double *val = malloc((size_t)(nnz + before) * sizeof *val);
  for (int64_t i = 0; i <= ROWS; i++)
    rowptr[i] = (int32_t)(a.rowptr[i] + before);
  for (int64_t e = 0; e < nnz + before; e++) {
    wide[e] = col[e] = e < before ? -1 : (int32_t)(e * 7919 % 97 * 7 + e % 3); /* with repeated ones */
    val[e] = (double)(e % 17) / 3 - 2;
  }
  fill(s, SLEY_F64);
  for (int n = 0; n < 3 * 2 * 2; n++) {
    sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
    const int64_t k = n % 3 == 0 ? 1 : n % 3 == 1 ? 8 : 37;
    o.transpose = n / 3 % 2;
    o.threads = 1 + n % 2;
    sley_csr given = {.rows = ROWS,
                      .cols = ROWS,
                      .rowptr32 = rowptr,
                      .col = n / 6 ? (void *)wide : col,
                      .val = val,
                      .index = n / 6 ? SLEY_I64 : SLEY_I32,
                      .dtype = SLEY_F64};
    memset(s->want, 0, sizeof s->want);
    for (int64_t i = 0; i < ROWS; i++)
      for (int64_t e = rowptr[i]; e < rowptr[i + 1]; e++)
        for (int64_t c = 0; c < k; c++) {
          double *y = &s->want[(o.transpose ? col[e] : i) * k + c];
          *y = fma(val[e], s->x[(o.transpose ? i : col[e]) * k + c], *y);
        }
    assert_sley_ok(sley_multiply_csr(&given, k, &o, s->x, s->y));
    assert_memory_equal(s->y, s->want, (size_t)(ROWS * k) * sizeof(double));
    const int32_t kept_col = col[rowptr[400]];
    wide[rowptr[400]] = col[rowptr[400]] = n % 2 ? ROWS : -1;
    assert_int_equal(sley_multiply_csr(&given, k, &o, s->x, s->y), SLEY_ERR_INPUT);
    assert_non_null(strstr(sley_last_error(), "row 400: column"));
    wide[rowptr[400]] = col[rowptr[400]] = kept_col;
    rowptr[300] += 1000;
    assert_int_equal(sley_multiply_csr(&given, k, &o, s->x, s->y), SLEY_ERR_INPUT);
    assert_non_null(strstr(sley_last_error(), "row 300: rowptr descends"));
    rowptr[300] -= 1000;
  }
  free(val);
  free(wide);
  free(col);
  free(rowptr);
  sley_matrix_destroy(m);
  free(s);
}

/* The first, the second and the third call, which prepare different things, have the same bits. */
static void every_call_has_the_same_bits(void **state) {
  (void)state;
  static const int64_t widths[] = {1, 3, 8, 33};
  operands *s = malloc(sizeof *s);
  for (int d = 0; d < 2; d++) {
    const sley_dtype dtype = d ? SLEY_F64 : SLEY_F32;
    sley_matrix *m = drawn(dtype);
    fill(s, dtype);
    for (int n = 0; n < 4 * 2 * 2 * 4 * 2; n++) {
      sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
      const int64_t k = widths[n % 4];
      o.alpha = n / 4 % 2 ? 0.3 : 1;
      o.beta = n / 8 % 2 ? -0.7 : 0;
      o.transpose = n / 16 % 4 % 2;
      o.changing = n / 16 % 4 / 2;
      o.ldx = n / 64 ? k + 2 : 0;
      o.ldy = n / 64 ? k + 1 : 0;
      o.threads = n % 3;
      for (int call = 0; call < 7; call++)
        check(m, k, &o, dtype, s);
    }
    sley_matrix_destroy(m);
  }
  free(s);
}

/* An entry that changes is seen, if the caller has said that it may change. */
static void changes_are_seen(void **state) {
  (void)state;
  operands *s = malloc(sizeof *s);
  sley_matrix *given = drawn(SLEY_F64), *m;
  sley_csr a;
  assert_sley_ok(sley_matrix_csr(given, &a));
  double *val = malloc((size_t)a.rowptr[a.rows] * sizeof *val);
  memcpy(val, a.val, (size_t)a.rowptr[a.rows] * sizeof *val);
  a.val = val;
  assert_sley_ok(sley_matrix_from_csr(&a, SLEY_BORROW, &m));
  fill(s, SLEY_F64);
  sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
  o.changing = true;
  for (int call = 0; call < 9; call++) {
    check(m, 1 + 7 * (call % 2), &o, SLEY_F64, s);
    val[call * 100] += 3;
  }
  sley_matrix_destroy(m);
  sley_matrix_destroy(given);
  free(val);
  free(s);
}

static sley_kept_info kept(const sley_matrix *m) {
  sley_kept_info info;
  assert_sley_ok(sley_kept_get(m, &info));
  return info;
}

static void what_is_kept_is_bounded(void **state) {
  (void)state;
  operands *s = malloc(sizeof *s);
  sley_matrix *m = drawn(SLEY_F32), *other = drawn(SLEY_F32);
  fill(s, SLEY_F32);
  const int64_t limit = kept(NULL).limit, hits = kept(NULL).hits;
  assert_true(limit > 0);
  for (int n = 0; n < 7; n++)
    assert_sley_ok(sley_multiply(m, 4, s->x, s->y));
  assert_int_equal(kept(m).products, 1);
  assert_true(kept(m).bytes >= 13000 * 8);
  assert_int_equal(kept(NULL).hits, hits + 1);
  assert_int_equal(kept(other).products, 0);
  sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
  for (int n = 0; n < 9 * SLEY_KEPT_MOST; n++) {
    o.threads = 1 + n / 6 / 16 % 3;
    o.transpose = n / 6 / 48 % 2;
    assert_sley_ok(sley_multiply_with(other, 1 + n / 6 % 16, &o, s->x, s->y));
  }
  assert_int_equal(kept(NULL).products, SLEY_KEPT_MOST);
  assert_int_equal(kept(m).products, 0); /* used least recently */
  assert_sley_ok(sley_kept_set_limit(100000));
  assert_true(kept(NULL).bytes <= 100000);
  assert_sley_ok(sley_kept_set_limit(0));
  assert_int_equal(kept(NULL).bytes, 0);
  o.transpose = true;
  for (int n = 0; n < 16; n++) {
    sley_multiply_options plain = SLEY_MULTIPLY_OPTIONS_INIT;
    check(m, 4, n % 2 ? &o : &plain, SLEY_F32, s);
  }
  assert_int_equal(kept(NULL).bytes, 0);
  assert_int_equal(sley_kept_set_limit(-1), SLEY_ERR_ARG);
  assert_sley_ok(sley_kept_set_limit(limit));
  assert_sley_ok(sley_multiply(other, 2, s->x, s->y));
  sley_kept_clear(m);
  assert_int_equal(kept(m).products, 0);
  assert_true(kept(other).products > 0);
  sley_matrix_destroy(other);
  assert_int_equal(kept(NULL).products, 0);
  sley_matrix_destroy(m);
  free(s);
}

typedef struct job {
  sley_matrix *m;
  int number;
  bool wrong;
} job;

static void *multiply_often(void *context) {
  job *self = context;
  static const int64_t widths[] = {1, 5, 16};
  operands *s = malloc(sizeof *s);
  fill(s, SLEY_F64);
  for (int n = 0; n < 60; n++) {
    sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
    const int64_t k = widths[(n + self->number) % 3];
    o.threads = 1 + self->number % 2;
    o.transpose = n % 4 == 3;
    memset(s->want, 0, sizeof s->want);
    memset(s->y, 0, sizeof s->y);
    expect(self->m, &o, k, SLEY_F64, s->x, k, s->want, k);
    self->wrong |= sley_multiply_with(self->m, k, &o, s->x, s->y) != SLEY_OK;
    self->wrong |= memcmp(s->y, s->want, sizeof s->y) != 0;
    if (n % 16 == self->number)
      sley_kept_clear(n % 32 < 16 ? self->m : NULL);
  }
  free(s);
  return NULL;
}

static void threads_share_what_is_kept(void **state) {
  (void)state;
  enum { THREADS = SLEY_MULTIPLY_TEAMS + 4 };
  pthread_t thread[THREADS];
  job jobs[THREADS];
  sley_matrix *m = drawn(SLEY_F64);
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){.m = m, .number = i};
    assert_int_equal(pthread_create(&thread[i], NULL, multiply_often, &jobs[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    assert_false(jobs[i].wrong);
  }
  sley_matrix_destroy(m);
}

/* ThreadSanitizer would end a forked child that starts threads. */
#ifdef __SANITIZE_THREAD__
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
  return "die_after_fork=0";
}
#endif

static void a_forked_child_multiplies(void **state) {
  (void)state;
  operands *s = malloc(sizeof *s);
  sley_matrix *m = drawn(SLEY_F64);
  sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
  o.threads = 2;
  fill(s, SLEY_F64);
  for (int n = 0; n < 7; n++)
    check(m, 8, &o, SLEY_F64, s);
  const pid_t child = fork();
  if (child == 0) {
    memset(s->y, 0, sizeof s->y);
    const bool ok = sley_multiply_with(m, 8, &o, s->x, s->y) == SLEY_OK &&
                    memcmp(s->y, s->want, ROWS * 8 * sizeof(double)) == 0;
    sley_matrix_destroy(m);
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  check(m, 8, &o, SLEY_F64, s);
  sley_matrix_destroy(m);
  free(s);
}

/* If an allocation fails, a product is right or reports it, and later ones are right. */
static void memory_may_be_short(void **state) {
  (void)state;
  operands *s = malloc(sizeof *s);
  fill(s, SLEY_F32);
  for (int n = 1; n <= 24; n++)
    for (int transpose = 0; transpose < 2; transpose++) {
      sley_matrix *m = drawn(SLEY_F32);
      sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
      o.transpose = transpose;
      memset(s->want, 0, sizeof s->want);
      expect(m, &o, 4, SLEY_F32, s->x, 4, s->want, 4);
      sl_memory_fail_at(n);
      for (int call = 0; call < 8; call++) {
        memset(s->y, 0, sizeof s->y);
        const sley_status status = sley_multiply_with(m, 4, &o, s->x, s->y);
        if (status == SLEY_OK)
          assert_memory_equal(s->y, s->want, sizeof s->y);
        else
          assert_int_equal(status, SLEY_ERR_MEMORY);
      }
      sl_memory_fail_at(0);
      assert_sley_ok(sley_multiply_with(m, 4, &o, s->x, s->y));
      assert_memory_equal(s->y, s->want, ROWS * 4 * sizeof(float));
      sley_matrix_destroy(m);
    }
  free(s);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  float x[ROWS * 2] = {0}, y[ROWS * 2];
  sley_matrix *m = drawn(SLEY_F32);
  sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
  assert_int_equal(sley_multiply(NULL, 1, x, y), SLEY_ERR_ARG);
  assert_int_equal(sley_multiply(m, -1, x, y), SLEY_ERR_ARG);
  assert_int_equal(sley_multiply(m, 1, NULL, y), SLEY_ERR_ARG);
  assert_int_equal(sley_multiply(m, 1, x, NULL), SLEY_ERR_ARG);
  assert_sley_ok(sley_multiply(m, 0, NULL, NULL));
  o.ldx = 1;
  assert_int_equal(sley_multiply_with(m, 2, &o, x, y), SLEY_ERR_ARG);
  o.ldx = 0;
  o.threads = -1;
  assert_int_equal(sley_multiply_with(m, 2, &o, x, y), SLEY_ERR_ARG);
  o.threads = 0;
  assert_int_equal(sley_kept_get(m, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_multiply_csr(NULL, 1, NULL, x, y), SLEY_ERR_ARG);
  sley_csr a;
  assert_sley_ok(sley_matrix_csr(m, &a));
  a.val = NULL;
  assert_int_equal(sley_multiply_csr(&a, 1, NULL, x, y), SLEY_ERR_ARG);
  sley_matrix *halves = drawn(SLEY_F16);
  assert_sley_ok(sley_matrix_csr(halves, &a));
  o.transpose = o.changing = true;
  assert_int_equal(sley_multiply_with(halves, 1, &o, x, y), SLEY_ERR_ARG);
  assert_int_equal(sley_multiply_csr(&a, 1, &o, x, y), SLEY_ERR_ARG);
  sley_matrix_destroy(halves);
  sley_matrix_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_has_the_same_bits), cmocka_unit_test(changes_are_seen),
      cmocka_unit_test(what_is_kept_is_bounded),      cmocka_unit_test(threads_share_what_is_kept),
      cmocka_unit_test(a_forked_child_multiplies),    cmocka_unit_test(memory_may_be_short),
      cmocka_unit_test(wrong_arguments_are_refused),  cmocka_unit_test(arrays_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
