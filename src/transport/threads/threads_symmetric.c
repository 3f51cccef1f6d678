/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of ranks that are threads. Every rank holds a reference to every rank's block, and the
 * last one frees it: so an address from peer_ptr stays valid until its user has freed the memory, even if the
 * owner failed.
 *
 * On the host an operation is complete when it begins. On devices a rank's own device copies between the
 * blocks, in a queue beside the rank's; if its atomics on another device's memory would not be atomic, the
 * rank opens that device itself and makes the operation there. In both cases the owner takes no part. */
#include <sched.h>
#include <string.h>

#include "base/memory.h"
#include "transport/threads/threads.h"
#include "transport/threads/turns.h"
#include "transport/threads/world.h"

typedef struct threads_symm {
  sl_symm base;
  _Atomic int references;
  char *block;
  int64_t bytes;
  struct threads_symm *ranks[]; /* blocks of all ranks, this one included */
} threads_symm;

/* A handle. */
typedef struct threads_rma {
  sl_comm *comm;
  sl_symm *symm;
  uint64_t number; /* number of the handle's copy */
} threads_rma;
_Static_assert(sizeof(threads_rma) <= sizeof(sl_rma), "a handle holds it");

static bool on_host(const sl_comm *comm) {
  return comm->device->ops->host_addresses;
}

/* Frees a block. Called by a rank whose device is open, because the owner's device may be closed. */
static void free_symm(sl_comm *comm, threads_symm *symm) {
  if (!symm)
    return;
  if (on_host(comm))
    sl_free(symm->block);
  else
    comm->device->ops->free(comm->device, symm->block);
  sl_free(symm);
}

static void release(sl_comm *comm, threads_symm *symm) {
  if (atomic_fetch_sub(&symm->references, 1) == 1)
    free_symm(comm, symm);
}

/* Allocates zeroed memory of the device. */
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

/* ---- queues for access to device memory, from the first allocation to the end of the rank */

void sl_threads_find_away(sl_threads_comm *comm) {
  const sl_device *device = comm->base.device;
  int count = device->ops->count();
  for (int p = 0; p < comm->base.size; p++) {
    sl_threads_away *away = &comm->away[p % count];
    away->needed = !device->ops->reach_atomics(comm->base.device, comm->world->ranks[p].base.device);
  }
}

static sley_status open_away(const sl_device_ops *ops, int ordinal, sl_threads_away *away) {
  if (!away->needed || away->queue)
    return SLEY_OK;
  if (!away->device)
    SL_TRY(ops->open(ordinal, 1, &away->device));
  return sl_rma_queue_create(away->device, &away->queue);
}

static sley_status open_queues(sl_threads_comm *comm) {
  sl_device *device = comm->base.device;
  if (on_host(&comm->base))
    return SLEY_OK;
  if (!comm->rma)
    SL_TRY(sl_rma_queue_create(device, &comm->rma));
  for (int i = 0; i < device->ops->count(); i++)
    SL_TRY(open_away(device->ops, i, &comm->away[i]));
  return SLEY_OK;
}

void sl_threads_close_queues(sl_threads_comm *comm) {
  const sl_device_ops *ops = comm->base.device->ops;
  for (int i = 0; comm->away && i < ops->count(); i++) {
    sl_rma_queue_destroy(comm->away[i].queue);
    if (comm->away[i].device)
      ops->close(comm->away[i].device);
  }
  sl_free(comm->away);
  comm->away = NULL;
  sl_rma_queue_destroy(comm->rma);
  comm->rma = NULL;
}

/* ---- memory */

static sley_status allocate(sl_comm *comm, int64_t bytes, threads_symm **out) {
  SL_TRY(open_queues((sl_threads_comm *)comm));
  *out = sl_alloc_zero(1, sizeof **out + (size_t)comm->size * sizeof(threads_symm *), "symmetric memory");
  if (!*out)
    return SLEY_ERR_MEMORY;
  (*out)->base.comm = comm;
  (*out)->bytes = bytes;
  atomic_init(&(*out)->references, comm->size);
  return take_block(comm, bytes, &(*out)->block);
}

