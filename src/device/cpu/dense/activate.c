/* SPDX-License-Identifier: Apache-2.0 */
/* Activations, and the kernel of their gradient. */
#include "device/cpu/dense/activate.h"

#include <string.h>

#include "device/cpu/cpu.h"
#include "device/cpu/dense/doubles.h"
#include "device/cpu/dense/exps.h"

/* Sets v to elu(v); count is at most SL_DOUBLES. */
static void apply_elu(double slope, double *v, int64_t count) {
  double power[SL_DOUBLES];
  memcpy(power, v, (size_t)count * sizeof *v);
  sl_exps(power, count);
  for (int64_t j = 0; j < count; j++)
    v[j] = v[j] > 0 ? v[j] : slope * (power[j] - 1);
}

void sl_activate(sley_activation act, double slope, double *v, int64_t count) {
  if (act == SLEY_RELU)
    for (int64_t j = 0; j < count; j++)
      v[j] = v[j] < 0 ? 0 : v[j];
  else if (act == SLEY_LEAKY_RELU)
    for (int64_t j = 0; j < count; j++)
      v[j] = v[j] < 0 ? slope * v[j] : v[j];
  else if (act == SLEY_ELU)
    apply_elu(slope, v, count);
}

/* dy *= act'(y). */
static void apply_gradient(sley_activation act, double slope, const double *y, double *dy, int64_t count) {
  if (act == SLEY_RELU)
    for (int64_t j = 0; j < count; j++)
      dy[j] *= y[j] > 0 ? 1 : 0;
  else if (act == SLEY_LEAKY_RELU)
    for (int64_t j = 0; j < count; j++)
      dy[j] *= y[j] > 0 ? 1 : slope;
  else if (act == SLEY_ELU)
    for (int64_t j = 0; j < count; j++)
      dy[j] *= y[j] > 0 ? 1 : y[j] + slope;
}

/* relu' in f32 needs no doubles: both products are exact. */
static void relu_gradient(const sl_activate_grad_args *a, int64_t i) {
  const float *y = (const float *)a->y + i * a->ldy, *dy = (const float *)a->dy + i * a->lddy;
  float *dx = (float *)a->dx + i * a->lddx;
  for (int64_t j = 0; j < a->cols; j++)
    dx[j] = dy[j] * (y[j] > 0 ? 1.0F : 0.0F);
}

void sl_activate_grad_row(const sl_activate_grad_args *a, int64_t i) {
  double y[SL_DOUBLES], dy[SL_DOUBLES];
  if (a->dtype == SLEY_F32 && a->act == SLEY_RELU && a->scale == 1) {
    relu_gradient(a, i);
    return;
  }
  for (int64_t j = 0; j < a->cols; j += SL_DOUBLES) {
    const int64_t count = a->cols - j < SL_DOUBLES ? a->cols - j : SL_DOUBLES;
    sl_doubles_load(a->y, a->dtype, i * a->ldy + j, count, y);
    sl_doubles_load(a->dy, a->dtype, i * a->lddy + j, count, dy);
    apply_gradient(a->act, a->slope, y, dy, count);
    for (int64_t c = 0; c < count; c++)
      dy[c] *= a->scale;
    sl_doubles_store(a->dx, a->dtype, i * a->lddx + j, count, dy);
  }
}

static sley_status gradient_of_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t i = begin; i < end; i++)
    sl_activate_grad_row(context, i);
  return SLEY_OK;
}

static sley_status activate_grad_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_activate_grad_args a = args->activate_grad;
  sl_kernel_args sums = {.op = SL_OP_COLUMN_SUMS};
  if (a.rows > 0 && a.cols > 0)
    SL_TRY(sl_team_for(sl_cpu_queue_team(queue), a.rows, sl_rows_grain(a.cols), gradient_of_rows, &a));
  if (!a.sums)
    return SLEY_OK;
  sums.column_sums = (sl_column_sums_args){
      .dtype = a.dtype, .rows = a.rows, .cols = a.cols, .x = a.dx, .ldx = a.lddx, .out = a.sums};
  return sl_kernel_run(queue, &sums);
}

static bool activate_grad_ok(const sl_kernel_args *args) {
  return sl_activate_grad_ok(&args->activate_grad);
}

const sl_kernel sl_cpu_activate_grad = {.name = "gradient of an activation",
                                        .op = SL_OP_ACTIVATE_GRAD,
                                        .ok = activate_grad_ok,
                                        .cost = sl_cost_of_bytes,
                                        SL_KERNEL_KEEPS_NOTHING,
                                        .run = activate_grad_run};
