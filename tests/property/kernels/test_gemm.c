/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products with every type, transpose, leading dimension, bias and activation, compared with sums in
 * double or wider; with in_order to the bit. The bits must be the same with any number of threads. */
#include <math.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/dense/blas.h"
#include "device/exp.h"
#include "kernels.h"

typedef struct shape {
  sl_gemm_args g; /* without arrays */
  bool biased;
  int64_t skew; /* in values */
} shape;

/* The arrays of a case, on the host. */
typedef struct operands {
  block a, b, c, bias;
} operands;

static int64_t stored_rows(bool transpose, int64_t rows, int64_t cols) {
  return transpose ? cols : rows;
}

static shape draw_shape(bool long_sums) {
  const int64_t some[] = {0, 1, 2, 3, 7, 8, 16, 17, 33, 100};
  shape s = {.g = {.dtype = (sley_dtype)draw(4),
                   .transpose_a = draw(2),
                   .transpose_b = draw(2),
                   .in_order = draw(3) == 0,
                   .tf32 = draw(4) == 0,
                   .m = pick(some, 10),
                   .n = pick(some, 10),
                   .k = pick(some, 10),
                   .alpha = (double[]){1, 1, -0.5, 2, 0}[draw(5)],
                   .beta = (double[]){0, 0, 1, 0.75}[draw(4)],
                   .act = (sley_activation)draw(4),
                   .slope = 0.2},
             .biased = draw(2),
             .skew = PICK(0, 0, 0, 1, 3)};
  if (long_sums)
    s.g.k = PICK(8191, 8192, 8193, 16384, 20001, 70000);
  else if (draw(4) == 0)
    *(draw(2) ? &s.g.m : &s.g.n) = PICK(255, 256, 257, 300, 600);
  s.g.lda = stored_rows(!s.g.transpose_a, s.g.m, s.g.k) + PICK(0, 0, 1, 5);
  s.g.ldb = stored_rows(!s.g.transpose_b, s.g.k, s.g.n) + PICK(0, 0, 1, 5);
  s.g.ldc = s.g.n + PICK(0, 0, 1, 5);
  return s;
}

/* Random operands; memory that must not be read is NaN. */
static operands draw_operands(const shape *s) {
  const sl_gemm_args *g = &s->g;
  const size_t each = sley_dtype_bytes(g->dtype), skew = (size_t)s->skew * each;
  operands o = {
      .a = block_of((size_t)(stored_rows(g->transpose_a, g->m, g->k) * g->lda) * each, skew),
      .b = block_of((size_t)(stored_rows(g->transpose_b, g->k, g->n) * g->ldb) * each, skew),
      .c = block_of((size_t)(g->m * g->ldc) * each, skew),
      .bias = block_of((size_t)g->n * each, skew),
  };
  block_fill(&o.a, g->dtype, g->alpha == 0);
  block_fill(&o.b, g->dtype, g->alpha == 0);
  block_fill(&o.c, g->dtype, g->beta == 0);
  block_fill(&o.bias, g->dtype, false);
  return o;
}

static void drop_operands(operands *o) {
  free(o->a.base);
  free(o->b.base);
  free(o->c.base);
  free(o->bias.base);
}

static double at(const block *b, sley_dtype dtype, bool transpose, int64_t ld, int64_t row, int64_t col) {
  return sl_value_at(b->data, dtype, transpose ? col * ld + row : row * ld + col);
}

static double activated(const sl_gemm_args *g, double v) {
  switch (g->act) {
  case SLEY_RELU:
    return v < 0 ? 0 : v;
  case SLEY_LEAKY_RELU:
    return v < 0 ? g->slope * v : v;
  case SLEY_ELU:
    return v > 0 ? v : g->slope * (sl_exp(v) - 1);
  default:
    return v;
  }
}

/* The activation of alpha S + beta C + bias, in double, as in all CPU kernels. */
static double finished(const shape *s, const operands *o, int64_t i, int64_t j, double sum) {
  const sl_gemm_args *g = &s->g;
  double v = g->alpha == 0 || g->k == 0 ? 0 : g->alpha * sum;
  if (g->beta != 0)
    v += g->beta * at(&o->c, g->dtype, false, g->ldc, i, j);
  if (s->biased)
    v += sl_value_at(o->bias.data, g->dtype, j);
  return activated(g, v);
}

/* The sum of magnitudes of the terms before the activation; size: the magnitude of the product's terms. */
static double end_of(const shape *s, const operands *o, int64_t i, int64_t j, double size) {
  const sl_gemm_args *g = &s->g;
  double all = g->alpha == 0 ? 0 : fabs(g->alpha) * size;
  if (g->beta != 0)
    all += fabs(g->beta * at(&o->c, g->dtype, false, g->ldc, i, j));
  if (s->biased)
    all += fabs(sl_value_at(o->bias.data, g->dtype, j));
  return all;
}

