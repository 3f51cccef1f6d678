/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tcp/tcp.h"

#include "transport/process/direct.h"

static sley_status start(sl_process_comm *comm) {
  SL_TRY(sl_direct_start(comm, &sl_shared_memory));
  if (!comm->base.device->ops->host_addresses && !comm->direct)
    comm->base.workgroup = 1; /* no memory of another rank's device is in reach */
  return SLEY_OK;
}

static void stop(sl_process_comm *comm) {
  sl_direct_stop(comm);
}

static const sl_transport_ops tcp_ops = {
    .name = "tcp",
    .exchange_create = sl_tcp_exchange_create,
    .exchange_memory = sl_direct_memory,
    .exchange_begin = sl_tcp_exchange_begin,
    .exchange_end = sl_tcp_exchange_end,
    .exchange_arrive = sl_tcp_exchange_arrive,
    .exchange_borrow = sl_tcp_exchange_borrow,
    .exchange_destroy = sl_tcp_exchange_destroy,
    .symm_alloc = sl_process_symm_alloc,
    .symm_free = sl_process_symm_free,
    .peer_ptr = sl_process_peer_ptr,
    .get = sl_process_get,
    .put = sl_process_put,
    .fetch_add = sl_process_fetch_add,
    .flush = sl_process_flush,
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

static const sl_process_backend tcp_process = {
    .name = "tcp", .ops = &tcp_ops, .comm_bytes = sizeof(sl_process_comm), .start = start, .stop = stop};

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&tcp_process, launch, main, arg);
}

static const char *describe(void) {
  return "ranks are processes that exchange rows over TCP";
}

const sl_transport_backend sl_tcp_backend = {
    .name = "tcp", .run = run, .describe = describe, .process = &tcp_process};
