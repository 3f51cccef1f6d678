/* SPDX-License-Identifier: Apache-2.0 */
/* How a rank keeps symmetric memory for those that ask over the mesh: where it lies, and access to what lies
 * on its device, through staging memory and a queue that nothing else uses. */
#include "base/memory.h"
#include "transport/process/symmetric_inside.h"

static void *find(void *owner, uint64_t id, int64_t *bytes, bool *on_host) {
  sl_process_comm *comm = owner;
  for (sl_process_symm *symm = comm->symms; symm; symm = symm->next)
    if (symm->id == id) {
      const sl_process_block *own = &symm->ranks[comm->base.rank];
      *bytes = own->bytes;
      *on_host = !symm->on_device;
      return own->at;
    }
  return NULL;
}

static sley_status copy(void *owner, void *dst, const void *src, int64_t bytes) {
  sl_rma_queue *q = ((sl_process_comm *)owner)->staging->serving;
  uint64_t number;
  SL_TRY(sl_rma_queue_copy(q, dst, src, bytes, &number));
  return sl_rma_queue_drain(q);
}

static sley_status load(void *owner, void *dst, const char *at, int64_t bytes) {
  return copy(owner, dst, at, bytes);
}

static sley_status store(void *owner, char *at, const void *src, int64_t bytes) {
  return copy(owner, at, src, bytes);
}

static sley_status atomic(void *owner, sl_mesh_access_kind kind, char *at, int64_t value, int64_t expected,
                          int64_t *old) {
  return sl_rma_queue_atomic(((sl_process_comm *)owner)->staging->serving,
                             kind == SL_MESH_ADD ? SL_ATOMIC_ADD : SL_ATOMIC_COMPARE_SWAP,
                             (int64_t *)(void *)at, value, expected, old);
}

void sl_process_keep(sl_process_comm *comm) {
  sl_mesh_keeper keeper = {.owner = comm, .find = find, .freed = sl_process_symm_freed};
  if (comm->staging) {
    keeper.load = load;
    keeper.store = store;
    keeper.atomic = atomic;
    keeper.staging = comm->staging->answers;
  }
  sl_mesh_serve(comm->mesh, comm->symms ? &keeper : NULL);
}

static sley_status take(sl_process_comm *comm, sl_process_staging *s) {
  sl_device *device = comm->base.device;
  void *answers = NULL, *slots = NULL;
  s->last = &s->first;
  SL_TRY(sl_rma_queue_create(device, &s->own));
  SL_TRY(sl_rma_queue_create(device, &s->serving));
  SL_TRY(device->ops->host_alloc(device, (int64_t)comm->base.size * SL_MESH_STAGING, "staging memory",
                                 &answers));
  s->answers = answers;
  SL_TRY(
      device->ops->host_alloc(device, SL_STAGING_SLOTS * (int64_t)SL_MESH_STAGE, "staging memory", &slots));
  s->slots = slots;
  return SLEY_OK;
}

sley_status sl_process_staging_start(sl_process_comm *comm) {
  if (!comm->staging) {
    SL_TRY(SL_NEW_ZERO(comm->staging, 1, "staging memory"));
    sley_status status = take(comm, comm->staging);
    if (status != SLEY_OK) {
      sl_process_staging_stop(comm);
      return status;
    }
  }
  return sl_mesh_start_progress(comm->mesh);
}

void sl_process_staging_stop(sl_process_comm *comm) {
  sl_process_staging *s = comm->staging;
  sl_device *device = comm->base.device;
  if (!s)
    return;
  sl_mesh_serve(comm->mesh, NULL);
  sl_rma_queue_destroy(s->own);
  sl_rma_queue_destroy(s->serving);
  if (s->answers)
    device->ops->host_free(device, s->answers);
  if (s->slots)
    device->ops->host_free(device, s->slots);
  sl_free(s);
  comm->staging = NULL;
}
