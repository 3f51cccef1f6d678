/* SPDX-License-Identifier: Apache-2.0 */
/* Every SpMM kernel of a device (SLEY_TEST_DEVICE, default the cpu) on random shapes: where the order is
 * asked for, each must give the bits of a scalar loop in the documented order, for any number of threads,
 * write nothing else, and stay within rounding of a float64 product; where it is not, the bits must repeat.
 * What was prepared with other values and refilled gives the same bits. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "kernels.h"

typedef struct spmm_case {
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  sl_spmm_run args;
  int64_t cols, y_rows;
  int64_t near; /* rows of X before those in a second memory; cols: there is none */
  int64_t *rowid, *rowptr;
  void *col, *val;
  block x, y;
} spmm_case;

/* Of Y. */
static sley_dtype y_dtype(const spmm_case *c) {
  return c->problem.wide_y ? sl_sum_dtype(c->a.dtype) : c->a.dtype;
}

static int64_t row_length(int64_t cols, int64_t shape, int64_t i, int64_t rows) {
  if (cols == 0)
    return 0;
  if (shape == 0) /* one row far longer than all others together */
    return i == rows / 2 ? 3000 : draw(3);
  if (shape == 1) /* many empty rows */
    return draw(3) ? 0 : draw(9);
  return draw(40);
}

static spmm_case make_spmm(int64_t k) {
  spmm_case c = {0};
  int64_t rows = PICK(0, 1, 2, 3, 5, 17, 64, 257), shape = draw(4);
  size_t skew_values = (size_t)draw(3);
  c.cols = PICK(1, 2, 30, 400);
  c.a.index = draw(2) ? SLEY_I32 : SLEY_I64;
  c.a.dtype = (sley_dtype)draw(4);
  c.a.rows = rows;
  size_t each = sley_dtype_bytes(c.a.dtype);
  c.rowptr = malloc((size_t)(rows + 1) * sizeof *c.rowptr);
  c.rowptr[0] = PICK(0, 0, 7); /* a view into larger arrays */
  for (int64_t i = 0; i < rows; i++)
    c.rowptr[i + 1] = c.rowptr[i] + row_length(c.cols, shape, i, rows);
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
  c.args.alpha = (double[]){1, 1, 0.3, -2, 0}[draw(5)];
  c.args.beta = (double[]){0, 0, 1, 0.7, -1}[draw(5)];
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
 * long double: one rounding a term, and one each for alpha val, beta Y0 and the result. Y of 16 bits is
 * rounded once more: 2^-11 or 2^-8 of it, in f16 at least 2^-25. */
static void check_bound(const spmm_case *c, const void *y) {
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
      long double bound = (long double)(c->rowptr[i + 1] - c->rowptr[i] + 3) * eps * size;
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

static void run_spmm(const spmm_case *c, const sl_kernel *kernel, sl_queue *queue, source from,
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
  void *prepared = NULL;
  sl_spmm_matrix a = from == ARRIVED ? arrived(queue, &c->a, arrays) : c->a;
  problem.a = &a;
  problem.arrives = from == ARRIVED;
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
  kernel->release(queue->device, prepared);
  image_drop(&x);
  image_drop(&far);
  free(others.base);
  free(apart.base);
  for (int i = 0; i < ARRAYS; i++)
    image_drop(&arrays[i]);
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
    run_spmm(c, kernel, queues[q], prepare ? PREPARED : ARRIVED, &y);
    if (prepare && draw(3) == 0)
      check_refill(c, kernel, queues[q], &y);
    if (c->problem.in_order)
      assert_memory_equal(y.data, in_order->data, y.bytes);
    else if (first.base)
      assert_memory_equal(y.data, first.data, y.bytes);
    else {
      check_bound(c, y.data);
      first = block_copy(&y);
    }
    free(y.base);
  }
  free(first.base);
}

static void check_spmm(int64_t k) {
  spmm_case c = make_spmm(k);
  block expected = block_copy(&c.y);
  scalar_order(&c, expected.data);
  check_bound(&c, expected.data);
  for (int in_order = 0; in_order < 2; in_order++)
    for (int prepare = 0; prepare < 2; prepare++) {
      c.problem.in_order = in_order;
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
  const int64_t widths[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 64, 96, 100, 128, 130, 256, 257};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int repeat = 0; repeat < repeats(widths[w] < 64 ? 24 : 12); repeat++)
      check_spmm(widths[w]);
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
      cmocka_unit_test(test_spmm_continues_a_row),
      cmocka_unit_test(test_prepare_without_memory),
  };
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
