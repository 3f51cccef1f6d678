/* SPDX-License-Identifier: Apache-2.0 */
/* Log-softmax and the loss of labels, compared with long doubles on random shapes and every type, with any
 * subset of outputs requested; gradients compared with differences of losses; labels that do not count or are
 * not classes; large logits. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/dense/exps.h"
#include "device/exp.h"
#include "kernels.h"

typedef struct shape {
  sl_nll_args l; /* without arrays */
  bool row_loss, sums, grad, log_probs, in_place;
  double device_scale; /* 0: not given */
  double spread;       /* of logits */
  int64_t skew;        /* in values */
} shape;

/* Results of a call. */
typedef struct outputs {
  block row_loss, sums, grad, log_probs;
} outputs;

static shape draw_shape(void) {
  shape s = {.l = {.dtype = (sley_dtype)draw(4),
                   .rows = PICK(0, 1, 2, 7, 255, 256, 257, 700),
                   .classes = PICK(1, 2, 7, 31, 32, 33, 47, 256, 257, 600),
                   .grad_scale = draw(2) ? 1 : 0.01},
             .row_loss = draw(2),
             .sums = draw(2),
             .grad = draw(2),
             .log_probs = draw(2),
             .device_scale = draw(2) ? 0 : -0.37,
             .spread = (double[]){1, 20, 1000}[draw(3)],
             .skew = PICK(0, 0, 1)};
  s.in_place = s.grad && !s.log_probs && draw(3) == 0;
  s.l.ld = s.l.classes + PICK(0, 0, 3);
  s.l.ld_grad = s.in_place ? s.l.ld : s.l.classes + PICK(0, 1);
  s.l.ld_log_probs = s.l.classes + PICK(0, 2);
  return s;
}

static outputs make_outputs(const sl_nll_args *l, size_t skew) {
  const size_t each = sley_dtype_bytes(l->dtype);
  outputs o = {block_of((size_t)l->rows * sizeof(double), 0), block_of(2 * sizeof(double), 0),
               block_of((size_t)(l->rows * l->ld_grad) * each, skew),
               block_of((size_t)(l->rows * l->ld_log_probs) * each, skew)};
  memset(o.row_loss.data, 0, o.row_loss.bytes);
  memset(o.sums.data, 0, o.sums.bytes);
  memset(o.grad.data, 0, o.grad.bytes);
  memset(o.log_probs.data, 0, o.log_probs.bytes);
  return o;
}

static void drop_outputs(outputs *o) {
  free(o->row_loss.base);
  free(o->sums.base);
  free(o->grad.base);
  free(o->log_probs.base);
}

static sley_status call(sl_queue *queue, const shape *s, const block *logits, int32_t *label, outputs *o) {
  block in = block_copy(logits);
  image z = image_of_block(queue, s->in_place ? &o->grad : &in);
  image y = image_of(queue, label, (size_t)s->l.rows * sizeof *label, 0);
  image row_loss = image_of_block(queue, &o->row_loss), sums = image_of_block(queue, &o->sums);
  image grad = image_of_block(queue, &o->grad), log_probs = image_of_block(queue, &o->log_probs);
  image scale = image_of(queue, &s->device_scale, sizeof s->device_scale, 0);
  sl_kernel_args args = {.op = SL_OP_NLL, .nll = s->l};
  args.nll.logits = z.data;
  args.nll.label = y.data;
  args.nll.row_loss = s->row_loss ? row_loss.data : NULL;
  args.nll.sums = s->sums ? sums.data : NULL;
  args.nll.grad = s->in_place ? z.data : s->grad ? grad.data : NULL;
  args.nll.log_probs = s->log_probs ? log_probs.data : NULL;
  args.nll.device_scale = s->device_scale != 0 ? scale.data : NULL;
  sley_status status = sl_kernel_run(queue, &args);
  image_return(&row_loss);
  image_return(&sums);
  image_return(&log_probs);
  if (s->in_place) {
    image_drop(&grad);
    image_return(&z);
  } else {
    image_return(&grad);
    image_drop(&z);
  }
  image_drop(&y);
  image_drop(&scale);
  free(in.base);
  return status;
}

static double tolerance_of(sley_dtype dtype) {
  return dtype == SLEY_F32 ? 0x1p-24 : dtype == SLEY_F64 ? 0x1p-50 : dtype == SLEY_F16 ? 0x1p-11 : 0x1p-8;
}

/* Checks a value within one rounding to the type, plus the roundings in double. */
static void near(double got, long double expected, sley_dtype dtype, const char *what) {
  const double bound =
      1.01 * tolerance_of(dtype) * fabs((double)expected) + 1e-13 + (dtype == SLEY_F16 ? 0x1p-25 : 0);
  if (dtype == SLEY_F16 && fabs((double)expected) > 65000)
    return;
  if (!(fabs(got - (double)expected) <= bound))
    fail_msg("%s: %.17g, not %.17g", what, got, (double)expected);
}

/* Checks a sum of `rows` losses, none of which is negative: each is within its own error, and each addition
 * rounds. */
