/* SPDX-License-Identifier: Apache-2.0 */
/* Moving or adding listed rows whose values change their type: what the kernels of convert.cu serve, and what
 * they cost. */
#include "device/cuda/cuda.h"

static const double bytes_per_second = 2e12, seconds_per_launch = 3e-6;

static double convert_cost(const sl_kernel_args *args) {
  const sl_convert_args *a = &args->convert;
  return seconds_per_launch + (double)a->count * (double)a->k *
                                  (double)(sley_dtype_bytes(a->from) + sley_dtype_bytes(a->to)) /
                                  bytes_per_second;
}

/* Of one type: rows as others are. */
static sley_status move(sl_queue *queue, const sl_convert_args *a) {
  sl_rows_args rows = {.count = a->count,
                       .bytes = a->k * (int64_t)sley_dtype_bytes(a->from),
                       .src = a->src,
                       .src_stride = a->src_stride,
                       .src_rows = a->src_rows,
                       .src_first = a->src_first,
                       .dst = a->dst,
                       .dst_stride = a->dst_stride,
                       .dst_rows = a->dst_rows,
                       .dst_first = a->dst_first,
                       .add = a->add,
                       .dtype = a->to};
  return sl_cuda_launch_rows(queue, &rows);
}

static sley_status convert_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_convert_args *a = &args->convert;
  if (a->count <= 0 || a->k <= 0)
    return SLEY_OK;
  return a->from == a->to ? move(queue, a) : sl_cuda_launch_convert(queue, a);
}

const sl_kernel sl_cuda_convert = {.name = "convert",
                                   .op = SL_OP_CONVERT,
                                   .ok = sl_converts,
                                   .cost = convert_cost,
                                   .prepare = sl_prepare_nothing,
                                   .refill = sl_refill_nothing,
                                   .release = sl_release_nothing,
                                   .run = convert_run};