/* The sum in ascending order, in blocks of terms, with each operation rounded to the type of sums. */
static double sum_in_order(const sl_gemm_args *g, const operands *o, int64_t i, int64_t j) {
  const sley_dtype sums = sl_sum_dtype(g->dtype);
  double all = 0, sum = 0;
  for (int64_t l = 0; l < g->k && g->alpha != 0; l++) {
    double term =
        at(&o->a, g->dtype, g->transpose_a, g->lda, i, l) * at(&o->b, g->dtype, g->transpose_b, g->ldb, l, j);
    sum = sums == SLEY_F32 ? (float)sum + (float)term : sum + term;
    sum = sums == SLEY_F32 ? (float)sum : sum;
    if ((l + 1) % SL_GEMM_TERMS == 0 || l + 1 == g->k) {
      all = l < SL_GEMM_TERMS ? sum : sums == SLEY_F32 ? (double)((float)all + (float)sum) : all + sum;
      sum = 0;
    }
  }
  return all;
}

static void check_in_order(const shape *s, const operands *o, const block *made) {
  const sl_gemm_args *g = &s->g;
  block expected = block_copy(&o->c);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++)
      sl_value_set(expected.data, g->dtype, i * g->ldc + j, finished(s, o, i, j, sum_in_order(g, o, i, j)));
  if (memcmp(made->data, expected.data, made->bytes) != 0)
    fail_msg("in order: type %d, %lld x %lld x %lld, transposed %d %d", (int)g->dtype, (long long)g->m,
             (long long)g->n, (long long)g->k, g->transpose_a, g->transpose_b);
  free(expected.base);
}

/* Checks C within the allowed error: k + 2 roundings of the sum of absolute terms, the roundings of the end,
 * and the rounding of C. */
static void check_near(const shape *s, const operands *o, const block *made) {
  const sl_gemm_args *g = &s->g;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->ldc; j++) {
      double got = sl_value_at(made->data, g->dtype, i * g->ldc + j);
      if (j >= g->n) { /* between rows nothing is written */
        assert_memory_equal(made->data + (size_t)(i * g->ldc + j) * sley_dtype_bytes(g->dtype),
                            o->c.data + (size_t)(i * g->ldc + j) * sley_dtype_bytes(g->dtype),
                            sley_dtype_bytes(g->dtype));
        continue;
      }
      long double sum = 0, size = 0;
      for (int64_t l = 0; l < g->k && g->alpha != 0; l++) {
        long double term = (long double)at(&o->a, g->dtype, g->transpose_a, g->lda, i, l) *
                           at(&o->b, g->dtype, g->transpose_b, g->ldb, l, j);
        sum += term;
        size += fabsl(term);
      }
      double expected = finished(s, o, i, j, (double)sum);
      double bound = (double)(g->k + 2) * unit_of(sl_sum_dtype(g->dtype)) * fabs(g->alpha) * (double)size +
                     unit_of(g->dtype) * fabs(expected) * 1.01 + 8 * unit_of(SLEY_F64) * ((double)size + 2) +
                     (g->dtype == SLEY_F16 ? 0x1p-25 : 0);
      if (!queues[0]->device->ops->host_addresses) /* a library rounds before the bias, and before act */
        bound += 2 * unit_of(g->dtype) * end_of(s, o, i, j, (double)size);
      if (g->dtype == SLEY_F32 && g->tf32) /* both operands cut to 11 bits; on a CPU they are not */
        bound += 0x1.01p-9 * fabs(g->alpha) * (double)size;
      if (!(fabs(got - expected) <= bound))
        fail_msg("type %d, %lld x %lld x %lld at %lld, %lld: %g, not %g by %g", (int)g->dtype,
                 (long long)g->m, (long long)g->n, (long long)g->k, (long long)i, (long long)j, got, expected,
                 bound);
    }
}

static sley_status multiply(sl_queue *queue, const shape *s, const operands *o, block *c) {
  image a = image_of_block(queue, &o->a), b = image_of_block(queue, &o->b);
  image bias = image_of_block(queue, &o->bias), out = image_of_block(queue, c);
  sl_kernel_args args = {.op = SL_OP_GEMM, .gemm = s->g};
  args.gemm.a = a.data;
  args.gemm.b = b.data;
  args.gemm.c = out.data;
  args.gemm.bias = s->biased ? bias.data : NULL;
  sley_status status = sl_kernel_run(queue, &args);
  image_return(&out);
  image_drop(&a);
  image_drop(&b);
  image_drop(&bias);
  return status;
}

