/* SPDX-License-Identifier: Apache-2.0 */
/* One array of several, value by value: what the kernels of reduce.cu serve, and what they cost. */
#include "device/cuda/cuda.h"

static bool reduce_ok(const sl_kernel_args *args) {
  return sl_reduces(&args->reduce);
}

static double reduce_cost(const sl_kernel_args *args) {
  const sl_reduce_args *a = &args->reduce;
  return 3e-6 + (double)a->count * (double)sley_type_bytes(a->type) * (a->parts + 1) / 2e12;
}

static sley_status reduce_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->reduce.count > 0 ? sl_cuda_launch_reduce(queue, &args->reduce) : SLEY_OK;
}

const sl_kernel sl_cuda_reduce = {.name = "reduce",
                                  .op = SL_OP_REDUCE,
                                  .ok = reduce_ok,
                                  .cost = reduce_cost,
                                  SL_KERNEL_KEEPS_NOTHING,
                                  .run = reduce_run};
