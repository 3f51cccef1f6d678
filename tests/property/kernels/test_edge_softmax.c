/* SPDX-License-Identifier: Apache-2.0 */
/* The softmax over the entries of each row, and its gradient, on random patterns, compared with float64 sums
 * within a bound. The bits must be the same with every instruction set and with 1, 2 and 5 threads. */
#include <math.h>

#include "base/value.h"
#include "graph_case.h"

typedef struct softmax_case {
  graph_case graph;
  sley_dtype dtype;
  int64_t heads;
  block in, grad; /* grad: base NULL: none */
  int alias;      /* out is an array of its own, in, or grad */
} softmax_case;

enum { OUT_APART, OUT_IN, OUT_GRAD };

static softmax_case draw_case(bool gradient) {
  softmax_case c = {.graph = graph_draw(), .dtype = (sley_dtype)draw(4)};
  c.heads = graph_some(&c.graph, PICK(1, 1, 2, 3, 8, 17, 200));
  const double range = gradient ? 1 : (double)PICK(1, 4, 30, 300, 1000);
  const bool special = draw(3) == 0;
  c.in = graph_array(c.graph.entries * c.heads, c.dtype, special ? GRAPH_SPECIAL : GRAPH_REALS);
  for (int64_t t = 0; t < c.graph.entries * c.heads; t++)
    sl_value_set(c.in.data, c.dtype, t, range * sl_value_at(c.in.data, c.dtype, t));
  if (gradient)
    c.grad = graph_array(c.graph.entries * c.heads, c.dtype, special ? GRAPH_SPECIAL : GRAPH_REALS);
  c.alias = (int)draw(gradient ? 3 : 2);
  return c;
}

static void free_case(softmax_case *c) {
  graph_free(&c->graph);
  free(c->in.base);
  free(c->grad.base);
}

/* The values of one head of one row: value n is number (begin + n) heads + h. */
typedef struct column {
  const softmax_case *c;
  int64_t begin, count, h;
} column;

static double at(const column *k, const block *b, int64_t n) {
  return sl_value_at(b->data, k->c->dtype, (k->begin + n) * k->c->heads + k->h);
}

/* Twice the least value above 0. */
static double least_of(sley_dtype dtype) {
  return dtype == SLEY_F64   ? 0x1p-1073
         : dtype == SLEY_F16 ? 0x1p-23
         : dtype == SLEY_F32 ? 0x1p-148
                             : 0x1p-132;
}

static void assert_near(const column *k, int64_t n, double found, double expected, double bound) {
  if (isnan(expected) ? !isnan(found) : found != expected && !(fabs(found - expected) <= bound))
    fail_msg("dtype %d, head %lld of %lld, entry %lld of %lld: %.17g, not %.17g (bound %.3g)",
             (int)k->c->dtype, (long long)k->h, (long long)k->c->heads, (long long)n, (long long)k->count,
             found, expected, bound);
}

/* Checks one row and head. The error of exp is 2 units in the last place, and that of its argument half a
 * unit; the sums, a quotient and the rounding to the dtype add further errors. */
static void check_forward(const column *k, const block *out) {
  const sley_dtype dtype = k->c->dtype;
  const double unit = unit_of(sl_sum_dtype(dtype));
  double most = -(double)INFINITY, total = 0;
  bool nan = false;
  for (int64_t n = 0; n < k->count; n++) {
    most = fmax(most, at(k, &k->c->in, n));
    nan = nan || isnan(at(k, &k->c->in, n));
  }
  double span = 0;
  for (int64_t n = 0; n < k->count; n++) {
    const double x = at(k, &k->c->in, n);
    total += exp(x - most);
    if (isfinite(x) && most - x < 3000)
      span = fmax(span, most - x);
  }
  if (nan)
    total = (double)NAN;
  for (int64_t n = 0; n < k->count; n++) {
    const double p = exp(at(k, &k->c->in, n) - most) / total;
    const double relative = unit * (2 * span + (double)k->count + 12) + unit_of(dtype);
    assert_near(k, n, at(k, out, n), p, p * relative * 1.01 + 2 * least_of(dtype));
  }
}

