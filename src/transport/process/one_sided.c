/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided access of ranks that are processes, by the target's memory: host memory that is mapped here is
 * read and written at once; device memory that is mapped here is copied by this rank's device, in a queue
 * beside the rank's; host memory with a window is accessed by the transport's library (far_memory.h), except
 * single words; all other memory is accessed by requests over the mesh. Atomics on device memory are
 * made by the owner's device, even if the memory is mapped, because the link between two devices need not
 * support them.
 *
 * On devices the data of requests goes through slots of staging memory, one slot's bytes at a time: from the
 * rank's side to a slot and then to the mesh, or from the mesh to a slot and then to the rank's side. Each
 * call advances all such operations. Slots are assigned to operations in the order in which they began, and
 * an operation with a slot waits only for its device or its peer, so all operations progress. */
#include <sched.h>
#include <string.h>

#include "transport/process/symmetric_inside.h"

/* The event for which a handle's operation waits. */
typedef enum rma_state {
  COMPLETE,
  COPIED, /* waits for a copy by this rank's device */
  ASKED,  /* a request */
  WINDOW, /* an operation of the transport's library */
  PIECED  /* in pieces: requests through slots, one after another */
} rma_state;

typedef enum staged_step {
  NEEDS_SLOT,
  FILLS_SLOT,  /* the bytes of a put are being copied to the slot */
  ON_ITS_WAY,  /* the request is in flight */
  EMPTIES_SLOT /* the bytes of a get are being copied from the slot */
} staged_step;

/* A handle; its first members are those of sl_rma. */
typedef struct sl_process_rma {
  sl_comm *comm;
  sl_symm *symm;
  rma_state state;
  union {
    sl_mesh_ask ask;
    sl_far_access far; /* in state WINDOW */
  };
  uint64_t number; /* number of the copy in the queue, in state COPIED */
  /* The fields below are for state PIECED. */
  staged_step step;
  bool puts;
  int rank, slot;
  char *here;                  /* this rank's side of the remaining bytes */
  int64_t offset, left, piece; /* position in the target's block, remaining bytes, bytes of the current
                                  piece */
  struct sl_process_rma *next;
} sl_process_rma;
_Static_assert(sizeof(sl_process_rma) <= sizeof(sl_rma), "a handle holds it");

static sl_process_comm *comm_of(const sl_symm *symm) {
  return (sl_process_comm *)symm->comm;
}

static const sl_process_symm *of(const sl_symm *symm) {
  return (const sl_process_symm *)symm;
}

static sley_status locate(sl_symm *base, const char *call, int rank, int64_t offset, int64_t bytes,
                          const sl_process_block **out) {
  bool exists = rank >= 0 && rank < base->comm->size;
  *out = exists ? &of(base)->ranks[rank] : NULL;
  return sl_symm_check(call, rank, base->comm->size, offset, bytes, exists ? (*out)->bytes : 0);
}

static void *peer_ptr(sl_symm *base, int rank) {
  return rank >= 0 && rank < base->comm->size ? of(base)->ranks[rank].at : NULL;
}

/* Counts an operation, unless the transport's library has it, and counts it itself. */
static void count(const sl_process_rma *r, int rank, int64_t bytes) {
  if (r->state != WINDOW)
    sl_process_counters_add(r->comm, sl_link_to(r->comm, rank), bytes, bytes > 0);
}

/* Called after accesses to mapped memory, which involve no other rank: this rank may repeat them until
 * another has done something, so now and then it serves the mesh and checks for failures. */
static sley_status look(sl_process_comm *comm) {
  enum { CALLS = 16 };
  if (++comm->words % CALLS != 0)
    return SLEY_OK;
  sched_yield();
  return sl_process_over(&comm->base, sl_mesh_progress(comm->mesh));
}

/* ---- through staging memory */

static bool take_slot(sl_process_staging *s, int *slot) {
  for (*slot = 0; *slot < SL_STAGING_SLOTS; (*slot)++)
    if (!s->taken[*slot]) {
      s->taken[*slot] = true;
      return true;
    }
  return false;
}