static void check(const shape *s) {
  operands o = draw_operands(s);
  block first = {0};
  for (int q = 0; q < QUEUES; q++) {
    block c = block_copy(&o.c);
    assert_sley_ok(multiply(queues[q], s, &o, &c));
    if (q == 0) {
      first = block_copy(&c);
      check_near(s, &o, &c);
      if (s->g.in_order)
        check_in_order(s, &o, &c);
    } else {
      assert_memory_equal(c.data, first.data, c.bytes);
    }
    free(c.base);
  }
  free(first.base);
  drop_operands(&o);
}

static void products_are_near(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(400); repeat++) {
    shape s = draw_shape(false);
    check(&s);
  }
}

static void long_sums_have_the_same_bits_with_any_threads(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(40); repeat++) {
    shape s = draw_shape(true);
    s.g.m = s.g.m > 33 ? 257 : s.g.m;
    s.g.n = s.g.n > 17 ? 3 : s.g.n;
    s.g.lda = s.g.transpose_a ? s.g.m + 1 : s.g.k;
    s.g.ldb = s.g.transpose_b ? s.g.k : s.g.n + 1;
    s.g.ldc = s.g.n + 2;
    check(&s);
  }
}

/* Many rows of A times a few columns, or sums over many rows, for kernels that serve such shapes. */
static void products_of_many_rows_are_near(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(24); repeat++) {
    const bool sums = repeat % 2;
    const int64_t rows = PICK(2047, 2048, 2111, 3000, 4500), wide = PICK(31, 32, 33, 47, 64, 100, 128, 129),
                  narrow = PICK(1, 2, 15, 16, 17, 47, 48, 90, 128, 130);
    shape s = draw_shape(false);
    s.g.dtype = draw(4) == 0 ? s.g.dtype : SLEY_F32;
    s.g.in_order = s.g.tf32 = false;
    s.g.transpose_a = sums;
    s.g.transpose_b = !sums && s.g.transpose_b;
    s.g.m = sums ? wide : rows;
    s.g.n = narrow;
    s.g.k = sums ? rows : wide;
    s.g.lda = sums ? s.g.m + PICK(0, 1, 4) : (s.g.k + 3) / 4 * 4 + PICK(0, 4, 1);
    s.g.ldb = stored_rows(!s.g.transpose_b, s.g.k, s.g.n) + PICK(0, 0, 1, 5);
    s.g.ldc = s.g.n + PICK(0, 0, 1, 5);
    check(&s);
  }
}

/* One infinite value and one NaN must have the same effect as in any f32 product, and change nothing else. */
static void infinite_values_stay_in_their_rows(void **state) {
  (void)state;
  for (int sums = 0; sums < 2; sums++) {
    shape s = {.g = {.transpose_a = sums != 0,
                     .m = 2100,
                     .n = 40,
                     .k = 64,
                     .alpha = 1,
                     .lda = 64,
                     .ldb = 40,
                     .ldc = 40}};
    if (sums)
      s.g.m = s.g.lda = 64, s.g.k = 2100;
    operands o = draw_operands(&s);
    float *const a = (float *)(void *)o.a.data, *const b = (float *)(void *)o.b.data;
    for (int64_t i = 0; i < s.g.k * s.g.n; i++)
      b[i] = 1;
    a[sums ? 7 * 64 + 3 : 3 * 64 + 7] = INFINITY;
    a[sums ? 9 * 64 + 5 : 5 * 64 + 9] = NAN;
    a[sums ? 9 * 64 + 6 : 6 * 64 + 9] = -0x1.fffffep127F;
    block c = block_copy(&o.c);
    assert_sley_ok(multiply(queues[0], &s, &o, &c));
    const float *const made = (const float *)(const void *)c.data;
    for (int64_t i = 0; i < s.g.m; i++)
      for (int64_t j = 0; j < s.g.n; j++) {
        const float v = made[i * s.g.ldc + j];
        assert_true(i == 3   ? v == INFINITY
                    : i == 5 ? v != v
                    : i == 6 ? v < -0x1.8p127F
                             : v > -1e6F && v < 1e6F);
      }
    free(c.base);
    drop_operands(&o);
  }
}

/* A row that is computed alone must have the same bits as among other rows. */
static void rows_in_order_depend_on_no_others(void **state) {
  (void)state;
  shape s = {
      .g = {.in_order = true, .m = 300, .n = 40, .k = 70, .alpha = 1, .lda = 70, .ldb = 40, .ldc = 40}};
  operands o = draw_operands(&s);
  block all = block_copy(&o.c);
  assert_sley_ok(multiply(queues[1], &s, &o, &all));
  for (int64_t row = 0; row < 300; row += 13) {
    shape one = s;
    one.g.m = 1;
    operands part = {.a = {.data = o.a.data + row * 70 * 4, .base = o.a.data + row * 70 * 4, .bytes = 280},
                     .b = o.b,
                     .bias = o.bias};
    block c = block_of(160, 0);
    assert_sley_ok(multiply(queues[0], &one, &part, &c));
    assert_memory_equal(c.data, all.data + row * 160, 160);
    free(c.base);
  }
  free(all.base);
  drop_operands(&o);
}

