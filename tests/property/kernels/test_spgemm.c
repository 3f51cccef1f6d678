/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products must have the bits of sums in the documented order: random shapes, every semiring and
 * dtype, masks, repeated entries, 64-bit columns, each accumulator and instruction set, 1 to 5 threads, one
 * pass and two, rows of every length, and failing allocations. On every device. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "chosen_device.h"
#include "device/cpu/spgemm/spgemm_rows.h"
#include "kernels.h"

typedef struct drawn {
  sley_csr csr;
  int64_t *rowptr;
  void *col, *val;
} drawn;

/* The matrix with csr set to its arrays. */
static drawn viewed(drawn m, int64_t rows, int64_t cols, sley_index index, sley_dtype dtype) {
  m.csr = (sley_csr){.rows = rows,
                     .cols = cols,
                     .rowptr = m.rowptr,
                     .col = m.col,
                     .val = m.val,
                     .index = index,
                     .dtype = dtype};
  return m;
}

/* A random matrix. Columns ascend, are sometimes repeated, and are multiples of `stride` below `cols`; rows
 * are empty, short, or full. Row pointers begin at `skew`. Values are small whole numbers, so that sums
 * cancel, or any values. */
static drawn draw_matrix(int64_t rows, int64_t cols, int64_t stride, sley_index index, sley_dtype dtype,
                         bool repeats_too, bool whole) {
  const int64_t skew = draw(3), most = rows * (2 * cols + 1) + skew + 1;
  drawn m = {.rowptr = malloc((size_t)(rows + 1) * sizeof(int64_t)),
             .col = malloc((size_t)most * sizeof(int64_t)),
             .val = calloc((size_t)most, sizeof(double))};
  int64_t at = skew;
  for (int64_t i = 0; i < rows; i++) {
    m.rowptr[i] = at;
    const int64_t share = PICK(0, 1, 1, 2, 4, 10);
    for (int64_t j = 0; j < cols; j++)
      for (int again = 0; again < 2; again++)
        if (draw(10) < share && (again == 0 || (repeats_too && draw(8) == 0))) {
          sl_index_set(m.col, index, at, j * stride);
          sl_value_set(m.val, dtype, at++, whole ? (double)(draw(5) - 2) : draw_real());
        }
  }
  m.rowptr[rows] = at;
  return viewed(m, rows, cols * stride, index, dtype);
}

static void free_drawn(drawn *m) {
  free(m->rowptr);
  free(m->col);
  free(m->val);
}

/* One product and one sum, rounded to the type of sums. */
static double oracle_add(sley_semiring semiring, sley_dtype type, bool first, double sum, double a,
                         double b) {
  double p = semiring == SLEY_PLUS_PAIR ? 1 : semiring == SLEY_OR_AND ? a != 0 && b != 0 : 0;
  if (semiring == SLEY_PLUS_TIMES)
    p = type == SLEY_F64 ? a * b : (double)((float)a * (float)b);
  if (semiring == SLEY_MIN_PLUS)
    p = type == SLEY_F64 ? a + b : (double)((float)a + (float)b);
  if (first)
    return p;
  if (semiring == SLEY_MIN_PLUS)
    return p < sum || isnan(p) ? p : sum;
  if (semiring == SLEY_OR_AND)
    return p > sum ? p : sum;
  return type == SLEY_F64 ? sum + p : (double)((float)sum + (float)p);
}

/* Fails unless row i of C is right for A, B and the mask. sum, terms: one element per column / stride. */
static void check_row(const sl_spgemm_args *args, const sl_spgemm_result *c, int64_t i, int64_t stride,
                      double *sum, int *terms) {
  const sley_csr *a = &args->a, *b = &args->b, *mask = args->mask;
  const sley_dtype type = sl_sum_dtype(a->dtype);
  const int64_t cols = b->cols / stride;
  memset(terms, 0, (size_t)cols * sizeof *terms);
  for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
    const int64_t k = sl_index_at(a->col, a->index, e);
    for (int64_t j = b->rowptr[k]; j < b->rowptr[k + 1]; j++) {
      const int64_t at = sl_index_at(b->col, b->index, j) / stride;
      sum[at] = oracle_add(args->semiring, type, terms[at] == 0, sum[at], sl_value_at(a->val, a->dtype, e),
                           sl_value_at(b->val, b->dtype, j));
      terms[at]++;
    }
  }
  int64_t at = c->rowptr[i];
  for (int64_t j = 0; j < cols; j++) {
    bool in = terms[j] > 0 && !mask;
    for (int64_t e = mask ? mask->rowptr[i] : 0; mask && e < mask->rowptr[i + 1]; e++)
      in |= terms[j] > 0 && sl_index_at(mask->col, mask->index, e) == j * stride;
    if (!in)
      continue;
    double want;
    sl_value_set(&want, a->dtype, 0, sum[j]);
    assert_true(at < c->rowptr[i + 1]);
    assert_int_equal(sl_index_at(c->col, c->index, at), j * stride);
    assert_memory_equal((const char *)c->val + (size_t)at * sley_dtype_bytes(a->dtype), &want,
                        sley_dtype_bytes(a->dtype));
    at++;
  }
  assert_int_equal(at, c->rowptr[i + 1]);
}

