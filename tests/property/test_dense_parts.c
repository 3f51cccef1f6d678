/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of columns, gradients of activations and steps of Adam: every type, leading dimension and in-place
 * variant must have exactly the bits of a loop over single values, with any number of threads. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "kernels.h"

static void columns_are_summed_by_blocks(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(200); repeat++) {
    sl_column_sums_args c = {.dtype = (sley_dtype)draw(4),
                             .rows = PICK(0, 1, 2, 255, 256, 257, 1000, 3000),
                             .cols = PICK(0, 1, 3, 16, 255, 256, 257, 600)};
    const size_t each = sley_dtype_bytes(c.dtype);
    c.ldx = c.cols + PICK(0, 0, 1, 5);
    block x = block_of((size_t)(c.rows * c.ldx) * each, (size_t)draw(2) * each);
    block expected = block_of((size_t)c.cols * each, 0);
    block_fill(&x, c.dtype, false);
    for (int64_t j = 0; j < c.cols; j++) {
      double all = 0;
      for (int64_t first = 0; first < c.rows; first += 256) {
        double sum = 0;
        for (int64_t i = first; i < c.rows && i < first + 256; i++)
          sum += sl_value_at(x.data, c.dtype, i * c.ldx + j);
        all += sum;
      }
      sl_value_set(expected.data, c.dtype, j, all);
    }
    for (int q = 0; q < QUEUES; q++) {
      block out = block_of(expected.bytes, 0);
      image from = image_of_block(queues[q], &x), to = image_of_block(queues[q], &out);
      sl_kernel_args args = {.op = SL_OP_COLUMN_SUMS, .column_sums = c};
      args.column_sums.x = from.data;
      args.column_sums.out = to.data;
      assert_sley_ok(sl_kernel_run(queues[q], &args));
      image_return(&to);
      image_drop(&from);
      assert_memory_equal(out.data, expected.data, out.bytes);
      free(out.base);
    }
    free(x.base);
    free(expected.base);
  }
}

/* If there would be too many blocks, blocks are larger, and the number of block sums stays within its
 * limit. */
static void blocks_are_bounded(void **state) {
  (void)state;
  assert_int_equal(sl_sum_rows(1000, 1), 256);
  assert_int_equal(sl_sum_blocks(0, 5), 0);
  assert_int_equal(sl_sum_blocks(257, 5), 2);
  for (int repeat = 0; repeat < 10000; repeat++) {
    int64_t rows = draw(INT64_C(1) << (1 + draw(50))), cols = draw(INT64_C(1) << (1 + draw(30)));
    int64_t each = sl_sum_rows(rows, cols), blocks = sl_sum_blocks(rows, cols);
    assert_true(each > 0 && each % 256 == 0 && (blocks <= 1 || blocks * cols <= 1 << 22));
    assert_true(blocks * each >= rows && (blocks - 1) * each < rows + (rows == 0));
  }
}

static double factor_of(sley_activation act, double slope, double y) {
  if (act == SLEY_NO_ACTIVATION || y > 0)
    return 1;
  return act == SLEY_RELU ? 0 : act == SLEY_LEAKY_RELU ? slope : y + slope;
}

