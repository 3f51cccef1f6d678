/* SPDX-License-Identifier: Apache-2.0 */
/* Serves other ranks' access to this rank's symmetric memory over the mesh: finds the memory, and accesses
 * device memory through staging memory and a separate queue. Also decides how long memory that peers have
 * mapped is kept when a rank has failed. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
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

/* ---- parting */

/* Seconds to wait for peers that are also about to free the memory, and seconds to wait for peers that still
 * work when this rank's comm ends. */
static const double COURTESY = 0.1, PATIENCE = 2;
enum { CLOSED = 1, PAUSE_NANOSECONDS = 100000 };

void sl_process_quiet(sl_process_comm *comm) {
  sley_status status = sl_process_wait_for(comm, comm->base.queue);
  if (status == SLEY_OK)
    status = sl_process_flush_puts(comm, SL_ALL_RANKS);
  (void)sl_process_over(&comm->base, status);
  (void)sl_rma_queue_drain(comm->staging->own);
}

/* Writes a closing word to each block of the workgroup. */
static void leave_words(sl_process_comm *comm, const sl_process_symm *symm) {
  const sl_comm *base = &comm->base;
  int place = sl_place_in_workgroup(base, base->rank), group = sl_workgroup_of(base, base->rank);
  int first = sl_workgroup_first(base, group);
  const int64_t closed = CLOSED;
  for (int i = 0; i < sl_workgroup_size(base, group); i++) {
    char *words = symm->device.at[i] + sl_process_words_at(symm->ranks[first + i].bytes);
    (void)base->device->ops->copy(base->queue, SL_COPY_TO_DEVICE, words + place * (int)sizeof closed, &closed,
                                  sizeof closed);
  }
  (void)base->queue->ops->queue_wait(base->queue);
}

static bool words_are_here(sl_process_comm *comm, const sl_process_symm *symm) {
  const sl_comm *base = &comm->base;
  int members = sl_workgroup_size(base, sl_workgroup_of(base, base->rank));
  char *words = symm->device.own + sl_process_words_at(symm->ranks[base->rank].bytes);
  for (int i = 0; i < members; i++) {
    int64_t word = 0;
    if (base->device->ops->copy(base->queue, SL_COPY_TO_HOST, &word, words + i * (int)sizeof word,
                                sizeof word) != SLEY_OK ||
        word != CLOSED)
      return false;
  }
  return true;
}

/* Returns whether no rank will access the memory or send a request for it any more. */
static bool is_left(sl_process_comm *comm, const sl_process_symm *symm) {
  bool asked = symm->still_in_use > 0 && sl_mesh_progress(comm->mesh) == SLEY_OK && symm->still_in_use > 0;
  return !asked && (!symm->device.own || words_are_here(comm, symm));
}

static void give_back(sl_process_comm *comm, sl_process_symm *symm, bool keep) {
  if (symm->device.own)
    comm->memory->give(comm, &symm->device, keep);
  if (symm->alone)
    comm->base.device->ops->free(comm->base.device, symm->alone);
  sl_free(symm);
}

/* Frees memory that this rank has freed and that no other rank accesses any more, waiting up to `patience`
 * seconds; last: also frees the rest, except memory that a peer, which may have been killed, may still
 * access. */
static void reap(sl_process_comm *comm, double patience, bool last) {
  double deadline = sl_now() + patience;
  for (sl_process_symm **at = &comm->symms; *at;) {
    sl_process_symm *symm = *at;
    bool over = symm->on_device && symm->freed, left = over && is_left(comm, symm);
    while (over && !left && sl_now() < deadline) {
      nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
      left = is_left(comm, symm);
    }
    if (left || (over && last)) {
      *at = symm->next;
      give_back(comm, symm, !left);
    } else {
      at = &symm->next;
    }
  }
}

void sl_process_part(sl_process_comm *comm, sl_process_symm *symm) {
  if (symm->device.own) {
    leave_words(comm, symm);
    comm->memory->close(comm, &symm->device);
  }
  symm->freed = true;
  reap(comm, COURTESY, false);
}

void sl_process_staging_stop(sl_process_comm *comm) {
  sl_process_staging *s = comm->staging;
  sl_device *device = comm->base.device;
  sl_error error;
  if (!s)
    return;
  sl_error_save(&error);
  reap(comm, PATIENCE, true);
  sl_mesh_serve(comm->mesh, NULL);
  sl_rma_queue_destroy(s->own);
  sl_rma_queue_destroy(s->serving);
  if (s->answers)
    device->ops->host_free(device, s->answers);
  if (s->slots)
    device->ops->host_free(device, s->slots);
  sl_free(s);
  comm->staging = NULL;
  if (*error.text)
    (void)sl_error_restore(&error); /* the error from before this call */
}
