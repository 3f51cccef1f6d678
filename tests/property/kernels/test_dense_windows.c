/* SPDX-License-Identifier: Apache-2.0 */
/* Every SpMM kernel of a device (SLEY_TEST_DEVICE, default cpu) on matrices with dense parts: blocks, bands,
 * full rows, beside sparse and empty ones, with ragged edges and repeated entries. Results are within the
 * rounding bound of a float64 product and repeat; infinities and NaNs of X affect the rows with entries there
 * and no others; new values give the bits of a new preparation. If the device has spmm-dense, its dense
 * windows are made cheap, so that most cases use them; at the end that is checked. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "kernel_case.h"

typedef enum pattern { SHARE, BAND, BLOCKS, FULL, MIXED, SPARSE, PATTERNS } pattern;

/* How often spmm-dense was tried, and had dense windows of each number of rows. */
static int tried, used;

/* Whether row i has an entry in column j; size: of blocks, or half the width of the band. */
static bool has_entry(pattern kind, int64_t rows, int64_t cols, int64_t size, uint64_t seed, int64_t i,
                      int64_t j) {
  switch (kind) {
  case SHARE:
    return draw(10) < 3;
  case BAND:
    return llabs(j - i * cols / rows) < size;
  case BLOCKS:
    return ((uint64_t)(i / size) * 31 + (uint64_t)(j / size) * 17 + seed) * 2654435761u % 4096 < 1000;
  case FULL:
    return true;
  case MIXED:
    return i / 16 % 2 ? draw(50) == 0 : (j / 8 + i / 64) % 5 == 0;
  default:
    return draw(20) == 0;
  }
}

/* Draws the columns of a row; returns their number. */
static int64_t draw_row(pattern kind, int64_t rows, int64_t cols, int64_t size, uint64_t seed, int64_t i,
                        int64_t *col) {
  int64_t count = 0;
  if (draw(30) == 0)
    return 0;
  for (int64_t j = 0; j < cols; j++)
    if (has_entry(kind, rows, cols, size, seed, i, j))
      col[count++] = j;
  if (count > 0 && draw(40) == 0) { /* an entry twice */
    col[count] = col[count - 1];
    count++;
  }
  return count;
}

/* Replaces the entries of a case. */
static void set_pattern(kernel_case *c, pattern kind) {
  const int64_t rows = c->a.rows, size = 1 + draw(40);
  const uint64_t seed = (uint64_t)draw(1000);
  const size_t each = sley_dtype_bytes(c->a.dtype);
  int64_t *col = malloc((size_t)(rows * (c->cols + 1) + 1) * sizeof *col), at = 0;
  const int64_t before = c->rowptr[0];
  for (int64_t i = 0; i < rows; i++) {
    at += draw_row(kind, rows, c->cols, size, seed, i, col + at);
    c->rowptr[i + 1] = before + at;
  }
  free(c->col);
  free(c->val);
  c->col = malloc((size_t)(before + at) * sl_index_bytes(c->a.index) + 1);
  c->val = malloc((size_t)(before + at) * each + 1);
  for (int64_t j = 0; j < before + at; j++) {
    sl_index_set(c->col, c->a.index, j, j < before ? INT32_MAX : col[j - before]);
    sl_value_set(c->val, c->a.dtype, j, draw_real());
  }
  c->a.col = c->col;
  c->a.val = c->val;
  free(col);
}

/* Figures with which dense windows are cheap: of all heights alike, or rather tall or low ones, or with
 * loads so dear that only tall windows are dense; few multiprocessors, so that windows are not cut, or
 * many. */
static sl_device_figures figures_of(const sl_device *device) {
  sl_device_figures f = device->figures;
  const int taste = (int)draw(3);
  for (int kind = 0; kind < SL_DENSE_KINDS; kind++) {
    sl_dense_figures *d = &f.dense[kind];
    for (int p = 0; p < SL_DENSE_PANELS; p++)
      d->cell[p] *= taste == 1 ? 1e-3 : 1e-6;
    d->load *= taste == 2 ? 1e-3 : 1e-6;
    d->store *= 1e-6;
    d->start = 0;
  }
  f.window_starts.stream = f.window_starts.second = 0;
  if (draw(3) == 0 && f.processors > 8)
    f.processors = 8;
  return f;
}

