/* SPDX-License-Identifier: Apache-2.0 */
/* Every SpMM kernel of a device (SLEY_TEST_DEVICE, default the cpu) on random shapes: where the order is
 * asked for, each must give the bits of a scalar loop in the documented order, for any number of threads,
 * write nothing else, and stay within rounding of a float64 product; where it is not, the bits must repeat.
 * What was prepared with other values and refilled gives the same bits. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/cpu.h"
#include "kernels.h"

typedef struct spmm_case {
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  sl_spmm_run args;
  int64_t cols, y_rows;
  int64_t near; /* rows of X before those in a second memory; cols: there is none */
  bool paged;   /* X is read in place, each page in a memory of its own */
  int64_t *rowid, *rowptr;
  void *col, *val;
  block x, y;
} spmm_case;

/* Of Y. */
static sley_dtype y_dtype(const spmm_case *c) {
  return c->problem.wide_y ? sl_sum_dtype(c->a.dtype) : c->a.dtype;
}

/* One row far longer than all others together; many empty rows. */
typedef enum shape { ONE_LONG, MANY_EMPTY, ANY, SHAPES } shape;

static int64_t row_length(int64_t cols, shape lengths, int64_t i, int64_t rows) {
  if (cols == 0)
    return 0;
  if (lengths == ONE_LONG)
    return i != rows / 2 ? draw(3) : rows < 75 ? 40 * rows : 3000;
  if (lengths == MANY_EMPTY)
    return draw(3) ? 0 : draw(9);
  return draw(40);
}

/* Of what kernels have functions for, 32 cases in a row have every combination: types, indices, whether X is
 * paged, whether alpha is 1 and beta 0 or 1. cols 0: some number. */
static spmm_case make_sized(int64_t k, int64_t rows, int64_t cols, shape lengths, int number) {
  spmm_case c = {.cols = cols};
  size_t skew_values = (size_t)draw(3);
  const bool plain = number / 16 % 2;
  c.paged = queues[0]->ops->host_addresses && number / 8 % 2;
  if (cols == 0)
    c.cols = c.paged && k < 40 && draw(3) == 0 ? SL_X_PAGE + 1 + draw(900) : PICK(1, 2, 30, 400);
  c.a.index = number / 4 % 2 ? SLEY_I32 : SLEY_I64;
  c.a.dtype = (sley_dtype)(number % 4);
  c.a.rows = rows;
  size_t each = sley_dtype_bytes(c.a.dtype);
  c.rowptr = malloc((size_t)(rows + 1) * sizeof *c.rowptr);
  c.rowptr[0] = PICK(0, 0, 7); /* a view into larger arrays */
  for (int64_t i = 0; i < rows; i++)
    c.rowptr[i + 1] = c.rowptr[i] + row_length(c.cols, lengths, i, rows);
  int64_t entries = c.rowptr[rows];
  c.col = malloc((size_t)entries * sl_index_bytes(c.a.index) + 1);
  c.val = malloc((size_t)entries * each + 1);
  for (int64_t j = 0; j < entries; j++) {
    sl_index_set(c.col, c.a.index, j, j < c.rowptr[0] ? INT32_MAX : draw(c.cols));
    sl_value_set(c.val, c.a.dtype, j, draw_real());
  }
  c.y_rows = rows;
  if (draw(2)) {
    c.rowid = malloc((size_t)(rows + 1) * sizeof *c.rowid);
    int64_t at = 0;
    for (int64_t i = 0; i < rows; i++, at++)
      c.rowid[i] = at += draw(3);
    c.y_rows = at + draw(3);
  }
  c.a.rowid = c.rowid;
  c.a.rowptr = c.rowptr;
  c.a.col = c.col;
  c.a.val = c.val;
  c.problem.k = k;
  c.args.ldx = k + PICK(0, 0, 1, 5, 16);
  c.args.ldy = k + PICK(0, 0, 3, 16);
  c.args.alpha = plain ? 1 : (double[]){1, 0.3, -2, 0}[draw(4)];
  c.args.beta = plain ? (double)draw(2) : (double[]){0, 0, 1, 0.7, -1}[draw(5)];
  c.x = block_of((size_t)((c.cols - 1) * c.args.ldx + k) * each, skew_values * each);
  block_fill(&c.x, c.a.dtype, false);
  c.near = queues[0]->ops->host_addresses || draw(2) ? c.cols : draw(c.cols + 1);
  c.problem.x_rows = c.cols;
  c.args.ldfar = k + PICK(0, 0, 4, 7);
  c.problem.wide_y = draw(2);
  size_t y_each = sley_dtype_bytes(y_dtype(&c));
  c.y = block_of((size_t)(c.y_rows ? (c.y_rows - 1) * c.args.ldy + k : 0) * y_each, skew_values * y_each);
  block_fill(&c.y, y_dtype(&c), c.args.beta == 0); /* NaN must not leak */
  return c;
}