static void ask_piece(sl_process_comm *comm, sl_process_rma *r, char *slot) {
  sl_mesh_ask_access(comm->mesh, r->rank, r->puts ? SL_MESH_PUT : SL_MESH_GET, of(r->symm)->id, r->offset,
                     slot, r->piece, &r->ask);
  r->step = ON_ITS_WAY;
}

/* Makes one step of an operation, if it can be made now; sets *moved to whether it was made. */
static sley_status step(sl_process_comm *comm, sl_process_rma *r, bool *moved) {
  sl_process_staging *s = comm->staging;
  bool done = true;
  *moved = false;
  if (r->step == NEEDS_SLOT && !take_slot(s, &r->slot))
    return SLEY_OK;
  char *slot = s->slots + (int64_t)r->slot * SL_MESH_STAGE;
  if (r->step == FILLS_SLOT || r->step == EMPTIES_SLOT)
    SL_TRY(sl_rma_queue_test(s->own, r->number, &done));
  else if (r->step == ON_ITS_WAY)
    done = sl_mesh_ask_done(&r->ask);
  if (!done)
    return SLEY_OK;
  *moved = true;
  if (r->step == NEEDS_SLOT) {
    r->piece = r->left < SL_MESH_STAGE ? r->left : SL_MESH_STAGE;
    r->step = FILLS_SLOT;
    if (r->puts)
      return sl_rma_queue_copy(s->own, slot, r->here, r->piece, &r->number);
    ask_piece(comm, r, slot);
    return SLEY_OK;
  }
  if (r->step == FILLS_SLOT) {
    ask_piece(comm, r, slot);
    return SLEY_OK;
  }
  if (r->step == ON_ITS_WAY && !r->puts) {
    r->step = EMPTIES_SLOT;
    return sl_rma_queue_copy(s->own, r->here, slot, r->piece, &r->number);
  }
  s->taken[r->slot] = false;
  r->here += r->piece;
  r->offset += r->piece;
  r->left -= r->piece;
  r->step = NEEDS_SLOT;
  if (r->left == 0)
    r->state = COMPLETE;
  return SLEY_OK;
}

/* Advances every operation as far as possible now. */
static sley_status drive(sl_process_comm *comm) {
  sl_process_staging *s = comm->staging;
  if (!s || !s->first)
    return SLEY_OK;
  SL_TRY(sl_mesh_progress(comm->mesh));
  for (sl_process_rma **at = &s->first; *at;) {
    sl_process_rma *r = *at;
    for (bool moved = true; moved && r->state == PIECED;)
      SL_TRY(step(comm, r, &moved));
    if (r->state == PIECED) {
      at = &r->next;
    } else {
      *at = r->next;
    }
  }
  s->last = &s->first;
  while (*s->last)
    s->last = &(*s->last)->next;
  return SLEY_OK;
}

/* Returns the status of a call. After a failure, first ends all operations in flight. */
static sley_status over(sl_process_comm *comm, sley_status status) {
  sl_process_staging *s = comm->staging;
  status = sl_process_over(&comm->base, status);
  if (status != SLEY_OK && s && sl_mesh_broken(comm->mesh)) {
    (void)comm->base.device->ops->queue_wait(s->own->copies);
    memset(s->taken, 0, sizeof s->taken);
    s->first = NULL;
    s->last = &s->first;
  }
  return status;
}

/* ---- get and put */

static sl_process_rma *open_handle(sl_symm *base, sl_rma *rma) {
  sl_process_rma *r = (sl_process_rma *)rma;
  r->comm = base->comm;
  r->symm = base;
  r->state = COMPLETE;
  return r;
}

static sley_status begin_staged(sl_process_comm *comm, sl_process_rma *r, bool puts, int rank, int64_t offset,
                                char *here, int64_t bytes) {
  sl_process_staging *s = comm->staging;
  r->state = PIECED;
  r->step = NEEDS_SLOT;
  r->puts = puts;
  r->rank = rank;
  r->here = here;
  r->offset = offset;
  r->left = bytes;
  r->next = NULL;
  *s->last = r;
  s->last = &r->next;
  return over(comm, drive(comm));
}

