/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of aggregation and edge softmax are compared with the forward results of the same kernels, by
 * identities of inner products and finite differences, in float64. */
#include <math.h>

#include "base/value.h"
#include "graph_case.h"

typedef struct gradient_case {
  graph_case graph;
  sl_heads shape;
  graph_dense x, y, dx, dy;
  block val, dval, scale, arg;
} gradient_case;

static gradient_case draw_case(bool scaled) {
  gradient_case c = {.graph = graph_draw(),
                     .shape = {.heads = PICK(1, 3, 8), .width = PICK(1, 3, 8, 17, 64)}};
  const int64_t features = sl_features(&c.shape), values = c.graph.entries * c.shape.heads;
  c.x = graph_dense_draw(c.graph.cols, features, SLEY_F64, GRAPH_REALS);
  c.dx = graph_dense_draw(c.graph.cols, features, SLEY_F64, GRAPH_REALS);
  c.y = graph_dense_draw(c.graph.rows, features, SLEY_F64, GRAPH_REALS);
  c.dy = graph_dense_draw(c.graph.rows, features, SLEY_F64, GRAPH_REALS);
  c.dy.at.near_rows = c.dy.rows; /* SDDMM takes it as rows in one memory */
  c.dy.at.near_ld = features;
  free(c.dy.near.base);
  c.dy.near = graph_array(c.graph.rows * features, SLEY_F64, GRAPH_REALS);
  c.dy.at.near = c.dy.near.data;
  c.val = graph_array(values, SLEY_F64, GRAPH_REALS);
  c.dval = graph_array(values, SLEY_F64, GRAPH_REALS);
  c.arg = graph_integers(c.graph.rows * features, 0, 1);
  if (scaled)
    c.scale = graph_array(c.graph.rows, SLEY_F64, GRAPH_REALS);
  return c;
}

static void free_case(gradient_case *c) {
  graph_free(&c->graph);
  graph_dense_free(&c->x);
  graph_dense_free(&c->y);
  graph_dense_free(&c->dx);
  graph_dense_free(&c->dy);
  free(c->val.base);
  free(c->dval.base);
  free(c->scale.base);
  free(c->arg.base);
}

static double inner(const graph_dense *a, const graph_dense *b) {
  double sum = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t f = 0; f < a->width; f++)
      sum += graph_dense_get(a, i, f) * graph_dense_get(b, i, f);
  return sum;
}

static double inner_values(const block *a, const block *b) {
  double sum = 0;
  for (size_t t = 0; t < a->bytes / sizeof(double); t++)
    sum += ((const double *)a->data)[t] * ((const double *)b->data)[t];
  return sum;
}

/* Y of X by rows, dX of dY by columns, dval of dY and X. A row's scale is applied to dY. */
static void run(sl_queue *queue, gradient_case *c, sl_aggregate kind) {
  graph_images images = {.queue = queue};
  const sl_pattern by_rows = graph_pattern(&images, &c->graph, false),
                   by_columns = graph_pattern(&images, &c->graph, true);
  const sl_split_rows x = graph_dense_image(&images, &c->x), dy = graph_dense_image(&images, &c->dy);
  const void *val = graph_image(&images, &c->val), *scale = graph_image(&images, &c->scale);
  int32_t *arg = graph_image(&images, &c->arg);
  const bool best = kind == SL_AGGREGATE_MIN || kind == SL_AGGREGATE_MAX;
  sl_kernel_args forward = {.op = SL_OP_AGGREGATE,
                            .aggregate = {.pattern = by_rows,
                                          .shape = c->shape,
                                          .dtype = SLEY_F64,
                                          .kind = kind,
                                          .val = val,
                                          .x = x,
                                          .y = graph_dense_image(&images, &c->y),
                                          .arg = best ? arg : NULL}};
  assert_sley_ok(sl_kernel_run(queue, &forward));
  sl_kernel_args to_x = {.op = SL_OP_AGGREGATE,
                         .aggregate = {.pattern = by_columns,
                                       .shape = c->shape,
                                       .dtype = SLEY_F64,
                                       .val = val,
                                       .scale = scale,
                                       .x = dy,
                                       .y = graph_dense_image(&images, &c->dx),
                                       .chosen = best ? arg : NULL}};
  assert_sley_ok(sl_kernel_run(queue, &to_x));
  sl_kernel_args to_val = {.op = SL_OP_SDDMM,
                           .sddmm = {.pattern = by_rows,
                                     .shape = c->shape,
                                     .dtype = SLEY_F64,
                                     .scale = scale,
                                     .chosen = best ? arg : NULL,
                                     .u = dy.near,
                                     .ldu = dy.near_ld,
                                     .v = x,
                                     .s = graph_image(&images, &c->dval)}};
  assert_sley_ok(sl_kernel_run(queue, &to_val));
  graph_images_return(&images);
}

