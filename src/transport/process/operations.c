/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/process/exchange.h"

const sl_transport_ops sl_process_ops = {
    .exchange_create = sl_process_exchange_create,
    .exchange_memory = sl_direct_memory,
    .exchange_begin = sl_process_exchange_begin,
    .exchange_end = sl_process_exchange_end,
    .exchange_arrive = sl_process_exchange_arrive,
    .exchange_reclaim = sl_process_exchange_reclaim,
    .exchange_borrow = sl_process_exchange_borrow,
    .exchange_destroy = sl_process_exchange_destroy,
    .symm = &sl_process_symm_ops,
    .barrier = sl_process_barrier,
    .allgather = sl_process_allgather,
    .alltoallv = sl_process_alltoallv,
    .allreduce = sl_process_allreduce,
    .abort = sl_process_abort,
    .wait = sl_process_wait,
    .counters = sl_process_counters,
    .counters_reset = sl_process_counters_reset,
    .counters_add = sl_process_counters_add,
    .close = sl_process_close,
};