static spmm_case make_spmm(int64_t k) {
  static int made;
  return make_sized(k, PICK(0, 1, 2, 3, 4, 5, 9, 17, 64, 257), 0, (shape)draw(SHAPES), made++);
}

static void free_spmm(spmm_case *c) {
  free(c->rowid);
  free(c->rowptr);
  free(c->col);
  free(c->val);
  free(c->x.base);
  free(c->y.base);
}

/* The documented order, one element of Y after the other. */
static void scalar_order(const spmm_case *c, void *y) {
  sley_dtype dtype = c->a.dtype, to = y_dtype(c);
  for (int64_t i = 0; i < c->a.rows; i++)
    for (int64_t f = 0; f < c->problem.k; f++) {
      int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      double start = c->args.beta == 0 ? 0 : c->args.beta * sl_value_at(y, to, at);
      float single = (float)start;
      for (int64_t j = c->rowptr[i]; j < c->rowptr[i + 1]; j++) {
        double factor = c->args.alpha * sl_value_at(c->val, dtype, j);
        double x = sl_value_at(c->x.data, dtype, sl_index_at(c->col, c->a.index, j) * c->args.ldx + f);
        if (dtype == SLEY_F64)
          start = fma(factor, x, start);
        else
          single = fmaf((float)factor, (float)x, single);
      }
      sl_value_set(y, to, at, dtype == SLEY_F64 ? start : (double)single);
    }
}

/* |Y - (alpha A X + beta Y0)| <= (terms + 3) eps (|alpha A||X| + |beta Y0|) for every element, the sums in
 * long double: one rounding a term, and one each for alpha val, beta Y0 and the result. A kernel may say that
 * it needs more: accuracy. Y of 16 bits is rounded once more: 2^-11 or 2^-8 of it, in f16 at least 2^-25. */
static void check_bound(const spmm_case *c, sl_accuracy accuracy, const void *y) {
  const int each = accuracy.each, more = accuracy.more;
  long double eps = c->a.dtype == SLEY_F64 ? 0x1p-53L : 0x1p-24L;
  sley_dtype to = y_dtype(c);
  long double narrow = to == SLEY_F16 ? 0x1p-11L : to == SLEY_BF16 ? 0x1p-8L : 0;
  for (int64_t i = 0; i < c->a.rows; i++)
    for (int64_t f = 0; f < c->problem.k; f++) {
      int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      long double sum = 0, size = 0;
      if (c->args.beta != 0) {
        sum = (long double)c->args.beta * sl_value_at(c->y.data, to, at);
        size = fabsl(sum);
      }
      for (int64_t j = c->rowptr[i]; j < c->rowptr[i + 1]; j++) {
        long double term =
            (long double)c->args.alpha * sl_value_at(c->val, c->a.dtype, j) *
            sl_value_at(c->x.data, c->a.dtype, sl_index_at(c->col, c->a.index, j) * c->args.ldx + f);
        sum += term;
        size += fabsl(term);
      }
      long double roundings = (long double)(each * (c->rowptr[i + 1] - c->rowptr[i] + 3) + more);
      long double bound = roundings * eps * size;
      bound += fmaxl(narrow * (fabsl(sum) + bound), to == SLEY_F16 ? 0x1p-25L : 0);
      assert_true(fabsl(sl_value_at(y, to, at) - sum) <= bound);
    }
}

enum { ARRAYS = 4 };

/* The rows of X from near on, by themselves. */
static block far_rows(const spmm_case *c) {
  size_t each = sley_dtype_bytes(c->a.dtype), rows = (size_t)(c->cols - c->near);
  block far = block_of((rows > 0 ? (rows - 1) * (size_t)c->args.ldfar + (size_t)c->problem.k : 0) * each, 0);
  for (size_t i = 0; i < rows; i++)
    memcpy((char *)far.data + i * (size_t)c->args.ldfar * each,
           (const char *)c->x.data + ((size_t)c->near + i) * (size_t)c->args.ldx * each,
           (size_t)c->problem.k * each);
  return far;
}

