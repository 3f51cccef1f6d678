/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of SL_OP_UPDATE on random shapes: existing rows and rows that are summed in the same kernel, of
 * every type, with every instruction set of the CPU, compared with a scalar loop in the documented order, to
 * the bit if the order is requested. Only the result may be written. */
#include <math.h>

#include "base/value.h"
#include "device/product.h"
#include "kernels.h"

typedef struct update_case {
  sley_dtype dtype;
  sley_index index;
  int64_t rows, cols, k, n, pad; /* pad: added to leading dimensions */
  int64_t y_rows, *rowid, *rowptr;
  void *col, *val;
  double alpha, beta;
  block x, w, t, z;
} update_case;

static size_t value_of(const update_case *c) {
  return sley_dtype_bytes(c->dtype);
}

static void draw_matrix(update_case *c) {
  bool one_long = draw(4) == 0;
  c->rowptr = malloc((size_t)(c->rows + 1) * sizeof *c->rowptr);
  c->rowptr[0] = PICK(0, 0, 7);
  for (int64_t i = 0; i < c->rows; i++)
    c->rowptr[i + 1] = c->rowptr[i] + (c->cols == 0                   ? 0
                                       : one_long && i == c->rows / 2 ? 700
                                       : draw(3) == 0                 ? 0
                                                                      : draw(12));
  int64_t entries = c->rowptr[c->rows];
  c->col = malloc((size_t)entries * sl_index_bytes(c->index) + 1);
  c->val = malloc((size_t)entries * value_of(c) + 1);
  for (int64_t e = 0; e < entries; e++) {
    int64_t column = c->cols > 0 ? draw(c->cols) : 0;
    if (c->index == SLEY_I32)
      ((int32_t *)c->col)[e] = (int32_t)column;
    else
      ((int64_t *)c->col)[e] = column;
    sl_value_set(c->val, c->dtype, e, draw_real());
  }
  c->y_rows = c->rows;
  if (draw(3))
    return;
  c->rowid = malloc((size_t)c->rows * sizeof *c->rowid + 1);
  c->y_rows = 0;
  for (int64_t i = 0; i < c->rows; i++)
    c->y_rows = (c->rowid[i] = c->y_rows + draw(3)) + 1;
}

static update_case draw_case(int number) {
  update_case c = {
      .dtype = (sley_dtype)(number % 4),
      .index = number / 4 % 2 ? SLEY_I32 : SLEY_I64,
      .rows = PICK(0, 1, 2, 5, 7, 8, 9, 31, 33, 64, 100, 300),
      .cols = PICK(0, 1, 30, 200),
      .k = PICK(0, 1, 2, 3, 5, 8, 15, 16, 17, 32, 33, 48, 64, 65, 100, 128, 200, 256, 300, 513, 1100),
      .n = PICK(0, 1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 100, 128, 131, 200, 513),
      .pad = PICK(0, 0, 1, 5, 16),
      .alpha = (double)PICK(1, 1, 2),
      .beta = (double)PICK(0, 0, 1, -3) / 2};
  size_t value = value_of(&c), sum = sley_dtype_bytes(sl_sum_dtype(c.dtype)), skew = (size_t)draw(3);
  if (draw(3) == 0)
    c.alpha = 0.3;
  draw_matrix(&c);
  c.x = block_of((size_t)(c.cols * (c.k + c.pad)) * value, skew * value);
  c.w = block_of((size_t)(c.k * (c.n + c.pad)) * value, skew * value);
  c.t = block_of((size_t)(c.y_rows * (c.k + c.pad)) * sum, 0);
  c.z = block_of((size_t)(c.y_rows * (c.n + c.pad)) * value, skew * value);
  block_fill(&c.x, c.dtype, false);
  block_fill(&c.w, c.dtype, false);
  block_fill(&c.t, sl_sum_dtype(c.dtype), false);
  block_fill(&c.z, c.dtype, c.beta == 0);
  return c;
}

static void free_case(update_case *c) {
  free(c->x.base);
  free(c->w.base);
  free(c->t.base);
  free(c->z.base);
  free(c->rowid);
  free(c->rowptr);
  free(c->col);
  free(c->val);
}

