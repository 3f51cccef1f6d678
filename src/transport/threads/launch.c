/* SPDX-License-Identifier: Apache-2.0 */
/* Starts one thread for each rank, each with its own device, waits for the ranks, and reports the first
 * failure. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "transport/dense_collective.h"
#include "transport/threads/threads.h"
#include "transport/threads/turns.h"
#include "transport/threads/world.h"

enum { RANKS_MOST = 4096 };

typedef struct rank_start {
  sl_threads_comm *comm;
  const sl_device_ops *device;
  int threads;
  sl_rank_main main;
  void *arg;
  pthread_t thread;
} rank_start;

/* Sets zero_copy if every rank's device can load the memory of all other ranks' devices. All devices are open
 * between the meetings. */
static sley_status find_reach(sl_threads_comm *comm) {
  sl_device *device = comm->base.device;
  int64_t all = 1;
  comm->base.zero_copy = device->ops->host_addresses;
  comm->base.one_sided = SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS;
  if (comm->world->turns == 0) /* otherwise a rank that computes prevents other ranks from running */
    comm->base.one_sided |= SL_ONE_SIDED_PASSIVE;
  if (comm->base.zero_copy)
    return SLEY_OK;
  comm->base.one_sided |= SL_ONE_SIDED_DEVICE;
  sl_post post = {.call = "start of the ranks"};
  post.status = SL_NEW_ZERO(comm->away, device->ops->count(), "the ranks' world");
  SL_TRY(sl_world_meet(comm, &post));
  sl_threads_find_away(comm);
  for (int p = 0; p < comm->base.size && all; p++)
    all = device->ops->reach(device, comm->world->ranks[p].base.device);
  SL_TRY(sl_threads_allreduce(&comm->base, SL_MIN, &all, 1));
  comm->base.zero_copy = all;
  return SLEY_OK;
}

static void close_rank(sl_threads_comm *rank) {
  sl_comm *comm = &rank->base;
  if (!comm->device)
    return;
  const sl_device_ops *ops = comm->device->ops;
  uint32_t *stop = rank->stop;
  if (comm->queue)
    (void)ops->queue_wait(comm->queue);
  sl_threads_close_queues(rank);
  if (!ops->host_addresses)
    sl_team_destroy(comm->team);
  sl_world_stop_at(rank, NULL);
  if (stop)
    ops->host_free(comm->device, stop);
  if (rank->urgent)
    ops->queue_destroy(rank->urgent);
  if (comm->queue)
    ops->queue_destroy(comm->queue);
  ops->close(comm->device);
}

/* Opens a rank's device and queue. ordinal: number of the device, modulo the number of devices. The rank is
 * closed by close_rank, also after an error. */
static sley_status open_rank(sl_threads_comm *rank, const sl_device_ops *ops, int ordinal, int threads) {
  sl_comm *comm = &rank->base;
  void *stop = NULL;
  SL_TRY(ops->open(ordinal % ops->count(), threads, &comm->device));
  SL_TRY(ops->queue_create(comm->device, NULL, &comm->queue));
  if (ops->host_addresses) {
    comm->team = sl_cpu_queue_team(comm->queue);
    return find_reach(rank);
  }
  SL_TRY(ops->queue_create_urgent(comm->device, &rank->urgent));
  SL_TRY(ops->host_alloc(comm->device, sizeof(uint32_t), "a word", &stop));
  sl_world_stop_at(rank, stop);
  SL_TRY(sl_team_create(threads, &comm->team));
  comm->queue->team = comm->team;
  return find_reach(rank);
}

/* Runs a rank. Each rank on the CPU has its own device; ranks on other devices are distributed over the
 * existing devices. */
static sley_status run_rank(rank_start *start) {
  sley_status status = open_rank(start->comm, start->device, start->comm->base.rank, start->threads);
  if (status == SLEY_OK)
    status = start->main(&start->comm->base, start->arg);
  if (status != SLEY_OK)
    sl_world_abort(start->comm, status);
  sl_error error;
  sl_error_take(status, &error);
  close_rank(start->comm);
  return status == SLEY_OK ? SLEY_OK : sl_error_restore(&error);
}

static void *rank_thread(void *argument) {
  rank_start *start = argument;
  sl_threads_comm *comm = start->comm;
  sl_turns_begin(comm);
  sley_status status = run_rank(start);
  sl_error_take(status, &comm->error);
  if (status != SLEY_OK)
    sl_world_abort(comm, status);
  sl_world_left(comm);
  sl_turns_end(comm);
  return NULL;
}

/* Returns the error of the lowest rank that failed by itself; if there is none, of the lowest rank that
   failed because of another. */
