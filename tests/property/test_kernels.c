/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of a device (SLEY_TEST_DEVICE, default the cpu) on random shapes. SpMM: where the order is
 * asked for, each must give the bits of a scalar loop in the documented order, for any number of threads,
 * write nothing else, and stay within rounding of a float64 product; where it is not, the bits must repeat.
 * Rows and scale: the same against loops over single values. */
#include "support.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "image.h"
#include "mirror.h"

static uint64_t counter;

static int64_t draw(int64_t n) {
  return sl_below(sl_random(5, counter++, 0), n);
}

static double draw_real(void) {
  return 2 * sl_unit(sl_random(6, counter++, 0)) - 1;
}

static int64_t pick(const int64_t *list, int64_t count) {
  return list[draw(count)];
}
#define PICK(...)                                                                                            \
  pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* One case in so many is run (environment SLEY_TEST_SHARE). */
static int repeats(int all) {
  const char *share = getenv("SLEY_TEST_SHARE");
  int kept = share && atoi(share) > 0 ? all / atoi(share) : all;
  return kept > 0 ? kept : 1;
}

/* bytes of exact size, so that a sanitizer sees any access beyond; `skew` bytes off a malloc's alignment. */
typedef struct block {
  char *base, *data;
  size_t bytes;
} block;

static block block_of(size_t bytes, size_t skew) {
  block b = {.base = malloc(bytes + skew + 1), .bytes = bytes};
  assert_non_null(b.base);
  b.data = b.base + skew;
  return b;
}

static block block_copy(const block *from) {
  block b = block_of(from->bytes, (size_t)(from->data - from->base));
  memcpy(b.data, from->data, from->bytes);
  return b;
}

static double get(const void *array, sley_dtype dtype, int64_t i) {
  return sl_value_at(array, dtype, i);
}

static void set(void *array, sley_dtype dtype, int64_t i, double value) {
  sl_value_set(array, dtype, i, value);
}

static void fill(block *b, sley_dtype dtype, bool with_nan) {
  size_t each = sley_dtype_bytes(dtype);
  for (size_t i = 0; i < b->bytes / each; i++)
    set(b->data, dtype, (int64_t)i, with_nan ? (double)NAN : draw_real());
}

/* -----------------------------------------------------------------------------------------------------------
 * SpMM */

typedef struct spmm_case {
  sl_spmm_matrix a;
  sl_spmm_args args;
  int64_t cols, y_rows;
  int64_t *rowid, *rowptr;
  void *col, *val;
  block x, y;
} spmm_case;