/* acc + a b, rounded once to the type of sums. */
static double multiply_add(sley_dtype sums, double a, double b, double acc) {
  return sums == SLEY_F64 ? fma(a, b, acc) : (double)fmaf((float)a, (float)b, (float)acc);
}

static double rounded(sley_dtype sums, double v) {
  return sums == SLEY_F64 ? v : (double)(float)v;
}

/* Computes row i of T by the definition. */
static void sum_row(const update_case *c, int64_t i, double *t) {
  sley_dtype sums = sl_sum_dtype(c->dtype);
  for (int64_t l = 0; l < c->k; l++)
    t[l] = 0;
  for (int64_t e = c->rowptr[i]; e < c->rowptr[i + 1]; e++) {
    double factor = rounded(sums, c->alpha * sl_value_at(c->val, c->dtype, e));
    int64_t row = sl_index_at(c->col, c->index, e);
    for (int64_t l = 0; l < c->k; l++)
      t[l] = multiply_add(sums, factor, sl_value_at(c->x.data, c->dtype, row * (c->k + c->pad) + l), t[l]);
  }
}

/* Z by the definition, from existing rows or from the product. */
static block oracle(const update_case *c, bool given) {
  sley_dtype sums = sl_sum_dtype(c->dtype);
  block z = block_copy(&c->z);
  double *t = malloc((size_t)c->k * sizeof *t + 1);
  for (int64_t i = 0; i < (given ? c->y_rows : c->rows); i++) {
    int64_t row = given || !c->rowid ? i : c->rowid[i];
    if (given)
      for (int64_t l = 0; l < c->k; l++)
        t[l] = sl_value_at(c->t.data, sums, i * (c->k + c->pad) + l);
    else
      sum_row(c, i, t);
    for (int64_t j = 0; j < c->n; j++) {
      int64_t at = row * (c->n + c->pad) + j;
      double acc = c->beta == 0 ? 0 : rounded(sums, c->beta * sl_value_at(c->z.data, c->dtype, at));
      for (int64_t l = 0; l < c->k; l++)
        acc = multiply_add(sums, t[l], sl_value_at(c->w.data, c->dtype, l * (c->n + c->pad) + j), acc);
      sl_value_set(z.data, c->dtype, at, acc);
    }
  }
  free(t);
  return z;
}

/* Checks for equal bits, if the order is that of the definition; any two NaNs are equal. */
static void compare(const update_case *c, const block *z, const block *expected, const char *what) {
  size_t value = value_of(c);
  for (size_t i = 0; i < z->bytes / value; i++)
    if (memcmp(z->data + i * value, expected->data + i * value, value) != 0 &&
        !(isnan(sl_value_at(z->data, c->dtype, (int64_t)i)) &&
          isnan(sl_value_at(expected->data, c->dtype, (int64_t)i))))
      fail_msg(
          "%s: dtype %d, %lld rows, k %lld, n %lld, pad %lld, alpha %g, beta %g: value %zu is %.9g instead "
          "of %.9g",
          what, (int)c->dtype, (long long)c->rows, (long long)c->k, (long long)c->n, (long long)c->pad,
          c->alpha, c->beta, i, sl_value_at(z->data, c->dtype, (int64_t)i),
          sl_value_at(expected->data, c->dtype, (int64_t)i));
}

static void run_given(const update_case *c, sl_queue *queue, const block *expected) {
  block z = block_copy(&c->z);
  image t_there = image_of_block(queue, &c->t), w_there = image_of_block(queue, &c->w),
        z_there = image_of_block(queue, &z);
  sl_kernel_args args = {.op = SL_OP_UPDATE,
                         .update = {.dtype = c->dtype,
                                    .in_order = true,
                                    .rows = c->y_rows,
                                    .k = c->k,
                                    .n = c->n,
                                    .t = t_there.data,
                                    .ldt = c->k + c->pad,
                                    .w = w_there.data,
                                    .ldw = c->n + c->pad,
                                    .beta = c->beta,
                                    .z = z_there.data,
                                    .ldz = c->n + c->pad}};
  if (c->y_rows > 0 && c->n > 0)
    assert_sley_ok(sl_kernel_run(queue, &args));
  image_return(&z_there);
  image_drop(&w_there);
  image_drop(&t_there);
  compare(c, &z, expected, "rows given");
  free(z.base);
}

