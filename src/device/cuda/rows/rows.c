/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move, add, pull, await, scale and round rows; their launchers are in cuda_rows.cu, pull.cu and
 * signals.cu. */
#include "device/cuda/cuda.h"

static sley_status rows_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->rows.count > 0 && args->rows.bytes > 0 ? sl_cuda_launch_rows(queue, &args->rows) : SLEY_OK;
}

static sley_status pull_run(sl_queue *queue, const sl_kernel_args *args) {
  if (args->pull.signals) /* peers wait for the signals even if there are no rows */
    return sl_cuda_launch_pull_signalled(queue, &args->pull);
  bool moves = args->pull.count > 0 && sl_pull_row_bytes(&args->pull) > 0;
  if (!moves && args->pull.pieces == 0)
    return SLEY_OK;
  return sl_cuda_is_plain_pull(&args->pull) ? sl_cuda_launch_plain_pull(queue, &args->pull)
                                            : sl_cuda_launch_pull(queue, &args->pull);
}

static sley_status arrive_run(sl_queue *queue, const sl_kernel_args *args) {
  return sl_cuda_launch_arrive(queue, &args->arrive);
}

static sley_status await_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->await.signals->lends > 0 ? sl_cuda_launch_await(queue, &args->await) : SLEY_OK;
}

static sley_status scale_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_scale_args *a = &args->scale;
  return a->rows > 0 && a->k > 0 && a->beta != 1 ? sl_cuda_launch_scale(queue, a) : SLEY_OK;
}

static sley_status round_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_round_args *a = &args->round;
  return a->rows > 0 && a->k > 0 ? sl_cuda_launch_round(queue, a) : SLEY_OK;
}

const sl_kernel sl_cuda_rows = {.name = "rows",
                                .op = SL_OP_ROWS,
                                .ok = sl_rows_ok,
                                .cost = sl_cost_of_bytes,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = rows_run};

const sl_kernel sl_cuda_pull = {.name = "pull",
                                .op = SL_OP_PULL,
                                .ok = sl_pull_ok,
                                .cost = sl_cost_of_bytes,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = pull_run};

const sl_kernel sl_cuda_arrive = {.name = "arrive",
                                  .op = SL_OP_ARRIVE,
                                  .ok = sl_always_ok,
                                  .cost = sl_cost_of_bytes,
                                  SL_KERNEL_KEEPS_NOTHING,
                                  .run = arrive_run};

const sl_kernel sl_cuda_await = {.name = "await",
                                 .op = SL_OP_AWAIT,
                                 .ok = sl_always_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = await_run};

const sl_kernel sl_cuda_scale = {.name = "scale",
                                 .op = SL_OP_SCALE,
                                 .ok = sl_scale_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = scale_run};

const sl_kernel sl_cuda_round = {.name = "round",
                                 .op = SL_OP_ROUND,
                                 .ok = sl_round_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = round_run};
