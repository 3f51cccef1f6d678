/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable transport of processes for the tests: as NCCL it wants a device for each rank, and turns to tcp,
 * which it is in all else. */
#include "base/module.h"
#include "transport/tcp/tcp.h"

static sl_process_backend process;

static sley_status start(sl_process_comm *comm) {
  SL_TRY(sl_process_refuse_shared(comm, "the mock of NCCL"));
  return sl_tcp_backend.process->start(comm);
}

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&process, launch, main, arg);
}

static const char *describe(void) {
  return "tcp, where each rank has a device of its own";
}

static const sl_transport_backend mock = {
    .name = "nccl", .run = run, .describe = describe, .process = &process};

const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  process = *sl_tcp_backend.process;
  process.name = "nccl";
  process.start = start;
  process.next = "tcp";
  return abi == SL_MODULE_ABI ? &mock : NULL;
}
