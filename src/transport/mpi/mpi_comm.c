/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the exchanges of a run, and defines the module's table. Each run has its own communicator,
 * so that a message of a failed run cannot be mistaken for a message of the next run. */
#include "transport/mpi/mpi_comm.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/module.h"

/* Seconds after a failure in which messages in flight may complete, and as many in which the ranks may end
 * together. FAREWELL_SHORT applies after an interrupt, or if a rank cannot take part because it has ended or
 * is stopped. */
static const double FAREWELL = 4, FAREWELL_SHORT = 0.5;

/* Returns whether this process was interrupted; the thread's error message is not changed. */
static bool asked(void) {
  sl_error error;
  sl_error_save(&error);
  bool interrupted = sl_interrupted() != SLEY_OK;
  (void)sl_error_restore(&error);
  return interrupted;
}

bool sl_mpi_linger(sl_mpi_comm *comm) {
  if (comm->farewell == 0) {
    bool brief = asked() || sl_mesh_lost_rank(comm->base.mesh);
    comm->farewell = sl_now() + (brief ? FAREWELL_SHORT : FAREWELL);
  }
  sl_mpi_discard(comm);
  nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  return sl_now() < comm->farewell;
}

/* Makes all ranks meet in MPI, while each lets MPI move its remaining messages. empty: this rank first waits
 * until no message is left. Returns false if the time limit of the farewell is reached first. */
static bool gather(sl_mpi_comm *comm, bool empty) {
  MPI_Request request = MPI_REQUEST_NULL;
  while (!sl_mpi_sweep(comm) && empty)
    if (!sl_mpi_linger(comm))
      return false;
  sl_mpi_enter();
  int code = MPI_Ibarrier(comm->comm, &request);
  sl_mpi_leave();
  for (int done = 0; code == MPI_SUCCESS;) {
    if (sl_mpi_test(&request, 1, &done, NULL) != SLEY_OK || done)
      return done == 1;
    (void)sl_mpi_sweep(comm);
    if (!sl_mpi_linger(comm))
      return false;
  }
  return false;
}

/* Returns whether a collective in flight has completed before the time limit of the farewell. */
static bool end_dense(sl_mpi_comm *comm) {
  bool over;
  while (sl_mpi_end_dense(comm, &over) == SLEY_OK)
    if (over || !sl_mpi_linger(comm))
      return over;
  return false;
}

/* After a failure the living ranks stay until all have cancelled their messages, and then until no cancelled
 * message is left. Then the memory is free, and MPI can be used for another run. If a rank has died, they
 * stay until the time limit of the farewell, the remaining messages are never freed, and MPI is not finalised
 * in order. */
static bool part(sl_mpi_comm *comm) {
  sl_error error;
  sl_error_save(&error);
  if (comm->farewell != 0 && sl_now() >= comm->farewell) /* an earlier wait has already timed out */
    return false;
  comm->farewell = 0;
  bool clean = end_dense(comm) && gather(comm, false) && gather(comm, true);
  while (clean && comm->waste) /* a discarded message is still arriving */
    clean = sl_mpi_linger(comm);
  (void)sl_error_restore(&error);
  return clean;
}

/* One turn of the progress thread. Returns whether every access of other ranks to a window of this rank may
 * need a turn. Otherwise the thread wakes too seldom to poll. */
static bool move_messages(void *arg) {
  const sl_mpi_comm *comm = arg;
  sl_mpi_turn();
  return comm->open_windows > 0 && !comm->immediate;
}

/* Returns whether all windows have ended. The thread's error stays. */
static bool end_windows(sl_mpi_comm *comm, bool broken) {
  sl_error error;
  sl_error_save(&error);
  sl_mpi_wait wait = {.mesh =
                          broken ? NULL : comm->base.mesh, /* may still have to send this rank's farewell */
                      .timeout = broken ? FAREWELL : comm->base.timeout, /* all ranks live and come here */
                      .what = "a rank's part in MPI_Win_free"};
  bool over = sl_mpi_end_windows(comm, wait) == SLEY_OK;
  (void)sl_error_restore(&error);
  return over;
}

static void stop(sl_process_comm *base) {
  sl_mpi_comm *comm = (sl_mpi_comm *)base;
  sl_progress_stop(comm->progress);
  comm->progress = NULL;
  sl_direct_stop(base);
  if (comm->comm == MPI_COMM_NULL)
    return;
  sl_mesh_leave(base->mesh); /* if a rank returns while another waits for it, it takes part in the farewell
                                below */
  bool broken = sl_mesh_broken(base->mesh);
  if ((broken && !part(comm)) || !end_windows(comm, broken)) {
    sl_mpi_skip_finalise(true);
    return;
  }
  sl_mpi_enter();
  MPI_Comm_free(&comm->comm);
  if (comm->collectives != MPI_COMM_NULL)
    MPI_Comm_free(&comm->collectives);
  sl_mpi_leave();
}