/* Begins an access through a window. */
static sley_status begin_window(sl_process_comm *comm, sl_process_rma *r, bool puts, int rank, int64_t offset,
                                char *here, int64_t bytes) {
  r->state = WINDOW;
  r->far = (sl_far_access){.window = of(r->symm)->window,
                           .puts = puts,
                           .rank = rank,
                           .here = here,
                           .offset = offset,
                           .left = bytes};
  return over(comm, comm->backend->far->begin(&r->far));
}

/* Waits for an access through a window. If the wait fails, this rank aborts, which ends the access. */
static sley_status wait_window(sl_process_comm *comm, sl_process_rma *r) {
  sley_status status = r->far.window ? comm->backend->far->wait(&r->far) : sl_mesh_progress(comm->mesh);
  if (status != SLEY_OK && !sl_mesh_broken(comm->mesh))
    sl_mesh_abort(comm->mesh, status);
  return over(comm, status);
}

/* Begins an access to a block that is not mapped here. */
static sley_status begin_far(sl_process_comm *comm, sl_process_rma *r, bool puts, int rank, int64_t offset,
                             char *here, int64_t bytes) {
  const sl_process_symm *symm = of(r->symm);
  bool by_library = symm->window && !sl_is_word(offset, bytes);
  if (puts && !by_library)
    comm->dirty[rank] = true;
  if (symm->on_device)
    return begin_staged(comm, r, puts, rank, offset, here, bytes);
  if (sl_mesh_broken(comm->mesh))
    return over(comm, sl_mesh_progress(comm->mesh));
  if (by_library)
    return begin_window(comm, r, puts, rank, offset, here, bytes);
  r->state = ASKED;
  sl_mesh_ask_access(comm->mesh, rank, puts ? SL_MESH_PUT : SL_MESH_GET, symm->id, offset, here, bytes,
                     &r->ask);
  return over(comm, SLEY_OK);
}

static sley_status get_begin(sl_symm *base, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma) {
  sl_process_comm *comm = comm_of(base);
  const sl_process_block *from;
  SL_TRY(locate(base, "get", rank, offset, bytes, &from));
  sl_process_rma *r = open_handle(base, rma);
  if (bytes > 0 && !from->at) {
    SL_TRY(begin_far(comm, r, false, rank, offset, dst, bytes));
  } else if (bytes > 0 && of(base)->on_device) {
    SL_TRY(sl_rma_queue_copy(comm->staging->own, dst, from->at + offset, bytes, &r->number));
    r->state = COPIED;
  } else if (bytes > 0) {
    sl_symm_load(dst, from->at, offset, bytes);
    SL_TRY(look(comm));
  }
  count(r, rank, bytes);
  return SLEY_OK;
}

static sley_status put_begin(sl_symm *base, int rank, int64_t offset, const void *src, int64_t bytes,
                             sl_rma *rma) {
  sl_process_comm *comm = comm_of(base);
  const sl_process_block *to;
  SL_TRY(locate(base, "put", rank, offset, bytes, &to));
  sl_process_rma *r = open_handle(base, rma);
  if (bytes > 0 && !to->at) {
    SL_TRY(begin_far(comm, r, true, rank, offset, (char *)(uintptr_t)src, bytes));
  } else if (bytes > 0 && of(base)->on_device) {
    SL_TRY(sl_rma_queue_copy(comm->staging->own, to->at + offset, src, bytes, &r->number));
    r->state = COPIED;
  } else if (bytes > 0) {
    sl_symm_store(to->at, offset, src, bytes);
    SL_TRY(look(comm));
  }
  count(r, rank, bytes);
  return SLEY_OK;
}

/* Advances an operation that is copied or in pieces; *done: it is complete. */
static sley_status advance(sl_process_comm *comm, sl_process_rma *r, bool *done) {
  sley_status status = SLEY_OK;
  *done = true;
  if (r->state == COPIED) {
    status = sl_rma_queue_test(comm->staging->own, r->number, done);
    if (status == SLEY_OK && !*done)
      status = over(comm, sl_mesh_progress(comm->mesh));
  } else if (r->state == PIECED) {
    status =
        comm->staging->first ? drive(comm) : sl_mesh_progress(comm->mesh); /* first is NULL after a failure,
                                                                              which ended all operations */
    status = over(comm, status);
    *done = r->state == COMPLETE;
    if (*done)
      return SLEY_OK;
  }
  if (*done || status != SLEY_OK)
    r->state = COMPLETE;
  return status;
}

