/* SPDX-License-Identifier: Apache-2.0 */
/* Get and put on host memory of other workgroups, by MPI's windows (MPI 4.0, chapter 12). Each symmetric
 * memory is a window of MPI_Win_create, in one passive epoch from its making to its end. MPI_Rget and
 * MPI_Rput begin operations, and waits poll their requests. The calls that wait for other ranks
 * (MPI_Win_create, MPI_Win_flush, MPI_Win_free) run in a thread of their own (mpi_blocking.c) beside the
 * calls of this thread, so windows need MPI_THREAD_MULTIPLE. */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "transport/mpi/mpi_comm.h"

enum { PIECE = 1 << 30 };

struct sl_far_window {
  sl_mpi_comm *comm;
  MPI_Win win; /* MPI_WIN_NULL: it is not made yet, or has ended */
  void *own;   /* this rank's block */
  int64_t bytes;
  int code, target;    /* result, and rank of a flush, of the call that the worker makes; SL_ALL_RANKS: all */
  bool unified;        /* the owner's loads see what others have put */
  atomic_bool working; /* the worker makes a call of this window */
  sl_far_window *next; /* next window of the comm */
  bool dirty[];        /* by rank: this rank has made puts to it since the last flush */
};

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "sl_far_access.request holds it");

/* Has the worker make a call of the window; its result is in window->code. */
static sley_status work(sl_far_window *window, void (*call)(void *arg), sl_mpi_wait wait) {
  window->working = true;
  return sl_mpi_worker_call(window->comm->worker, call, window, wait);
}

/* ---- making and ending */

static int make(sl_far_window *w) {
  int *model, given = 0;
  int failed = MPI_Win_create(w->own, (MPI_Aint)w->bytes, 1, MPI_INFO_NULL, w->comm->comm, &w->win);
  if (failed) {
    w->win = MPI_WIN_NULL;
    return failed;
  }
  (void)MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
  failed = MPI_Win_get_attr(w->win, MPI_WIN_MODEL, (void *)&model, &given);
  w->unified = !failed && given && *model == MPI_WIN_UNIFIED;
  return failed ? failed : MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win);
}

static void create_call(void *arg) {
  sl_far_window *w = arg;
  w->code = make(w);
  w->working = false;
}

static void free_call(void *arg) {
  sl_far_window *w = arg;
  w->code = MPI_Win_unlock_all(w->win);
  if (w->code == MPI_SUCCESS)
    w->code = MPI_Win_free(&w->win);
  w->working = false;
}

/* Makes the window's struct and, for the first window, the worker. */
static sley_status prepare(sl_mpi_comm *comm, void *own, int64_t bytes, sl_far_window **out) {
  sl_far_window *w;
  if (!comm->worker)
    SL_TRY(sl_mpi_worker_start(&comm->worker));
  *out = w = sl_alloc_zero(1, sizeof *w + (size_t)comm->base.base.size * sizeof w->dirty[0], "a window");
  if (!w)
    return SLEY_ERR_MEMORY;
  w->comm = comm;
  w->win = MPI_WIN_NULL;
  w->own = own;
  w->bytes = bytes;
  return SLEY_OK;
}

/* Sets the comm to requests over the mesh, for the reason that the comm's note states. */
static void do_without(sl_mpi_comm *comm, const char *why) {
  comm->no_windows = true;
  if (!*comm->base.note)
    sl_text_format(comm->base.note, sizeof comm->base.note,
                   "one-sided access between workgroups goes by sockets: %s", why);
}

static sl_mpi_wait wait_of(const sl_mpi_comm *comm, const char *what) {
  return (sl_mpi_wait){.mesh = comm->base.mesh, .timeout = comm->base.timeout, .what = what};
}

static sley_status open_window(sl_process_comm *base, void *own, int64_t bytes, sl_far_window **out) {
  sl_mpi_comm *comm = (sl_mpi_comm *)base;
  sl_far_window *w = NULL;
  *out = NULL;
  int64_t able = sl_mpi_lets_threads_meet();
  if (comm->no_windows)
    return SLEY_OK;
  SL_TRY(sl_mesh_allreduce(base->mesh, SL_MESH_MIN, &able, 1));
  if (!able) {
    do_without(comm, "this MPI does not provide MPI_THREAD_MULTIPLE");
    return SLEY_OK;
  }
  sley_status status = prepare(comm, own, bytes, &w);
  *out = w;
  SL_TRY(sl_mesh_agree(base->mesh, "a window", 0, 0, status));
  SL_TRY(work(w, create_call, wait_of(comm, "a rank's part in MPI_Win_create")));
  int64_t made = w->code == MPI_SUCCESS && w->unified;
  SL_TRY(sl_mesh_allreduce(base->mesh, SL_MESH_MIN, &made, 1));
  if (!made) {
    do_without(comm, "this MPI cannot make a window between these hosts");
    sl_free(w); /* a window that only some ranks have stays unused */
    *out = NULL;
    return SLEY_OK;
  }
  w->next = comm->windows;
  comm->windows = w;
  comm->open_windows++;
  sl_mpi_hold(comm);
  return SLEY_OK;
}

/* Ends a window, and removes it from the comm's list. */
static sley_status end_window(sl_far_window *window, sl_mpi_wait wait) {
  sl_mpi_comm *comm = window->comm;
  sl_far_window **at = &comm->windows;
  while (*at != window)
    at = &(*at)->next;
  *at = window->next;
  comm->open_windows--;
  sley_status status = work(window, free_call, wait);
  sl_mpi_release(comm);
  return status == SLEY_OK ? sl_mpi_check(window->code, "MPI_Win_free") : status;
}

