/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation and SDDMM on random patterns, with every instruction set and with 1, 2 and 5 threads, must have
 * the bits of loops over single values. Calls on lists of rows must not change other rows. The order of
 * summation of SDDMM is defined only for the CPU: other devices must be within the rounding error, with the
 * same bits on each queue. */
#include <math.h>

#include "base/value.h"
#include "chosen_device.h"
#include "graph_case.h"

static sl_heads draw_shape(const graph_case *g) {
  sl_heads s = {.heads = PICK(1, 1, 1, 3, 8), .width = PICK(0, 1, 3, 8, 16, 17, 33, 64, 100)};
  if (draw(25) == 0) /* more heads than are worked on at a time */
    s = (sl_heads){.heads = 200, .width = PICK(1, 3)};
  if (g->entries > 10000)
    s = (sl_heads){.heads = 1, .width = PICK(1, 3, 17)};
  return s;
}

typedef struct aggregate_case {
  graph_case graph;
  sl_aggregate_args args; /* shape, kind, flags */
  bool by_columns, ones;
  graph_dense x, y;
  block val, factor, scale, arg, chosen, chosen_bits; /* base NULL: none */
} aggregate_case;

#define whole_of(array) ((block){.base = (char *)(array), .data = (char *)(array), .bytes = sizeof(array)})

static const int32_t *integers(const block *b) {
  return (const int32_t *)b->data;
}

static aggregate_case draw_aggregate(void) {
  aggregate_case c = {.graph = graph_draw(),
                      .by_columns = draw(2),
                      .args = {.dtype = (sley_dtype)draw(4), .kind = (sl_aggregate)draw(4)}};
  sl_aggregate_args *a = &c.args;
  a->shape = draw_shape(&c.graph);
  const bool sum = a->kind == SL_AGGREGATE_SUM, best = a->kind >= SL_AGGREGATE_MIN;
  c.ones = draw(8) == 0;
  if (c.ones)
    a->shape.width = 1;
  a->in_order = true;
  a->add = sum && draw(2);
  const graph_values values = best && draw(2) ? GRAPH_FEW : draw(2) ? GRAPH_SPECIAL : GRAPH_REALS;
  const int64_t features = sl_features(&a->shape), rows = graph_count(&c.graph, c.by_columns),
                cols = graph_count(&c.graph, !c.by_columns);
  c.x = graph_dense_draw(cols, features, a->dtype, values);
  c.y = graph_dense_draw(rows, features, a->dtype, values);
  if (draw(3))
    c.val = graph_array(c.graph.entries * a->shape.heads, a->dtype, values);
  if (sum && draw(4) == 0)
    c.factor = graph_array(c.graph.entries * a->shape.heads, a->dtype, values);
  if (sum && draw(3) == 0)
    c.scale = graph_array(cols, sl_sum_dtype(a->dtype), values);
  if (best && draw(4))
    c.arg = graph_integers(rows * features, 0, 9);
  if (sum && c.by_columns && draw(2))
    c.chosen = graph_integers(cols * features, -1, PICK(1, 3, 12, 300));
  if (c.chosen.base && draw(4))
    c.chosen_bits = block_of((size_t)sl_chosen_bits_bytes(c.graph.entries, features), 0);
  return c;
}

static void free_aggregate(aggregate_case *c) {
  graph_free(&c->graph);
  graph_dense_free(&c->x);
  graph_dense_free(&c->y);
  free(c->val.base);
  free(c->factor.base);
  free(c->scale.base);
  free(c->arg.base);
  free(c->chosen.base);
  free(c->chosen_bits.base);
}

static double weight(const aggregate_case *c, int64_t j, int64_t head) {
  const sley_dtype dtype = c->args.dtype;
  const int64_t entry = graph_entry(&c->graph, c->by_columns, j);
  double w = c->val.base ? sl_value_at(c->val.data, dtype, entry * c->args.shape.heads + head) : 1;
  if (c->factor.base)
    w = sum_mul(dtype, w, sl_value_at(c->factor.data, dtype, entry * c->args.shape.heads + head));
  if (c->scale.base)
    w = sum_mul(dtype, w,
                sl_value_at(c->scale.data, sl_sum_dtype(dtype), graph_col(&c->graph, c->by_columns)[j]));
  return w;
}

static double x_at(const aggregate_case *c, int64_t j, int64_t f) {
  return c->ones ? 1 : graph_dense_get(&c->x, graph_col(&c->graph, c->by_columns)[j], f);
}