enum { PAGES = 2 };

/* The rows of X in a memory for each page, whose address is as kernels want it. */
static void page_rows(const spmm_case *c, block *page, uintptr_t *address) {
  int64_t each = (int64_t)sley_dtype_bytes(c->a.dtype), stride = c->args.ldx * each;
  for (int64_t p = 0, first = 0; first < c->cols; p++, first += SL_X_PAGE) {
    assert_true(p < PAGES);
    int64_t rows = c->cols - first < SL_X_PAGE ? c->cols - first : SL_X_PAGE;
    page[p] = block_of((size_t)((rows - 1) * stride + c->problem.k * each), (size_t)each);
    memcpy(page[p].data, (const char *)c->x.data + first * stride, page[p].bytes);
    address[p] = (uintptr_t)page[p].data - (uintptr_t)(first * stride);
  }
}

/* The matrix's arrays on the device, as those of a part that has arrived. */
static sl_spmm_matrix arrived(sl_queue *queue, const sl_spmm_matrix *a, image *arrays) {
  size_t entries = (size_t)a->rowptr[a->rows];
  arrays[0] = image_of(queue, a->rowid, (size_t)a->rows * sizeof *a->rowid, 0);
  arrays[1] = image_of(queue, a->rowptr, (size_t)(a->rows + 1) * sizeof *a->rowptr, 0);
  arrays[2] = image_of(queue, a->col, entries * sl_index_bytes(a->index), 0);
  arrays[3] = image_of(queue, a->val, entries * sley_dtype_bytes(a->dtype), 0);
  sl_spmm_matrix there = *a;
  there.rowid = arrays[0].data;
  there.rowptr = arrays[1].data;
  there.col = arrays[2].data;
  there.val = arrays[3].data;
  return there;
}

/* How a kernel gets the matrix: it arrives after planning; prepare sees it; prepare sees other values, and
 * refill brings those of the matrix. */
typedef enum source { ARRIVED, PREPARED, REFILLED_FROM_HOST, REFILLED_FROM_DEVICE } source;

/* A product with other values is enqueued before; those of the host change once refill has returned. */
static void refill(const spmm_case *c, const sl_kernel *kernel, sl_queue *queue, source from,
                   const sl_kernel_args *args, void *prepared) {
  size_t bytes = (size_t)c->rowptr[c->a.rows] * sley_dtype_bytes(c->a.dtype);
  bool host = from == REFILLED_FROM_HOST;
  block y = block_copy(&c->y), copy = block_of(bytes, 0);
  image out = image_of_block(queue, &y), val = image_of(queue, c->val, bytes, 0);
  sl_kernel_args before = *args;
  before.spmm.y = out.data;
  memcpy(copy.data, c->val, bytes);
  assert_sley_ok(kernel->run(queue, &before));
  int64_t allocations = sl_memory_count();
  assert_sley_ok(kernel->refill(queue->device, queue, args, host ? copy.data : val.data,
                                host ? SL_VALUES_IN_HOST : SL_VALUES_IN_DEVICE, prepared));
  assert_int_equal(sl_memory_count(), allocations);
  memset(copy.data, 0xff, bytes);
  image_return(&out); /* waits for the queue */
  image_drop(&val);
  free(copy.base);
  free(y.base);
}

