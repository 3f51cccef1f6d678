/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of ranks that are threads. Every rank holds a reference to every rank's block, and the
 * last one frees it: so an address from peer_ptr stays good until its user has freed, even if the owner
 * failed. */
#include <string.h>

#include "base/memory.h"
#include "transport/threads/threads.h"
#include "transport/threads/world.h"

typedef struct threads_symm {
  sl_symm base;
  _Atomic int references;
  pthread_mutex_t adding; /* fetch_add, where the host cannot address the block */
  char *block;
  int64_t bytes;
  struct threads_symm *ranks[]; /* of all ranks, this one among them */
} threads_symm;

static bool on_host(const sl_comm *comm) {
  return comm->device->ops->host_addresses;
}

/* By a rank whose device is open, which the owner's may not be any more. */
static void free_symm(sl_comm *comm, threads_symm *symm) {
  if (!symm)
    return;
  if (on_host(comm))
    sl_free(symm->block);
  else
    comm->device->ops->free(comm->device, symm->block);
  pthread_mutex_destroy(&symm->adding);
  sl_free(symm);
}

static void release(sl_comm *comm, threads_symm *symm) {
  if (atomic_fetch_sub(&symm->references, 1) == 1)
    free_symm(comm, symm);
}

/* Zeroed memory of the device. */
static sley_status take_block(sl_comm *comm, int64_t bytes, char **out) {
  if (on_host(comm)) {
    *out = sl_alloc_zero(bytes, 1, "symmetric memory");
    return *out ? SLEY_OK : SLEY_ERR_MEMORY;
  }
  int64_t words = bytes / (int64_t)sizeof(double) + 1;
  SL_TRY(comm->device->ops->alloc(comm->device, words * (int64_t)sizeof(double), "symmetric memory",
                                  (void **)out));
  SL_TRY(sl_kernel_run(
      comm->queue,
      &(sl_kernel_args){.op = SL_OP_SCALE,
                        .scale = {.rows = words, .k = 1, .y = *out, .ldy = 1, .dtype = SLEY_F64}}));
  return comm->device->ops->queue_wait(comm->queue);
}

static sley_status allocate(sl_comm *comm, int64_t bytes, threads_symm **out) {
  *out = sl_alloc_zero(1, sizeof **out + (size_t)comm->size * sizeof(threads_symm *), "symmetric memory");
  if (!*out)
    return SLEY_ERR_MEMORY;
  (*out)->base.comm = comm;
  (*out)->bytes = bytes;
  pthread_mutex_init(&(*out)->adding, NULL);
  atomic_init(&(*out)->references, comm->size);
  return take_block(comm, bytes, &(*out)->block);
}

sley_status sl_threads_symm_alloc(sl_comm *base, int64_t bytes, sl_symm **out) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  *out = NULL;
  threads_symm *symm = NULL;
  sl_post post = {.call = "symm_alloc"};
  if (bytes < 0)
    post.status = sl_fail(SLEY_ERR_ARG, "symmetric memory of %lld bytes", (long long)bytes);
  else
    post.status = allocate(base, bytes, &symm);
  post.data[0] = symm;
  sley_status status = sl_world_meet(comm, &post);
  if (status != SLEY_OK) { /* on every rank, so nobody holds a reference */
    free_symm(base, symm);
    return status;
  }
  for (int r = 0; r < base->size; r++)
    symm->ranks[r] = (threads_symm *)sl_world_post(comm, r)->data[0];
  *out = &symm->base;
  return SLEY_OK;
}

void sl_threads_symm_free(sl_symm *base) {
  if (!base)
    return;
  threads_symm *symm = (threads_symm *)base;
  sl_comm *comm = base->comm;
  (void)comm->device->ops->queue_wait(comm->queue); /* its work may still read the peers' blocks */
  for (int r = 0; r < comm->size; r++)
    if (r != comm->rank)
      release(comm, symm->ranks[r]);
  release(comm, symm);
}

static bool rank_exists(const sl_symm *symm, int rank) {
  return rank >= 0 && rank < symm->comm->size;
}

void *sl_threads_peer_ptr(sl_symm *base, int rank) {
  if (!rank_exists(base, rank) || sl_link_to(base->comm, rank) == SL_LINK_MESSAGE)
    return NULL;
  sl_device *own = base->comm->device, *theirs = ((threads_symm *)base)->ranks[rank]->base.comm->device;
  return own == theirs || own->ops->reach(own, theirs) ? ((threads_symm *)base)->ranks[rank]->block : NULL;
}