static double sum_of(const aggregate_case *c, int64_t i, int64_t f, double acc) {
  const int64_t *rowptr = graph_rowptr(&c->graph, c->by_columns);
  const int32_t *col = graph_col(&c->graph, c->by_columns);
  for (int64_t j = rowptr[i]; j < rowptr[i + 1]; j++) {
    if (c->chosen.base &&
        integers(&c->chosen)[col[j] * sl_features(&c->args.shape) + f] != integers(&c->graph.place)[j])
      continue;
    acc = sum_fma(c->args.dtype, weight(c, j, f / c->args.shape.width), x_at(c, j, f), acc);
  }
  return acc;
}

/* The number of the chosen entry in the row, -1 if there is none; *value: its term. */
static int64_t best_of(const aggregate_case *c, int64_t i, int64_t f, double *value) {
  const int64_t *rowptr = graph_rowptr(&c->graph, c->by_columns);
  int64_t at = -1;
  *value = 0;
  for (int64_t j = rowptr[i]; j < rowptr[i + 1] && !isnan(*value); j++) {
    const double term = sum_mul(c->args.dtype, weight(c, j, f / c->args.shape.width), x_at(c, j, f));
    const bool better = c->args.kind == SL_AGGREGATE_MIN ? term < *value : term > *value;
    if (at < 0 || better || isnan(term)) {
      at = j - rowptr[i];
      *value = term;
    }
  }
  return at;
}

static void expect_aggregate(const aggregate_case *c, graph_dense *y, block *arg) {
  const int64_t *rowptr = graph_rowptr(&c->graph, c->by_columns), features = y->width;
  for (int64_t i = 0; i < y->rows; i++)
    for (int64_t f = 0; f < features; f++) {
      double value;
      if (c->args.kind >= SL_AGGREGATE_MIN) {
        const int64_t at = best_of(c, i, f, &value);
        if (arg->base)
          ((int32_t *)arg->data)[i * features + f] = (int32_t)at;
      } else {
        value = sum_of(c, i, f, c->args.add ? graph_dense_get(y, i, f) : 0);
        if (c->args.kind == SL_AGGREGATE_MEAN && rowptr[i + 1] > rowptr[i])
          value = sum_div(c->args.dtype, value, (double)(rowptr[i + 1] - rowptr[i]));
      }
      graph_dense_set(y, i, f, value);
    }
}

static void run_aggregate(sl_queue *queue, const aggregate_case *c, graph_dense *y, block *arg) {
  graph_images images = {.queue = queue};
  sl_kernel_args args = {.op = SL_OP_AGGREGATE, .aggregate = c->args};
  sl_aggregate_args *a = &args.aggregate;
  a->pattern = graph_pattern(&images, &c->graph, c->by_columns);
  a->val = graph_image(&images, &c->val);
  a->factor = graph_image(&images, &c->factor);
  a->scale = graph_image(&images, &c->scale);
  if (!c->ones)
    a->x = graph_dense_image(&images, &c->x);
  a->y = graph_dense_image(&images, y);
  a->arg = graph_image(&images, arg);
  a->chosen = graph_image(&images, &c->chosen);
  a->chosen_bits = graph_image(&images, &c->chosen_bits);
  a->chosen_entries = c->graph.entries;
  assert_sley_ok(sl_kernel_run(queue, &args));
  graph_images_return(&images);
}

/* Checks that listed rows get the results of a run on all rows, and that other rows keep their bytes. */
static void check_listed_aggregate(sl_queue *queue, const aggregate_case *c, const graph_dense *whole,
                                   const block *whole_arg) {
  aggregate_case with = *c;
  with.graph = graph_listed(&c->graph);
  const int32_t *row = integers(&with.graph.listed);
  graph_dense y = graph_dense_copy(&c->y), expected = graph_dense_copy(&c->y), kept = graph_dense_copy(&c->y);
  block arg = c->arg.base ? block_copy(&c->arg) : (block){0},
        expected_arg = c->arg.base ? block_copy(&c->arg) : (block){0};
  const size_t row_args = (size_t)y.width * sizeof(int32_t);
  run_aggregate(queue, &with, &y, &arg);
  for (size_t n = 0; n < with.graph.listed.bytes / sizeof *row; n++) {
    graph_dense_copy_row(&expected, whole, row[n]);
    graph_dense_copy_row(&kept, &y, row[n]);
    if (arg.base)
      memcpy(expected_arg.data + (size_t)row[n] * row_args, whole_arg->data + (size_t)row[n] * row_args,
             row_args);
  }
  assert_same_values(&y.near, &expected.near, c->args.dtype, "listed rows");
  assert_same_values(&y.far, &expected.far, c->args.dtype, "listed rows, far");
  assert_memory_equal(y.near.data, kept.near.data, y.near.bytes);
  assert_memory_equal(y.far.data, kept.far.data, y.far.bytes);
  if (arg.base)
    assert_memory_equal(arg.data, expected_arg.data, arg.bytes);
  graph_dense_free(&kept);
  graph_dense_free(&expected);
  graph_dense_free(&y);
  free(expected_arg.base);
  free(arg.base);
  graph_listed_free(&with.graph);
}