static void check_result(const sl_spgemm_args *args, const sl_spgemm_result *c, int64_t stride) {
  const int64_t cols = args->b.cols / stride;
  double *sum = malloc((size_t)(cols + 1) * sizeof *sum);
  int *terms = malloc((size_t)(cols + 1) * sizeof *terms);
  assert_int_equal(c->rowptr[0], 0);
  assert_int_equal(c->nnz, c->rowptr[args->a.rows]);
  for (int64_t i = 0; i < args->a.rows; i++)
    check_row(args, c, i, stride, sum, terms);
  free(sum);
  free(terms);
}

/* ---- the product on a device */

/* A matrix in memory of the queue's device. */
typedef struct there {
  image rowptr, col, val;
  sley_csr csr;
} there;

static there matrix_there(sl_queue *queue, const sley_csr *m) {
  const size_t entries = (size_t)m->rowptr[m->rows];
  there t = {.rowptr = image_of(queue, m->rowptr, (size_t)(m->rows + 1) * sizeof(int64_t), 0),
             .col = image_of(queue, m->col, entries * sl_index_bytes(m->index), 0),
             .val = image_of(queue, m->val, entries * sley_dtype_bytes(m->dtype), 0),
             .csr = *m};
  t.csr.rowptr = t.rowptr.data;
  t.csr.col = t.col.data;
  t.csr.val = t.val.data;
  return t;
}

static void drop_there(there *t) {
  image_drop(&t->rowptr);
  image_drop(&t->col);
  image_drop(&t->val);
}

/* Number of the allocation that fails in the next product; 0: none. */
static int64_t fail_at;

/* Runs the operation with arrays in host memory; the arrays of out are from malloc. */
static sley_status multiply(sl_queue *queue, const sl_spgemm_args *given, sl_spgemm_result *out) {
  sl_kernel_args args = {.op = SL_OP_SPGEMM, .spgemm = *given};
  there a = matrix_there(queue, &given->a), b = matrix_there(queue, &given->b), mask = {.csr = given->a};
  sl_spgemm_result made;
  memset(&made, 255, sizeof made);
  args.spgemm.a = a.csr;
  args.spgemm.b = b.csr;
  if (given->mask) {
    mask = matrix_there(queue, given->mask);
    args.spgemm.mask = &mask.csr;
  }
  args.spgemm.out = &made;
  sl_memory_fail_at(fail_at);
  const sley_status status = sl_kernel_run(queue, &args);
  sl_memory_fail_at(0);
  drop_there(&a);
  drop_there(&b);
  drop_there(&mask);
  *out = made;
  if (status != SLEY_OK)
    return status;
  void **arrays[] = {(void **)&made.rowptr, &made.col, &made.val};
  void **copies[] = {(void **)&out->rowptr, &out->col, &out->val};
  const size_t bytes[] = {(size_t)(given->a.rows + 1) * sizeof(int64_t),
                          (size_t)made.nnz * sl_index_bytes(made.index),
                          (size_t)made.nnz * sley_dtype_bytes(given->a.dtype)};
  for (int i = 0; i < 3; i++) {
    *copies[i] = malloc(bytes[i] + 1);
    assert_sley_ok(queue->ops->copy(queue, SL_COPY_TO_HOST, *copies[i], *arrays[i], (int64_t)bytes[i]));
    assert_sley_ok(queue->ops->queue_wait(queue));
    queue->ops->free(queue->device, *arrays[i]);
  }
  return SLEY_OK;
}

