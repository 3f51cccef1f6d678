/* SPDX-License-Identifier: Apache-2.0 */
/* Every SpMM kernel of a device (SLEY_TEST_DEVICE, default cpu) on random shapes. If the order of summation
 * is requested, each kernel must have the bits of a scalar loop in the documented order for any number of
 * threads; otherwise its bits must repeat. Each must write only its result, and be within the rounding bound
 * of a float64 product. A kernel that was prepared with other values and then refilled must have the same
 * bits. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/cpu.h"
#include "kernel_case.h"

/* A part that gets new values, from host or device memory, must have the bits of a newly prepared part. */
static void check_refill(const kernel_case *c, const sl_kernel *kernel, sl_queue *queue,
                         const block *expected) {
  for (kernel_source from = REFILLED_FROM_HOST; from <= REFILLED_FROM_DEVICE; from++) {
    block y = block_copy(&c->y);
    kernel_case_run(c, kernel, queue, from, &y);
    assert_memory_equal(y.data, expected->data, y.bytes);
    free(y.base);
  }
}

/* Checks one kernel, with repeated runs and different numbers of threads. */
static void check_kernel(const kernel_case *c, const sl_kernel *kernel, bool prepare, const block *in_order) {
  block first = {0};
  for (int q = 0; q < QUEUES; q++) {
    block y = block_copy(&c->y);
    const sl_accuracy accuracy = kernel_case_run(c, kernel, queues[q], prepare ? PREPARED : ARRIVED, &y);
    if (prepare && draw(3) == 0)
      check_refill(c, kernel, queues[q], &y);
    if (c->problem.in_order)
      assert_memory_equal(y.data, in_order->data, y.bytes);
    else if (first.base)
      assert_memory_equal(y.data, first.data, y.bytes);
    else {
      if (memcmp(y.data, in_order->data, y.bytes) != 0) /* which has been checked */
        kernel_case_bound(c, accuracy, y.data);
      first = block_copy(&y);
    }
    free(y.base);
  }
  free(first.base);
}

static void check_spmm(kernel_case c) {
  block expected = block_copy(&c.y);
  kernel_case_in_order(&c, expected.data);
  kernel_case_bound(&c, SL_ACCURACY_IN_ORDER, expected.data);
  for (int in_order = 0; in_order < 2; in_order++)
    for (int prepare = 0; prepare < 2; prepare++) {
      c.problem.in_order = in_order;
      c.problem.tf32 = !in_order && draw(3) == 0;
      c.problem.far_rows = prepare ? c.cols - c.near : 0; /* what arrives is in one memory */
      c.problem.x_rows = c.cols - c.problem.far_rows;
      int kernels = 0;
      for (const sl_kernel *const *each = queues[0]->ops->kernels; *each; each++)
        if (kernel_case_serves(&c, *each, queues[0]->device, prepare)) {
          check_kernel(&c, *each, prepare, &expected);
          kernels++;
        }
      assert_true(kernels > 0);
    }
  free(expected.base);
  kernel_case_free(&c);
}

static void test_spmm_gives_the_documented_bits(void **state) {
  (void)state;
  const int64_t widths[] = {0,  1,  2,  3,  4,  5,   6,   7,   8,   10,  12,  13, 15,
                            16, 17, 20, 22, 24, 25,  28,  30,  31,  32,  33,  39, 41,
                            48, 56, 63, 64, 96, 100, 128, 130, 200, 256, 257, 513};
  /* The CPU kernels have separate functions for all combinations of narrow widths; this number of cases runs
   * each function for NEON, with vectors of 16 bytes. */
  const int narrow = queues[0]->ops->host_addresses ? 128 : 24;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int repeat = 0; repeat < repeats(widths[w] <= 32 ? narrow : 8); repeat++)
      check_spmm(kernel_case_make(widths[w]));
}

/* Sets some columns of one row of X to infinity, and some columns of another row to NaN. */
static void make_special(kernel_case *c) {
  const double special[] = {INFINITY, (double)NAN};
  for (int i = 0; i < 2 && c->cols > 0; i++) {
    int64_t row = draw(c->cols);
    for (int64_t f = draw(3); f < c->problem.k; f += 3)
      sl_value_set(c->x.data, c->a.dtype, row * c->args.ldx + f, special[i]);
  }
}

static void assert_same_kind(const kernel_case *c, const block *y, const block *expected) {
  sley_dtype to = kernel_case_y_dtype(c);
  for (int64_t i = 0; i < c->a.rows; i++)
    for (int64_t f = 0; f < c->problem.k; f++) {
      int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      double is = sl_value_at(y->data, to, at), should = sl_value_at(expected->data, to, at);
      assert_int_equal(isnan(is) != 0, isnan(should) != 0);
      assert_true(isinf(should) ? is == should : !isinf(is));
    }
}

/* Checks every kernel that kernel_case_serves accepts: without preparation; with preparation and X in two
 * memories; and if `ways` is 3, with tf32. Infinities and NaNs must be where `kinds` has them; NULL: errors
 * must be within their bound. */