static void gradients_of_activations(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(200); repeat++) {
    sl_activate_grad_args g = {.dtype = (sley_dtype)draw(4),
                               .act = (sley_activation)draw(4),
                               .slope = draw(2) ? 0.2 : 1,
                               .scale = draw(2) ? 1 : 1 / (1 - 0.3),
                               .rows = PICK(0, 1, 2, 33, 300, 1027),
                               .cols = PICK(0, 1, 3, 16, 255, 256, 257, 600)};
    const size_t each = sley_dtype_bytes(g.dtype);
    const bool summed = draw(2);
    const int64_t in_place = draw(3); /* 0: neither; dx is dy; dx is y */
    g.ldy = g.cols + PICK(0, 1);
    g.lddy = g.cols + PICK(0, 2);
    g.lddx = in_place == 1 ? g.lddy : in_place == 2 ? g.ldy : g.cols + PICK(0, 3);
    block y = block_of((size_t)(g.rows * g.ldy) * each, 0),
          dy = block_of((size_t)(g.rows * g.lddy) * each, 0);
    block dx = block_of((size_t)(g.rows * g.lddx) * each, 0);
    block_fill(&y, g.dtype, draw(20) == 0);
    block_fill(&dy, g.dtype, false);
    block_fill(&dx, g.dtype, false);
    block expected = block_copy(in_place == 1 ? &dy : in_place == 2 ? &y : &dx);
    for (int64_t i = 0; i < g.rows; i++)
      for (int64_t j = 0; j < g.cols; j++)
        sl_value_set(expected.data, g.dtype, i * g.lddx + j,
                     sl_value_at(dy.data, g.dtype, i * g.lddy + j) *
                         factor_of(g.act, g.slope, sl_value_at(y.data, g.dtype, i * g.ldy + j)) * g.scale);
    for (int q = 0; q < QUEUES; q++) {
      block out[3] = {block_copy(&dx), block_copy(&dy), block_copy(&y)};
      image dx_there = image_of_block(queues[q], &out[0]), dy_there = image_of_block(queues[q], &out[1]),
            y_there = image_of_block(queues[q], &out[2]);
      image *all[3] = {&dx_there, &dy_there, &y_there};
      sl_kernel_args args = {.op = SL_OP_ACTIVATE_GRAD, .activate_grad = g};
      args.activate_grad.dy = dy_there.data;
      args.activate_grad.y = y_there.data;
      args.activate_grad.dx = all[in_place]->data;
      block sums = block_of((size_t)g.cols * each, 0), sums_apart = block_of((size_t)g.cols * each, 0);
      block_fill(&sums, g.dtype, true);
      image sums_there = image_of_block(queues[q], &sums),
            apart_there = image_of_block(queues[q], &sums_apart);
      args.activate_grad.sums = summed ? sums_there.data : NULL;
      assert_sley_ok(sl_kernel_run(queues[q], &args));
      sl_kernel_args apart = {.op = SL_OP_COLUMN_SUMS,
                              .column_sums = {.dtype = g.dtype,
                                              .rows = g.rows,
                                              .cols = g.cols,
                                              .x = args.activate_grad.dx,
                                              .ldx = g.lddx,
                                              .out = apart_there.data}};
      assert_sley_ok(sl_kernel_run(queues[q], &apart));
      for (int i = 0; i < 3; i++)
        image_return(all[i]);
      image_return(&sums_there);
      image_return(&apart_there);
      assert_same_values(&out[in_place], &expected, g.dtype, "gradient of an activation");
      if (summed)
        assert_same_values(&sums, &sums_apart, g.dtype, "sums of a gradient's columns");
      free(sums.base);
      free(sums_apart.base);
      for (int i = 0; i < 3; i++)
        free(out[i].base);
    }
    free(expected.base);
    free(y.base);
    free(dy.base);
    free(dx.base);
  }
}

enum { PARAM, GRAD, M, V, MASTER, ARRAYS };

/* One value, as the definition says. */
static void expect_step(const sl_adam_args *a, block *array, bool with_master, int64_t i) {
  const sley_dtype sums = sl_sum_dtype(a->dtype);
  double x =
      with_master ? sl_value_at(array[MASTER].data, sums, i) : sl_value_at(array[PARAM].data, a->dtype, i);
  double g = a->grad_scale * sl_value_at(array[GRAD].data, a->dtype, i);
  if (a->l2 != 0)
    g += a->l2 * x;
  double m = a->beta1 * sl_value_at(array[M].data, sums, i) + (1 - a->beta1) * g;
  double v = a->beta2 * sl_value_at(array[V].data, sums, i) + (1 - a->beta2) * (g * g);
  double y = x * a->keep - a->rate * m / (sqrt(v) * a->root + a->eps);
  sl_value_set(array[M].data, sums, i, m);
  sl_value_set(array[V].data, sums, i, v);
  if (with_master)
    sl_value_set(array[MASTER].data, sums, i, y);
  sl_value_set(array[PARAM].data, a->dtype, i, y);
}