/* The part of the start that needs no other rank: checks that MPI numbers the ranks like this library. */
static sley_status prepare(sl_mpi_comm *comm) {
  const sl_comm *base = &comm->base.base;
  MPI_Comm origin = sl_mpi_origin(comm->base.mpi_comm);
  int rank = -1, size = -1;
  if (origin != MPI_COMM_NULL) {
    SL_TRY(sl_mpi_check(MPI_Comm_rank(origin, &rank), "MPI_Comm_rank"));
    SL_TRY(sl_mpi_check(MPI_Comm_size(origin, &size), "MPI_Comm_size"));
  }
  if (rank != base->rank || size != base->size)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "this process is rank %d of %d, but MPI says that it is rank %d of %d", base->rank,
                   base->size, rank, size);
  return SLEY_OK;
}

/* Makes a communicator of all ranks; *out is MPI_COMM_NULL on an error. */
static sley_status make_comm(sl_mpi_comm *comm, MPI_Comm *out) {
  MPI_Request request = MPI_REQUEST_NULL;
  sl_mpi_enter();
  int code = MPI_Comm_idup(sl_mpi_origin(comm->base.mpi_comm), out, &request);
  sl_mpi_leave();
  sley_status status = sl_mpi_settle(code, &request,
                                     (sl_mpi_wait){.mesh = comm->base.mesh,
                                                   .timeout = comm->base.timeout,
                                                   .what = "a rank's part in MPI_Comm_idup"});
  if (status != SLEY_OK) {
    *out = MPI_COMM_NULL;
    sl_mpi_skip_finalise(true);
    return status;
  }
  return sl_mpi_check(MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

static sley_status make_comms(sl_mpi_comm *comm) {
  int *tags = NULL, given = 0;
  SL_TRY(make_comm(comm, &comm->comm));
  SL_TRY(make_comm(comm, &comm->collectives));
  SL_TRY(sl_mpi_check(MPI_Comm_get_attr(comm->comm, MPI_TAG_UB, (void *)&tags, &given), "MPI_Comm_get_attr"));
  comm->tags = given && tags ? *tags : INT16_MAX;
  return SLEY_OK;
}

static sley_status start(sl_process_comm *base) {
  sl_mpi_comm *comm = (sl_mpi_comm *)base;
  bool on_host = base->base.device->ops->host_addresses;
  comm->comm = comm->collectives = MPI_COMM_NULL;
  base->in_place = on_host;
  sley_status mine = prepare(comm);
  if (mine == SLEY_OK && base->base.size > 1 && sl_mpi_lets_threads_in())
    mine = sl_progress_start(move_messages, comm, &comm->progress);
  sley_status status = sl_mesh_agree(base->mesh, "prepare MPI", 0, 0, mine);
  sl_mpi_skip_finalise(sl_mesh_broken(base->mesh)); /* all ranks live if the mesh is not broken */
  if (status == SLEY_OK) {
    sl_mesh_meanwhile(base->mesh, sl_mpi_turn);
    status = make_comms(comm);
  }
  if (status == SLEY_OK)
    status = sl_direct_start(base, &sl_shared_memory);
  if (status != SLEY_OK)
    stop(base);
  else if (!on_host && !base->direct)
    base->base.workgroup = 1; /* the memory of other ranks' devices cannot be reached */
  return status;
}

/* Waits until the operations on windows in flight are complete, or until the time limit of the farewell. */
static void end_accesses(sl_mpi_comm *comm) {
  bool waits = true;
  while (!sl_mpi_end_accesses(comm, !waits))
    waits = sl_mpi_linger(comm);
}

static void abandon(sl_process_comm *base) {
  sl_mpi_comm *comm = (sl_mpi_comm *)base;
  sl_error error;
  sl_error_save(&error);
  if (comm->progress)
    sl_progress_forbid(comm->progress);
  if (comm->comm != MPI_COMM_NULL && sl_mesh_broken(base->mesh))
    sl_mpi_call_off(comm);
  end_accesses(comm);
  (void)sl_error_restore(&error);
}

static const sl_process_backend mpi_process = {.name = "mpi",
                                               .dense_native = sl_mpi_dense_native,
                                               .carrier = &sl_mpi_messages,
                                               .sized = &sl_mpi_messages,
                                               .comm_bytes = sizeof(sl_mpi_comm),
                                               .start = start,
                                               .stop = stop,
                                               .abandon = abandon,
                                               .place = sl_mpi_place,
                                               .far = &sl_mpi_windows};

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&mpi_process, launch, main, arg);
}

/* Describes the MPI library without initialising MPI. */
static const char *describe(void) {
  static _Thread_local char text[256];
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS)
    length = 0;
  version[length] = '\0';
  for (char *at = version; *at; at++)
    if (*at == '\t')
      *at = ' ';
  snprintf(text, sizeof text,
           "ranks are processes that exchange rows by MPI (%.*s), tiles by its windows if it provides "
           "MPI_THREAD_MULTIPLE, else by sockets",
           (int)strcspn(version, ",\n"), version);
  return text;
}

static const sl_transport_backend mpi = {
    .name = "mpi", .run = run, .describe = describe, .process = &mpi_process};

__attribute__((visibility("default"))) const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &mpi : NULL;
}
