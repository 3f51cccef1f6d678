/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products fused with a gate or with sums of columns. They must have the bits of the same kernel's
 * product followed by the separate operations. If a device divides rows differently, its sums of columns are
 * compared with sums wider than double. The bits must be the same with any number of threads. */
#include <math.h>

#include "base/value.h"
#include "kernels.h"

/* The arrays of a case, on the host. */
typedef struct operands {
  block a, b, c, bias, gate, sums;
} operands;

/* The same on a device. */
typedef struct images {
  image a, b, c, bias, gate, sums;
} images;

typedef struct shape {
  sl_gemm_args g; /* without arrays */
  bool biased, gated, summed;
  int64_t skew; /* in values */
} shape;

static void draw_strides(shape *s) {
  sl_gemm_args *g = &s->g;
  g->lda = (g->transpose_a ? g->m : g->k) + PICK(0, 0, 1, 5);
  g->ldb = (g->transpose_b ? g->k : g->n) + PICK(0, 0, 1, 5);
  g->ldc = g->n + PICK(0, 0, 1, 5);
  g->ldgate = g->n + PICK(0, 0, 1, 5);
}

static shape draw_shape(void) {
  const int64_t some[] = {0, 1, 2, 3, 7, 16, 17, 33, 100, 257};
  shape s = {.g = {.dtype = (sley_dtype)draw(4),
                   .transpose_a = draw(2),
                   .transpose_b = draw(2),
                   .in_order = draw(3) == 0,
                   .m = pick(some, 10),
                   .n = pick(some, 10),
                   .k = draw(12) == 0 ? PICK(8192, 8193, 20001) : pick(some, 10),
                   .alpha = (double[]){1, 1, -0.5, 2, 0}[draw(5)],
                   .beta = (double[]){0, 0, 1, 0.75}[draw(4)],
                   .act = (sley_activation)draw(4),
                   .slope = 0.2},
             .biased = draw(2),
             .gated = draw(2),
             .skew = PICK(0, 0, 0, 1, 3)};
  s.summed = !s.g.transpose_b && (!s.gated || draw(2));
  s.gated |= !s.summed;
  draw_strides(&s);
  return s;
}

/* Many rows of A times a few columns with a gate, or sums over many rows with sums of columns, for kernels
 * that serve such shapes. */
static shape draw_many_rows(bool sums) {
  const int64_t rows = PICK(2047, 2048, 2111, 3000, 4500), wide = PICK(31, 32, 33, 47, 64, 100, 128, 129),
                narrow = PICK(1, 2, 15, 16, 17, 47, 48, 90, 96, 128, 130);
  shape s = {.g = {.dtype = SLEY_F32,
                   .transpose_a = sums,
                   .transpose_b = !sums && draw(2),
                   .m = sums ? wide : rows,
                   .n = narrow,
                   .k = sums ? rows : wide,
                   .alpha = (double[]){1, 1, -0.5}[draw(3)],
                   .beta = (double[]){0, 0, 1, 0.75}[draw(4)],
                   .act = sums ? SLEY_NO_ACTIVATION : SLEY_RELU},
             .biased = draw(4) == 0,
             .gated = !sums,
             .summed = sums,
             .skew = PICK(0, 0, 0, 1, 3)};
  draw_strides(&s);
  return s;
}