/* Tells how accurate the kernel promises to be. */
static sl_accuracy run_spmm(const spmm_case *c, const sl_kernel *kernel, sl_queue *queue, source from,
                            const block *y) {
  sl_spmm_problem problem = c->problem;
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = c->args};
  block apart = far_rows(c);
  image x = image_of_block(queue, &c->x), far = image_of_block(queue, &apart), out = image_of_block(queue, y),
        arrays[ARRAYS] = {{0}};
  args.spmm.problem = &problem;
  args.spmm.x = x.data;
  args.spmm.far = problem.far_rows > 0 ? far.data : NULL;
  args.spmm.y = out.data;
  block page[PAGES] = {{0}};
  uintptr_t address[PAGES] = {0};
  if (c->paged) {
    page_rows(c, page, address);
    args.spmm.x = NULL;
    problem.pages = address;
  }
  void *prepared = NULL;
  sl_spmm_matrix a = from == ARRIVED ? arrived(queue, &c->a, arrays) : c->a;
  problem.a = &a;
  problem.arrives = from == ARRIVED;
  problem.renewable = from >= REFILLED_FROM_HOST;
  block others = block_of((size_t)c->rowptr[a.rows] * sley_dtype_bytes(a.dtype), 0);
  block_fill(&others, a.dtype, false);
  if (from >= REFILLED_FROM_HOST)
    a.val = others.data;
  if (from != ARRIVED)
    assert_sley_ok(kernel->prepare(queue->device, queue, &args, &prepared));
  args.spmm.prepared = prepared;
  if (from >= REFILLED_FROM_HOST) {
    refill(c, kernel, queue, from, &args, prepared);
    if (queue->ops->host_addresses) /* such kernels keep no values */
      a.val = c->val;
  }
  int64_t allocations = sl_memory_count();
  assert_sley_ok(kernel->run(queue, &args));
  assert_int_equal(sl_memory_count(), allocations);
  image_return(&out);
  const sl_accuracy accuracy = kernel->accuracy ? kernel->accuracy(&args, prepared) : SL_ACCURACY_IN_ORDER;
  assert_true(!accuracy.tf32 || (problem.tf32 && a.dtype == SLEY_F32));
  kernel->release(queue->device, prepared);
  image_drop(&x);
  image_drop(&far);
  free(others.base);
  free(apart.base);
  for (int p = 0; p < PAGES; p++)
    free(page[p].base);
  for (int i = 0; i < ARRAYS; i++)
    image_drop(&arrays[i]);
  return accuracy;
}

/* What a kernel finds at plan time; of a part that arrives no more than its types. */
static bool serves(const spmm_case *c, const sl_kernel *kernel, bool prepare) {
  sl_spmm_matrix known = c->a;
  sl_spmm_problem problem = c->problem;
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  problem.a = &known;
  problem.arrives = !prepare;
  if (!prepare)
    known.rows = 0;
  if (kernel->op != SL_OP_SPMM || kernel->library ||
      !kernel->ok(&args)) /* another library promises no bits */
    return false;
  assert_true(kernel->cost(&args) >= 0);
  return true;
}

/* A part that gets new values, from the host's memory or the device's, has the bits of one prepared anew. */
static void check_refill(const spmm_case *c, const sl_kernel *kernel, sl_queue *queue,
                         const block *expected) {
  for (source from = REFILLED_FROM_HOST; from <= REFILLED_FROM_DEVICE; from++) {
    block y = block_copy(&c->y);
    run_spmm(c, kernel, queue, from, &y);
    assert_memory_equal(y.data, expected->data, y.bytes);
    free(y.base);
  }
}

/* One kernel, however often it runs and with however many threads. */
static void check_kernel(const spmm_case *c, const sl_kernel *kernel, bool prepare, const block *in_order) {
  block first = {0};
  for (int q = 0; q < QUEUES; q++) {
    block y = block_copy(&c->y);
    const sl_accuracy accuracy = run_spmm(c, kernel, queues[q], prepare ? PREPARED : ARRIVED, &y);
    if (prepare && draw(3) == 0)
      check_refill(c, kernel, queues[q], &y);
    if (c->problem.in_order)
      assert_memory_equal(y.data, in_order->data, y.bytes);
    else if (first.base)
      assert_memory_equal(y.data, first.data, y.bytes);
    else {
      if (memcmp(y.data, in_order->data, y.bytes) != 0) /* which has been checked */
        check_bound(c, accuracy, y.data);
      first = block_copy(&y);
    }
    free(y.base);
  }
  free(first.base);
}

static void check_spmm(spmm_case c) {
  block expected = block_copy(&c.y);
  scalar_order(&c, expected.data);
  check_bound(&c, SL_ACCURACY_IN_ORDER, expected.data);
  for (int in_order = 0; in_order < 2; in_order++)
    for (int prepare = 0; prepare < 2; prepare++) {
      c.problem.in_order = in_order;
      c.problem.tf32 = !in_order && draw(3) == 0;
      c.problem.far_rows = prepare ? c.cols - c.near : 0; /* what arrives is in one memory */
      c.problem.x_rows = c.cols - c.problem.far_rows;
      int kernels = 0;
      for (const sl_kernel *const *each = queues[0]->ops->kernels; *each; each++)
        if (serves(&c, *each, prepare)) {
          check_kernel(&c, *each, prepare, &expected);
          kernels++;
        }
      assert_true(kernels > 0);
    }
  free(expected.base);
  free_spmm(&c);
}