static sley_status symm_alloc(sl_comm *base, int64_t bytes, sl_symm **out) {
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
  if (status != SLEY_OK) { /* the status is the same on every rank, so no rank holds a reference */
    free_symm(base, symm);
    return status;
  }
  for (int r = 0; r < base->size; r++)
    symm->ranks[r] = (threads_symm *)sl_world_post(comm, r)->data[0];
  *out = &symm->base;
  return SLEY_OK;
}

static sley_status drain(sl_threads_comm *comm) {
  return comm->rma ? sl_rma_queue_drain(comm->rma) : SLEY_OK;
}

static void symm_free(sl_symm *base) {
  threads_symm *symm = (threads_symm *)base;
  sl_comm *comm = base->comm;
  (void)comm->device->ops->queue_wait(comm->queue); /* work in the queue may still read the peers' blocks */
  (void)drain((sl_threads_comm *)comm);
  for (int r = 0; r < comm->size; r++)
    if (r != comm->rank)
      release(comm, symm->ranks[r]);
  release(comm, symm);
}

static void *peer_ptr(sl_symm *base, int rank) {
  if (rank < 0 || rank >= base->comm->size || sl_link_to(base->comm, rank) == SL_LINK_MESSAGE)
    return NULL;
  sl_device *own = base->comm->device, *theirs = ((threads_symm *)base)->ranks[rank]->base.comm->device;
  return own == theirs || own->ops->reach(own, theirs) ? ((threads_symm *)base)->ranks[rank]->block : NULL;
}

/* ---- operations */

/* Returns SLEY_OK, or the error for which the rank must stop. After an error no peer is inside its memory any
   more. */
static sley_status go_on(sl_comm *base) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  sley_status status = sl_world_check(comm);
  if (status != SLEY_OK)
    sl_world_abort(comm, status);
  return status;
}

/* Lets other ranks run, because this rank may repeat its calls until another rank has done something. */
static void let_others_run(sl_threads_comm *comm) {
  enum { CALLS = 64 };
  if (++comm->words % CALLS != 0)
    return;
  if (comm->world->turns > 0)
    sl_turns_wait(comm, NULL, 0, -1);
  else
    sched_yield();
}

/* Finds the rank's block, after checking the arguments. */
static sley_status locate(sl_symm *base, const char *call, int rank, int64_t offset, int64_t bytes,
                          char **block) {
  int size = base->comm->size;
  bool exists = rank >= 0 && rank < size;
  const threads_symm *target = exists ? ((threads_symm *)base)->ranks[rank] : NULL;
  SL_TRY(sl_symm_check(call, rank, size, offset, bytes, exists ? target->bytes : 0));
  *block = target->block;
  return go_on(base->comm);
}

/* Counts operations of `bytes` bytes each. */
static void count(sl_symm *base, int rank, int64_t operations, int64_t bytes) {
  sl_counters *counters = &((sl_threads_comm *)base->comm)->counters;
  sl_link link = sl_link_to(base->comm, rank);
  counters->bytes[link] += operations * bytes;
  counters->messages[link] += bytes > 0 ? operations : 0;
}

static void open_handle(sl_symm *base, sl_rma *rma) {
  rma->comm = base->comm;
  rma->symm = base;
  ((threads_rma *)rma)->number = 0; /* no copy: complete */
}

static sley_status get_begin(sl_symm *base, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma) {
  sl_threads_comm *comm = (sl_threads_comm *)base->comm;
  char *block = NULL;
  SL_TRY(locate(base, "get", rank, offset, bytes, &block));
  open_handle(base, rma);
  if (on_host(base->comm))
    sl_symm_load(dst, block, offset, bytes);
  else
    SL_TRY(sl_rma_queue_copy(comm->rma, dst, block + offset, bytes, &((threads_rma *)rma)->number));
  if (sl_is_word(offset, bytes))
    let_others_run(comm);
  count(base, rank, 1, bytes);
  return SLEY_OK;
}

static sley_status put_begin(sl_symm *base, int rank, int64_t offset, const void *src, int64_t bytes,
                             sl_rma *rma) {
  sl_threads_comm *comm = (sl_threads_comm *)base->comm;
  char *block = NULL;
  SL_TRY(locate(base, "put", rank, offset, bytes, &block));
  open_handle(base, rma);
  if (on_host(base->comm))
    sl_symm_store(block, offset, src, bytes);
  else
    SL_TRY(sl_rma_queue_copy(comm->rma, block + offset, src, bytes, &((threads_rma *)rma)->number));
  count(base, rank, 1, bytes);
  return SLEY_OK;
}

