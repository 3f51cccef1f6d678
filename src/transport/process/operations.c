/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations that all transports between processes share. */
#include "transport/process/process_exchange.h"

static sley_status dense_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out) {
  return ((sl_process_comm *)comm)->backend->dense_native(comm, spec, out);
}

const sl_transport_ops sl_process_ops = {
    .exchange_create = sl_process_exchange_create,
    .exchange_memory = sl_direct_memory,
    .exchange_begin = sl_process_exchange_begin,
    .exchange_end = sl_process_exchange_end,
    .exchange_arrive = sl_process_exchange_arrive,
    .exchange_reclaim = sl_process_exchange_reclaim,
    .exchange_map = sl_process_exchange_map,
    .exchange_destroy = sl_process_exchange_destroy,
    .sized_create = sl_process_sized_create,
    .sized_begin = sl_process_sized_begin,
    .sized_end = sl_process_sized_end,
    .sized_destroy = sl_process_sized_destroy,
    .dense_native = dense_native,
    .symm = &sl_process_symm_ops,
    .barrier = sl_process_barrier,
    .allgather = sl_process_allgather,
    .alltoallv = sl_process_alltoallv,
    .allreduce = sl_process_allreduce,
    .abort = sl_process_abort,
    .wait = sl_process_wait,
    .list_messages = sl_process_list_messages,
    .row_messages = sl_process_row_messages,
    .counters = sl_process_counters,
    .counters_reset = sl_process_counters_reset,
    .counters_add = sl_process_counters_add,
    .close = sl_process_close,
};