/* SLEY_OK, or why the rank must stop; then no peer is inside its memory any more. */
static sley_status go_on(sl_symm *base) {
  sl_threads_comm *comm = (sl_threads_comm *)base->comm;
  sley_status status = sl_world_check(comm);
  if (status != SLEY_OK)
    sl_world_abort(comm, status);
  return status;
}

/* Where offset lies in the rank's block. */
static sley_status locate(sl_symm *base, const char *call, int rank, int64_t offset, int64_t bytes,
                          char **at) {
  if (!rank_exists(base, rank))
    return sl_fail(SLEY_ERR_ARG, "%s: rank %d of %d", call, rank, base->comm->size);
  const threads_symm *target = ((threads_symm *)base)->ranks[rank];
  if (bytes < 0 || offset < 0 || bytes > target->bytes || offset > target->bytes - bytes)
    return sl_fail(SLEY_ERR_ARG, "%s: %lld bytes from byte %lld on, of the %lld at rank %d", call,
                   (long long)bytes, (long long)offset, (long long)target->bytes, rank);
  *at = target->block + offset;
  return go_on(base);
}

static void count(sl_symm *base, int rank, int64_t bytes) {
  sl_counters *counters = &((sl_threads_comm *)base->comm)->counters;
  sl_link link = sl_link_to(base->comm, rank);
  counters->bytes[link] += bytes;
  counters->messages[link] += bytes > 0;
}

/* Whether one aligned word moves: then as an atomic, so that ranks can pass flags. */
static bool is_word(const char *at, int64_t bytes) {
  return bytes == sizeof(int64_t) && (uintptr_t)at % sizeof(int64_t) == 0;
}

static sley_status copy(sl_comm *comm, void *dst, const void *src, int64_t bytes) {
  return comm->device->ops->copy(comm->queue, SL_COPY_WITHIN, dst, src, bytes);
}

sley_status sl_threads_get(sl_symm *base, int rank, int64_t offset, void *dst, int64_t bytes) {
  char *at = NULL;
  SL_TRY(locate(base, "get", rank, offset, bytes, &at));
  if (!on_host(base->comm))
    SL_TRY(copy(base->comm, dst, at, bytes));
  else if (is_word(at, bytes)) {
    int64_t word = atomic_load((_Atomic int64_t *)(void *)at);
    memcpy(dst, &word, sizeof word);
  } else if (bytes > 0)
    memcpy(dst, at, (size_t)bytes);
  count(base, rank, bytes);
  return SLEY_OK;
}

sley_status sl_threads_put(sl_symm *base, int rank, int64_t offset, const void *src, int64_t bytes) {
  char *at = NULL;
  SL_TRY(locate(base, "put", rank, offset, bytes, &at));
  if (!on_host(base->comm)) {
    SL_TRY(copy(base->comm, at, src, bytes));
    SL_TRY(base->comm->device->ops->queue_wait(base->comm->queue));
  } else if (is_word(at, bytes)) {
    int64_t word;
    memcpy(&word, src, sizeof word);
    atomic_store((_Atomic int64_t *)(void *)at, word);
  } else if (bytes > 0)
    memcpy(at, src, (size_t)bytes);
  count(base, rank, bytes);
  return SLEY_OK;
}

/* The host's threads take turns. */
static sley_status add_on_device(sl_symm *base, int rank, char *at, int64_t delta, int64_t *before) {
  threads_symm *target = ((threads_symm *)base)->ranks[rank];
  pthread_mutex_lock(&target->adding);
  sley_status status = copy(base->comm, before, at, sizeof *before);
  int64_t after = (int64_t)((uint64_t)*before + (uint64_t)delta);
  if (status == SLEY_OK)
    status = copy(base->comm, at, &after, sizeof after);
  if (status == SLEY_OK)
    status = base->comm->device->ops->queue_wait(base->comm->queue);
  pthread_mutex_unlock(&target->adding);
  return status;
}

sley_status sl_threads_fetch_add(sl_symm *base, int rank, int64_t offset, int64_t delta, int64_t *old) {
  char *at = NULL;
  SL_TRY(locate(base, "fetch_add", rank, offset, sizeof(int64_t), &at));
  if (offset % (int64_t)sizeof(int64_t) != 0)
    return sl_fail(SLEY_ERR_ARG, "fetch_add: offset %lld is not a multiple of 8", (long long)offset);
  int64_t before = 0;
  if (on_host(base->comm))
    before = atomic_fetch_add((_Atomic int64_t *)(void *)at, delta);
  else
    SL_TRY(add_on_device(base, rank, at, delta, &before));
  if (old)
    *old = before;
  return SLEY_OK;
}

/* Stores are visible to a rank that meets or reads a word this one has written since. */
sley_status sl_threads_flush(sl_symm *base) {
  return go_on(base);
}