static void near_sum(double got, long double expected, int64_t rows) {
  const double bound = (1.01 * tolerance_of(SLEY_F64) + (double)rows * 0x1p-53) * (double)expected +
                       1e-13 * (double)(rows + 1);
  if (!(fabs(got - (double)expected) <= bound))
    fail_msg("sum of %lld losses: %.17g, not %.17g", (long long)rows, got, (double)expected);
}

/* Checks a row against the loss in long double, and adds to its sum. */
static void check_row(const shape *s, const block *logits, int32_t label, int64_t i, const outputs *o,
                      long double *total) {
  const sl_nll_args *l = &s->l;
  const double scale = l->grad_scale * (s->device_scale != 0 ? s->device_scale : 1);
  long double most = -INFINITY, sum = 0, loss = 0;
  for (int64_t j = 0; j < l->classes; j++)
    most = fmaxl(most, sl_value_at(logits->data, l->dtype, i * l->ld + j));
  for (int64_t j = 0; j < l->classes; j++)
    sum += expl(sl_value_at(logits->data, l->dtype, i * l->ld + j) - most);
  for (int64_t j = 0; j < l->classes; j++) {
    long double log_p = sl_value_at(logits->data, l->dtype, i * l->ld + j) - most - logl(sum);
    loss -= j == label ? log_p : 0;
    if (s->log_probs)
      near(sl_value_at(o->log_probs.data, l->dtype, i * l->ld_log_probs + j), log_p, l->dtype, "log softmax");
    if (s->grad)
      near(sl_value_at(o->grad.data, l->dtype, i * l->ld_grad + j),
           label < 0 ? 0 : scale * (expl(log_p) - (j == label)), l->dtype, "gradient");
  }
  if (s->row_loss)
    near(((const double *)o->row_loss.data)[i], loss, SLEY_F64, "loss of a row");
  *total += loss;
}

static void check(const shape *s) {
  const sl_nll_args *l = &s->l;
  const size_t each = sley_dtype_bytes(l->dtype), skew = (size_t)s->skew * each;
  block logits = block_of((size_t)(l->rows * l->ld) * each, skew);
  block labels = block_of((size_t)l->rows * sizeof(int32_t), 0);
  int32_t *label = (int32_t *)(void *)labels.data;
  for (int64_t i = 0; i < l->rows * l->ld; i++)
    sl_value_set(logits.data, l->dtype, i, s->spread * draw_real());
  double counted = 0;
  for (int64_t i = 0; i < l->rows; i++) {
    label[i] = (int32_t)draw(l->classes + 1) - 1;
    counted += label[i] >= 0;
  }
  outputs first = {0};
  for (int q = 0; q < QUEUES; q++) {
    outputs o = make_outputs(l, skew);
    if (s->in_place)
      memcpy(o.grad.data, logits.data, logits.bytes);
    assert_sley_ok(call(queues[q], s, &logits, label, &o));
    if (q == 0) {
      long double total = 0;
      for (int64_t i = 0; i < l->rows; i++)
        check_row(s, &logits, label[i], i, &o, &total);
      if (s->sums) {
        near_sum(((double *)o.sums.data)[0], total, l->rows);
        assert_true(((double *)o.sums.data)[1] == counted);
      }
      first = o;
      continue;
    }
    assert_memory_equal(o.row_loss.data, first.row_loss.data, o.row_loss.bytes);
    assert_memory_equal(o.sums.data, first.sums.data, o.sums.bytes);
    assert_memory_equal(o.grad.data, first.grad.data, o.grad.bytes);
    assert_memory_equal(o.log_probs.data, first.log_probs.data, o.log_probs.bytes);
    drop_outputs(&o);
  }
  drop_outputs(&first);
  free(logits.base);
  free(labels.base);
}

static void losses_are_near(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(200); repeat++) {
    shape s = draw_shape();
    check(&s);
  }
}

/* The loss summed over rows, in f64. */
static double loss_of(const shape *s, const block *logits, int32_t *label) {
  outputs o = make_outputs(&s->l, 0);
  assert_sley_ok(call(queues[0], s, logits, label, &o));
  double loss = ((double *)o.sums.data)[0];
  drop_outputs(&o);
  return loss;
}

static void gradients_are_differences(void **state) {
  (void)state;
  enum { ROWS = 5, CLASSES = 9 };
  const double step = 1e-5;
  shape s = {.l = {.dtype = SLEY_F64,
                   .rows = ROWS,
                   .classes = CLASSES,
                   .ld = CLASSES,
                   .ld_grad = CLASSES,
                   .ld_log_probs = CLASSES,
                   .grad_scale = 1},
             .sums = true,
             .grad = true};
  int32_t label[ROWS] = {0, 8, -1, 3, 3};
  block logits = block_of(ROWS * CLASSES * sizeof(double), 0);
  block_fill(&logits, SLEY_F64, false);
  outputs o = make_outputs(&s.l, 0);
  assert_sley_ok(call(queues[0], &s, &logits, label, &o));
  double *z = (double *)(void *)logits.data;
  for (int i = 0; i < ROWS * CLASSES; i++) {
    const double here = z[i];
    z[i] = here + step;
    double above = loss_of(&s, &logits, label);
    z[i] = here - step;
    double below = loss_of(&s, &logits, label);
    z[i] = here;
    double grad = ((double *)(void *)o.grad.data)[i];
    if (!(fabs((above - below) / (2 * step) - grad) < 1e-8))
      fail_msg("value %d: gradient %g, difference %g", i, grad, (above - below) / (2 * step));
  }
  drop_outputs(&o);
  free(logits.base);
}