static void check_ways(kernel_case *c, int ways, const block *kinds) {
  for (int way = 0; way < ways; way++) {
    c->problem.tf32 = way == 2;
    c->problem.far_rows = way > 0 ? c->cols - c->near : 0;
    c->problem.x_rows = c->cols - c->problem.far_rows;
    for (const sl_kernel *const *each = queues[0]->ops->kernels; *each; each++)
      if (kernel_case_serves(c, *each, queues[0]->device, way > 0)) {
        block y = block_copy(&c->y);
        const sl_accuracy accuracy = kernel_case_run(c, *each, queues[0], way > 0 ? PREPARED : ARRIVED, &y);
        if (kinds)
          assert_same_kind(c, &y, kinds);
        else
          kernel_case_bound(c, accuracy, y.data);
        free(y.base);
      }
  }
}

/* Infinities and NaNs of X must affect the rows of A with entries in these columns, and no others. */
static void test_infinity_and_nan(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(120); repeat++) {
    kernel_case c = kernel_case_make(PICK(1, 5, 16, 33, 64, 130));
    make_special(&c);
    block expected = block_copy(&c.y);
    kernel_case_in_order(&c, expected.data);
    check_ways(&c, 2, &expected);
    free(expected.base);
    kernel_case_free(&c);
  }
}

static void set_bits(const kernel_case *c, void *values, int64_t at, uint32_t bits) {
  if (c->a.dtype == SLEY_F32)
    memcpy((char *)values + at * (int64_t)sizeof bits, &bits, sizeof bits);
}

/* NaNs with various bits, in A or in X: all sums with them must be NaN. */
static void test_bits_of_nan(void **state) {
  (void)state;
  const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001,
                           0x7ffff000, 0xfffff000, 0x7fc00000};
  for (int repeat = 0; repeat < repeats(120); repeat++) {
    kernel_case c = kernel_case_sized(PICK(9, 16, 22, 33, 64, 130), PICK(3, 17, 64), 0, ANY, 4 * repeat);
    const uint32_t one = bits[repeat / 4 % 7];
    c.args.beta = 0;
    if (repeat % 2 == 0 && c.rowptr[c.a.rows] > c.rowptr[0])
      set_bits(&c, c.val, c.rowptr[0] + draw(c.rowptr[c.a.rows] - c.rowptr[0]), one);
    const int64_t row = draw(c.cols);
    for (int64_t f = draw(2); f < c.problem.k && repeat % 2 == 1; f += 2)
      set_bits(&c, c.x.data, row * c.args.ldx + f, one);
    block expected = block_copy(&c.y);
    kernel_case_in_order(&c, expected.data);
    check_ways(&c, 3, &expected);
    free(expected.base);
    kernel_case_free(&c);
  }
}

/* Sets a value to one near the largest of f32 at one of three positions, or to a small value. */
static void put(const kernel_case *c, void *values, int64_t at, bool large) {
  const uint32_t bits[] = {0x7f7fffff, 0xff7fffff, 0x7f7ff000, 0x7f7fefff, 0x7f000000};
  if (!large)
    sl_value_set(values, SLEY_F32, at, draw_real() * 0x1p-10);
  else if (draw(3) == 0)
    set_bits(c, values, at, bits[draw(5)]);
}

/* Large values, in A or in X, times small ones: no sum may overflow. */
static void test_large_values(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    kernel_case c = kernel_case_sized(PICK(9, 16, 22, 33, 64, 130), PICK(3, 17, 64), 0, ANY, 4 * repeat);
    const bool of_x = repeat % 2;
    c.args.alpha = of_x ? PICK(1, -2) : 1;
    c.args.beta = 0;
    for (int64_t j = c.rowptr[0]; j < c.rowptr[c.a.rows]; j++)
      put(&c, c.val, j, !of_x);
    for (int64_t at = 0; at < c.cols * c.problem.k; at++)
      put(&c, c.x.data, at / c.problem.k * c.args.ldx + at % c.problem.k, of_x);
    check_ways(&c, 3, NULL);
    kernel_case_free(&c);
  }
}

/* Makes the rows of Y contiguous, and alpha 1. */
static void join_rows(kernel_case *c) {
  free(c->rowid);
  c->rowid = NULL;
  c->a.rowid = NULL;
  c->args.ldy = c->problem.k;
  c->args.alpha = 1;
}

/* Y of more than 16 MiB, for which CPU kernels use stores that bypass the caches. */
static void test_large_products(void **state) {
  (void)state;
  enum { Y_BYTES = 17 << 20, LARGE = 7 };
  static const struct {
    sley_dtype dtype;
    int64_t k;
    bool joined;
  } large[LARGE] = {{SLEY_F32, 65, true},   {SLEY_F64, 190, false}, {SLEY_F32, 333, true},
                    {SLEY_F64, 33, true},   {SLEY_F32, 65, false},  {SLEY_F64, 190, true},
                    {SLEY_BF16, 190, false}};
  if (queues[0]->ops->host_addresses && !sl_cpu_has(SL_CPU_AVX2))
    skip(); /* only kernels for AVX have stores that bypass the caches */
  for (int i = (int)test_first(LARGE); i < LARGE; i += (int)test_share_of(LARGE)) {
    int64_t row_bytes = large[i].k * (int64_t)sley_dtype_bytes(large[i].dtype);
    kernel_case c =
        kernel_case_sized(large[i].k, Y_BYTES / row_bytes, 0, MANY_EMPTY, (int)large[i].dtype + 4);
    c.args.beta = 0;
    if (large[i].joined)
      join_rows(&c);
    check_spmm(c);
  }
}