static void free_result(sl_spgemm_result *c) {
  free(c->rowptr);
  free(c->col);
  free(c->val);
}

/* The operands of a drawn case. */
typedef struct drawn_case {
  drawn a, b, mask;
  int64_t stride;
  sl_spgemm_args args;
} drawn_case;

static void draw_case(drawn_case *c) {
  const int64_t m = PICK(0, 1, 2, 7, 30, 90), k = PICK(0, 1, 3, 20, 50), n = PICK(0, 1, 5, 33, 64, 65, 300);
  const sley_dtype dtype = (sley_dtype)draw(4);
  const sley_index index = (sley_index)draw(2);
  const bool whole = draw(2), again = draw(4) == 0;
  c->stride = index == SLEY_I64 && draw(2) ? INT64_C(1) << 33 : draw(4) ? 1 : 5003;
  c->a = draw_matrix(m, k, 1, (sley_index)draw(2), dtype, again, whole);
  c->b = draw_matrix(k, n, c->stride, index, dtype, again, whole);
  c->mask = draw_matrix(m, n, c->stride, c->stride > INT32_MAX ? SLEY_I64 : (sley_index)draw(2), SLEY_F32,
                        again, whole);
  c->args = (sl_spgemm_args){.semiring = (sley_semiring)draw(4), .a = c->a.csr, .b = c->b.csr};
  if (draw(3) == 0)
    c->args.mask = &c->mask.csr;
}

static void free_case(drawn_case *c) {
  free_drawn(&c->a);
  free_drawn(&c->b);
  free_drawn(&c->mask);
}

/* Checks every accumulator, and then the least sufficient memory limit, which is in the message for a lower
 * limit. */
static void check_case(drawn_case *c, sl_queue *queue) {
  sl_spgemm_args args = c->args;
  sl_spgemm_result out;
  for (int how = SL_ACCUMULATOR_AUTO; how <= SL_ACCUMULATOR_HASH; how++) {
    args.accumulator = (sl_accumulator)how;
    assert_sley_ok(multiply(queue, &args, &out));
    check_result(&args, &out, c->stride);
    free_result(&out);
  }
  args.accumulator = SL_ACCUMULATOR_AUTO;
  args.limit = 1;
  while (multiply(queue, &args, &out) != SLEY_OK) {
    assert_ptr_equal(out.rowptr, NULL);
    args.limit += args.limit / 4 + 1;
    assert_true(args.limit < INT64_C(1) << 40);
  }
  assert_true(out.peak <= args.limit);
  check_result(&args, &out, c->stride);
  free_result(&out);
}

static void products_have_the_documented_bits(void **state) {
  (void)state;
  static const char *const isas[] = {"portable", "avx2", "avx512"};
  for (int i = 0; i < (test_on_cpu() ? 3 : 1); i++) {
    setenv("SLEY_CPU", isas[i], 1);
    for (int repeat = 0; repeat < repeats(120); repeat++) {
      drawn_case c;
      draw_case(&c);
      check_case(&c, queues[draw(QUEUES)]);
      free_case(&c);
    }
  }
  unsetenv("SLEY_CPU");
}

/* A matrix whose row i has length(i) entries: one column in each of equal stretches of `cols`, with small
 * whole values. */
static drawn draw_spread(int64_t rows, int64_t cols, sley_dtype dtype, int64_t (*length)(int64_t row)) {
  drawn m = {.rowptr = malloc((size_t)(rows + 1) * sizeof(int64_t))};
  m.rowptr[0] = 0;
  for (int64_t i = 0; i < rows; i++)
    m.rowptr[i + 1] = m.rowptr[i] + length(i);
  m.col = malloc((size_t)(m.rowptr[rows] + 1) * sizeof(int32_t));
  m.val = malloc((size_t)(m.rowptr[rows] + 1) * sizeof(double));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t e = m.rowptr[i], count = m.rowptr[i + 1] - e, n = 0; n < count; n++) {
      sl_index_set(m.col, SLEY_I32, e + n, n * cols / count + draw(cols / count));
      sl_value_set(m.val, dtype, e + n, (double)(draw(5) - 2));
    }
  return viewed(m, rows, cols, SLEY_I32, dtype);
}

static int64_t growing(int64_t row) {
  return row * row / 4;
}

static int64_t mostly_short(int64_t row) {
  (void)row;
  return draw(50) ? PICK(0, 1, 3, 7, 12, 40) : 400;
}