/* ---- additional work */

/* What an update does beside the sums. Values of gate are about as often positive as not. */
typedef struct additions {
  sl_update_more more;
  block bias, gate, kept, transposed;
  image bias_there, gate_there, kept_there, w_there;
} additions;

static additions draw_additions(const update_case *c, sl_queue *queue) {
  const size_t value = value_of(c), rows = (size_t)c->y_rows, k = (size_t)(c->k + c->pad),
               n = (size_t)(c->n + c->pad);
  additions a = {.bias = block_of(n * value, 0),
                 .gate = block_of(rows * n * value, 0),
                 .kept = block_of(rows * k * value, 0),
                 .transposed = block_of((size_t)c->n * k * value, 0)};
  block_fill(&a.bias, c->dtype, false);
  block_fill(&a.gate, c->dtype, false);
  block_fill(&a.kept, c->dtype, false);
  block_fill(&a.transposed, c->dtype, false);
  for (int64_t j = 0; j < c->n; j++)
    for (int64_t l = 0; l < c->k; l++)
      sl_value_set(a.transposed.data, c->dtype, j * (int64_t)k + l,
                   sl_value_at(c->w.data, c->dtype, l * (int64_t)n + j));
  a.more.transpose_w = draw(2);
  a.bias_there = image_of_block(queue, &a.bias);
  a.gate_there = image_of_block(queue, &a.gate);
  a.kept_there = image_of_block(queue, &a.kept);
  a.w_there = image_of_block(queue, a.more.transpose_w ? &a.transposed : &c->w);
  a.more.bias = draw(2) ? a.bias_there.data : NULL;
  a.more.gate = draw(2) ? a.gate_there.data : NULL;
  a.more.ldgate = (int64_t)n;
  a.more.kept = draw(2) ? a.kept_there.data : NULL;
  a.more.ldkept = (int64_t)k;
  a.more.act = draw(2) || a.more.gate ? SLEY_RELU : SLEY_NO_ACTIVATION;
  return a;
}

/* Applies the additional work to Z, and sets kept, by the definition. */
static void add_by_definition(const update_case *c, const additions *a, block *z, block *kept) {
  const int64_t k = c->k + c->pad, n = c->n + c->pad;
  double *t = malloc((size_t)c->k * sizeof *t + 1);
  for (int64_t i = 0; i < c->rows; i++) {
    const int64_t row = c->rowid ? c->rowid[i] : i;
    sum_row(c, i, t);
    for (int64_t l = 0; l < c->k && a->more.kept; l++)
      sl_value_set(kept->data, c->dtype, row * k + l, t[l]);
    for (int64_t j = 0; j < c->n; j++) {
      double v = sl_value_at(z->data, c->dtype, row * n + j);
      if (a->more.bias)
        v = rounded(c->dtype, v + sl_value_at(a->bias.data, c->dtype, j));
      if (a->more.gate)
        v *= sl_value_at(a->gate.data, c->dtype, row * n + j) > 0 ? 1 : 0;
      else if (a->more.act == SLEY_RELU)
        v = v < 0 ? 0 : v;
      sl_value_set(z->data, c->dtype, row * n + j, v);
    }
  }
  free(t);
}

/* ---- updates of rows of the product */

/* Runs the update with rows of the product, prepared with other values and refilled, or on the CPU also not
 * prepared. more: additional work, or NULL. Returns whether the device has a kernel. */