static void strange_labels_and_logits(void **state) {
  (void)state;
  enum { ROWS = 5, CLASSES = 3 };
  shape s = {.l = {.dtype = SLEY_F32,
                   .rows = ROWS,
                   .classes = CLASSES,
                   .ld = CLASSES,
                   .ld_grad = CLASSES,
                   .ld_log_probs = CLASSES,
                   .grad_scale = 1},
             .row_loss = true,
             .sums = true,
             .grad = true};
  int32_t label[ROWS] = {1, 3, -2, 0, 2};
  float z[ROWS * CLASSES] = {3e38F, -3e38F, 0, 0, 0, 0, 0, 0, 0, NAN, 1, 2, -INFINITY, 1, 1};
  block logits = {.base = (char *)z, .data = (char *)z, .bytes = sizeof z};
  outputs o = make_outputs(&s.l, 0);
  assert_sley_ok(call(queues[1], &s, &logits, label, &o));
  const double *loss = (const double *)(void *)o.row_loss.data;
  const float *grad = (const float *)(void *)o.grad.data;
  assert_true(loss[0] == (double)z[0] - (double)z[1] && grad[0] == 1 && grad[1] == -1);
  assert_true(isnan(loss[1]) && isnan(grad[3]) && isnan(loss[2]) && isnan(grad[8]));
  assert_true(isnan(loss[3]) && isnan(grad[9]) && isnan(grad[10]));
  assert_true(fabs(loss[4] - log(2)) < 1e-15 && grad[12] == 0 && grad[13] == 0.5F && grad[14] == -0.5F);
  assert_true(isnan(((const double *)(void *)o.sums.data)[0]));
  drop_outputs(&o);
}

static void short_memory_is_told(void **state) {
  (void)state;
  if (!queues[0]->device->ops->host_addresses)
    skip();
  double sums[2] = {7, 7};
  float z = 1;
  int32_t label = 0;
  sl_kernel_args args = {
      .op = SL_OP_NLL,
      .nll = {.rows = 1, .classes = 1, .logits = &z, .ld = 1, .label = &label, .sums = sums}};
  const int64_t before = sl_memory_now();
  sl_memory_fail_at(1);
  assert_int_equal(sl_kernel_run(queues[1], &args), SLEY_ERR_MEMORY);
  sl_memory_fail_at(0);
  assert_int_equal(sl_memory_now(), before);
  assert_sley_ok(sl_kernel_run(queues[1], &args));
  assert_int_equal(sl_memory_now(), before);
  assert_true(sums[0] == 0 && sums[1] == 1);
}

/* The error of the exponential must be at most 2 units in the last place, and 0 at arguments with an exact
 * result. */
static void exponentials_are_near(void **state) {
  (void)state;
  assert_true(sl_exp(0) == 1 && sl_exp(-INFINITY) == 0 && sl_exp(INFINITY) == INFINITY && isnan(sl_exp(NAN)));
  for (int i = 0; i < 200000; i++) {
    const double x = 708 * draw_real() * (i % 2 ? 1 : 1e-3);
    const long double exact = expl(x);
    if (!(fabsl(sl_exp(x) - exact) <= 2 * 0x1p-52L * exact))
      fail_msg("exp(%.17g) is %.17g", x, sl_exp(x));
  }
  assert_true(sl_exp(-745) == 0x1p-1074 && sl_exp(-746) == 0);
}

/* Exponentials of vectors must have the bits of single exponentials. */
static void runs_of_exponentials_are_the_same(void **state) {
  (void)state;
  static const char *const isa[] = {NULL, "avx2", "portable"};
  enum { MOST = 300 };
  for (int repeat = 0; repeat < repeats(300); repeat++) {
    double v[MOST], expected[MOST];
    const int64_t count = draw(MOST);
    for (int64_t i = 0; i < count; i++) {
      v[i] = draw(9) == 0 ? (double[]){0, -0.0, INFINITY, -INFINITY, NAN, -745}[draw(6)] : 800 * draw_real();
      expected[i] = sl_exp(v[i]);
    }
    if (isa[repeat % 3])
      setenv("SLEY_CPU", isa[repeat % 3], 1);
    sl_exps(v, count);
    unsetenv("SLEY_CPU");
    for (int64_t i = 0; i < count; i++)
      assert_true(isnan(expected[i]) ? isnan(v[i]) : memcmp(&v[i], &expected[i], sizeof *v) == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_are_near),           cmocka_unit_test(gradients_are_differences),
      cmocka_unit_test(strange_labels_and_logits), cmocka_unit_test(short_memory_is_told),
      cmocka_unit_test(exponentials_are_near),     cmocka_unit_test(runs_of_exponentials_are_the_same)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