static void check_aggregate(void) {
  aggregate_case c = draw_aggregate();
  graph_dense expected = graph_dense_copy(&c.y);
  block expected_arg = c.arg.base ? block_copy(&c.arg) : (block){0};
  expect_aggregate(&c, &expected, &expected_arg);
  for (int q = 0; q < QUEUES; q++) {
    graph_dense y = graph_dense_copy(&c.y);
    block arg = c.arg.base ? block_copy(&c.arg) : (block){0};
    run_aggregate(queues[q], &c, &y, &arg);
    assert_same_values(&y.near, &expected.near, c.args.dtype, "aggregation");
    assert_same_values(&y.far, &expected.far, c.args.dtype, "aggregation, far rows");
    if (arg.base)
      assert_memory_equal(arg.data, expected_arg.data, arg.bytes);
    if (!c.by_columns)
      check_listed_aggregate(queues[q], &c, &y, &arg);
    graph_dense_free(&y);
    free(arg.base);
  }
  graph_dense_free(&expected);
  free(expected_arg.base);
  free_aggregate(&c);
}

/* Signs, infinities, NaN and empty rows by the definition, with expected values computed by hand, one case
 * per row. */
static void least_and_greatest(void **state) {
  (void)state;
  static int64_t rowptr[] = {0, 1, 3, 6, 9, 11, 11};
  /* -inf; -inf twice; 0, -0, 0; 2, NaN, NaN; -0, 0; none */
  static int32_t col[] = {0, 0, 0, 1, 2, 1, 3, 4, 4, 2, 1}, number[] = {0, 0, 0, 1, 0, -1}, arg[6];
  static float x[] = {-(float)INFINITY, 0.0F, -0.0F, 2, NAN}, y[6],
               found[] = {-(float)INFINITY, -(float)INFINITY, 0.0F, NAN, -0.0F, 0};
  for (int kind = SL_AGGREGATE_MIN; kind <= SL_AGGREGATE_MAX; kind++) {
    graph_images images = {.queue = queues[0]};
    const block b[] = {whole_of(rowptr), whole_of(col), whole_of(x), whole_of(y), whole_of(arg)};
    sl_kernel_args args = {
        .op = SL_OP_AGGREGATE,
        .aggregate = {.pattern = {.rows = 6, .cols = 5}, .shape = {1, 1}, .kind = (sl_aggregate)kind}};
    sl_aggregate_args *a = &args.aggregate;
    a->pattern.rowptr = graph_image(&images, &b[0]);
    a->pattern.col = graph_image(&images, &b[1]);
    a->x = (sl_split_rows){.near = graph_image(&images, &b[2]), .near_rows = 5, .near_ld = 1};
    a->y = (sl_split_rows){.near = graph_image(&images, &b[3]), .near_rows = 6, .near_ld = 1};
    a->arg = graph_image(&images, &b[4]);
    assert_sley_ok(sl_kernel_run(queues[0], &args));
    graph_images_return(&images);
    const block expected = whole_of(found);
    assert_same_values(&b[3], &expected, SLEY_F32, "least and greatest");
    assert_memory_equal(arg, number, sizeof arg);
  }
}

typedef struct sddmm_case {
  graph_case graph;
  sl_sddmm_args args; /* shape, form */
  graph_dense v;
  block u, val, scale, chosen, s; /* base NULL: none */
  bool in_place;
} sddmm_case;