/* On host memory rows need no handles. Checks for an abort from time to time. */
static sley_status get_rows(sl_symm *base, int lists, const sl_row_list *list, void *dst) {
  enum { UNCHECKED = 256 };
  if (!on_host(base->comm))
    return sl_get_rows_singly(base, lists, list, dst);
  for (const sl_row_list *l = list; l < list + lists; l++) {
    char *block = NULL, *to = (char *)dst + l->first * l->bytes;
    SL_TRY(locate(base, "get_rows", l->peer, 0, 0, &block));
    int64_t rows = l->bytes > 0 ? ((threads_symm *)base)->ranks[l->peer]->bytes / l->bytes : 0;
    for (int64_t i = 0; i < l->count; i++) {
      if (i % UNCHECKED == 0)
        SL_TRY(go_on(base->comm));
      if (l->bytes > 0 && (l->rows[i] < 0 || l->rows[i] >= rows))
        return sl_fail(SLEY_ERR_ARG, "get_rows: row %lld does not exist: there are %lld rows at rank %d",
                       (long long)l->rows[i], (long long)rows, l->peer);
      memcpy(to + i * l->bytes, block + l->rows[i] * l->bytes, (size_t)l->bytes);
    }
    count(base, l->peer, l->count, l->bytes);
  }
  return SLEY_OK;
}

static sley_status test(sl_rma *rma, bool *done) {
  sl_threads_comm *comm = (sl_threads_comm *)rma->symm->comm;
  *done = true;
  if (comm->rma)
    SL_TRY(sl_rma_queue_test(comm->rma, ((threads_rma *)rma)->number, done));
  sley_status status = *done ? SLEY_OK : go_on(&comm->base);
  if (status != SLEY_OK)
    (void)drain(comm); /* an abort ends the waits of the work that precedes it */
  return status;
}

static sley_status wait(sl_rma *rma) {
  for (bool done = false;;) {
    SL_TRY(test(rma, &done));
    if (done)
      return SLEY_OK;
    sched_yield();
  }
}

static sley_status after(sl_symm *base, sl_queue *queue) {
  sl_threads_comm *comm = (sl_threads_comm *)base->comm;
  return comm->rma ? sl_rma_queue_after(comm->rma, queue) : SLEY_OK;
}

static sley_status atomic(sl_symm *base, const char *call, int rank, int64_t offset, sl_atomic_op op,
                          int64_t value, int64_t expected, int64_t *old) {
  sl_threads_comm *comm = (sl_threads_comm *)base->comm;
  char *block = NULL;
  int64_t before;
  SL_TRY(locate(base, call, rank, offset, sizeof(int64_t), &block));
  SL_TRY(sl_symm_check_word(call, offset));
  int64_t *word = (int64_t *)(void *)(block + offset);
  if (on_host(base->comm)) {
    before = sl_atomic_on_host(op, word, value, expected);
  } else {
    const sl_threads_away *away = &comm->away[rank % base->comm->device->ops->count()];
    SL_TRY(sl_rma_queue_atomic(away->queue ? away->queue : comm->rma, op, word, value, expected, &before));
  }
  let_others_run(comm);
  if (old)
    *old = before;
  return SLEY_OK;
}

sley_status sl_threads_flush_puts(sl_threads_comm *comm) {
  return drain(comm);
}

/* Stores become visible to a rank that meets this rank, or reads a word that it has written since. */
static sley_status flush(sl_symm *base, int rank) {
  SL_TRY(sl_symm_check("flush", rank == SL_ALL_RANKS ? 0 : rank, base->comm->size, 0, 0, 0));
  SL_TRY(drain((sl_threads_comm *)base->comm));
  return go_on(base->comm);
}

const sl_symm_ops sl_threads_symm_ops = {.alloc = symm_alloc,
                                         .free = symm_free,
                                         .peer_ptr = peer_ptr,
                                         .get_begin = get_begin,
                                         .put_begin = put_begin,
                                         .wait = wait,
                                         .after = after,
                                         .get_rows = get_rows,
                                         .atomic = atomic,
                                         .flush = flush};