static sley_status close_window(sl_far_window *window) {
  return end_window(window, wait_of(window->comm, "a rank's part in MPI_Win_free"));
}

static bool drop_window(sl_far_window *window) {
  if (window->working) /* the worker still uses it */
    return false;
  bool ended = window->win == MPI_WIN_NULL;
  sl_far_window **at = &window->comm->windows;
  while (*at && *at != window)
    at = &(*at)->next;
  if (*at)
    *at = window->next;
  sl_free(window);
  return ended;
}

sley_status sl_mpi_end_windows(sl_mpi_comm *comm, sl_mpi_wait wait) {
  sley_status status = SLEY_OK;
  while (comm->windows && status == SLEY_OK)
    status = end_window(comm->windows, wait);
  if (!sl_mpi_worker_stop(comm->worker) && status == SLEY_OK)
    status = sl_fail(SLEY_ERR_PEER, "a call of a window has not returned");
  comm->worker = NULL;
  return status;
}

/* ---- operations */

static sley_status begin_piece(sl_far_access *a, bool first) {
  const sl_far_window *w = a->window;
  sl_comm *base = &w->comm->base.base;
  MPI_Request request = MPI_REQUEST_NULL;
  int bytes = (int)(a->left < PIECE ? a->left : PIECE);
  sl_mpi_enter();
  int code = a->puts ? MPI_Rput(a->here, bytes, MPI_BYTE, a->rank, (MPI_Aint)a->offset, bytes, MPI_BYTE,
                                w->win, &request)
                     : MPI_Rget(a->here, bytes, MPI_BYTE, a->rank, (MPI_Aint)a->offset, bytes, MPI_BYTE,
                                w->win, &request);
  if (code == MPI_SUCCESS)
    sl_process_counters_add(base, sl_link_to(base, a->rank), bytes, first);
  sl_mpi_leave();
  SL_TRY(sl_mpi_check(code, a->puts ? "MPI_Rput" : "MPI_Rget"));
  a->piece = bytes;
  memcpy(&a->request, &request, sizeof request);
  return SLEY_OK;
}

static sley_status begin(sl_far_access *access) {
  sl_far_window *w = access->window;
  sl_mpi_comm *comm = w->comm;
  if (access->puts)
    w->dirty[access->rank] = true;
  SL_TRY(begin_piece(access, true));
  access->place = &comm->accesses;
  access->next = comm->accesses;
  if (access->next)
    access->next->place = &access->next;
  comm->accesses = access;
  return SLEY_OK;
}

static void unlink_access(sl_far_access *access) {
  *access->place = access->next;
  if (access->next)
    access->next->place = access->place;
  access->window = NULL;
}

/* Tests the piece in flight; if it is complete, *done is true or begins_next begins the next one. */
static sley_status advance(sl_far_access *access, bool begins_next, bool *done) {
  MPI_Request request;
  int complete = 0;
  *done = false;
  memcpy(&request, &access->request, sizeof request);
  sley_status status = sl_mpi_test(&request, 1, &complete, NULL);
  memcpy(&access->request, &request, sizeof request);
  SL_TRY(status);
  if (complete == 0)
    return SLEY_OK;
  access->here += access->piece;
  access->offset += access->piece;
  access->left -= access->piece;
  access->piece = 0;
  *done = access->left == 0 || !begins_next;
  return *done ? SLEY_OK : begin_piece(access, false);
}

static sley_status wait(sl_far_access *access) {
  sl_mpi_wait wait = wait_of(access->window->comm, "a rank's tile or other one-sided data");
  bool done = false;
  for (int tests = 0; !done; tests++) {
    SL_TRY(advance(access, true, &done));
    if (tests == 0 && !access->puts)
      access->window->comm->immediate = done;
    if (!done)
      SL_TRY(sl_mpi_backoff(&wait));
  }
  unlink_access(access);
  return SLEY_OK;
}

bool sl_mpi_end_accesses(sl_mpi_comm *comm, bool forget) {
  for (sl_far_access *next, *access = comm->accesses; access; access = next) {
    bool done;
    next = access->next;
    if (advance(access, false, &done) != SLEY_OK || done || forget)
      unlink_access(access);
  }
  return comm->accesses == NULL;
}

static void flush_call(void *arg) {
  sl_far_window *w = arg;
  w->code = w->target == SL_ALL_RANKS ? MPI_Win_flush_all(w->win) : MPI_Win_flush(w->target, w->win);
  w->working = false;
}

static sley_status flush(sl_process_comm *base, int rank) {
  sl_mpi_comm *comm = (sl_mpi_comm *)base;
  for (sl_far_window *w = comm->windows; w; w = w->next) {
    bool due = false;
    for (int r = 0; r < base->base.size; r++)
      if (rank == SL_ALL_RANKS || rank == r) {
        due = due || w->dirty[r];
        w->dirty[r] = false;
      }
    w->target = rank;
    if (!due)
      continue;
    SL_TRY(work(w, flush_call, wait_of(comm, "the arrival of data at a rank, by MPI_Win_flush,")));
    SL_TRY(sl_mpi_check(w->code, "MPI_Win_flush"));
  }
  return SLEY_OK;
}

const sl_far_memory sl_mpi_windows = {.open = open_window,
                                      .begin = begin,
                                      .wait = wait,
                                      .flush = flush,
                                      .close = close_window,
                                      .drop = drop_window};