static kernel_case make(int64_t k, int number) {
  const int64_t rows = PICK(1, 3, 15, 16, 17, 48, 63, 64, 65, 130, 257),
                cols = PICK(1, 5, 16, 31, 64, 100, 700);
  kernel_case c = kernel_case_sized(k, rows, cols, ANY, number);
  set_pattern(&c, (pattern)draw(PATTERNS));
  return c;
}

/* Counts whether the kernel has dense windows for the case. */
static void count_use(const kernel_case *c, const sl_kernel *kernel, sl_queue *queue) {
  sl_spmm_problem problem = c->problem;
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  void *prepared;
  if (strcmp(kernel->name, "spmm-dense") != 0)
    return;
  problem.a = &c->a;
  problem.figures = c->figures;
  assert_sley_ok(kernel->prepare(queue->device, queue, &args, &prepared));
  tried++;
  used += kernel->product->copied(&args, prepared) > 0;
  kernel->release(queue->device, prepared);
}

static void check_kernel(const kernel_case *c, const sl_kernel *kernel) {
  block first = {0};
  count_use(c, kernel, queues[0]);
  for (int run = 0; run < 4; run++) {
    const kernel_source from = run < 2 ? PREPARED : run == 2 ? REFILLED_FROM_HOST : REFILLED_FROM_DEVICE;
    block y = block_copy(&c->y);
    const sl_accuracy accuracy = kernel_case_run(c, kernel, queues[run % QUEUES], from, &y);
    if (run == 0) {
      kernel_case_bound(c, accuracy, y.data);
      first = block_copy(&y);
    } else {
      assert_memory_equal(y.data, first.data, y.bytes);
    }
    free(y.base);
  }
  free(first.base);
}

/* All kernels that prepare, with X in one memory or two. */
static void each_kernel(kernel_case *c, void (*check)(const kernel_case *c, const sl_kernel *kernel)) {
  const sl_device_figures figures = figures_of(queues[0]->device);
  c->figures = &figures;
  c->problem.far_rows = c->cols - c->near;
  c->problem.x_rows = c->near;
  for (const sl_kernel *const *each = queues[0]->ops->kernels; *each; each++)
    if (kernel_case_serves(c, *each, queues[0]->device, true))
      check(c, *each);
  c->figures = NULL;
}

static void test_dense_parts(void **state) {
  (void)state;
  const int64_t widths[] = {0,  1,  9,  10, 12, 15,  16,  17,  24,  31,  32,  33,
                            48, 63, 64, 65, 96, 100, 128, 130, 200, 257, 500, 1025};
  int number = 0;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int repeat = 0; repeat < repeats(12); repeat++) {
      kernel_case c = make(widths[w], number++);
      each_kernel(&c, check_kernel);
      kernel_case_free(&c);
    }
}

/* Asserts that infinities and NaNs are where the documented order has them. */
static void check_kinds(const kernel_case *c, const sl_kernel *kernel) {
  block y = block_copy(&c->y), expected = block_copy(&c->y);
  const sley_dtype to = kernel_case_y_dtype(c);
  kernel_case_in_order(c, expected.data);
  kernel_case_run(c, kernel, queues[0], PREPARED, &y);
  for (int64_t i = 0; i < c->a.rows; i++)
    for (int64_t f = 0; f < c->problem.k; f++) {
      const int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      const double is = sl_value_at(y.data, to, at), should = sl_value_at(expected.data, to, at);
      assert_int_equal(isnan(is) != 0, isnan(should) != 0);
      assert_true(isinf(should) ? is == should : !isinf(is));
    }
  free(expected.base);
  free(y.base);
}

static void test_zeros_times_infinity(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(80); repeat++) {
    kernel_case c = make(PICK(9, 16, 33, 64, 130), repeat);
    for (int i = 0; i < 2; i++) {
      const int64_t row = draw(c.cols);
      for (int64_t f = draw(3); f < c.problem.k; f += 3)
        sl_value_set(c.x.data, c.a.dtype, row * c.args.ldx + f, i ? INFINITY : (double)NAN);
    }
    each_kernel(&c, check_kinds);
    kernel_case_free(&c);
  }
}

/* The cases above are about dense windows. */
static void test_windows_were_dense(void **state) {
  (void)state;
  if (tried == 0)
    skip();
  print_message("%d of %d preparations had dense windows\n", used, tried);
  assert_true(2 * used >= tried);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dense_parts),
      cmocka_unit_test(test_zeros_times_infinity),
      cmocka_unit_test(test_windows_were_dense),
  };
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