static sley_status wait(sl_rma *rma) {
  sl_process_rma *r = (sl_process_rma *)rma;
  sl_process_comm *comm = comm_of(r->symm);
  sley_status status = SLEY_OK;
  bool done = false;
  if (r->state == ASKED) {
    status = over(comm, sl_mesh_wait_ask(comm->mesh, &r->ask));
    r->state = COMPLETE;
    return status;
  }
  if (r->state == WINDOW) {
    status = wait_window(comm, r);
    r->state = COMPLETE;
    return status;
  }
  while (status == SLEY_OK && !done) {
    status = advance(comm, r, &done);
    if (!done)
      sched_yield();
  }
  return status;
}

static sley_status after(sl_symm *base, sl_queue *queue) {
  sl_process_comm *comm = comm_of(base);
  return of(base)->on_device ? sl_rma_queue_after(comm->staging->own, queue) : SLEY_OK;
}

/* ---- rows */

/* Requests the next rows of a list, from its entry `done` on; returns their number. */
static int64_t ask(sl_symm *base, const sl_row_list *list, int64_t done, void *dst) {
  sl_process_comm *comm = comm_of(base);
  sl_mesh_rows *rows = &comm->asks[list->peer];
  int64_t left = list->count - done, count = left < SL_MESH_ROWS_MOST ? left : SL_MESH_ROWS_MOST;
  for (int64_t i = 0; i < count; i++)
    rows->row[i] = (uint32_t)list->rows[done + i];
  sl_mesh_ask_rows(comm->mesh, list->peer, of(base)->id, list->bytes, count,
                   (char *)dst + (list->first + done) * list->bytes, rows);
  sl_process_counters_add(base->comm, sl_link_to(base->comm, list->peer), count * list->bytes, 1);
  return count;
}

/* Gets rows from blocks that are not mapped here, some rows of each list at a time. */
static sley_status get_far_rows(sl_symm *base, int lists, const sl_row_list *list, void *dst) {
  sl_process_comm *comm = comm_of(base);
  const sl_process_block *ranks = of(base)->ranks;
  bool more = true;
  for (int64_t done = 0; more; done += SL_MESH_ROWS_MOST) {
    more = false;
    for (int i = 0; i < lists; i++)
      if (!ranks[list[i].peer].at && done < list[i].count)
        more = done + ask(base, &list[i], done, dst) < list[i].count || more;
    for (int i = 0; i < lists; i++)
      if (!ranks[list[i].peer].at && done < list[i].count)
        SL_TRY(sl_mesh_wait_rows(comm->mesh, list[i].peer, &comm->asks[list[i].peer]));
  }
  return SLEY_OK;
}

static sley_status get_rows(sl_symm *base, int lists, const sl_row_list *list, void *dst) {
  bool far = false;
  for (const sl_row_list *l = list; l < list + lists; l++) {
    const sl_process_block *from;
    SL_TRY(locate(base, "get_rows", l->peer, 0, 0, &from));
    int64_t rows = l->bytes > 0 ? from->bytes / l->bytes : 0;
    for (int64_t i = 0; i < l->count; i++)
      if (l->bytes <= 0 || l->rows[i] < 0 || l->rows[i] >= rows || l->rows[i] > UINT32_MAX)
        return sl_fail(SLEY_ERR_ARG, "get_rows: row %lld does not exist: there are %lld rows at rank %d",
                       (long long)l->rows[i], (long long)rows, l->peer);
    far = far || !from->at;
  }
  if (of(base)->on_device)
    return sl_get_rows_singly(base, lists, list, dst);
  for (const sl_row_list *l = list; l < list + lists; l++) {
    const char *from = of(base)->ranks[l->peer].at;
    for (int64_t i = 0; i < l->count && from; i++)
      memcpy((char *)dst + (l->first + i) * l->bytes, from + l->rows[i] * l->bytes, (size_t)l->bytes);
    if (from)
      sl_process_counters_add(base->comm, sl_link_to(base->comm, l->peer), l->count * l->bytes, l->count);
  }
  if (far)
    SL_TRY(over(comm_of(base), get_far_rows(base, lists, list, dst)));
  return SLEY_OK;
}