static void unknown_arguments_are_refused(void **state) {
  (void)state;
  sl_kernel_args args = {.op = SL_OP_GEMM, .gemm = {.dtype = (sley_dtype)9}};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  args.gemm = (sl_gemm_args){.act = (sley_activation)4};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
}

enum { AT_ONCE = 8, SMALL = 20, WAYS = 4 };

/* Calls of a thread: how many differ from the first. */
typedef struct caller {
  const double *a, *b;
  const double (*product)[SMALL * SMALL]; /* each way of transposing */
  int repeats, wrong;
} caller;

static void call_blas(const double *a, const double *b, int way, double *p) {
  const sl_blas_product product = {.transpose_a = way & 1,
                                   .transpose_b = way & 2,
                                   .m = SMALL,
                                   .n = SMALL,
                                   .k = SMALL,
                                   .a = a,
                                   .b = b,
                                   .lda = SMALL,
                                   .ldb = SMALL,
                                   .p = p,
                                   .ldp = SMALL};
  sl_blas_f64(&product);
}

static void *call_again(void *context) {
  caller *c = context;
  double product[SMALL * SMALL];
  for (int i = 0; i < c->repeats; i++) {
    call_blas(c->a, c->b, i % WAYS, product);
    c->wrong += memcmp(product, c->product[i % WAYS], sizeof product) != 0;
  }
  return NULL;
}

/* Concurrent calls, as made by teams and by ranks that are threads. With a build of OpenBLAS that is not
 * thread-safe, a few calls in a million, or more, return wrong results, depending on the scheduling of
 * threads. */
static void small_products_at_once(void **state) {
  (void)state;
  if (!sl_blas_serves(SMALL))
    skip();
  double a[SMALL * SMALL], b[SMALL * SMALL], product[WAYS][SMALL * SMALL];
  caller all[AT_ONCE];
  pthread_t thread[AT_ONCE];
  for (int i = 0; i < SMALL * SMALL; i++) {
    a[i] = draw_real();
    b[i] = draw_real();
  }
  for (int way = 0; way < WAYS; way++)
    call_blas(a, b, way, product[way]);
  for (int t = 0; t < AT_ONCE; t++)
    all[t] = (caller){
        .a = a, .b = b, .product = (const double(*)[SMALL * SMALL]) product, .repeats = repeats(20000)};
  for (int t = 0; t < AT_ONCE; t++)
    assert_int_equal(pthread_create(&thread[t], NULL, call_again, &all[t]), 0);
  for (int t = 0; t < AT_ONCE; t++)
    assert_int_equal(pthread_join(thread[t], NULL), 0);
  for (int t = 0; t < AT_ONCE; t++)
    assert_int_equal(all[t].wrong, 0);
}

static void short_memory_is_told(void **state) {
  (void)state;
  if (!queues[0]->device->ops->host_addresses)
    skip();
  for (int way = 0; way < 3; way++) { /* tiles of 16 bits; few tiles with long sums; beta */
    shape s = {.g = {.dtype = way == 0 ? SLEY_BF16 : SLEY_F32,
                     .m = 5,
                     .n = 6,
                     .k = 20000,
                     .alpha = 1,
                     .beta = way == 2,
                     .lda = 20000,
                     .ldb = 6,
                     .ldc = 6}};
    operands o = draw_operands(&s);
    const int64_t before = sl_memory_now();
    sley_status status = SLEY_ERR_MEMORY;
    int failures = 0;
    for (int64_t nth = 1; status != SLEY_OK; nth++) {
      sl_memory_fail_at(nth);
      status = multiply(queues[way], &s, &o, &o.c);
      sl_memory_fail_at(0);
      assert_true(status == SLEY_OK || status == SLEY_ERR_MEMORY);
      failures += status != SLEY_OK;
      assert_int_equal(sl_memory_now(), before);
    }
    assert_true(failures > 0);
    drop_operands(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_near),
                                     cmocka_unit_test(long_sums_have_the_same_bits_with_any_threads),
                                     cmocka_unit_test(products_of_many_rows_are_near),
                                     cmocka_unit_test(infinite_values_stay_in_their_rows),
                                     cmocka_unit_test(rows_in_order_depend_on_no_others),
                                     cmocka_unit_test(unknown_arguments_are_refused),
                                     cmocka_unit_test(small_products_at_once),
                                     cmocka_unit_test(short_memory_is_told)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