/* Random operands; memory that must not be read is NaN. */
static operands draw_operands(const shape *s) {
  const sl_gemm_args *g = &s->g;
  const size_t each = sley_dtype_bytes(g->dtype), skew = (size_t)s->skew * each;
  operands o = {.a = block_of((size_t)((g->transpose_a ? g->k : g->m) * g->lda) * each, skew),
                .b = block_of((size_t)((g->transpose_b ? g->n : g->k) * g->ldb) * each, skew),
                .c = block_of((size_t)(g->m * g->ldc) * each, skew),
                .bias = block_of((size_t)g->n * each, skew),
                .gate = block_of((size_t)(g->m * g->ldgate) * each, skew),
                .sums = block_of((size_t)g->n * each, skew)};
  block_fill(&o.a, g->dtype, g->alpha == 0);
  block_fill(&o.b, g->dtype, g->alpha == 0 && !s->summed);
  block_fill(&o.c, g->dtype, g->beta == 0);
  block_fill(&o.bias, g->dtype, false);
  block_fill(&o.gate, g->dtype, draw(20) == 0);
  block_fill(&o.sums, g->dtype, true);
  if (o.a.bytes > 0 && draw(4) == 0) /* a value that a closed gate makes NaN */
    sl_value_set(o.a.data, g->dtype, draw((int64_t)(o.a.bytes / each)), -INFINITY);
  for (int64_t i = 0; i < g->m * g->ldgate; i += 5)
    sl_value_set(o.gate.data, g->dtype, i, i % 2 ? 0.0 : -0.0);
  return o;
}

static void drop_operands(operands *o) {
  block *const all[] = {&o->a, &o->b, &o->c, &o->bias, &o->gate, &o->sums};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]->base);
}

/* c and sums: the blocks that results go to. */
static images place(sl_queue *queue, const operands *o, const block *c, const block *sums) {
  return (images){.a = image_of_block(queue, &o->a),
                  .b = image_of_block(queue, &o->b),
                  .c = image_of_block(queue, c),
                  .bias = image_of_block(queue, &o->bias),
                  .gate = image_of_block(queue, &o->gate),
                  .sums = image_of_block(queue, sums)};
}

static void fetch(images *i) {
  image_return(&i->c);
  image_return(&i->sums);
  image_drop(&i->a);
  image_drop(&i->b);
  image_drop(&i->bias);
  image_drop(&i->gate);
}

static sl_kernel_args args_of(const shape *s, const images *i) {
  sl_kernel_args args = {.op = SL_OP_GEMM, .gemm = s->g};
  args.gemm.a = i->a.data;
  args.gemm.b = i->b.data;
  args.gemm.c = i->c.data;
  args.gemm.bias = s->biased ? i->bias.data : NULL;
  args.gemm.gate = s->gated ? i->gate.data : NULL;
  args.gemm.column_sums = s->summed ? i->sums.data : NULL;
  return args;
}

/* Runs the kernel's plain product and then the separate operations. */
static sley_status run_apart(sl_queue *queue, const sl_kernel *kernel, const sl_kernel_args *args) {
  const sl_gemm_args *g = &args->gemm;
  sl_kernel_args alone = *args;
  const sl_kernel_args gradient = {.op = SL_OP_ACTIVATE_GRAD,
                                   .activate_grad = {.dtype = g->dtype,
                                                     .act = g->act,
                                                     .slope = g->slope,
                                                     .rows = g->m,
                                                     .cols = g->n,
                                                     .y = g->gate,
                                                     .ldy = g->ldgate,
                                                     .dy = g->c,
                                                     .lddy = g->ldc,
                                                     .dx = g->c,
                                                     .lddx = g->ldc,
                                                     .scale = 1}},
                       sums = {.op = SL_OP_COLUMN_SUMS,
                               .column_sums = {.dtype = g->dtype,
                                               .rows = g->k,
                                               .cols = g->n,
                                               .x = g->b,
                                               .ldx = g->ldb,
                                               .out = g->column_sums}};
  alone.gemm.act = g->gate ? SLEY_NO_ACTIVATION : g->act;
  alone.gemm.gate = NULL;
  alone.gemm.column_sums = NULL;
  assert_true(kernel->ok(&alone));
  SL_TRY(kernel->run(queue, &alone));
  SL_TRY(g->gate ? sl_kernel_run(queue, &gradient) : SLEY_OK);
  return g->column_sums ? sl_kernel_run(queue, &sums) : SLEY_OK;
}