static bool run_product(const update_case *c, sl_queue *queue, bool prepares, const additions *more,
                        const block *expected) {
  block z = block_copy(&c->z);
  image x_there = image_of_block(queue, &c->x), w_there = image_of_block(queue, &c->w),
        z_there = image_of_block(queue, &z);
  void *others = calloc((size_t)c->rowptr[c->rows] + 1, value_of(c)), *prepared = NULL;
  sl_spmm_matrix a = {.rows = c->rows,
                      .rowid = c->rowid,
                      .rowptr = c->rowptr,
                      .col = c->col,
                      .val = others,
                      .index = c->index,
                      .dtype = c->dtype};
  sl_spmm_problem problem = {.a = &a,
                             .k = c->k,
                             .x_rows = c->cols,
                             .wide_y = true,
                             .in_order = true,
                             .figures = &queue->device->figures};
  sl_kernel_args args = {.op = SL_OP_UPDATE,
                         .update = {.product = {.problem = &problem}, .dtype = c->dtype, .in_order = true}};
  const sl_kernel *kernel;
  const bool runs = c->rows > 0 && c->k > 0 && sl_kernel_serves(queue->device, &args);
  if (!runs)
    goto done;
  assert_sley_ok(sl_kernel_find(queue->device, &args, &kernel));
  if (prepares)
    assert_sley_ok(kernel->prepare(queue->device, queue, &args, &prepared));
  a.val = c->val;
  if (prepares)
    assert_sley_ok(kernel->refill(queue->device, queue, &args, c->val, SL_VALUES_IN_HOST, prepared));
  args.update.product.prepared = prepared;
  args.update.product.alpha = c->alpha;
  args.update.product.beta = NAN; /* not looked at */
  args.update.product.x = x_there.data;
  args.update.product.ldx = c->k + c->pad;
  args.update.n = c->n;
  args.update.w = more ? more->w_there.data : w_there.data;
  args.update.ldw = c->pad + (more && more->more.transpose_w ? c->k : c->n);
  if (more)
    args.update.more = more->more;
  args.update.beta = c->beta;
  args.update.z = z_there.data;
  args.update.ldz = c->n + c->pad;
  assert_sley_ok(kernel->run(queue, &args));
  assert_sley_ok(queue->ops->queue_wait(queue));
  kernel->release(queue->device, prepared);
  image_return(&z_there);
  z_there.base = NULL;
  compare(c, &z, expected, prepares ? "prepared product" : "product");
done:
  image_drop(&z_there);
  image_drop(&w_there);
  image_drop(&x_there);
  free(others);
  free(z.base);
  return runs;
}

/* An update of the product with additional work has the bits of the definition. */
static void run_more(const update_case *c, sl_queue *queue, const block *product) {
  if (sl_is_16_bit(c->dtype) || c->n == 0)
    return;
  additions a = draw_additions(c, queue);
  block wanted = block_copy(product), kept = block_copy(&a.kept);
  add_by_definition(c, &a, &wanted, &kept);
  const bool runs = run_product(c, queue, true, &a, &wanted);
  image_return(&a.kept_there);
  if (runs)
    compare(c, &a.kept, &kept, "rows kept");
  image_drop(&a.w_there);
  image_drop(&a.gate_there);
  image_drop(&a.bias_there);
  block *const all[] = {&wanted, &kept, &a.bias, &a.gate, &a.kept, &a.transposed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]->base);
}

/* ---- kernels that need not keep the order: within the bound that they name */

/* Computes Z in double precision. size: the magnitude of each sum, infinite if a value of T may be
 * infinite. */
static void exact(const update_case *c, bool given, double *z, double *size) {
  const int64_t width = c->n + c->pad;
  for (int64_t i = 0; i < (given ? c->y_rows : c->rows); i++) {
    const int64_t row = given || !c->rowid ? i : c->rowid[i];
    for (int64_t j = 0; j < c->n; j++) {
      z[row * width + j] = c->beta == 0 ? 0 : c->beta * sl_value_at(c->z.data, c->dtype, row * width + j);
      size[row * width + j] = fabs(z[row * width + j]);
    }
    for (int64_t l = 0; l < c->k; l++) {
      double t = 0, t_size = 0;
      if (given) {
        t = sl_value_at(c->t.data, sl_sum_dtype(c->dtype), i * (c->k + c->pad) + l);
        t_size = fabs(t);
      }
      for (int64_t e = c->rowptr[i]; !given && e < c->rowptr[i + 1]; e++) {
        double term =
            c->alpha * sl_value_at(c->val, c->dtype, e) *
            sl_value_at(c->x.data, c->dtype, sl_index_at(c->col, c->index, e) * (c->k + c->pad) + l);
        t += term;
        t_size += fabs(term);
      }
      for (int64_t j = 0; j < c->n; j++) {
        double w = sl_value_at(c->w.data, c->dtype, l * width + j);
        z[row * width + j] += t * w;
        size[row * width + j] +=
            t_size < 3e38 || sl_sum_dtype(c->dtype) == SLEY_F64 ? t_size * fabs(w) : INFINITY;
      }
    }
  }
}

