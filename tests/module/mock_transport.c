/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable transport for the tests: the threads one under another name. With SLEY_MOCK_ADDS=yes rank 0
 * sends rank 1 one byte more with each exchange: what is counted must then differ from what plans predict. */
#include <stdlib.h>

#include "base/module.h"
#include "transport/transport.h"
#include "transport/transport_registry.h"

static _Thread_local const sl_transport_ops *sound;
static _Thread_local sl_transport_ops adding;
static _Thread_local sl_exchange *extra;

static sley_status begin_and_add(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                 int64_t dst_stride, sl_queue *queue) {
  static _Thread_local char bytes[2];
  SL_TRY(sound->exchange_begin(extra, bytes, 1, bytes + 1, 1, queue));
  SL_TRY(sound->exchange_end(extra, queue));
  return sound->exchange_begin(exchange, src, src_stride, dst, dst_stride, queue);
}

typedef struct job {
  sl_rank_main main;
  void *arg;
} job;

static sley_status add_main(sl_comm *comm, void *arg) {
  const job *j = arg;
  const sl_row_list list = {.peer = !comm->rank, .count = 1, .bytes = 1};
  const sl_exchange_spec spec = {.name = "one more",
                                 .sends = comm->rank == 0 && comm->size > 1,
                                 .recvs = comm->rank == 1,
                                 .send = &list,
                                 .recv = &list,
                                 .dtype = SLEY_F32};
  sound = comm->ops;
  SL_TRY(sound->exchange_create(comm, &spec, &extra));
  adding = *sound;
  adding.exchange_begin = begin_and_add;
  comm->ops = &adding;
  sley_status status = j->main(comm, j->arg);
  comm->ops = sound;
  if (status != SLEY_OK)
    sound->abort(comm, status);
  sound->exchange_destroy(extra);
  return status;
}

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  job added = {main, arg};
  const char *adds = getenv("SLEY_MOCK_ADDS");
  setenv("SLEY_MOCK_RAN", "yes", 1);
  const sl_transport_backend *threads;
  SL_TRY(sl_transport_backend_find("threads", &threads));
  return adds && *adds ? threads->run(launch, add_main, &added) : threads->run(launch, main, arg);
}

static const char *describe(void) {
  return "threads, from a module";
}

static const sl_transport_backend mock = {.name = "mock", .run = run, .describe = describe};

const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &mock : NULL;
}