/* Of Y. */
static sley_dtype y_dtype(const spmm_case *c) {
  return c->args.wide_y ? sl_sum_dtype(c->a.dtype) : c->a.dtype;
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
    set(c.val, c.a.dtype, j, draw_real());
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
  c.args.k = k;
  c.args.ldx = k + PICK(0, 0, 1, 5, 16);
  c.args.ldy = k + PICK(0, 0, 3, 16);
  c.args.alpha = (double[]){1, 1, 0.3, -2, 0}[draw(5)];
  c.args.beta = (double[]){0, 0, 1, 0.7, -1}[draw(5)];
  c.x = block_of((size_t)((c.cols - 1) * c.args.ldx + k) * each, skew_values * each);
  fill(&c.x, c.a.dtype, false);
  c.args.wide_y = draw(2);
  size_t y_each = sley_dtype_bytes(y_dtype(&c));
  c.y = block_of((size_t)(c.y_rows ? (c.y_rows - 1) * c.args.ldy + k : 0) * y_each, skew_values * y_each);
  fill(&c.y, y_dtype(&c), c.args.beta == 0); /* NaN must not leak */
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
    for (int64_t f = 0; f < c->args.k; f++) {
      int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      double start = c->args.beta == 0 ? 0 : c->args.beta * get(y, to, at);
      float single = (float)start;
      for (int64_t j = c->rowptr[i]; j < c->rowptr[i + 1]; j++) {
        double factor = c->args.alpha * get(c->val, dtype, j);
        double x = get(c->x.data, dtype, sl_index_at(c->col, c->a.index, j) * c->args.ldx + f);
        if (dtype == SLEY_F64)
          start = fma(factor, x, start);
        else
          single = fmaf((float)factor, (float)x, single);
      }
      set(y, to, at, dtype == SLEY_F64 ? start : (double)single);
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
    for (int64_t f = 0; f < c->args.k; f++) {
      int64_t at = (c->rowid ? c->rowid[i] : i) * c->args.ldy + f;
      long double sum = 0, size = 0;
      if (c->args.beta != 0) {
        sum = (long double)c->args.beta * get(c->y.data, to, at);
        size = fabsl(sum);
      }
      for (int64_t j = c->rowptr[i]; j < c->rowptr[i + 1]; j++) {
        long double term = (long double)c->args.alpha * get(c->val, c->a.dtype, j) *
                           get(c->x.data, c->a.dtype, sl_index_at(c->col, c->a.index, j) * c->args.ldx + f);
        sum += term;
        size += fabsl(term);
      }
      long double bound = (long double)(c->rowptr[i + 1] - c->rowptr[i] + 3) * eps * size;
      bound += fmaxl(narrow * (fabsl(sum) + bound), to == SLEY_F16 ? 0x1p-25L : 0);
      assert_true(fabsl(get(y, to, at) - sum) <= bound);
    }
}

static image image_of_block(sl_queue *queue, const block *b) {
  return image_of(queue, b->data, b->bytes, (size_t)(b->data - b->base));
}

enum { ARRAYS = 4 };

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

static void run_spmm(const spmm_case *c, const sl_kernel *kernel, sl_queue *queue, bool prepare,
                     const block *y) {
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = c->args};
  image x = image_of_block(queue, &c->x), out = image_of_block(queue, y), arrays[ARRAYS] = {{0}};
  args.spmm.a = &c->a;
  args.spmm.x = x.data;
  args.spmm.y = out.data;
  void *prepared = NULL;
  sl_spmm_matrix there;
  if (prepare)
    assert_sley_ok(kernel->prepare(queue->device, queue, &args, &prepared));
  else {
    there = arrived(queue, &c->a, arrays);
    args.spmm.a = &there;
    args.spmm.arrives = true;
  }
  args.spmm.prepared = prepared;
  int64_t allocations = sl_memory_count();
  assert_sley_ok(kernel->run(queue, &args));
  assert_int_equal(sl_memory_count(), allocations);
  image_return(&out);
  kernel->release(queue->device, prepared);
  image_drop(&x);
  for (int i = 0; i < ARRAYS; i++)
    image_drop(&arrays[i]);
}

/* What a kernel finds at plan time; of a part that arrives no more than its types. */
static bool serves(const spmm_case *c, const sl_kernel *kernel, bool prepare) {
  sl_spmm_matrix known = c->a;
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = c->args};
  args.spmm.a = &known;
  args.spmm.arrives = !prepare;
  if (!prepare)
    known.rows = 0;
  if (kernel->op != SL_OP_SPMM || kernel->library ||
      !kernel->ok(&args)) /* another library promises no bits */
    return false;
  assert_true(kernel->cost(&args) >= 0);
  return true;
}

enum { QUEUES = 3 };
static sl_queue *queues[QUEUES];

/* One kernel, however often it runs and with however many threads. */
static void check_kernel(const spmm_case *c, const sl_kernel *kernel, bool prepare, const block *in_order) {
  block first = {0};
  for (int q = 0; q < QUEUES; q++) {
    block y = block_copy(&c->y);
    run_spmm(c, kernel, queues[q], prepare, &y);
    if (c->args.in_order)
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
      c.args.in_order = in_order;
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
    c.args.in_order = true;
    for (int half = 0; half < 2; half++) {
      spmm_case part = c;
      part.a.rowptr = ptr[half];
      part.a.col = col[half];
      part.a.val = val[half];
      if (half == 1)
        part.args.beta = 1;
      sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = part.args};
      args.spmm.a = &part.a;
      const sl_kernel *kernel;
      sl_queue *queue = queues[draw(QUEUES)];
      assert_sley_ok(sl_kernel_find(queue->device, &args, &kernel));
      run_spmm(&part, kernel, queue, true, &c.y);
      free(ptr[half]);
      free(col[half]);
      free(val[half]);
    }
    assert_memory_equal(c.y.data, expected.data, expected.bytes);
    free(expected.base);
    free_spmm(&c);
  }
}