static sddmm_case draw_sddmm(void) {
  sddmm_case c = {.graph = graph_draw(), .args = {.dtype = (sley_dtype)draw(4), .form = (sl_sddmm)draw(2)}};
  sl_sddmm_args *a = &c.args;
  a->shape = draw_shape(&c.graph);
  const graph_values values = draw(2) ? GRAPH_SPECIAL : GRAPH_REALS;
  if (a->form == SL_SDDMM_ADD)
    a->shape.width = 1;
  const int64_t features = sl_features(&a->shape), sums = c.graph.entries * a->shape.heads;
  a->ldu = features + PICK(0, 0, 2);
  c.u = graph_array(c.graph.rows > 0 ? (c.graph.rows - 1) * a->ldu + features : 0, a->dtype, values);
  c.v = graph_dense_draw(c.graph.cols, features, a->dtype, values);
  c.s = graph_array(sums, a->dtype, values);
  c.in_place = draw(4) == 0;
  if (!c.in_place && draw(2))
    c.val = graph_array(sums, a->dtype, values);
  if (a->form == SL_SDDMM_DOT && draw(2))
    c.scale = graph_array(c.graph.rows, sl_sum_dtype(a->dtype), values);
  if (a->form == SL_SDDMM_DOT && draw(4) == 0)
    c.chosen = graph_integers(c.graph.rows * features, -1, PICK(1, 3, 12));
  return c;
}

static void free_sddmm(sddmm_case *c) {
  graph_free(&c->graph);
  graph_dense_free(&c->v);
  free(c->u.base);
  free(c->val.base);
  free(c->scale.base);
  free(c->chosen.base);
  free(c->s.base);
}

static bool is_chosen(const sddmm_case *c, int64_t i, int64_t f, int64_t n) {
  return !c->chosen.base || integers(&c->chosen)[i * sl_features(&c->args.shape) + f] == n;
}

/* The product for entry j of row i, which is number n in the row. */
static double dot_of(const sddmm_case *c, int64_t i, int64_t j, int64_t n, int64_t h) {
  const sl_sddmm_args *a = &c->args;
  double part[16] = {0};
  for (int64_t k = 0; k < a->shape.width; k++) {
    const int64_t f = h * a->shape.width + k;
    if (is_chosen(c, i, f, n))
      part[k % 16] = sum_fma(a->dtype, sl_value_at(c->u.data, a->dtype, i * a->ldu + f),
                             graph_dense_get(&c->v, graph_col(&c->graph, false)[j], f), part[k % 16]);
  }
  for (int half = 8; half > 0; half /= 2)
    for (int p = 0; p < half; p++)
      part[p] = sum_add(a->dtype, part[p], part[p + half]);
  return c->scale.base ? sum_mul(a->dtype, part[0], sl_value_at(c->scale.data, sl_sum_dtype(a->dtype), i))
                       : part[0];
}

static void expect_sddmm(const sddmm_case *c, block *s) {
  const sl_sddmm_args *a = &c->args;
  const int64_t *rowptr = graph_rowptr(&c->graph, false), heads = a->shape.heads;
  for (int64_t i = 0; i < c->graph.rows; i++)
    for (int64_t j = rowptr[i]; j < rowptr[i + 1]; j++)
      for (int64_t h = 0; h < heads; h++) {
        double value = a->form == SL_SDDMM_DOT
                           ? dot_of(c, i, j, j - rowptr[i], h)
                           : sum_add(a->dtype, sl_value_at(c->u.data, a->dtype, i * a->ldu + h),
                                     graph_dense_get(&c->v, graph_col(&c->graph, false)[j], h));
        if (c->in_place || c->val.base)
          value = sum_mul(a->dtype, value,
                          sl_value_at(c->in_place ? s->data : c->val.data, a->dtype, j * heads + h));
        sl_value_set(s->data, a->dtype, j * heads + h, value);
      }
}

static void run_sddmm(sl_queue *queue, const sddmm_case *c, block *s) {
  graph_images images = {.queue = queue};
  sl_kernel_args args = {.op = SL_OP_SDDMM, .sddmm = c->args};
  sl_sddmm_args *a = &args.sddmm;
  a->pattern = graph_pattern(&images, &c->graph, false);
  a->u = graph_image(&images, &c->u);
  a->v = graph_dense_image(&images, &c->v);
  a->scale = graph_image(&images, &c->scale);
  a->chosen = graph_image(&images, &c->chosen);
  a->s = graph_image(&images, s);
  a->val = c->in_place ? a->s : graph_image(&images, &c->val);
  assert_sley_ok(sl_kernel_run(queue, &args));
  graph_images_return(&images);
}

/* The greatest difference between two orders of summation, without the rounding of the result: width + 4
 * roundings for each order, relative to the sum of the products' absolute values (Higham, Accuracy and
 * Stability, 3.1). */
