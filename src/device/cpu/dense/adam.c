/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of one step of the Adam optimizer. */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/dense/doubles.h"

enum { GRAIN = 64 * SL_DOUBLES };

/* Updates the parameters x and their moments m and v by the gradient g. */
static void take_step(const sl_adam_args *a, int64_t count, double *x, const double *g, double *m,
                      double *v) {
  const double rest1 = 1 - a->beta1, rest2 = 1 - a->beta2;
  for (int64_t i = 0; i < count; i++) {
    double scaled = a->grad_scale * g[i];
    if (a->l2 != 0)
      scaled = scaled + a->l2 * x[i];
    m[i] = a->beta1 * m[i] + rest1 * scaled;
    v[i] = a->beta2 * v[i] + rest2 * (scaled * scaled);
    x[i] = x[i] * a->keep - a->rate * m[i] / (sqrt(v[i]) * a->root + a->eps);
  }
}

static void step_of_run(const sl_adam_args *a, int64_t i, int64_t count) {
  const sley_dtype sums = sl_sum_dtype(a->dtype);
  double x[SL_DOUBLES], g[SL_DOUBLES], m[SL_DOUBLES], v[SL_DOUBLES];
  sl_doubles_load(a->master ? a->master : a->param, a->master ? sums : a->dtype, i, count, x);
  sl_doubles_load(a->grad, a->dtype, i, count, g);
  sl_doubles_load(a->m, sums, i, count, m);
  sl_doubles_load(a->v, sums, i, count, v);
  take_step(a, count, x, g, m, v);
  sl_doubles_store(a->m, sums, i, count, m);
  sl_doubles_store(a->v, sums, i, count, v);
  if (a->master)
    sl_doubles_store(a->master, sums, i, count, x);
  sl_doubles_store(a->param, a->dtype, i, count, x);
}

static sley_status step_of_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t i = begin; i < end; i += SL_DOUBLES)
    step_of_run(context, i, end - i < SL_DOUBLES ? end - i : SL_DOUBLES);
  return SLEY_OK;
}

static sley_status adam_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_adam_args a = args->adam;
  return a.count > 0 ? sl_team_for(sl_cpu_queue_team(queue), a.count, GRAIN, step_of_range, &a) : SLEY_OK;
}

static bool adam_ok(const sl_kernel_args *args) {
  return sl_adam_ok(&args->adam);
}

const sl_kernel sl_cpu_adam = {.name = "step of Adam",
                               .op = SL_OP_ADAM,
                               .ok = adam_ok,
                               .cost = sl_cost_of_bytes,
                               SL_KERNEL_KEEPS_NOTHING,
                               .run = adam_run};