/* Rows of C from none to tens of thousands of entries, of few and of many columns. */
static void rows_of_every_length(void **state) {
  (void)state;
  enum { ROWS = 80, INNER = 2000 };
  for (int repeat = 0; repeat < repeats(8); repeat++) {
    const sley_dtype dtype = (sley_dtype)(repeat % 4);
    const int64_t cols = PICK(700, 30000, 300000, 1500000);
    drawn a = draw_spread(ROWS, INNER, dtype, growing), b = draw_spread(INNER, cols, dtype, mostly_short);
    const sl_spgemm_args args = {
        .semiring = (sley_semiring)draw(4), .a = a.csr, .b = b.csr, .accumulator = (sl_accumulator)draw(3)};
    sl_spgemm_result out;
    assert_sley_ok(multiply(queues[repeat % QUEUES], &args, &out));
    check_result(&args, &out, 1);
    free_result(&out);
    free_drawn(&a);
    free_drawn(&b);
  }
}

/* An empty matrix with space for f32 or f64 values and 32-bit columns. Callers append entries to its last
 * row, and end a row by setting its row pointer. */
static drawn empty_matrix(int64_t rows, int64_t cols, int64_t most, sley_dtype dtype) {
  drawn m = {.rowptr = calloc((size_t)rows + 1, sizeof(int64_t)),
             .col = malloc((size_t)most * sizeof(int32_t)),
             .val = malloc((size_t)most * sizeof(double))};
  return viewed(m, rows, cols, SLEY_I32, dtype);
}

static void add_entry(drawn *m, int64_t row, int64_t col, double value) {
  const int64_t at = m->rowptr[row + 1]++;
  ((int32_t *)m->col)[at] = (int32_t)col;
  sl_value_set(m->val, m->csr.dtype, at, value);
  if (row + 1 < m->csr.rows)
    m->rowptr[row + 2] = at + 1;
}

/* Row i of A has i + 1 entries, and each row of B has one. So rows of C have 1, 2, 3, ... products, many or
 * few of them in the same column. */
static void rows_of_every_number_of_products(void **state) {
  (void)state;
  enum { ROWS = 130 };
  for (int repeat = 0; repeat < repeats(16); repeat++) {
    const sley_dtype dtype = draw(2) ? SLEY_F64 : SLEY_F32;
    const int64_t cols = PICK(1, 3, 20, 70, 1000);
    drawn_case c = {.a = empty_matrix(ROWS, ROWS, ROWS * ROWS, dtype),
                    .b = empty_matrix(ROWS, cols, ROWS, dtype),
                    .stride = 1};
    for (int64_t i = 0; i < ROWS; i++) {
      for (int64_t j = 0; j <= i; j++)
        add_entry(&c.a, i, j, draw_real());
      add_entry(&c.b, i, draw(cols), draw_real());
    }
    c.args = (sl_spgemm_args){.semiring = (sley_semiring)draw(4), .a = c.a.csr, .b = c.b.csr};
    check_case(&c, queues[repeat % QUEUES]);
    free_drawn(&c.a);
    free_drawn(&c.b);
  }
}

/* Rows of C with adjacent columns, from a few to more than a thousand: rows of B have the same length at
 * regular distances; in one case of four some entries repeat. */
static void columns_close_together(void **state) {
  (void)state;
  enum { ROWS = 50, INNER = 90, LONGEST = 40 };
  for (int repeat = 0; repeat < repeats(40); repeat++) {
    const sley_dtype dtype = (sley_dtype)draw(4);
    const int64_t length = PICK(1, 4, 9, 17, LONGEST), apart = PICK(1, 3, 11, 40), reach = PICK(3, 8, 31),
                  cols = INNER * apart + 2 * LONGEST;
    const bool again = draw(4) == 0;
    drawn_case c = {.a = empty_matrix(ROWS, INNER, ROWS * reach, dtype),
                    .b = empty_matrix(INNER, cols, INNER * 2 * length, dtype),
                    .stride = 1};
    for (int64_t i = 0; i < ROWS; i++) {
      c.a.rowptr[i + 1] = c.a.rowptr[i];
      for (int64_t j = 0; j < reach; j++)
        if (draw(8))
          add_entry(&c.a, i, i + j, draw_real());
    }
    for (int64_t k = 0; k < INNER; k++) {
      c.b.rowptr[k + 1] = c.b.rowptr[k];
      for (int64_t j = 0; j < length; j++)
        for (int64_t n = again && draw(9) == 0 ? 2 : draw(8) != 0; n > 0; n--)
          add_entry(&c.b, k, k * apart + j + (j > 2), draw_real());
    }
    c.args = (sl_spgemm_args){.semiring = (sley_semiring)draw(4), .a = c.a.csr, .b = c.b.csr};
    check_case(&c, queues[repeat % QUEUES]);
    free_drawn(&c.a);
    free_drawn(&c.b);
  }
}