/* ------------------------------------------------------------------------------------- rows, scale, round */

/* As rows are added: 16 bits by way of f32. */
static double sum_of(sley_dtype dtype, double a, double b) {
  return dtype == SLEY_F64 ? a + b : (double)((float)a + (float)b);
}

static int64_t *distinct_list(int64_t count, int64_t among) {
  int64_t *all = malloc((size_t)(among + 1) * sizeof *all);
  for (int64_t i = 0; i < among; i++)
    all[i] = i;
  for (int64_t i = 0; i < count; i++) {
    int64_t j = i + draw(among - i), kept = all[i];
    all[i] = all[j];
    all[j] = kept;
  }
  return all;
}

static void check_rows(void) {
  sley_dtype dtype = (sley_dtype)draw(4);
  size_t each = sley_dtype_bytes(dtype), skew = (size_t)draw(3) * each;
  int64_t k = PICK(0, 1, 2, 3, 16, 31, 32, 64, 130, 300), count = PICK(0, 1, 2, 40, 1500);
  int64_t src_ld = k + PICK(0, 0, 4), dst_ld = k + PICK(0, 0, 5), src_rows = count + draw(30),
          dst_rows = count + draw(30);
  block src = block_of((size_t)(src_rows * src_ld) * each, skew);
  block dst = block_of((size_t)(dst_rows * dst_ld) * each, skew);
  fill(&src, dtype, false);
  fill(&dst, dtype, false);
  int64_t *from = draw(2) ? malloc((size_t)(count + 1) * sizeof *from) : NULL;
  for (int64_t i = 0; from && i < count; i++)
    from[i] = draw(src_rows);
  int64_t *to = draw(2) ? distinct_list(count, dst_rows) : NULL;
  sl_rows_args a = {.count = count,
                    .bytes = k * (int64_t)each,
                    .src = src.data,
                    .src_stride = src_ld * (int64_t)each,
                    .src_rows = from,
                    .src_first = from ? 0 : draw(src_rows - count + 1),
                    .dst_stride = dst_ld * (int64_t)each,
                    .dst_rows = to,
                    .dst_first = to ? 0 : draw(dst_rows - count + 1),
                    .add = draw(2),
                    .dtype = dtype};
  block expected = block_copy(&dst);
  for (int64_t i = 0; i < count; i++)
    for (int64_t f = 0; f < k; f++) {
      int64_t s = (from ? from[i] : a.src_first + i) * src_ld + f,
              d = (to ? to[i] : a.dst_first + i) * dst_ld + f;
      double moved = get(src.data, dtype, s);
      set(expected.data, dtype, d, a.add ? sum_of(dtype, moved, get(expected.data, dtype, d)) : moved);
    }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&dst);
    image there = image_of_block(queues[q], &out), source = image_of_block(queues[q], &src);
    image src_list = image_of(queues[q], from, (size_t)count * sizeof *from, 0);
    image dst_list = image_of(queues[q], to, (size_t)count * sizeof *to, 0);
    sl_kernel_args args = {.op = SL_OP_ROWS, .rows = a};
    args.rows.src = source.data;
    args.rows.src_rows = src_list.data;
    args.rows.dst_rows = dst_list.data;
    args.rows.dst = there.data;
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    image_drop(&source);
    image_drop(&src_list);
    image_drop(&dst_list);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(expected.base);
  free(from);
  free(to);
  free(src.base);
  free(dst.base);
}

static void test_rows_move_and_add(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(250); repeat++)
    check_rows();
}

