/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_case.h"

#include <math.h>

#include "base/memory.h"
#include "base/value.h"

sley_dtype kernel_case_y_dtype(const kernel_case *c) {
  return c->problem.wide_y ? sl_sum_dtype(c->a.dtype) : c->a.dtype;
}

static int64_t row_length(int64_t cols, row_lengths lengths, int64_t i, int64_t rows) {
  if (cols == 0)
    return 0;
  if (lengths == ONE_LONG)
    return i != rows / 2 ? draw(3) : rows < 75 ? 40 * rows : 3000;
  if (lengths == MANY_EMPTY)
    return draw(3) ? 0 : draw(9);
  return draw(40);
}

kernel_case kernel_case_sized(int64_t k, int64_t rows, int64_t cols, row_lengths lengths, int number) {
  kernel_case c = {.cols = cols};
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
  size_t y_each = sley_dtype_bytes(kernel_case_y_dtype(&c));
  c.y = block_of((size_t)(c.y_rows ? (c.y_rows - 1) * c.args.ldy + k : 0) * y_each, skew_values * y_each);
  block_fill(&c.y, kernel_case_y_dtype(&c), c.args.beta == 0); /* NaN must not leak */
  return c;
}

kernel_case kernel_case_make(int64_t k) {
  static int made;
  return kernel_case_sized(k, PICK(0, 1, 2, 3, 4, 5, 9, 17, 64, 257), 0, (row_lengths)draw(SHAPES), made++);
}

void kernel_case_free(kernel_case *c) {
  free(c->rowid);
  free(c->rowptr);
  free(c->col);
  free(c->val);
  free(c->x.base);
  free(c->y.base);
}

void kernel_case_in_order(const kernel_case *c, void *y) {
  sley_dtype dtype = c->a.dtype, to = kernel_case_y_dtype(c);
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

void kernel_case_bound(const kernel_case *c, sl_accuracy accuracy, const void *y) {
  const int each = accuracy.each, more = accuracy.more;
  long double eps = c->a.dtype == SLEY_F64 ? 0x1p-53L : 0x1p-24L;
  sley_dtype to = kernel_case_y_dtype(c);
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

/* A copy of the rows of X from `near` on. */
static block far_rows(const kernel_case *c) {
  size_t each = sley_dtype_bytes(c->a.dtype), rows = (size_t)(c->cols - c->near);
  block far = block_of((rows > 0 ? (rows - 1) * (size_t)c->args.ldfar + (size_t)c->problem.k : 0) * each, 0);
  for (size_t i = 0; i < rows; i++)
    memcpy((char *)far.data + i * (size_t)c->args.ldfar * each,
           (const char *)c->x.data + ((size_t)c->near + i) * (size_t)c->args.ldx * each,
           (size_t)c->problem.k * each);
  return far;
}

enum { PAGES = 2 };

/* Copies the rows of X to one block of memory per page, with the addresses in the form that kernels
 * expect. */
static void page_rows(const kernel_case *c, block *page, uintptr_t *address) {
  int64_t each = (int64_t)sley_dtype_bytes(c->a.dtype), stride = c->args.ldx * each;
  for (int64_t p = 0, first = 0; first < c->cols; p++, first += SL_X_PAGE) {
    assert_true(p < PAGES);
    int64_t rows = c->cols - first < SL_X_PAGE ? c->cols - first : SL_X_PAGE;
    page[p] = block_of((size_t)((rows - 1) * stride + c->problem.k * each), (size_t)each);
    memcpy(page[p].data, (const char *)c->x.data + first * stride, page[p].bytes);
    address[p] = (uintptr_t)page[p].data - (uintptr_t)(first * stride);
  }
}

/* The matrix's arrays on the device, as for a part that has arrived. */
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

/* Refills a kernel after a product with other values has been enqueued, and changes the host's values after
 * refill has returned. */
static void refill(const kernel_case *c, const sl_kernel *kernel, sl_queue *queue, kernel_source from,
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

sl_accuracy kernel_case_run(const kernel_case *c, const sl_kernel *kernel, sl_queue *queue,
                            kernel_source from, const block *y) {
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
  problem.figures = c->figures ? c->figures : &queue->device->figures;
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
  const sl_accuracy accuracy = kernel->product->accuracy(&args, prepared);
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

bool kernel_case_serves(const kernel_case *c, const sl_kernel *kernel, const sl_device *device,
                        bool prepare) {
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
  assert_true(kernel->cost(&device->figures, &args) >= 0);
  return true;
}
