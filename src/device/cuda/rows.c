/* SPDX-License-Identifier: Apache-2.0 */
/* Moving, adding, pulling, awaiting, scaling and rounding rows: what the kernels of rows.cu serve, and what
 * they cost.
 */
#include "base/value.h"
#include "device/cuda/cuda.h"

static const double bytes_per_second = 2e12, bytes_per_second_pulled = 3e11, seconds_per_launch = 3e-6;

static bool rows_ok(const sl_kernel_args *args) {
  return !args->rows.add || sley_dtype_bytes(args->rows.dtype) != 0;
}

static double rows_cost(const sl_kernel_args *args) {
  return seconds_per_launch + (double)args->rows.count * (double)args->rows.bytes / bytes_per_second;
}

static sley_status rows_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->rows.count > 0 && args->rows.bytes > 0 ? sl_cuda_launch_rows(queue, &args->rows) : SLEY_OK;
}

/* Bytes of the longest row. */
static int64_t pull_bytes(const sl_pull_args *a) {
  int64_t most = 0;
  for (int i = 0; i < a->sources; i++)
    most = a->source[i].bytes > most ? a->source[i].bytes : most;
  return most;
}

static bool pull_ok(const sl_kernel_args *args) {
  const sl_pull_args *a = &args->pull;
  return a->sources <= SL_PULL_SOURCES && a->stages <= SL_PULL_STAGES &&
         (!a->add || (sley_dtype_bytes(a->dtype) != 0 && a->stages == 0));
}

static double pull_cost(const sl_kernel_args *args) {
  return seconds_per_launch +
         (double)args->pull.count * (double)pull_bytes(&args->pull) / bytes_per_second_pulled;
}

static sley_status pull_run(sl_queue *queue, const sl_kernel_args *args) {
  if (args->pull.signals) /* the peers wait for them, rows or not */
    return sl_cuda_launch_pull_signalled(queue, &args->pull);
  bool moves = args->pull.count > 0 && pull_bytes(&args->pull) > 0;
  if (!moves && args->pull.stages == 0)
    return SLEY_OK;
  return sl_cuda_is_plain_pull(&args->pull) ? sl_cuda_launch_plain_pull(queue, &args->pull)
                                            : sl_cuda_launch_pull(queue, &args->pull);
}

static bool arrive_ok(const sl_kernel_args *args) {
  (void)args;
  return true;
}

static double arrive_cost(const sl_kernel_args *args) {
  (void)args;
  return seconds_per_launch;
}

static sley_status arrive_run(sl_queue *queue, const sl_kernel_args *args) {
  return sl_cuda_launch_arrive(queue, &args->arrive);
}

static bool await_ok(const sl_kernel_args *args) {
  (void)args;
  return true;
}

static double await_cost(const sl_kernel_args *args) {
  (void)args;
  return seconds_per_launch;
}

static sley_status await_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->await.signals->lends > 0 ? sl_cuda_launch_await(queue, &args->await) : SLEY_OK;
}

static bool scale_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->scale.dtype) != 0;
}

static double scale_cost(const sl_kernel_args *args) {
  const sl_scale_args *a = &args->scale;
  return seconds_per_launch +
         (double)a->rows * (double)a->k * (double)sley_dtype_bytes(a->dtype) / bytes_per_second;
}

static sley_status scale_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_scale_args *a = &args->scale;
  return a->rows > 0 && a->k > 0 && a->beta != 1 ? sl_cuda_launch_scale(queue, a) : SLEY_OK;
}

static bool round_ok(const sl_kernel_args *args) {
  return sl_is_narrow(args->round.dtype) && sley_dtype_bytes(args->round.dtype) != 0;
}

static double round_cost(const sl_kernel_args *args) {
  const sl_round_args *a = &args->round;
  return seconds_per_launch +
         (double)a->rows * (double)a->k * (sizeof(float) + sizeof(uint16_t)) / bytes_per_second;
}

static sley_status round_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_round_args *a = &args->round;
  return a->rows > 0 && a->k > 0 ? sl_cuda_launch_round(queue, a) : SLEY_OK;
}

const sl_kernel sl_cuda_rows = {.name = "rows",
                                .op = SL_OP_ROWS,
                                .ok = rows_ok,
                                .cost = rows_cost,
                                .prepare = sl_prepare_nothing,
                                .refill = sl_refill_nothing,
                                .release = sl_release_nothing,
                                .run = rows_run};

const sl_kernel sl_cuda_pull = {.name = "pull",
                                .op = SL_OP_PULL,
                                .ok = pull_ok,
                                .cost = pull_cost,
                                .prepare = sl_prepare_nothing,
                                .refill = sl_refill_nothing,
                                .release = sl_release_nothing,
                                .run = pull_run};

const sl_kernel sl_cuda_arrive = {.name = "arrive",
                                  .op = SL_OP_ARRIVE,
                                  .ok = arrive_ok,
                                  .cost = arrive_cost,
                                  .prepare = sl_prepare_nothing,
                                  .refill = sl_refill_nothing,
                                  .release = sl_release_nothing,
                                  .run = arrive_run};

const sl_kernel sl_cuda_await = {.name = "await",
                                 .op = SL_OP_AWAIT,
                                 .ok = await_ok,
                                 .cost = await_cost,
                                 .prepare = sl_prepare_nothing,
                                 .refill = sl_refill_nothing,
                                 .release = sl_release_nothing,
                                 .run = await_run};

const sl_kernel sl_cuda_scale = {.name = "scale",
                                 .op = SL_OP_SCALE,
                                 .ok = scale_ok,
                                 .cost = scale_cost,
                                 .prepare = sl_prepare_nothing,
                                 .refill = sl_refill_nothing,
                                 .release = sl_release_nothing,
                                 .run = scale_run};

const sl_kernel sl_cuda_round = {.name = "round",
                                 .op = SL_OP_ROUND,
                                 .ok = round_ok,
                                 .cost = round_cost,
                                 .prepare = sl_prepare_nothing,
                                 .refill = sl_refill_nothing,
                                 .release = sl_release_nothing,
                                 .run = round_run};
