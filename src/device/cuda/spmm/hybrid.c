/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM on both kinds of cores: row windows on Tensor cores (tensor.cuh), the other rows as streams of
 * entries (stream.c). spmm-hybrid chooses by a model, window by window; plans use it unless memory is
 * short. spmm-tensor uses windows only. */
#include "base/value.h"
#include "device/cuda/spmm/hybrid_prepare.h"
#include "device/cuda/spmm/stream.h"
#include "device/product.h"

extern const sl_kernel sl_cuda_spmm_stream, sl_cuda_spmm_hybrid;

static bool hybrid_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return p->k > SL_NARROW_MOST && !p->in_order && p->a->dtype != SLEY_F64 && sl_cuda_spmm_stream.ok(args);
}

/* Slightly below the cost of streaming alone: if no window is faster on Tensor cores, this kernel streams all
 * rows. For products of few entries the cost is above it, because the model does not predict times of a few
 * microseconds well. */
static double hybrid_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  const bool asks = !p->lean && sl_spmm_entries(p->a) >= figures->fill[SL_FILL_WINDOW_ENTRIES];
  return (asks ? 0.99 : 2) * sl_cuda_spmm_stream.cost(figures, args);
}

static double tensor_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  return 2 * sl_cuda_spmm_stream.cost(figures, args);
}

static const sl_kernel *hybrid_stands_for(const sl_kernel *kernel, const void *prepared) {
  const sl_hybrid *h = prepared;
  return h && h->windows.windows > 0 ? kernel : &sl_cuda_spmm_stream;
}

static sley_status prepare(sl_queue *queue, const sl_kernel_args *args, bool all, void **prepared) {
  const sl_spmm_problem *problem = args->spmm.problem;
  sl_hybrid *h = NULL;
  *prepared = NULL;
  if (problem->a->rows > 0 && problem->k > 0)
    SL_TRY(sl_hybrid_prepare(queue, problem, all, &h));
  *prepared = h;
  return SLEY_OK;
}

static void hybrid_release(sl_device *device, void *prepared) {
  sl_hybrid_release(device, prepared);
}

static sley_status hybrid_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  void **prepared) {
  (void)device;
  return prepare(queue, args, false, prepared);
}

static sley_status tensor_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  void **prepared) {
  (void)device;
  return prepare(queue, args, true, prepared);
}

static sley_status hybrid_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 const void *val, sl_values_in where, void *prepared) {
  sl_hybrid *h = prepared;
  const sl_spmm_matrix *a = args->spmm.problem->a;
  if (!h)
    return SLEY_OK;
  if (h->windows.windows == 0)
    return h->rest.kernel->refill(device, queue, args, val, where, h->rest.prepared);
  SL_TRY(sl_device_copy_values(queue, a, val, where, h->whole.val));
  SL_TRY(sl_window_refill(queue, sl_spmm_entries(a), h->place, h->whole.val,
                          (int64_t)sley_dtype_bytes(a->dtype), (void *)h->windows.val));
  return sl_rest_refill(queue, args, h->whole.val, &h->rest);
}

/* ------------------------------------------------------------------------------------------------- runs */

static sley_status run_windows(sl_queue *queue, const sl_spmm_run *a, const sl_windows *windows) {
  const sl_spmm_problem *p = a->problem;
  const sl_window_run run = sl_window_run_of(a, windows);
  switch (p->a->dtype) {
  case SLEY_F16:
    return sl_cuda_tensor_f16(queue, &run);
  case SLEY_BF16:
    return sl_cuda_tensor_bf16(queue, &run);
  default:
    return p->tf32 ? sl_cuda_tensor_tf32(queue, &run) : sl_cuda_tensor_f32(queue, &run);
  }
}

static sley_status hybrid_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spmm_run *a = &args->spmm;
  const sl_hybrid *h = a->prepared;
  if (a->problem->a->rows <= 0 || a->problem->k <= 0)
    return SLEY_OK;
  if (a->ldx > UINT32_MAX || a->ldfar > UINT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "rows %lld values apart are too far for the cuda device",
                   (long long)(a->ldx > a->ldfar ? a->ldx : a->ldfar));
  if (h->windows.windows > 0)
    SL_TRY(run_windows(queue, a, &h->windows));
  return sl_rest_run(queue, args, &h->rest);
}

static bool hybrid_waits(const sl_kernel_args *args) {
  return sl_cuda_spmm_stream.product->waits(args);
}

/* ------------------------------------------------------------------------------------------------ memory */

static int64_t hybrid_memory(const sl_kernel_args *args, int64_t *passing) {
  int64_t stream_passing = 0, kept = sl_cuda_spmm_stream.memory(args, &stream_passing);
  kept += sl_hybrid_memory(args->spmm.problem, false, passing);
  *passing += stream_passing;
  return kept;
}

static int64_t tensor_memory(const sl_kernel_args *args, int64_t *passing) {
  return sl_hybrid_memory(args->spmm.problem, true, passing);
}

static int64_t hybrid_copied(const sl_kernel_args *args, const void *prepared) {
  (void)args;
  return prepared ? ((const sl_hybrid *)prepared)->windows.entries : 0;
}

static sl_accuracy hybrid_accuracy(const sl_kernel_args *args, const void *prepared) {
  const sl_spmm_problem *p = args->spmm.problem;
  bool tf32 = p->tf32 && p->a->dtype == SLEY_F32;
  if (prepared && ((const sl_hybrid *)prepared)->windows.windows == 0)
    return SL_ACCURACY_IN_ORDER;
  return (sl_accuracy){SL_TENSOR_ROUNDINGS, tf32 ? SL_TF32_MORE_ROUNDINGS : SL_TENSOR_MORE_ROUNDINGS, tf32};
}

static const sl_product_traits hybrid_product = {SL_PRODUCT_DEFAULTS,         .waits = hybrid_waits,
                                                 .layout = "row windows",     .copied = hybrid_copied,
                                                 .accuracy = hybrid_accuracy, .stands_for = hybrid_stands_for,
                                                 .serves_fewer_columns = true};

const sl_kernel sl_cuda_spmm_hybrid = {.name = "spmm-hybrid",
                                       .op = SL_OP_SPMM,
                                       .ok = hybrid_ok,
                                       .cost = hybrid_cost,
                                       .prepare = hybrid_prepare,
                                       .refill = hybrid_refill,
                                       .release = hybrid_release,
                                       .memory = hybrid_memory,
                                       .product = &hybrid_product,
                                       .run = hybrid_run};

static const sl_product_traits tensor_product = {SL_PRODUCT_DEFAULTS,         .waits = hybrid_waits,
                                                 .layout = "row windows",     .copied = hybrid_copied,
                                                 .accuracy = hybrid_accuracy, .serves_fewer_columns = true};

const sl_kernel sl_cuda_spmm_tensor = {.name = "spmm-tensor",
                                       .op = SL_OP_SPMM,
                                       .ok = hybrid_ok,
                                       .cost = tensor_cost,
                                       .prepare = tensor_prepare,
                                       .refill = hybrid_refill,
                                       .release = hybrid_release,
                                       .memory = tensor_memory,
                                       .product = &tensor_product,
                                       .run = hybrid_run};