/* An X that is larger than the CPU kernels treat as near. Some parts read so much of it that they compute
 * panel by panel, other parts block by block of rows. */
static void test_far_x(void **state) {
  (void)state;
  enum { ROWS = 66, COLS = 3000 };
  for (int number = (int)test_first(32); number < 32; number += (int)test_share_of(32))
    check_spmm(kernel_case_sized(number % 2 ? 272 : 301, ROWS, COLS, number % 3 ? ONE_LONG : ANY, number));
}

/* The first entries of every row in one call and the rest in a second call with beta = 1 must have the bits
 * of a single call. */
static void test_spmm_continues_a_row(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    kernel_case c = kernel_case_make(PICK(1, 3, 32, 40, 128, 257));
    if (kernel_case_y_dtype(&c) != sl_sum_dtype(c.a.dtype)) { /* would be rounded in between */
      kernel_case_free(&c);
      continue;
    }
    block expected = block_copy(&c.y);
    kernel_case_in_order(&c, expected.data);
    int64_t rows = c.a.rows;
    size_t each = sley_dtype_bytes(c.a.dtype), index_bytes = sl_index_bytes(c.a.index);
    int64_t *ptr[2] = {calloc((size_t)rows + 1, sizeof(int64_t)), calloc((size_t)rows + 1, sizeof(int64_t))};
    char *col[2], *val[2];
    for (int half = 0; half < 2; half++) {
      col[half] = malloc((size_t)c.rowptr[rows] * index_bytes + 1);
      val[half] = malloc((size_t)c.rowptr[rows] * each + 1);
    }
    for (int64_t i = 0; i < rows; i++) {
      int64_t begin = c.rowptr[i], end = c.rowptr[i + 1], middle = begin + draw(end - begin + 1);
      int64_t from[3] = {begin, middle, end};
      for (int half = 0; half < 2; half++) {
        int64_t count = from[half + 1] - from[half], at = ptr[half][i];
        memcpy(col[half] + (size_t)at * index_bytes, (char *)c.col + (size_t)from[half] * index_bytes,
               (size_t)count * index_bytes);
        memcpy(val[half] + (size_t)at * each, (char *)c.val + (size_t)from[half] * each,
               (size_t)count * each);
        ptr[half][i + 1] = at + count;
      }
    }
    c.problem.in_order = true;
    for (int half = 0; half < 2; half++) {
      kernel_case part = c;
      part.a.rowptr = ptr[half];
      part.a.col = col[half];
      part.a.val = val[half];
      if (half == 1)
        part.args.beta = 1;
      sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &part.problem}};
      part.problem.a = &part.a;
      const sl_kernel *kernel;
      sl_queue *queue = queues[draw(QUEUES)];
      assert_sley_ok(sl_kernel_find(queue->device, &args, &kernel));
      kernel_case_run(&part, kernel, queue, PREPARED, &c.y);
      free(ptr[half]);
      free(col[half]);
      free(val[half]);
    }
    assert_memory_equal(c.y.data, expected.data, expected.bytes);
    free(expected.base);
    kernel_case_free(&c);
  }
}

static void test_prepare_without_memory(void **state) {
  (void)state;
  int64_t rowptr[] = {0, 1, 2}, before = sl_memory_now();
  int32_t col[] = {0, 0};
  float val[] = {1, 2};
  sl_spmm_matrix a = {
      .rows = 2, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I32, .dtype = SLEY_F32};
  sl_spmm_problem problem = {.a = &a, .k = 32, .figures = &queues[1]->device->figures};
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem, .ldx = 32, .ldy = 32}};
  const sl_kernel *kernel;
  assert_sley_ok(sl_kernel_find(queues[1]->device, &args, &kernel));
  void *prepared;
  sl_memory_fail_at(1);
  assert_int_equal(kernel->prepare(queues[1]->device, queues[1], &args, &prepared), SLEY_ERR_MEMORY);
  sl_memory_fail_at(0);
  assert_null(prepared);
  assert_int_equal(sl_memory_now(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spmm_gives_the_documented_bits),
      cmocka_unit_test(test_infinity_and_nan),
      cmocka_unit_test(test_bits_of_nan),
      cmocka_unit_test(test_large_values),
      cmocka_unit_test(test_large_products),
      cmocka_unit_test(test_far_x),
      cmocka_unit_test(test_spmm_continues_a_row),
      cmocka_unit_test(test_prepare_without_memory),
  };
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
