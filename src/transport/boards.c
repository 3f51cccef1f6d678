/* SPDX-License-Identifier: Apache-2.0 */
/* Boards: memory in which the devices of several ranks signal each other. */
#include "transport/boards.h"

static sl_kernel_args args_of(const sl_board_round *round, const sl_signals *signals,
                              const sl_pull_batch *batch) {
  return (sl_kernel_args){.op = SL_OP_PULL,
                          .pull = {.count = batch->count,
                                   .list = round->list + batch->first,
                                   .sources = batch->sources,
                                   .source = round->source + batch->first_source,
                                   .dst = round->dst,
                                   .dst_stride = round->dst_stride,
                                   .add = round->add,
                                   .dtype = round->dtype,
                                   .signals = signals}};
}

sley_status sl_boards_launch(const sl_board_round *round, const sl_signals *signals,
                             const sl_pull_batch *batch, sl_queue *queue, sl_counters *counters) {
  sl_kernel_args args = args_of(round, signals, batch);
  SL_TRY(sl_kernel_run(queue, &args));
  if (counters)
    sl_counters_sum(counters, &batch->given);
  return SLEY_OK;
}

static sley_status launch(const sl_board_round *round, bool opens, bool closes, const sl_pull_batch *batch,
                          sl_queue *queue, sl_counters *counters) {
  sl_signals signals = round->signals;
  signals.opens = opens;
  signals.closes = closes;
  return sl_boards_launch(round, &signals, batch, queue, counters);
}

sley_status sl_boards_open(const sl_board_round *round, sl_queue *queue) {
  sl_pull_batch silent = {.first_source = round->moving, .sources = round->still};
  return launch(round, true, round->batches == 0, &silent, queue, NULL);
}

sley_status sl_boards_add(const sl_board_round *round, int batch, sl_queue *queue, sl_counters *counters) {
  return launch(round, false, batch == round->batches - 1, &round->batch[batch], queue, counters);
}

static sley_status pull_all(const sl_board_round *round, sl_queue *queue, sl_counters *counters) {
  sl_pull_batch all = {.count = round->batches > 0 ? round->batch[0].count : 0,
                       .sources = round->moving + round->still};
  sl_signals signals = round->signals;
  signals.opens = signals.closes = true;
  sl_kernel_args args = args_of(round, &signals, &all);
  sl_arrivals_fill(round->pieces, &args.pull);
  SL_TRY(sl_kernel_run(queue, &args));
  if (round->batches > 0)
    sl_counters_sum(counters, &round->batch[0].given);
  return SLEY_OK;
}

sley_status sl_boards_pull(const sl_board_round *round, sl_queue *queue, sl_counters *counters) {
  if (!round->add)
    return pull_all(round, queue, counters);
  SL_TRY(sl_boards_open(round, queue));
  for (int b = 0; b < round->batches; b++)
    SL_TRY(sl_boards_add(round, b, queue, counters));
  return SLEY_OK;
}

sley_status sl_boards_await(const sl_signals *signals, sl_queue *queue) {
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_AWAIT, .await = {.signals = signals}});
}