static int64_t longest_row(const update_case *c) {
  int64_t longest = 0;
  for (int64_t i = 0; i < c->rows; i++)
    longest = c->rowptr[i + 1] - c->rowptr[i] > longest ? c->rowptr[i + 1] - c->rowptr[i] : longest;
  return longest;
}

/* Compares Z within the bound; rows of Z that are not written, and bytes beyond column n, must not change. */
static void compare_about(const update_case *c, const block *z, bool given, const sl_kernel *kernel,
                          sl_accuracy accuracy) {
  const int64_t width = c->n + c->pad, count = c->y_rows * width;
  const sley_dtype sums = sl_sum_dtype(c->dtype);
  double *sum = malloc((size_t)count * sizeof *sum + 1), *size = malloc((size_t)count * sizeof *size + 1);
  bool *written = calloc((size_t)c->y_rows + 1, sizeof *written);
  const double eps = sums == SLEY_F64 ? 0x1p-52 : 0x1p-24;
  const double bound = (accuracy.each * (double)(longest_row(c) + c->k + 8) + accuracy.more) * eps;
  const double narrow = c->dtype == SLEY_F16 ? 0x1p-11 : c->dtype == SLEY_BF16 ? 0x1p-8 : 0;
  const double most = c->dtype == SLEY_F16 ? 65504 : 3e38;
  exact(c, given, sum, size);
  for (int64_t i = 0; i < (given ? c->y_rows : c->rows); i++)
    written[given || !c->rowid ? i : c->rowid[i]] = true;
  for (int64_t at = 0; at < count; at++) {
    double got = sl_value_at(z->data, c->dtype, at);
    bool ok;
    if (!written[at / width] || at % width >= c->n)
      ok = memcmp(z->data + (size_t)at * value_of(c), c->z.data + (size_t)at * value_of(c), value_of(c)) == 0;
    else if (!(size[at] < most))
      ok = isfinite(sum[at]) || !isfinite(got);
    else
      ok = fabs(got - sum[at]) <=
           bound * size[at] + narrow * (fabs(sum[at]) + bound * size[at]) + (narrow > 0 ? 0x1p-25 : 0x1p-140);
    if (!ok)
      fail_msg("%s, %s: dtype %d, %lld rows, k %lld, n %lld, pad %lld, alpha %g, beta %g: value %lld is %.9g "
               "instead of %.9g, magnitude %g, bound %g",
               kernel->name, given ? "rows given" : "product", (int)c->dtype, (long long)c->rows,
               (long long)c->k, (long long)c->n, (long long)c->pad, c->alpha, c->beta, (long long)at, got,
               sum[at], size[at], bound);
  }
  free(written);
  free(size);
  free(sum);
}

static sl_accuracy accuracy_of(const sl_kernel *kernel, const sl_kernel_args *args, const void *prepared) {
  return kernel->product->accuracy(args, prepared);
}

static void set_w_and_z(sl_update_args *args, const update_case *c, const image *w, const image *z) {
  args->n = c->n;
  args->w = w->data;
  args->ldw = c->n + c->pad;
  args->beta = c->beta;
  args->z = z->data;
  args->ldz = c->n + c->pad;
}