/* Entries of a few sources in turn, to rows of their own. */
static void check_pull(void) {
  enum { SOURCES = 5 };
  sley_dtype dtype = (sley_dtype)draw(4);
  size_t each = sley_dtype_bytes(dtype), skew = (size_t)draw(3) * each;
  int64_t count = PICK(0, 1, 2, 40, 1500), src_rows = 50, dst_ld = 70, dst_rows = count + draw(30);
  int64_t offset = draw(3), most = PICK(0, 1, 2, 3, 16, 31, 32, 64);
  block dst = block_of((size_t)(dst_rows * dst_ld) * each, skew), src[SOURCES];
  fill(&dst, dtype, false);
  sl_pull_source source[SOURCES];
  for (int s = 0; s < SOURCES; s++) {
    int64_t ld = most + PICK(0, 0, 3);
    src[s] = block_of((size_t)(src_rows * ld) * each, skew);
    fill(&src[s], dtype, false);
    source[s] = (sl_pull_source){.src = src[s].data,
                                 .stride = ld * (int64_t)each,
                                 .bytes = (draw(3) ? most : draw(most + 1)) * (int64_t)each,
                                 .dst_offset = offset * (int64_t)each};
  }
  int64_t *to = distinct_list(count, dst_rows);
  sl_pull_entry *list = calloc((size_t)count + 1, sizeof *list);
  for (int64_t i = 0; i < count; i++)
    list[i] = (sl_pull_entry){.src_row = draw(src_rows), .dst_row = to[i], .source = (int32_t)draw(SOURCES)};
  sl_pull_args a = {.count = count,
                    .list = list,
                    .sources = SOURCES,
                    .source = source,
                    .dst_stride = dst_ld * (int64_t)each,
                    .add = draw(2),
                    .dtype = dtype};
  block expected = block_copy(&dst);
  for (int64_t i = 0; i < count; i++) {
    const sl_pull_source *s = &source[list[i].source];
    for (int64_t f = 0; f < s->bytes / (int64_t)each; f++) {
      int64_t d = list[i].dst_row * dst_ld + offset + f;
      double moved = get(s->src, dtype, list[i].src_row * (s->stride / (int64_t)each) + f);
      set(expected.data, dtype, d, a.add ? sum_of(dtype, moved, get(expected.data, dtype, d)) : moved);
    }
  }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&dst);
    image there = image_of_block(queues[q], &out), sources[SOURCES];
    image entries = image_of(queues[q], list, (size_t)count * sizeof *list, 0);
    sl_pull_source located[SOURCES];
    for (int s = 0; s < SOURCES; s++) {
      sources[s] = image_of_block(queues[q], &src[s]);
      located[s] = source[s];
      located[s].src = sources[s].data;
    }
    sl_kernel_args args = {.op = SL_OP_PULL, .pull = a};
    args.pull.list = entries.data;
    args.pull.source = located;
    args.pull.dst = there.data;
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    image_drop(&entries);
    for (int s = 0; s < SOURCES; s++)
      image_drop(&sources[s]);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(list);
  free(to);
  for (int s = 0; s < SOURCES; s++)
    free(src[s].base);
  free(expected.base);
  free(dst.base);
}

static void test_rows_are_pulled_from_several_memories(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(150); repeat++)
    check_pull();
}

static void check_scale(void) {
  sley_dtype dtype = (sley_dtype)draw(4);
  size_t each = sley_dtype_bytes(dtype), skew = (size_t)draw(3) * each;
  int64_t k = PICK(0, 1, 3, 32, 33, 130), rows = PICK(0, 1, 7, 3000), ld = k + PICK(0, 0, 3);
  double beta = (double[]){0, 1, 0.3, -2}[draw(4)];
  block y = block_of((size_t)(rows * ld) * each, skew);
  fill(&y, dtype, beta == 0);
  block expected = block_copy(&y);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t f = 0; f < k; f++)
      set(expected.data, dtype, i * ld + f, beta == 0 ? 0 : beta * get(expected.data, dtype, i * ld + f));
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&y);
    image there = image_of_block(queues[q], &out);
    sl_kernel_args args = {
        .op = SL_OP_SCALE,
        .scale = {.rows = rows, .k = k, .beta = beta, .y = there.data, .ldy = ld, .dtype = dtype}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(expected.base);
  free(y.base);
}