static sley_status first_failure(const sl_world *world) {
  for (int own = 1; own >= 0; own--)
    for (int r = 0; r < world->size; r++) {
      const sl_error *error = &world->ranks[r].error;
      if (error->status != SLEY_OK && (!own || error->status != SLEY_ERR_PEER))
        return sl_error_on(r, error);
    }
  return SLEY_OK;
}

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  if (launch->ranks < 1 || launch->ranks > RANKS_MOST)
    return sl_fail(SLEY_ERR_ARG, "%d ranks: 1 to %d are possible", launch->ranks, RANKS_MOST);
  if (launch->workgroup < 1 || launch->workgroup > launch->ranks)
    return sl_fail(SLEY_ERR_ARG, "a workgroup of %d ranks: 1 to %d are possible", launch->workgroup,
                   launch->ranks);
  if (launch->threads < 1)
    return sl_fail(SLEY_ERR_ARG, "%d threads per rank: at least 1 is needed", launch->threads);
  const sl_device_ops *device;
  char note[SLEY_ERROR_BYTES];
  SL_TRY(sl_device_choose(launch->device, &device, note, sizeof note));
  sl_world *world;
  int turns = device->host_addresses ? sl_turns_of(launch->ranks, launch->threads) : 0;
  SL_TRY(sl_world_create(launch->ranks, launch->workgroup, launch->threads, turns, &world));
  memcpy(world->note, note, sizeof note);
  sley_status status;
  rank_start *starts;
  SL_TRY_GOTO(status, SL_NEW_ZERO(starts, launch->ranks, "the ranks' threads"), destroy_world);
  int started = 0;
  for (; started < launch->ranks; started++) {
    starts[started] = (rank_start){.comm = &world->ranks[started],
                                   .device = device,
                                   .threads = launch->threads,
                                   .main = main,
                                   .arg = arg};
    if (pthread_create(&starts[started].thread, NULL, rank_thread, &starts[started]) != 0)
      break;
  }
  if (started < launch->ranks) { /* a rank that was not started fails instead */
    sl_threads_comm *missing = &world->ranks[started];
    status = sl_fail(SLEY_ERR_MEMORY, "cannot start the thread of rank %d of %d: use fewer ranks", started,
                     launch->ranks);
    sl_error_take(status, &missing->error);
    sl_world_abort(missing, status);
  }
  sl_turns_watch(world, started);
  for (int r = 0; r < started; r++)
    pthread_join(starts[r].thread, NULL);
  status = first_failure(world);
  sl_free(starts);
destroy_world:
  sl_world_destroy(world);
  return status;
}

sley_status sl_threads_open(const sl_launch *launch, sl_comm **out) {
  const sl_device_ops *device;
  char note[SLEY_ERROR_BYTES];
  sl_world *world;
  int ordinal = 0;
  *out = NULL;
  SL_TRY(sl_device_choose_one(launch->device, &device, &ordinal, note, sizeof note));
  SL_TRY(sl_world_create(1, 1, launch->threads, 0, &world));
  memcpy(world->note, note, sizeof note);
  sley_status status = open_rank(&world->ranks[0], device, ordinal, launch->threads);
  if (status == SLEY_OK) {
    *out = &world->ranks[0].base;
    return SLEY_OK;
  }
  close_rank(&world->ranks[0]);
  sl_world_destroy(world);
  return status;
}

void sl_threads_close(sl_comm *comm) {
  sl_world *world = ((sl_threads_comm *)comm)->world;
  close_rank(&world->ranks[0]);
  sl_world_destroy(world);
}

static const char *describe(void) {
  return "ranks are threads of one process";
}

static void abort_rank(sl_comm *comm, sley_status status) {
  sl_world_abort((sl_threads_comm *)comm, status);
}

/* An abort sets the word that ends the devices' waits, so this wait always ends. */
static sley_status wait_for_queue(sl_comm *comm) {
  return comm->queue->ops->queue_wait(comm->queue);
}

static void counters(const sl_comm *comm, sl_counters *out) {
  *out = ((const sl_threads_comm *)comm)->counters;
}

static void counters_add(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages) {
  sl_counters_count(&((sl_threads_comm *)comm)->counters, link, bytes, messages);
}

static void counters_reset(sl_comm *comm) {
  ((sl_threads_comm *)comm)->counters = (sl_counters){{0}, {0}};
}

/* Does nothing: the launcher owns the comm and ends it after the rank's main. */
static void close_nothing(sl_comm *comm) {
  (void)comm;
}

const sl_transport_ops sl_threads_ops = {
    .exchange_create = sl_threads_exchange_create,
    .exchange_memory = sl_threads_exchange_memory,
    .list_messages = sl_threads_list_messages,
    .row_messages = sl_threads_row_messages,
    .exchange_begin = sl_threads_exchange_begin,
    .exchange_end = sl_threads_exchange_end,
    .exchange_arrive = sl_threads_exchange_arrive,
    .exchange_reclaim = sl_threads_exchange_reclaim,
    .exchange_map = sl_threads_exchange_map,
    .exchange_destroy = sl_threads_exchange_destroy,
    .sized_create = sl_threads_sized_create,
    .sized_begin = sl_threads_sized_begin,
    .sized_end = sl_threads_sized_end,
    .sized_destroy = sl_threads_sized_destroy,
    .dense_native = sl_dense_no_native,
    .symm = &sl_threads_symm_ops,
    .barrier = sl_threads_barrier,
    .allgather = sl_threads_allgather,
    .alltoallv = sl_threads_alltoallv,
    .allreduce = sl_threads_allreduce,
    .abort = abort_rank,
    .wait = wait_for_queue,
    .counters = counters,
    .counters_reset = counters_reset,
    .counters_add = counters_add,
    .close = close_nothing,
};

const sl_transport_backend sl_threads_backend = {.name = "threads", .run = run, .describe = describe};
