/* SPDX-License-Identifier: Apache-2.0 */
/* A step of training, and the times of its parts. */
#include "gnn/network.h"

static sley_status run(sley_gnn *gnn, const sley_gnn_batch *batch, sl_rows x, double *loss,
                       int64_t *counted) {
  sl_comm *comm = gnn->comm;
  SL_TRY(sl_network_forward(gnn, x, true, batch->step));
  sl_work before = sl_work_begin(comm, SL_WORK_LOSS);
  SL_TRY(sl_work_end(comm, before, sl_network_loss(gnn, batch->label, true, loss, counted)));
  sl_stopwatch_turn(comm, SL_BACKWARD);
  SL_TRY(sl_network_backward(gnn, x, batch->step));
  if (batch->rate == 0)
    return SLEY_OK;
  before = sl_work_begin(comm, SL_WORK_OPTIMIZER);
  return sl_work_end(comm, before, sl_network_step(gnn, batch->optimizer, batch->rate, batch->decay));
}

sley_status sl_network_train(sley_gnn *gnn, const sley_gnn_batch *batch, sl_rows x, double *loss,
                             int64_t *counted) {
  gnn->has_times = false;
  if (!gnn->timed)
    return run(gnn, batch, x, loss, counted);
  SL_TRY(sl_stopwatch_start(gnn->comm, &gnn->watch));
  SL_TRY(sl_stopwatch_stop(gnn->comm, run(gnn, batch, x, loss, counted)));
  gnn->has_times = true;
  return SLEY_OK;
}

static sley_gnn_time time_of(const sl_stopwatch *watch, sl_work work) {
  return (sley_gnn_time){1e3 * watch->seconds[SL_FORWARD][work], 1e3 * watch->seconds[SL_BACKWARD][work]};
}

sley_status sl_network_times(const sley_gnn *gnn, sley_gnn_times *out) {
  if (!gnn->has_times)
    return sl_fail(SLEY_ERR_ARG,
                   "sley_gnn_times_get: no step was timed: call sley_gnn_time_steps before sley_gnn_train");
  *out = (sley_gnn_times){.exchange = time_of(&gnn->watch, SL_WORK_EXCHANGE),
                          .spmm = time_of(&gnn->watch, SL_WORK_SPMM),
                          .attention = time_of(&gnn->watch, SL_WORK_ATTENTION),
                          .gemm = time_of(&gnn->watch, SL_WORK_GEMM),
                          .loss = time_of(&gnn->watch, SL_WORK_LOSS),
                          .optimizer = time_of(&gnn->watch, SL_WORK_OPTIMIZER),
                          .other = time_of(&gnn->watch, SL_WORK_OTHER)};
  return SLEY_OK;
}
