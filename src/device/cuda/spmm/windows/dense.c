/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM with dense windows (dense.cuh): parts of the matrix that are dense, by a model, are multiplied as
 * dense matrices; the other rows by spmm-hybrid or spmm-stream, which also get all rows if no window is
 * dense. */
#include "base/value.h"
#include "device/cuda/spmm/stream.h"
#include "device/cuda/spmm/windows/dense_prepare.h"
#include "device/product.h"

extern const sl_kernel sl_cuda_spmm_stream, sl_cuda_spmm_hybrid;

static const sl_kernel *const others[] = {&sl_cuda_spmm_hybrid, &sl_cuda_spmm_stream, NULL};

static bool dense_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return p->k > SL_NARROW_MOST && !p->in_order && sl_cuda_spmm_stream.ok(args);
}

/* The kernel for rows outside dense windows. */
static const sl_kernel *other(const sl_device_figures *figures, const sl_kernel_args *args) {
  return sl_cuda_spmm_hybrid.ok(args) &&
                 sl_cuda_spmm_hybrid.cost(figures, args) < sl_cuda_spmm_stream.cost(figures, args)
             ? &sl_cuda_spmm_hybrid
             : &sl_cuda_spmm_stream;
}

/* Slightly below the cost without dense windows: if there are none, the other kernel gets all rows. */
static double dense_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  const bool asks = !p->lean && sl_spmm_entries(p->a) >= figures->fill[SL_FILL_DENSE_ENTRIES];
  return (asks ? 0.99 : 3) * other(figures, args)->cost(figures, args);
}

static sley_status dense_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 void **prepared) {
  const sl_spmm_problem *problem = args->spmm.problem;
  sl_dense *d = NULL;
  (void)device;
  *prepared = NULL;
  if (problem->a->rows > 0 && problem->k > 0)
    SL_TRY(sl_dense_prepare(queue, problem, others, &d));
  *prepared = d;
  return SLEY_OK;
}

static void dense_release(sl_device *device, void *prepared) {
  sl_dense_release(device, prepared);
}

static sley_status dense_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                const void *val, sl_values_in where, void *prepared) {
  sl_dense *d = prepared;
  const sl_spmm_matrix *a = args->spmm.problem->a;
  if (!d)
    return SLEY_OK;
  if (d->windows.windows == 0)
    return d->rest.kernel->refill(device, queue, args, val, where, d->rest.prepared);
  SL_TRY(sl_device_copy_values(queue, a, val, where, d->whole.val));
  SL_TRY(sl_window_refill(queue, sl_spmm_entries(a), d->place, d->whole.val,
                          (int64_t)sley_dtype_bytes(a->dtype), (void *)d->windows.val));
  return sl_rest_refill(queue, args, d->whole.val, &d->rest);
}

static sley_status run_windows(sl_queue *queue, const sl_spmm_run *a, const sl_windows *windows) {
  const sl_window_run run = sl_window_run_of(a, windows);
  switch (a->problem->a->dtype) {
  case SLEY_F16:
    return sl_cuda_dense_f16(queue, &run);
  case SLEY_BF16:
    return sl_cuda_dense_bf16(queue, &run);
  case SLEY_F64:
    return sl_cuda_dense_f64(queue, &run);
  default:
    return a->problem->tf32 ? sl_cuda_dense_tf32(queue, &run) : sl_cuda_dense_f32(queue, &run);
  }
}

static sley_status dense_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spmm_run *a = &args->spmm;
  const sl_dense *d = a->prepared;
  if (a->problem->a->rows <= 0 || a->problem->k <= 0)
    return SLEY_OK;
  if (a->ldx > UINT32_MAX || a->ldfar > UINT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "rows %lld values apart are too far for the cuda device",
                   (long long)(a->ldx > a->ldfar ? a->ldx : a->ldfar));
  if (d->windows.windows > 0)
    SL_TRY(run_windows(queue, a, &d->windows));
  return sl_rest_run(queue, args, &d->rest);
}

static bool dense_waits(const sl_kernel_args *args) {
  return sl_cuda_spmm_stream.product->waits(args);
}

static int64_t dense_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_problem *p = args->spmm.problem;
  int64_t other_passing = 0, kept = other(p->figures, args)->memory(args, &other_passing);
  kept += sl_dense_memory(p, passing);
  *passing += other_passing;
  return kept;
}

static int64_t dense_copied(const sl_kernel_args *args, const void *prepared) {
  (void)args;
  return prepared ? ((const sl_dense *)prepared)->windows.entries : 0;
}

/* In f64, dense windows are as accurate as the documented order; in other types, as the windows of
 * spmm-hybrid. The other rows are at least as accurate as these. */
static sl_accuracy dense_accuracy(const sl_kernel_args *args, const void *prepared) {
  const sl_dense *d = prepared;
  if (args->spmm.problem->a->dtype == SLEY_F64)
    return SL_ACCURACY_IN_ORDER;
  if (d && d->windows.windows == 0)
    return d->rest.kernel->product->accuracy(args, d->rest.prepared);
  return sl_cuda_spmm_hybrid.product->accuracy(args, NULL);
}

static const sl_kernel *dense_stands_for(const sl_kernel *kernel, const void *prepared) {
  const sl_dense *d = prepared;
  if (d && d->windows.windows > 0)
    return kernel;
  return d ? d->rest.kernel->product->stands_for(d->rest.kernel, d->rest.prepared) : &sl_cuda_spmm_stream;
}

static const sl_product_traits dense_product = {SL_PRODUCT_DEFAULTS,         .waits = dense_waits,
                                                .layout = "dense windows",   .copied = dense_copied,
                                                .accuracy = dense_accuracy,  .stands_for = dense_stands_for,
                                                .serves_fewer_columns = true};

const sl_kernel sl_cuda_spmm_dense = {.name = "spmm-dense",
                                      .op = SL_OP_SPMM,
                                      .ok = dense_ok,
                                      .cost = dense_cost,
                                      .prepare = dense_prepare,
                                      .refill = dense_refill,
                                      .release = dense_release,
                                      .memory = dense_memory,
                                      .product = &dense_product,
                                      .run = dense_run};