static void run_given_about(const update_case *c, sl_queue *queue) {
  block z = block_copy(&c->z);
  image t_there = image_of_block(queue, &c->t), w_there = image_of_block(queue, &c->w),
        z_there = image_of_block(queue, &z);
  sl_kernel_args args = {
      .op = SL_OP_UPDATE,
      .update = {.dtype = c->dtype, .rows = c->y_rows, .k = c->k, .t = t_there.data, .ldt = c->k + c->pad}};
  const sl_kernel *kernel;
  set_w_and_z(&args.update, c, &w_there, &z_there);
  assert_sley_ok(sl_kernel_find(queue->device, &args, &kernel));
  if (c->y_rows > 0 && c->n > 0)
    assert_sley_ok(kernel->run(queue, &args));
  image_return(&z_there);
  image_drop(&w_there);
  image_drop(&t_there);
  compare_about(c, &z, true, kernel, accuracy_of(kernel, &args, NULL));
  free(z.base);
}

/* Runs the product and update twice, with the same bits. X is in two memories if far_rows is not 0. */
static void run_product_about(const update_case *c, sl_queue *queue, int64_t far_rows) {
  const size_t x_bytes = (size_t)((c->cols - far_rows) * (c->k + c->pad)) * value_of(c);
  block z = block_copy(&c->z), again = block_copy(&c->z);
  block near = {.base = c->x.base, .data = c->x.data, .bytes = x_bytes},
        far = {.base = c->x.base, .data = c->x.data + x_bytes, .bytes = c->x.bytes - x_bytes};
  image x_there = image_of_block(queue, &near), far_there = image_of_block(queue, &far),
        w_there = image_of_block(queue, &c->w), z_there = image_of_block(queue, &z),
        again_there = image_of_block(queue, &again);
  sl_spmm_matrix a = {.rows = c->rows,
                      .rowid = c->rowid,
                      .rowptr = c->rowptr,
                      .col = c->col,
                      .val = c->val,
                      .index = c->index,
                      .dtype = c->dtype};
  sl_spmm_problem problem = {.a = &a,
                             .k = c->k,
                             .x_rows = c->cols - far_rows,
                             .far_rows = far_rows,
                             .wide_y = true,
                             .figures = &queue->device->figures};
  sl_kernel_args args = {.op = SL_OP_UPDATE, .update = {.product = {.problem = &problem}, .dtype = c->dtype}};
  const sl_kernel *kernel = NULL;
  sl_accuracy accuracy = SL_ACCURACY_IN_ORDER;
  void *prepared = NULL;
  if (c->rows > 0 && c->k > 0 && sl_kernel_serves(queue->device, &args)) {
    assert_sley_ok(sl_kernel_find(queue->device, &args, &kernel));
    assert_sley_ok(kernel->prepare(queue->device, queue, &args, &prepared));
    args.update.product.prepared = prepared;
    args.update.product.alpha = c->alpha;
    args.update.product.x = x_there.data;
    args.update.product.ldx = c->k + c->pad;
    if (far_rows > 0) {
      args.update.product.far = far_there.data;
      args.update.product.ldfar = c->k + c->pad;
    }
    set_w_and_z(&args.update, c, &w_there, &z_there);
    assert_sley_ok(kernel->run(queue, &args));
    args.update.z = again_there.data;
    assert_sley_ok(kernel->run(queue, &args));
    assert_sley_ok(queue->ops->queue_wait(queue));
    accuracy = accuracy_of(kernel, &args, prepared);
    kernel->release(queue->device, prepared);
  }
  image_return(&again_there);
  image_return(&z_there);
  image_drop(&w_there);
  image_drop(&far_there);
  image_drop(&x_there);
  if (kernel) {
    compare_about(c, &z, false, kernel, accuracy);
    assert_memory_equal(z.data, again.data, z.bytes);
  }
  free(again.base);
  free(z.base);
}

/* Sets some values of X, W and T to infinity, NaN, or the largest value. */
static void draw_special(update_case *c) {
  for (int i = 0; i < 3; i++) {
    double value = (double[]){INFINITY, -INFINITY, NAN, c->dtype == SLEY_F16 ? 60000 : 3e38}[draw(4)];
    size_t bytes = value_of(c), sum = sley_dtype_bytes(sl_sum_dtype(c->dtype));
    if (c->x.bytes > 0)
      sl_value_set(c->x.data, c->dtype, draw((int64_t)(c->x.bytes / bytes)), value);
    if (c->w.bytes > 0)
      sl_value_set(c->w.data, c->dtype, draw((int64_t)(c->w.bytes / bytes)), value);
    if (c->t.bytes > 0)
      sl_value_set(c->t.data, sl_sum_dtype(c->dtype), draw((int64_t)(c->t.bytes / sum)), value);
  }
}