/* Columns at the end of the largest range that can be sorted in registers, and of a range with one more
 * column. */
static void columns_at_the_limit_of_registers(void **state) {
  (void)state;
  enum { TERMS = 4 };
  if (!test_on_cpu())
    skip();
  for (int64_t cols = SL_SPGEMM_SORTED_COLUMNS; cols <= SL_SPGEMM_SORTED_COLUMNS + 1; cols++)
    for (int64_t width = 1; width <= 20; width++) {
      drawn a = empty_matrix(1, TERMS, TERMS, SLEY_F64),
            b = empty_matrix(TERMS, cols, TERMS * width, SLEY_F64);
      for (int64_t k = 0; k < TERMS; k++) {
        add_entry(&a, 0, k, 1);
        for (int64_t j = 0; j < width; j++)
          add_entry(&b, k, cols - width + j, (double)(j + 1));
      }
      const sl_spgemm_args args = {.a = a.csr, .b = b.csr};
      sl_spgemm_result out;
      assert_sley_ok(multiply(queues[0], &args, &out));
      assert_int_equal(out.nnz, width);
      for (int64_t j = 0; j < width; j++) {
        assert_int_equal(((const int32_t *)out.col)[j], cols - width + j);
        assert_true(((const double *)out.val)[j] == (double)(TERMS * (j + 1)));
      }
      free_result(&out);
      free_drawn(&a);
      free_drawn(&b);
    }
}

/* Products larger than a chunk, so that threads wait for positions: 1, 2 and 5 threads, and one pass and two,
 * must produce the same arrays. */
static void threads_and_passes_change_nothing(void **state) {
  (void)state;
  drawn a = draw_matrix(3000, 300, 1, SLEY_I32, SLEY_F32, false, false);
  sl_spgemm_args args = {.a = a.csr, .b = a.csr};
  args.b.rows = 300;
  sl_spgemm_result first = {0}, out;
  for (int q = 0; q < QUEUES; q++) {
    for (int tight = 0; tight < 2; tight++) {
      args.limit = tight ? first.peak : 0;
      assert_sley_ok(multiply(queues[q], &args, &out));
      if (test_on_cpu())
        assert_int_equal(out.passes, tight ? 2 : 1);
      if (!first.rowptr) {
        first = out;
        continue;
      }
      assert_int_equal(out.nnz, first.nnz);
      assert_memory_equal(out.rowptr, first.rowptr, (size_t)(args.a.rows + 1) * sizeof(int64_t));
      assert_memory_equal(out.col, first.col, (size_t)out.nnz * sizeof(int32_t));
      assert_memory_equal(out.val, first.val, (size_t)out.nnz * sizeof(float));
      free_result(&out);
    }
  }
  free_result(&first);
  free_drawn(&a);
}

static void failing_allocations_leave_nothing(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(12); repeat++) {
    drawn_case c;
    sl_spgemm_result out;
    draw_case(&c);
    const int64_t before = sl_memory_now();
    sley_status status = SLEY_ERR_MEMORY;
    for (int64_t nth = 1; status != SLEY_OK; nth++) {
      fail_at = nth;
      status = multiply(queues[1], &c.args, &out);
      if (status == SLEY_OK)
        break;
      assert_int_equal(status, SLEY_ERR_MEMORY);
      assert_int_equal(sl_memory_now(), before);
    }
    fail_at = 0;
    free_result(&out);
    free_case(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_the_documented_bits),
                                     cmocka_unit_test(rows_of_every_length),
                                     cmocka_unit_test(rows_of_every_number_of_products),
                                     cmocka_unit_test(columns_close_together),
                                     cmocka_unit_test(columns_at_the_limit_of_registers),
                                     cmocka_unit_test(threads_and_passes_change_nothing),
                                     cmocka_unit_test(failing_allocations_leave_nothing)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