/* ---- atomics */

static sley_status ask_owner(sl_symm *base, int rank, int64_t offset, sl_atomic_op op, int64_t value,
                             int64_t expected, int64_t *old) {
  sl_process_comm *comm = comm_of(base);
  bool adds = op == SL_ATOMIC_ADD;
  int64_t words[2] = {adds ? value : expected, value};
  sley_status status = sl_mesh_access(comm->mesh, rank, adds ? SL_MESH_ADD : SL_MESH_COMPARE_SWAP,
                                      of(base)->id, offset, words, sizeof *words);
  *old = words[0];
  return over(comm, status);
}

static sley_status atomic(sl_symm *base, const char *call, int rank, int64_t offset, sl_atomic_op op,
                          int64_t value, int64_t expected, int64_t *old) {
  sl_process_comm *comm = comm_of(base);
  const sl_process_block *to;
  int64_t before;
  SL_TRY(locate(base, call, rank, offset, sizeof(int64_t), &to));
  SL_TRY(sl_symm_check_word(call, offset));
  int64_t *word = to->at ? (int64_t *)(void *)(to->at + offset) : NULL;
  if (!word || (of(base)->on_device && rank != base->comm->rank)) {
    SL_TRY(ask_owner(base, rank, offset, op, value, expected, &before));
  } else if (of(base)->on_device) {
    SL_TRY(sl_rma_queue_atomic(comm->staging->own, op, word, value, expected, &before));
    SL_TRY(look(comm));
  } else {
    before = sl_atomic_on_host(op, word, value, expected);
    SL_TRY(look(comm));
  }
  if (old)
    *old = before;
  return SLEY_OK;
}

/* ---- flush */

static bool puts_under_way(const sl_process_comm *comm, int rank) {
  const sl_process_rma *r = comm->staging ? comm->staging->first : NULL;
  while (r && !(r->puts && (rank == SL_ALL_RANKS || r->rank == rank)))
    r = r->next;
  return r != NULL;
}

sley_status sl_process_flush_puts(sl_process_comm *comm, int rank) {
  while (puts_under_way(comm, rank)) {
    SL_TRY(drive(comm));
    sched_yield();
  }
  if (comm->staging && sl_rma_queue_busy(comm->staging->own)) {
    SL_TRY(sl_process_wait_for(comm, comm->staging->own->copies));
    SL_TRY(sl_rma_queue_drain(comm->staging->own));
  }
  if (comm->backend->far)
    SL_TRY(comm->backend->far->flush(comm, rank));
  for (int r = 0; r < comm->base.size; r++)
    if (comm->dirty[r] && (rank == SL_ALL_RANKS || rank == r)) {
      comm->dirty[r] = false;
      SL_TRY(sl_mesh_access(comm->mesh, r, SL_MESH_FLUSH, 0, 0, NULL, 0));
    }
  return SLEY_OK;
}

static sley_status flush(sl_symm *base, int rank) {
  sl_process_comm *comm = comm_of(base);
  SL_TRY(sl_symm_check("flush", rank == SL_ALL_RANKS ? 0 : rank, base->comm->size, 0, 0, 0));
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  sley_status status = sl_process_flush_puts(comm, rank);
  return over(comm, status == SLEY_OK ? sl_mesh_progress(comm->mesh) : status);
}

const sl_symm_ops sl_process_symm_ops = {.alloc = sl_process_symm_alloc,
                                         .free = sl_process_symm_free,
                                         .peer_ptr = peer_ptr,
                                         .get_begin = get_begin,
                                         .put_begin = put_begin,
                                         .wait = wait,
                                         .after = after,
                                         .get_rows = get_rows,
                                         .atomic = atomic,
                                         .flush = flush};
