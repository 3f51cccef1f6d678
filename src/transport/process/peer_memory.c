/* SPDX-License-Identifier: Apache-2.0 */
/* Maps device memory of the other processes of a workgroup. */
#include "transport/process/peer_memory.h"

#include <unistd.h>

#include "base/memory.h"
#include "base/overrides.h"

sley_status sl_peer_memory_clear(sl_process_comm *comm, void *block, int64_t bytes) {
  sl_queue *queue = comm->base.queue;
  SL_TRY(sl_kernel_run(
      queue,
      &(sl_kernel_args){
          .op = SL_OP_SCALE,
          .scale = {
              .rows = bytes / (int64_t)sizeof(double), .k = 1, .y = block, .ldy = 1, .dtype = SLEY_F64}}));
  return sl_process_wait_for(comm, queue);
}

static void close_peers(sl_process_comm *comm, sl_peer_block *block) {
  const sl_comm *base = &comm->base;
  int group = sl_workgroup_of(base, base->rank), first = sl_workgroup_first(base, group);
  for (int i = 0; block->at && i < sl_workgroup_size(base, group); i++) {
    if (block->at[i] && first + i != base->rank)
      base->device->ops->share_close(base->device, &block->shared[first + i], block->at[i]);
    block->at[i] = NULL;
  }
}

static void give(sl_process_comm *comm, sl_peer_block *block, bool keep) {
  if (!keep)
    comm->base.device->ops->free(comm->base.device, block->own);
  sl_free(block->shared);
  sl_free(block->at);
  *block = (sl_peer_block){0};
}

static sley_status take_own(sl_process_comm *comm, int64_t bytes, sl_peer_block *out) {
  const sl_comm *base = &comm->base;
  const sl_device_ops *ops = base->device->ops;
  int64_t rounded = (bytes + SL_SHARED_GRAIN - 1) / SL_SHARED_GRAIN * SL_SHARED_GRAIN;
  if (rounded == 0)
    rounded = SL_SHARED_GRAIN;
  SL_TRY(SL_NEW_ZERO(out->at, base->workgroup, "shared memory"));
  SL_TRY(SL_NEW_ZERO(out->shared, base->size, "shared memory"));
  void *own;
  SL_TRY(ops->alloc(base->device, rounded, "memory shared with other processes", &own));
  out->own = own;
  SL_TRY(sl_peer_memory_clear(comm, own, rounded));
  return ops->share(base->device, own, rounded, &out->shared[base->rank]);
}

/* Refuses peers in the same process. If a test runs ranks as threads of one process, a device that frees
 * memory may wait for the other devices, and one of them may wait for a signal of this rank. A test whose
 * ranks free no memory between their calls switches signals on. */
static sley_status check_process(const sl_shared *peer) {
  if (peer->process != getpid() || sl_overrides.signals == SL_SIGNALS_ON)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "ranks share a process");
}

static sley_status open_peers(sl_process_comm *comm, sl_peer_block *out) {
  const sl_comm *base = &comm->base;
  int group = sl_workgroup_of(base, base->rank), first = sl_workgroup_first(base, group);
  for (int i = 0; i < sl_workgroup_size(base, group); i++) {
    void *at = out->own;
    if (first + i != base->rank) {
      SL_TRY(check_process(&out->shared[first + i]));
      SL_TRY(base->device->ops->share_open(base->device, &out->shared[first + i], &at));
    }
    out->at[i] = at;
  }
  return SLEY_OK;
}

static sley_status take(sl_process_comm *comm, int64_t bytes, sl_peer_block *out) {
  *out = (sl_peer_block){0};
  sley_status status = take_own(comm, bytes, out);
  status = sl_mesh_agree(comm->mesh, "shared memory", 0, 0, status);
  if (status == SLEY_OK) {
    sl_shared own = out->shared[comm->base.rank];
    status = sl_mesh_allgather(comm->mesh, &own, sizeof own, out->shared);
    if (status == SLEY_OK)
      status = open_peers(comm, out);
    status = sl_mesh_agree(comm->mesh, "opening shared memory", 0, 0, status);
  }
  if (status != SLEY_OK) {
    close_peers(comm, out);
    give(comm, out, false);
  }
  return status;
}

const sl_peer_memory sl_shared_memory = {.take = take, .close = close_peers, .give = give};
