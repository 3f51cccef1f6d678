/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives that NCCL runs itself, on the stream beside the rank's queue: for equal parts, between GPUs
 * that do not all load each other's memory. */
#include "base/memory.h"
#include "transport/dense_collective.h"
#include "transport/nccl/nccl_comm.h"

typedef struct nccl_dense {
  sl_dense_native base;
  sl_nccl_comm *comm;
  const sl_collective_kind *kind;
  size_t count; /* number of values; for reduce-scatter and all-gather, of each rank */
  ncclDataType_t type;
  ncclRedOp_t op;
  sl_nccl_events events;
} nccl_dense;

/* Returns whether all parts have the same length. */
static bool is_even(const sl_dense_spec *spec, int size) {
  for (int r = 1; spec->counts && r < size; r++)
    if (spec->counts[r] != spec->counts[0])
      return false;
  return true;
}

static sley_status enqueue(const nccl_dense *dense, const void *src, void *dst) {
  sl_nccl_comm *comm = dense->comm;
  const sl_nccl_library *nccl = &comm->nccl;
  if (!dense->kind->info.reduces)
    return sl_nccl_settle(comm,
                          nccl->AllGather(src, dst, dense->count, dense->type, comm->comm, comm->stream),
                          "ncclAllGather");
  if (!dense->kind->info.gathers)
    return sl_nccl_settle(
        comm, nccl->ReduceScatter(src, dst, dense->count, dense->type, dense->op, comm->comm, comm->stream),
        "ncclReduceScatter");
  return sl_nccl_settle(
      comm, nccl->AllReduce(src, dst, dense->count, dense->type, dense->op, comm->comm, comm->stream),
      "ncclAllReduce");
}

static sley_status run(sl_dense_native *native, const void *src, void *dst, sl_queue *queue) {
  nccl_dense *dense = (nccl_dense *)native;
  sl_queue *beside = dense->comm->beside;
  SL_TRY(sl_mesh_progress(dense->comm->base.mesh));
  SL_TRY(queue->ops->event_record(queue, dense->events.ready));
  SL_TRY(queue->ops->event_wait(beside, dense->events.ready));
  SL_TRY(enqueue(dense, src, dst));
  SL_TRY(queue->ops->event_record(beside, dense->events.done));
  return queue->ops->event_wait(queue, dense->events.done);
}

static void destroy(sl_dense_native *native) {
  nccl_dense *dense = (nccl_dense *)native;
  sl_nccl_events_close(dense->comm, &dense->events);
  sl_free(dense);
}

static sley_status make(sl_nccl_comm *comm, const sl_dense_spec *spec, nccl_dense **out) {
  static const ncclDataType_t types[] = {
      [SLEY_TYPE_F32] = ncclFloat32,   [SLEY_TYPE_F64] = ncclFloat64, [SLEY_TYPE_F16] = ncclFloat16,
      [SLEY_TYPE_BF16] = ncclBfloat16, [SLEY_TYPE_I64] = ncclInt64,   [SLEY_TYPE_I8] = ncclInt8,
      [SLEY_TYPE_U8] = ncclUint8};
  static const ncclRedOp_t ops[] = {[SLEY_SUM] = ncclSum, [SLEY_MIN] = ncclMin, [SLEY_MAX] = ncclMax};
  nccl_dense *dense;
  SL_TRY(SL_NEW_ZERO(dense, 1, "a collective"));
  *out = dense;
  dense->base = (sl_dense_native){.run = run, .destroy = destroy};
  dense->comm = comm;
  dense->kind = sl_collective_kind_of(spec->kind);
  dense->count = (size_t)(spec->counts ? spec->counts[0] : spec->count);
  dense->type = types[spec->type];
  dense->op = ops[spec->op];
  return sl_nccl_events_open(comm, &dense->events);
}

sley_status sl_nccl_dense(sl_comm *base, const sl_dense_spec *spec, sl_dense_native **out) {
  sl_nccl_comm *comm = (sl_nccl_comm *)base;
  nccl_dense *dense = NULL;
  *out = NULL;
  if (!is_even(spec, base->size) || (comm->base.direct && base->workgroup == base->size))
    return SLEY_ERR_UNSUPPORTED;
  sley_status status = sl_mesh_agree(comm->base.mesh, "prepare a collective", 0, 0, make(comm, spec, &dense));
  if (status != SLEY_OK) {
    if (dense)
      destroy(&dense->base);
    return status;
  }
  *out = &dense->base;
  return SLEY_OK;
}