static void any_order_is_within_the_bound(void **state) {
  (void)state;
  for (int number = 0; number < repeats(400); number++) {
    update_case c = draw_case(number);
    if (number % 3 == 0)
      draw_special(&c);
    run_given_about(&c, queues[0]);
    run_product_about(&c, queues[0], 0);
    run_product_about(&c, queues[0], c.cols / 3);
    free_case(&c);
  }
}

static void check_all(const char *isa) {
  if (isa)
    setenv("SLEY_CPU", isa, 1);
  for (int number = 0; number < repeats(400); number++) {
    update_case c = draw_case(number);
    block given = oracle(&c, true), product = oracle(&c, false);
    for (int q = 0; q < QUEUES; q++) {
      run_given(&c, queues[q], &given);
      run_product(&c, queues[q], true, NULL, &product);
      if (queues[q]->ops->host_addresses)
        run_product(&c, queues[q], false, NULL, &product);
      run_more(&c, queues[q], &product);
    }
    free(given.base);
    free(product.base);
    free_case(&c);
  }
  unsetenv("SLEY_CPU");
}

static void bits_are_those_of_the_definition(void **state) {
  (void)state;
  check_all(NULL);
}

static void avx2_gives_the_same(void **state) {
  (void)state;
  check_all("avx2");
}

static void portable_code_gives_the_same(void **state) {
  (void)state;
  check_all("portable");
}

/* A Z so large that its stores bypass the caches. */
static void large_results_are_the_same(void **state) {
  (void)state;
  update_case c = {.rows = 40000, .cols = 200, .k = 8, .n = 64, .alpha = 1, .index = SLEY_I32};
  c.rowptr = malloc((size_t)(c.rows + 1) * sizeof *c.rowptr);
  for (int64_t i = 0; i <= c.rows; i++)
    c.rowptr[i] = 2 * i;
  c.y_rows = c.rows;
  c.col = malloc((size_t)c.rowptr[c.rows] * sizeof(int32_t));
  c.val = malloc((size_t)c.rowptr[c.rows] * sizeof(float));
  for (int64_t e = 0; e < c.rowptr[c.rows]; e++) {
    ((int32_t *)c.col)[e] = (int32_t)draw(c.cols);
    ((float *)c.val)[e] = (float)draw_real();
  }
  c.x = block_of((size_t)(c.cols * c.k) * sizeof(float), 0);
  c.w = block_of((size_t)(c.k * c.n) * sizeof(float), 0);
  c.t = block_of((size_t)(c.rows * c.k) * sizeof(float), 0);
  c.z = block_of((size_t)(c.rows * c.n) * sizeof(float), 0);
  block_fill(&c.x, c.dtype, false);
  block_fill(&c.w, c.dtype, false);
  block_fill(&c.t, c.dtype, false);
  block_fill(&c.z, c.dtype, true);
  block given = oracle(&c, true), product = oracle(&c, false);
  for (int q = 0; q < QUEUES; q++) {
    run_given(&c, queues[q], &given);
    run_product(&c, queues[q], true, NULL, &product);
  }
  free(given.base);
  free(product.base);
  free_case(&c);
}

static void unknown_types_are_refused(void **state) {
  (void)state;
  sl_kernel_args args = {.op = SL_OP_UPDATE, .update = {.dtype = (sley_dtype)9}};
  assert_false(sl_kernel_serves(queues[0]->device, &args));
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  assert_non_null(strstr(sley_last_error(), "update"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bits_are_those_of_the_definition),
                                     cmocka_unit_test(any_order_is_within_the_bound),
                                     cmocka_unit_test(avx2_gives_the_same),
                                     cmocka_unit_test(portable_code_gives_the_same),
                                     cmocka_unit_test(large_results_are_the_same),
                                     cmocka_unit_test(unknown_types_are_refused)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
