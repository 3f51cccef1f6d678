/* SPDX-License-Identifier: Apache-2.0 */
/* Moves or adds listed rows and converts their type; the launcher is in cuda_convert.cu. */
#include "device/cuda/cuda.h"

/* For equal types: an ordinary move of rows. */
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
                                   .ok = sl_convert_ok,
                                   .cost = sl_cost_of_bytes,
                                   SL_KERNEL_KEEPS_NOTHING,
                                   .run = convert_run};