/* Checks sums that are computed in double, from blocks of any size, and rounded once. */
static void check_sums(const shape *s, const operands *o, const block *sums) {
  const sl_gemm_args *g = &s->g;
  for (int64_t j = 0; j < g->n; j++) {
    long double sum = 0, size = 0;
    for (int64_t l = 0; l < g->k; l++) {
      const double v = sl_value_at(o->b.data, g->dtype, l * g->ldb + j);
      sum += v;
      size += fabs(v);
    }
    const double got = sl_value_at(sums->data, g->dtype, j), expected = (double)sum,
                 bound = 1.01 * unit_of(g->dtype) * fabs(expected) +
                         (double)(g->k + 2) * unit_of(SLEY_F64) * (double)size +
                         (g->dtype == SLEY_F16 ? 0x1p-25 : 0);
    if (!(fabs(got - expected) <= bound))
      fail_msg("sum of column %lld of %lld, %lld rows: %g, not %g by %g", (long long)j, (long long)g->n,
               (long long)g->k, got, expected, bound);
  }
}

/* Checks a case on one queue; returns whether its device supports it. */
static bool check_on(sl_queue *queue, const shape *s, const operands *o, block *c, block *sums) {
  const bool exact = queue->device->ops->host_addresses;
  block c_apart = block_copy(c), sums_apart = block_copy(sums);
  const sl_kernel *kernel;
  images here = place(queue, o, c, sums);
  const sl_kernel_args args = args_of(s, &here);
  const bool serves = sl_kernel_serves(queue->device, &args);
  if (serves) {
    images apart = place(queue, o, &c_apart, &sums_apart);
    const sl_kernel_args args_apart = args_of(s, &apart);
    assert_sley_ok(sl_kernel_find(queue->device, &args, &kernel));
    assert_sley_ok(kernel->run(queue, &args));
    assert_sley_ok(run_apart(queue, kernel, &args_apart));
    fetch(&apart);
  } else {
    assert_false(exact);
    assert_int_equal(sl_kernel_run(queue, &args), SLEY_ERR_UNSUPPORTED);
  }
  fetch(&here);
  if (serves) {
    assert_same_values(c, &c_apart, s->g.dtype, "product with more beside it");
    if (exact)
      assert_same_values(sums, &sums_apart, s->g.dtype, "sums beside a product");
    else if (s->summed)
      check_sums(s, o, sums);
  }
  free(c_apart.base);
  free(sums_apart.base);
  return serves;
}

static bool check(const shape *s) {
  operands o = draw_operands(s);
  block first_c = {0}, first_sums = {0};
  bool serves = false;
  for (int q = 0; q < QUEUES; q++) {
    block c = block_copy(&o.c), sums = block_copy(&o.sums);
    serves = check_on(queues[q], s, &o, &c, &sums);
    if (q == 0) {
      first_c = c;
      first_sums = sums;
      continue;
    }
    assert_same_values(&c, &first_c, s->g.dtype, "product on another queue");
    assert_same_values(&sums, &first_sums, s->g.dtype, "sums on another queue");
    free(c.base);
    free(sums.base);
  }
  free(first_c.base);
  free(first_sums.base);
  drop_operands(&o);
  return serves;
}

static void products_have_the_bits_of_single_operations(void **state) {
  int served = 0;
  (void)state;
  for (int repeat = 0; repeat < repeats(400); repeat++) {
    shape s = draw_shape();
    served += check(&s);
  }
  if (!served) /* a device of other shapes */
    skip();
}

static void products_of_many_rows_have_them_too(void **state) {
  int served = 0;
  (void)state;
  for (int repeat = 0; repeat < repeats(48); repeat++) {
    shape s = draw_many_rows(repeat % 2);
    served += check(&s);
  }
  if (!served) /* not on this device's processors */
    skip();
}

static void sums_of_a_transpose_are_refused(void **state) {
  float out[4];
  (void)state;
  sl_kernel_args args = {.op = SL_OP_GEMM,
                         .gemm = {.transpose_b = true, .n = 4, .alpha = 1, .column_sums = out}};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  args.gemm = (sl_gemm_args){.act = (sley_activation)4, .gate = out};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_the_bits_of_single_operations),
                                     cmocka_unit_test(products_of_many_rows_have_them_too),
                                     cmocka_unit_test(sums_of_a_transpose_are_refused)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
