/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable transport of processes for the tests: as NCCL it wants a device for each rank, and turns to tcp,
 * which it is in all else but one: it has collectives of its own, of equally long parts, which pass through
 * the host. Those that reduce begin with the last rank. With SLEY_MOCK_NCCL_SHARES=yes ranks may share a
 * device. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/module.h"
#include "transport/process/process.h"
#include "transport/transport_registry.h"

static sl_process_backend process;

typedef struct mock_dense {
  sl_dense_native base;
  sl_process_comm *comm;
  sl_dense_spec spec;
  int64_t sent, received; /* bytes of src and dst */
  char *all;              /* every rank's src; then room for one more */
} mock_dense;

static void reduce(const mock_dense *dense, int64_t *out, int64_t first) {
  int size = dense->comm->base.size;
  for (int64_t i = 0; i < dense->received / 8; i++)
    for (int r = size - 1; r >= 0; r--) {
      int64_t value;
      memcpy(&value, dense->all + r * dense->sent + (first + i) * 8, sizeof value);
      bool less = value < out[i];
      if (r == size - 1)
        out[i] = value;
      else if (dense->spec.op == SLEY_SUM)
        out[i] = (int64_t)((uint64_t)out[i] + (uint64_t)value);
      else if (dense->spec.op == SLEY_MIN ? less : !less)
        out[i] = value;
    }
}

static sley_status run_dense(sl_dense_native *native, const void *src, void *dst, sl_queue *queue) {
  mock_dense *dense = (mock_dense *)native;
  const sl_device_ops *ops = queue->ops;
  char *own = dense->all + dense->comm->base.size * dense->sent;
  SL_TRY(ops->copy(queue, SL_COPY_TO_HOST, own, src, dense->sent));
  SL_TRY(sl_process_wait_for(dense->comm, queue));
  SL_TRY(sl_mesh_allgather(dense->comm->mesh, own, dense->sent, dense->all));
  int64_t *out = (int64_t *)(void *)(dense->spec.kind == SLEY_ALLGATHER ? dense->all : own);
  if (dense->spec.kind == SLEY_ALLREDUCE)
    reduce(dense, out, 0);
  if (dense->spec.kind == SLEY_REDUCE_SCATTER)
    reduce(dense, out, dense->comm->base.rank * dense->received / 8);
  SL_TRY(ops->copy(queue, SL_COPY_TO_DEVICE, dst, out, dense->received));
  return sl_process_wait_for(dense->comm, queue);
}

static void destroy_dense(sl_dense_native *native) {
  sl_free(((mock_dense *)native)->all);
  sl_free(native);
}

/* The memory is not agreed upon: it does not fail. */
static sley_status make_dense(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out) {
  mock_dense *dense;
  int64_t bytes = spec->count * (int64_t)sley_type_bytes(spec->type), all = bytes * comm->size;
  *out = NULL;
  if (spec->counts || (spec->kind != SLEY_ALLGATHER && spec->type != SLEY_TYPE_I64))
    return SLEY_ERR_UNSUPPORTED;
  SL_TRY(SL_NEW_ZERO(dense, 1, "a collective"));
  *dense = (mock_dense){{run_dense, destroy_dense},
                        (sl_process_comm *)comm,
                        *spec,
                        spec->kind == SLEY_REDUCE_SCATTER ? all : bytes,
                        spec->kind == SLEY_ALLGATHER ? all : bytes,
                        NULL};
  dense->all = sl_alloc(comm->size + 1, (size_t)dense->sent, "a collective");
  *out = &dense->base;
  return dense->all ? SLEY_OK : SLEY_ERR_MEMORY;
}

static sley_status start(sl_process_comm *comm) {
  const char *may_share = getenv("SLEY_MOCK_NCCL_SHARES");
  if (!may_share || strcmp(may_share, "yes") != 0)
    SL_TRY(sl_process_refuse_shared(comm, "the mock of NCCL"));
  const sl_transport_backend *tcp;
  SL_TRY(sl_transport_backend_find("tcp", &tcp));
  return tcp->process->start(comm);
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
  const sl_transport_backend *tcp;
  if (abi != SL_MODULE_ABI || sl_transport_backend_find("tcp", &tcp) != SLEY_OK)
    return NULL;
  process = *tcp->process;
  process.name = "nccl";
  process.start = start;
  process.dense_native = make_dense;
  process.next = "tcp";
  return &mock;
}