static void draw_arrays(const sl_adam_args *a, block *array) {
  const sley_dtype sums = sl_sum_dtype(a->dtype);
  for (int k = 0; k < ARRAYS; k++) {
    array[k] = block_of((size_t)a->count * sley_dtype_bytes(k < M ? a->dtype : sums), 0);
    block_fill(&array[k], k < M ? a->dtype : sums, false);
  }
  for (int64_t i = 0; i < a->count; i++)
    sl_value_set(array[V].data, sums, i, fabs(sl_value_at(array[V].data, sums, i)));
}

static void steps_of_adam(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(200); repeat++) {
    sl_adam_args a = {.dtype = (sley_dtype)draw(4),
                      .count = PICK(0, 1, 3, 255, 256, 257, 20000, 50001),
                      .grad_scale = draw(2) ? 1 : 0.125,
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .eps = 1e-8,
                      .l2 = draw(2) ? 0 : 0.01,
                      .keep = draw(2) ? 1 : 0.999,
                      .rate = 0.01,
                      .root = 31.6};
    const bool with_master = draw(2);
    block array[ARRAYS], expected[ARRAYS];
    draw_arrays(&a, array);
    for (int k = 0; k < ARRAYS; k++)
      expected[k] = block_copy(&array[k]);
    for (int64_t i = 0; i < a.count; i++)
      expect_step(&a, expected, with_master, i);
    for (int q = 0; q < QUEUES; q++) {
      block made[ARRAYS];
      image there[ARRAYS];
      for (int k = 0; k < ARRAYS; k++) {
        made[k] = block_copy(&array[k]);
        there[k] = image_of_block(queues[q], &made[k]);
      }
      sl_kernel_args args = {.op = SL_OP_ADAM, .adam = a};
      args.adam.param = there[PARAM].data;
      args.adam.grad = there[GRAD].data;
      args.adam.m = there[M].data;
      args.adam.v = there[V].data;
      args.adam.master = with_master ? there[MASTER].data : NULL;
      assert_sley_ok(sl_kernel_run(queues[q], &args));
      for (int k = 0; k < ARRAYS; k++) {
        image_return(&there[k]);
        assert_memory_equal(made[k].data, expected[k].data, made[k].bytes);
        free(made[k].base);
      }
    }
    for (int k = 0; k < ARRAYS; k++) {
      free(array[k].base);
      free(expected[k].base);
    }
  }
}

static void unknown_arguments_are_refused(void **state) {
  (void)state;
  sl_kernel_args args = {.op = SL_OP_ADAM, .adam = {.dtype = (sley_dtype)9}};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  args = (sl_kernel_args){.op = SL_OP_COLUMN_SUMS, .column_sums = {.dtype = (sley_dtype)9}};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  args = (sl_kernel_args){.op = SL_OP_ACTIVATE_GRAD, .activate_grad = {.act = (sley_activation)9}};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
}

static void short_memory_is_told(void **state) {
  (void)state;
  if (!queues[0]->device->ops->host_addresses)
    skip();
  float x[2] = {1, 2}, out[1] = {7};
  sl_kernel_args args = {.op = SL_OP_COLUMN_SUMS,
                         .column_sums = {.rows = 2, .cols = 1, .x = x, .ldx = 1, .out = out}};
  const int64_t before = sl_memory_now();
  sl_memory_fail_at(1);
  assert_int_equal(sl_kernel_run(queues[1], &args), SLEY_ERR_MEMORY);
  sl_memory_fail_at(0);
  assert_int_equal(sl_memory_now(), before);
  assert_sley_ok(sl_kernel_run(queues[1], &args));
  assert_true(out[0] == 3 && sl_memory_now() == before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_are_summed_by_blocks),  cmocka_unit_test(blocks_are_bounded),
      cmocka_unit_test(gradients_of_activations),      cmocka_unit_test(steps_of_adam),
      cmocka_unit_test(unknown_arguments_are_refused), cmocka_unit_test(short_memory_is_told)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