static void test_scale(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(120); repeat++)
    check_scale();
}

static void check_round(void) {
  sley_dtype dtype = draw(2) ? SLEY_F16 : SLEY_BF16;
  int64_t k = PICK(0, 1, 3, 32, 33, 130), rows = PICK(0, 1, 7, 1500), ld = k + PICK(0, 0, 3),
          ld_sums = k + PICK(0, 0, 3);
  double beta = (double[]){0, 1, 0.3, -2}[draw(4)];
  block y = block_of((size_t)(rows * ld) * 2, (size_t)draw(3) * 2);
  block sums = block_of((size_t)(rows * ld_sums) * 4, (size_t)draw(3) * 4);
  fill(&y, dtype, beta == 0);
  fill(&sums, SLEY_F32, false);
  block expected = block_copy(&y);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t f = 0; f < k; f++) {
      float sum = (float)get(sums.data, SLEY_F32, i * ld_sums + f);
      if (beta != 0)
        sum += (float)(beta * get(expected.data, dtype, i * ld + f));
      set(expected.data, dtype, i * ld + f, (double)sum);
    }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&y);
    image there = image_of_block(queues[q], &out), sums_there = image_of_block(queues[q], &sums);
    sl_kernel_args args = {.op = SL_OP_ROUND,
                           .round = {.rows = rows,
                                     .k = k,
                                     .sums = sums_there.data,
                                     .ld_sums = ld_sums,
                                     .beta = beta,
                                     .y = there.data,
                                     .ldy = ld,
                                     .dtype = dtype}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_drop(&sums_there);
    image_return(&there);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(expected.base);
  free(sums.base);
  free(y.base);
}

static void test_sums_are_rounded(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(120); repeat++)
    check_round();
}

static void test_prepare_without_memory(void **state) {
  (void)state;
  int64_t rowptr[] = {0, 1, 2}, before = sl_memory_now();
  int32_t col[] = {0, 0};
  float val[] = {1, 2};
  sl_spmm_matrix a = {
      .rows = 2, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I32, .dtype = SLEY_F32};
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.a = &a, .k = 32, .ldx = 32, .ldy = 32}};
  const sl_kernel *kernel;
  assert_sley_ok(sl_kernel_find(queues[1]->device, &args, &kernel));
  void *prepared;
  sl_memory_fail_at(1);
  assert_int_equal(kernel->prepare(queues[1]->device, queues[1], &args, &prepared), SLEY_ERR_MEMORY);
  sl_memory_fail_at(0);
  assert_null(prepared);
  assert_int_equal(sl_memory_now(), before);
}

static int open_queues(void **state) {
  (void)state;
  const int threads[QUEUES] = {1, 2, 5};
  const sl_device_ops *ops;
  char note[256];
  if (sl_device_choose(test_device(), &ops, note, sizeof note)) {
    fprintf(stderr, "%s\n", sley_last_error());
    return 1;
  }
  for (int q = 0; q < QUEUES; q++) {
    sl_device *device;
    if (ops->open(q % ops->count(), threads[q], &device) || ops->queue_create(device, NULL, &queues[q]))
      return 1;
  }
  return 0;
}

static int close_queues(void **state) {
  (void)state;
  for (int q = 0; q < QUEUES; q++) {
    sl_device *device = queues[q]->device;
    device->ops->queue_destroy(queues[q]);
    device->ops->close(device);
  }
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spmm_gives_the_documented_bits),
      cmocka_unit_test(test_spmm_continues_a_row),
      cmocka_unit_test(test_rows_move_and_add),
      cmocka_unit_test(test_rows_are_pulled_from_several_memories),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_sums_are_rounded),
      cmocka_unit_test(test_prepare_without_memory),
  };
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