static void check_gradient(const column *k, const block *out) {
  const sley_dtype dtype = k->c->dtype;
  const double unit = unit_of(sl_sum_dtype(dtype));
  double total = 0, size = 0;
  for (int64_t n = 0; n < k->count; n++) {
    const double term = at(k, &k->c->in, n) * at(k, &k->c->grad, n);
    total += term;
    size += fabs(term);
  }
  for (int64_t n = 0; n < k->count; n++) {
    const double p = at(k, &k->c->in, n), g = at(k, &k->c->grad, n), expected = p * (g - total);
    const double bound = fabs(p) * unit * (((double)k->count + 4) * size + 4 * (fabs(g) + size)) +
                         fabs(expected) * unit_of(dtype);
    assert_near(k, n, at(k, out, n), expected, bound * 1.01 + 2 * least_of(dtype));
  }
}

static block run(sl_queue *queue, const softmax_case *c) {
  graph_images images = {.queue = queue};
  block out = block_copy(c->alias == OUT_GRAD ? &c->grad : &c->in);
  if (c->alias == OUT_APART)
    memset(out.data, 0x5a, out.bytes);
  sl_kernel_args args = {.op = SL_OP_EDGE_SOFTMAX, .edge_softmax = {.heads = c->heads, .dtype = c->dtype}};
  sl_edge_softmax_args *a = &args.edge_softmax;
  a->pattern = graph_pattern(&images, &c->graph, false);
  a->out = graph_image(&images, &out);
  a->in = c->alias == OUT_IN ? a->out : graph_image(&images, &c->in);
  a->grad = c->alias == OUT_GRAD ? a->out : graph_image(&images, &c->grad);
  assert_sley_ok(sl_kernel_run(queue, &args));
  graph_images_return(&images);
  return out;
}

static void check(bool gradient) {
  static const char *const isa[] = {"portable", "avx2"};
  softmax_case c = draw_case(gradient);
  block first = run(queues[0], &c);
  for (int64_t i = 0; i < c.graph.rows; i++)
    for (int64_t h = 0; h < c.heads; h++) {
      const int64_t *rowptr = graph_rowptr(&c.graph, false);
      const column k = {&c, rowptr[i], rowptr[i + 1] - rowptr[i], h};
      if (gradient)
        check_gradient(&k, &first);
      else
        check_forward(&k, &first);
    }
  for (int q = 1; q < QUEUES; q++) {
    block out = run(queues[q], &c);
    assert_same_values(&out, &first, c.dtype, "edge softmax with more threads");
    free(out.base);
  }
  for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
    setenv("SLEY_CPU", isa[i], 1);
    block out = run(queues[1], &c);
    unsetenv("SLEY_CPU");
    assert_same_values(&out, &first, c.dtype, isa[i]);
    free(out.base);
  }
  free(first.base);
  free_case(&c);
}

static void rows_become_their_softmax(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(300); repeat++)
    check(false);
}

static void gradients_are_those_of_the_definition(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(300); repeat++)
    check(true);
}

/* NaN and infinities by the definition, with expected values computed by hand, one case per row. */
static void infinities_and_nan(void **state) {
  (void)state;
  const float inf = (float)INFINITY;
  const int64_t rowptr[] = {0, 3, 6, 8, 10, 11};
  const int32_t col[] = {0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 0};
  float in[] = {-inf, 0, 0, 1, NAN, 2, inf, 0, -inf, -inf, -5}, out[11];
  const float expected[] = {0, 0.5F, 0.5F, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 1};
  block b[] = {{.data = (char *)rowptr, .bytes = sizeof rowptr},
               {.data = (char *)col, .bytes = sizeof col},
               {.data = (char *)in, .bytes = sizeof in},
               {.data = (char *)out, .bytes = sizeof out},
               {.data = (char *)expected, .bytes = sizeof expected}};
  for (int i = 0; i < 5; i++)
    b[i].base = b[i].data;
  graph_images images = {.queue = queues[0]};
  sl_kernel_args args = {.op = SL_OP_EDGE_SOFTMAX, .edge_softmax = {.heads = 1, .dtype = SLEY_F32}};
  args.edge_softmax.pattern = (sl_pattern){
      .rows = 5, .cols = 3, .rowptr = graph_image(&images, &b[0]), .col = graph_image(&images, &b[1])};
  args.edge_softmax.in = graph_image(&images, &b[2]);
  args.edge_softmax.out = graph_image(&images, &b[3]);
  assert_sley_ok(sl_kernel_run(queues[0], &args));
  graph_images_return(&images);
  assert_same_values(&b[3], &b[4], SLEY_F32, "infinities and NaN");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_become_their_softmax),
                                     cmocka_unit_test(gradients_are_those_of_the_definition),
                                     cmocka_unit_test(infinities_and_nan)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
