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
  char *block;
  int64_t bytes;
  struct threads_symm *ranks[]; /* of all ranks, this one among them */
} threads_symm;

static void release(threads_symm *symm) {
  if (atomic_fetch_sub(&symm->references, 1) > 1)
    return;
  sl_free(symm->block);
  sl_free(symm);
}

static sley_status allocate(sl_comm *comm, int64_t bytes, threads_symm **out) {
  *out = sl_alloc_zero(1, sizeof **out + (size_t)comm->size * sizeof(threads_symm *), "symmetric memory");
  if (!*out)
    return SLEY_ERR_MEMORY;
  (*out)->base.comm = comm;
  (*out)->bytes = bytes;
  atomic_init(&(*out)->references, comm->size);
  (*out)->block = sl_alloc_zero(bytes, 1, "symmetric memory");
  return (*out)->block ? SLEY_OK : SLEY_ERR_MEMORY;
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
    if (symm)
      sl_free(symm->block);
    sl_free(symm);
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
  int size = base->comm->size, rank = base->comm->rank;
  for (int r = 0; r < size; r++)
    if (r != rank)
      release(symm->ranks[r]);
  release(symm);
}

static bool rank_exists(const sl_symm *symm, int rank) {
  return rank >= 0 && rank < symm->comm->size;
}

void *sl_threads_peer_ptr(sl_symm *base, int rank) {
  if (!rank_exists(base, rank) || sl_link_to(base->comm, rank) == SL_LINK_MESSAGE)
    return NULL;
  return ((threads_symm *)base)->ranks[rank]->block;
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

sley_status sl_threads_get(sl_symm *base, int rank, int64_t offset, void *dst, int64_t bytes) {
  char *at = NULL;
  SL_TRY(locate(base, "get", rank, offset, bytes, &at));
  if (is_word(at, bytes)) {
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
  if (is_word(at, bytes)) {
    int64_t word;
    memcpy(&word, src, sizeof word);
    atomic_store((_Atomic int64_t *)(void *)at, word);
  } else if (bytes > 0)
    memcpy(at, src, (size_t)bytes);
  count(base, rank, bytes);
  return SLEY_OK;
}

sley_status sl_threads_fetch_add(sl_symm *base, int rank, int64_t offset, int64_t delta, int64_t *old) {
  char *at = NULL;
  SL_TRY(locate(base, "fetch_add", rank, offset, sizeof(int64_t), &at));
  if (offset % (int64_t)sizeof(int64_t) != 0)
    return sl_fail(SLEY_ERR_ARG, "fetch_add: offset %lld is not a multiple of 8", (long long)offset);
  int64_t before = atomic_fetch_add((_Atomic int64_t *)(void *)at, delta);
  if (old)
    *old = before;
  return SLEY_OK;
}

/* Stores are visible to a rank that meets or reads a word this one has written since. */
sley_status sl_threads_flush(sl_symm *base) {
  return go_on(base);
}
