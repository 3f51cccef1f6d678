/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the ranks, one thread each with a device of its own, waits for them, and reports the first
 * failure. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
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

/* Memory is lent where every rank's device reaches every other's. All devices are open between the meetings.
 */
static sley_status find_reach(sl_threads_comm *comm) {
  sl_device *device = comm->base.device;
  int64_t all = 1;
  comm->base.lends = device->ops->host_addresses;
  if (comm->base.lends)
    return SLEY_OK;
  SL_TRY(sl_world_meet(comm, &(sl_post){.call = "start of the ranks"}));
  for (int p = 0; p < comm->base.size && all; p++)
    all = device->ops->reach(device, comm->world->ranks[p].base.device);
  SL_TRY(sl_threads_allreduce(&comm->base, SL_MIN, &all, 1));
  comm->base.lends = all;
  return SLEY_OK;
}

/* Ranks on the CPU have a device each; ranks on other devices take turns with those there are. */
static sley_status run_rank(rank_start *start) {
  sl_comm *comm = &start->comm->base;
  sl_team *own_team = NULL;
  void *stop = NULL;
  sley_status status;
  int ordinal = comm->rank % start->device->count();
  SL_TRY_GOTO(status, start->device->open(ordinal, start->threads, &comm->device), done);
  SL_TRY_GOTO(status, start->device->queue_create(comm->device, NULL, &comm->queue), close_device);
  if (!start->device->host_addresses) {
    SL_TRY_GOTO(status, start->device->queue_create_urgent(comm->device, &start->comm->urgent),
                destroy_queue);
    SL_TRY_GOTO(status, start->device->host_alloc(comm->device, sizeof(uint32_t), "a word", &stop),
                destroy_urgent);
    sl_world_stop_at(start->comm, stop);
    SL_TRY_GOTO(status, sl_team_create(start->threads, &own_team), free_stop);
    comm->queue->team = own_team;
  }
  comm->team = own_team ? own_team : sl_cpu_queue_team(comm->queue);
  status = find_reach(start->comm);
  if (status == SLEY_OK)
    status = start->main(comm, start->arg);
  if (status != SLEY_OK)
    sl_world_abort(start->comm, status);
  (void)start->device->queue_wait(comm->queue);
  sl_team_destroy(own_team);
free_stop:
  sl_world_stop_at(start->comm, NULL);
  start->device->host_free(comm->device, stop);
destroy_urgent:
  start->device->queue_destroy(start->comm->urgent);
destroy_queue:
  start->device->queue_destroy(comm->queue);
close_device:
  start->device->close(comm->device);
done:
  return status;
}

static void *rank_thread(void *argument) {
  rank_start *start = argument;
  sl_threads_comm *comm = start->comm;
  sl_turns_begin(comm);
  comm->status = run_rank(start);
  if (comm->status != SLEY_OK) {
    sl_world_abort(comm, comm->status);
    snprintf(comm->message, sizeof comm->message, "%s", sley_last_error());
  }
  sl_world_left(comm);
  sl_turns_end(comm);
  return NULL;
}

/* The lowest rank that failed for a reason of its own; else the lowest that failed at all. */
static sley_status first_failure(const sl_world *world) {
  for (int own = 1; own >= 0; own--)
    for (int r = 0; r < world->size; r++) {
      const sl_threads_comm *comm = &world->ranks[r];
      if (comm->status != SLEY_OK && (!own || comm->status != SLEY_ERR_PEER))
        return sl_fail(comm->status, "rank %d: %s", r, comm->message);
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
  char note[SL_WORLD_MESSAGE];
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
  if (started < launch->ranks) { /* the missing rank fails in its place */
    sl_threads_comm *missing = &world->ranks[started];
    missing->status = sl_fail(SLEY_ERR_MEMORY, "cannot start the thread of rank %d of %d: use fewer ranks",
                              started, launch->ranks);
    snprintf(missing->message, sizeof missing->message, "%s", sley_last_error());
    sl_world_abort(missing, missing->status);
  }
  for (int r = 0; r < started; r++)
    pthread_join(starts[r].thread, NULL);
  status = first_failure(world);
  sl_free(starts);
destroy_world:
  sl_world_destroy(world);
  return status;
}

static const char *describe(void) {
  return "ranks are threads of one process";
}

static void abort_rank(sl_comm *comm, sley_status status) {
  sl_world_abort((sl_threads_comm *)comm, status);
}

/* An abort raises the word that ends the devices' waits: none lasts. */
static sley_status wait_for_queue(sl_comm *comm) {
  return comm->queue->ops->queue_wait(comm->queue);
}

static void counters(const sl_comm *comm, sl_counters *out) {
  *out = ((const sl_threads_comm *)comm)->counters;
}

static void counters_add(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages) {
  sl_counters *counters = &((sl_threads_comm *)comm)->counters;
  counters->bytes[link] += bytes;
  counters->messages[link] += messages;
}

static void counters_reset(sl_comm *comm) {
  ((sl_threads_comm *)comm)->counters = (sl_counters){{0}, {0}};
}

/* The launcher owns the comm and ends it after the rank's main. */
static void close_rank(sl_comm *comm) {
  (void)comm;
}

const sl_transport_ops sl_threads_ops = {
    .exchange_create = sl_threads_exchange_create,
    .exchange_memory = sl_threads_exchange_memory,
    .exchange_begin = sl_threads_exchange_begin,
    .exchange_end = sl_threads_exchange_end,
    .exchange_arrive = sl_threads_exchange_arrive,
    .exchange_reclaim = sl_threads_exchange_reclaim,
    .exchange_borrow = sl_threads_exchange_borrow,
    .exchange_destroy = sl_threads_exchange_destroy,
    .sized_create = sl_threads_sized_create,
    .sized_begin = sl_threads_sized_begin,
    .sized_end = sl_threads_sized_end,
    .sized_destroy = sl_threads_sized_destroy,
    .symm_alloc = sl_threads_symm_alloc,
    .symm_free = sl_threads_symm_free,
    .peer_ptr = sl_threads_peer_ptr,
    .get = sl_threads_get,
    .get_rows = sl_get_rows_one_by_one,
    .put = sl_threads_put,
    .fetch_add = sl_threads_fetch_add,
    .flush = sl_threads_flush,
    .barrier = sl_threads_barrier,
    .allgather = sl_threads_allgather,
    .alltoallv = sl_threads_alltoallv,
    .allreduce = sl_threads_allreduce,
    .abort = abort_rank,
    .wait = wait_for_queue,
    .counters = counters,
    .counters_reset = counters_reset,
    .counters_add = counters_add,
    .close = close_rank,
};

const sl_transport_backend sl_threads_backend = {.name = "threads", .run = run, .describe = describe};