static double most_error(const sddmm_case *c, int64_t i, int64_t j, int64_t h) {
  const sl_sddmm_args *a = &c->args;
  const int64_t n = j - graph_rowptr(&c->graph, false)[i], width = a->shape.width;
  double size = 0;
  for (int64_t f = h * width; f < (h + 1) * width; f++)
    if (is_chosen(c, i, f, n))
      size += fabs(sl_value_at(c->u.data, a->dtype, i * a->ldu + f) *
                   graph_dense_get(&c->v, graph_col(&c->graph, false)[j], f));
  if (c->scale.base)
    size *= fabs(sl_value_at(c->scale.data, sl_sum_dtype(a->dtype), i));
  if (c->in_place || c->val.base)
    size *= fabs(sl_value_at(c->in_place ? c->s.data : c->val.data, a->dtype, j * a->shape.heads + h));
  return 2.0 * (double)(width + 4) * (a->dtype == SLEY_F64 ? 0x1p-53 : 0x1p-24) * size;
}

/* The error of rounding both results to the type: one unit in the last place, or the least positive value. */
static double one_unit(sley_dtype dtype, double value) {
  return 2 * unit_of(dtype) * fabs(value) + (dtype == SLEY_F16 ? 0x1p-24 : 1e-38);
}

static void assert_near(const sddmm_case *c, const block *s, const block *expected) {
  const int64_t *rowptr = graph_rowptr(&c->graph, false), heads = c->args.shape.heads;
  const sley_dtype dtype = c->args.dtype;
  for (int64_t i = 0; i < c->graph.rows; i++)
    for (int64_t at = rowptr[i] * heads; at < rowptr[i + 1] * heads; at++) {
      const double found = sl_value_at(s->data, dtype, at), wanted = sl_value_at(expected->data, dtype, at);
      if (isfinite(wanted)
              ? fabs(found - wanted) <= most_error(c, i, at / heads, at % heads) + one_unit(dtype, wanted)
              : found == wanted || (isnan(found) && isnan(wanted)))
        continue;
      fail_msg("sddmm: type %d, width %lld, row %lld, value %lld is %.17g, not %.17g", (int)dtype,
               (long long)c->args.shape.width, (long long)i, (long long)at, found, wanted);
    }
}

static void check_listed_sddmm(sl_queue *queue, const sddmm_case *c, const block *whole) {
  sddmm_case with = *c;
  with.graph = graph_listed(&c->graph);
  const int32_t *row = integers(&with.graph.listed);
  const int64_t *rowptr = graph_rowptr(&c->graph, false);
  const size_t entry = (size_t)c->args.shape.heads * sley_dtype_bytes(c->args.dtype);
  block s = block_copy(&c->s), expected = block_copy(&c->s), kept = block_copy(&c->s);
  run_sddmm(queue, &with, &s);
  for (size_t n = 0; n < with.graph.listed.bytes / sizeof *row; n++) {
    const size_t first = (size_t)rowptr[row[n]] * entry, end = (size_t)rowptr[row[n] + 1] * entry;
    memcpy(expected.data + first, whole->data + first, end - first);
    memcpy(kept.data + first, s.data + first, end - first);
  }
  assert_same_values(&s, &expected, c->args.dtype, "sddmm of listed rows");
  assert_memory_equal(s.data, kept.data, s.bytes);
  free(kept.base);
  free(expected.base);
  free(s.base);
  graph_listed_free(&with.graph);
}

static void check_sddmm(void) {
  sddmm_case c = draw_sddmm();
  block expected = block_copy(&c.s);
  expect_sddmm(&c, &expected);
  for (int q = 0; q < QUEUES; q++) {
    block s = block_copy(&c.s);
    run_sddmm(queues[q], &c, &s);
    if (!test_on_cpu() && q == 0) {
      assert_near(&c, &s, &expected);
      memcpy(expected.data, s.data, s.bytes);
    }
    assert_same_values(&s, &expected, c.args.dtype, "sddmm");
    check_listed_sddmm(queues[q], &c, &s);
    free(s.base);
  }
  free(expected.base);
  free_sddmm(&c);
}

static void check_all(void (*check)(void), int count) {
  static const char *const isa[] = {NULL, "avx2", "portable"};
  for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
    if (isa[i])
      setenv("SLEY_CPU", isa[i], 1);
    for (int repeat = 0; repeat < repeats(count); repeat++)
      check();
    unsetenv("SLEY_CPU");
  }
}

static void rows_are_aggregated(void **state) {
  (void)state;
  check_all(check_aggregate, 250);
}

static void entries_are_sampled(void **state) {
  (void)state;
  check_all(check_sddmm, 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_aggregated),
                                     cmocka_unit_test(least_and_greatest),
                                     cmocka_unit_test(entries_are_sampled)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