static void test_spmm_gives_the_documented_bits(void **state) {
  (void)state;
  const int64_t widths[] = {0,  1,  2,  3,  4,  5,   6,   7,   8,   10,  12,  13, 15,
                            16, 17, 20, 22, 24, 25,  28,  30,  31,  32,  33,  39, 41,
                            48, 56, 63, 64, 96, 100, 128, 130, 200, 256, 257, 513};
  /* The CPU's kernels have functions of their own for all combinations of narrow widths; so many cases run
   * each of NEON's, of vectors of 16 bytes. */
  const int narrow = queues[0]->ops->host_addresses ? 128 : 24;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int repeat = 0; repeat < repeats(widths[w] <= 32 ? narrow : 8); repeat++)
      check_spmm(make_spmm(widths[w]));
}

/* An infinity in one row of X, a NaN in another: some columns of each. */
static void make_special(spmm_case *c) {
  const double special[] = {INFINITY, (double)NAN};
  for (int i = 0; i < 2 && c->cols > 0; i++) {
    int64_t row = draw(c->cols);
    for (int64_t f = draw(3); f < c->problem.k; f += 3)
      sl_value_set(c->x.data, c->a.dtype, row * c->args.ldx + f, special[i]);
  }
}

static void assert_same_kind(const spmm_case *c, const block *y, const block *expected) {
  sley_dtype to = y_dtype(c);
  for (int64_t i = 0; i < c->a.rows; i++)
    for (int64_t f = 0; f < c->problem.k; f++) {
      int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      double is = sl_value_at(y->data, to, at), should = sl_value_at(expected->data, to, at);
      assert_int_equal(isnan(is) != 0, isnan(should) != 0);
      assert_true(isinf(should) ? is == should : !isinf(is));
    }
}

/* Every kernel that serves: without preparation, with it over X in two memories, and, of three ways, by tf32.
 * Infinities and NaNs are where `kinds` has them; NULL: errors are within their bound. */
static void check_ways(spmm_case *c, int ways, const block *kinds) {
  for (int way = 0; way < ways; way++) {
    c->problem.tf32 = way == 2;
    c->problem.far_rows = way > 0 ? c->cols - c->near : 0;
    c->problem.x_rows = c->cols - c->problem.far_rows;
    for (const sl_kernel *const *each = queues[0]->ops->kernels; *each; each++)
      if (serves(c, *each, way > 0)) {
        block y = block_copy(&c->y);
        const sl_accuracy accuracy = run_spmm(c, *each, queues[0], way > 0 ? PREPARED : ARRIVED, &y);
        if (kinds)
          assert_same_kind(c, &y, kinds);
        else
          check_bound(c, accuracy, y.data);
        free(y.base);
      }
  }
}

/* Infinities and NaNs of X reach the rows of A that have their columns, and no others. */
static void test_infinity_and_nan(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(120); repeat++) {
    spmm_case c = make_spmm(PICK(1, 5, 16, 33, 64, 130));
    make_special(&c);
    block expected = block_copy(&c.y);
    scalar_order(&c, expected.data);
    check_ways(&c, 2, &expected);
    free(expected.base);
    free_spmm(&c);
  }
}

static void set_bits(const spmm_case *c, void *values, int64_t at, uint32_t bits) {
  if (c->a.dtype == SLEY_F32)
    memcpy((char *)values + at * (int64_t)sizeof bits, &bits, sizeof bits);
}