static void assert_close(double a, double b, const char *what) {
  if (!(fabs(a - b) <= 1e-9 * (1 + fabs(a))))
    fail_msg("%s: %.17g, not %.17g", what, b, a);
}

/* For a fixed choice of entries, Y is linear in X and in val: <dY, Y> = <dX, X> = <dval, val>. */
static void check_aggregate(void) {
  static const sl_aggregate kinds[] = {SL_AGGREGATE_SUM, SL_AGGREGATE_MEAN, SL_AGGREGATE_MIN,
                                       SL_AGGREGATE_MAX};
  const sl_aggregate kind = kinds[draw(4)];
  gradient_case c = draw_case(kind == SL_AGGREGATE_MEAN);
  const int64_t *rowptr = graph_rowptr(&c.graph, false);
  for (int64_t i = 0; c.scale.base && i < c.graph.rows; i++)
    sl_value_set(c.scale.data, SLEY_F64, i, 1 / fmax(1, (double)(rowptr[i + 1] - rowptr[i])));
  run(queues[draw(QUEUES)], &c, kind);
  const double expected = inner(&c.dy, &c.y);
  assert_close(expected, inner(&c.dx, &c.x), "gradient of rows");
  assert_close(expected, inner_values(&c.dval, &c.val), "gradient of values");
  free_case(&c);
}

static void softmax(const graph_case *g, int64_t heads, const block *in, const block *grad, block *out) {
  graph_images images = {.queue = queues[1]};
  sl_kernel_args args = {.op = SL_OP_EDGE_SOFTMAX, .edge_softmax = {.heads = heads, .dtype = SLEY_F64}};
  args.edge_softmax.pattern = graph_pattern(&images, g, false);
  args.edge_softmax.in = graph_image(&images, in);
  args.edge_softmax.grad = graph_image(&images, grad);
  args.edge_softmax.out = graph_image(&images, out);
  assert_sley_ok(sl_kernel_run(queues[1], &args));
  graph_images_return(&images);
}

/* <dP, (softmax(x + t d) - softmax(x - t d)) / 2 t> = <dx, d> */
static void check_softmax(void) {
  const double t = 1e-5;
  graph_case g = graph_draw();
  const int64_t heads = graph_some(&g, PICK(1, 3, 8)), count = g.entries * heads;
  block x = graph_array(count, SLEY_F64, GRAPH_REALS), d = graph_array(count, SLEY_F64, GRAPH_REALS),
        dp = graph_array(count, SLEY_F64, GRAPH_REALS), more = block_copy(&x), less = block_copy(&x),
        p = block_copy(&x), dx = block_copy(&x);
  for (int64_t n = 0; n < count; n++) {
    ((double *)more.data)[n] += t * ((double *)d.data)[n];
    ((double *)less.data)[n] -= t * ((double *)d.data)[n];
  }
  softmax(&g, heads, &more, NULL, &more);
  softmax(&g, heads, &less, NULL, &less);
  softmax(&g, heads, &x, NULL, &p);
  softmax(&g, heads, &p, &dp, &dx);
  const double expected = (inner_values(&dp, &more) - inner_values(&dp, &less)) / (2 * t),
               found = inner_values(&dx, &d);
  if (!(fabs(expected - found) <= 1e-7 * (1 + fabs(expected))))
    fail_msg("gradient of edge softmax: %.17g, by differences %.17g", found, expected);
  block *const all[] = {&x, &d, &dp, &more, &less, &p, &dx};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]->base);
  graph_free(&g);
}

static void aggregation_has_its_gradients(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(200); repeat++)
    check_aggregate();
}

static void softmax_has_its_gradient(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(200); repeat++)
    check_softmax();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(aggregation_has_its_gradients),
                                     cmocka_unit_test(softmax_has_its_gradient)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