/* NaNs of many bits, of A or of X in turn: all of their sums are NaNs. */
static void test_bits_of_nan(void **state) {
  (void)state;
  const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001,
                           0x7ffff000, 0xfffff000, 0x7fc00000};
  for (int repeat = 0; repeat < repeats(120); repeat++) {
    spmm_case c = make_sized(PICK(9, 16, 22, 33, 64, 130), PICK(3, 17, 64), 0, ANY, 4 * repeat);
    const uint32_t one = bits[repeat / 4 % 7];
    c.args.beta = 0;
    if (repeat % 2 == 0 && c.rowptr[c.a.rows] > c.rowptr[0])
      set_bits(&c, c.val, c.rowptr[0] + draw(c.rowptr[c.a.rows] - c.rowptr[0]), one);
    const int64_t row = draw(c.cols);
    for (int64_t f = draw(2); f < c.problem.k && repeat % 2 == 1; f += 2)
      set_bits(&c, c.x.data, row * c.args.ldx + f, one);
    block expected = block_copy(&c.y);
    scalar_order(&c, expected.data);
    check_ways(&c, 3, &expected);
    free(expected.base);
    free_spmm(&c);
  }
}

/* A value near the largest of f32, in one of three places, or a small one. */
static void put(const spmm_case *c, void *values, int64_t at, bool large) {
  const uint32_t bits[] = {0x7f7fffff, 0xff7fffff, 0x7f7ff000, 0x7f7fefff, 0x7f000000};
  if (!large)
    sl_value_set(values, SLEY_F32, at, draw_real() * 0x1p-10);
  else if (draw(3) == 0)
    set_bits(c, values, at, bits[draw(5)]);
}

/* Large values, of A or of X, times small ones: no sum leaves the range. */
static void test_large_values(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    spmm_case c = make_sized(PICK(9, 16, 22, 33, 64, 130), PICK(3, 17, 64), 0, ANY, 4 * repeat);
    const bool of_x = repeat % 2;
    c.args.alpha = of_x ? PICK(1, -2) : 1;
    c.args.beta = 0;
    for (int64_t j = c.rowptr[0]; j < c.rowptr[c.a.rows]; j++)
      put(&c, c.val, j, !of_x);
    for (int64_t at = 0; at < c.cols * c.problem.k; at++)
      put(&c, c.x.data, at / c.problem.k * c.args.ldx + at % c.problem.k, of_x);
    check_ways(&c, 3, NULL);
    free_spmm(&c);
  }
}

/* The rows of Y follow each other, and factors are values as they are. */
static void join_rows(spmm_case *c) {
  free(c->rowid);
  c->rowid = NULL;
  c->a.rowid = NULL;
  c->args.ldy = c->problem.k;
  c->args.alpha = 1;
}

/* Y of more than 16 MiB, which kernels of the CPU write past the caches. */
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
    spmm_case c = make_sized(large[i].k, Y_BYTES / row_bytes, 0, MANY_EMPTY, (int)large[i].dtype + 4);
    c.args.beta = 0;
    if (large[i].joined)
      join_rows(&c);
    check_spmm(c);
  }
}

/* X of more than the CPU's kernels take for near: some of their parts read so much of it that they go through
 * it panel after panel, others block after block of rows. */
static void test_far_x(void **state) {
  (void)state;
  enum { ROWS = 66, COLS = 3000 };
  for (int number = (int)test_first(32); number < 32; number += (int)test_share_of(32))
    check_spmm(make_sized(number % 2 ? 272 : 301, ROWS, COLS, number % 3 ? ONE_LONG : ANY, number));
}

/* The first entries of every row in one call, the rest in a second with beta = 1: the bits of one call. */
static void test_spmm_continues_a_row(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    spmm_case c = make_spmm(PICK(1, 3, 32, 40, 128, 257));
    if (y_dtype(&c) != sl_sum_dtype(c.a.dtype)) { /* would be rounded in between */
      free_spmm(&c);
      continue;
    }
    block expected = block_copy(&c.y);
    scalar_order(&c, expected.data);
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
      spmm_case part = c;
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
      run_spmm(&part, kernel, queue, PREPARED, &c.y);
      free(ptr[half]);
      free(col[half]);
      free(val[half]);
    }
    assert_memory_equal(c.y.data, expected.data, expected.bytes);
    free(expected.base);
    free_spmm(&c);
  }
}

static void test_prepare_without_memory(void **state) {
  (void)state;
  int64_t rowptr[] = {0, 1, 2}, before = sl_memory_now();
  int32_t col[] = {0, 0};
  float val[] = {1, 2};
  sl_spmm_matrix a = {
      .rows = 2, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I32, .dtype = SLEY_F32};
  sl_spmm_problem problem = {.a = &a, .k = 32};
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
