/* SPDX-License-Identifier: Apache-2.0 */
/* The transport's collectives, abort and counters over the mesh, and the matching of lists. */
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/lists.h"
#include "transport/process/process.h"

static sl_mesh *boot_of(sl_comm *comm) {
  return ((sl_process_comm *)comm)->mesh;
}

void sl_process_abort(sl_comm *base, sley_status status) {
  sl_process_comm *comm = (sl_process_comm *)base;
  sl_mesh_abort(comm->mesh, status);
  if (comm->stop)
    __atomic_store_n(comm->stop, 1, __ATOMIC_RELEASE);
  comm->backend->abandon(comm);
}

sley_status sl_process_over(sl_comm *comm, sley_status status) {
  if (status == SLEY_OK)
    sl_mesh_work(boot_of(comm));
  else if (sl_mesh_broken(boot_of(comm)))
    sl_process_abort(comm, status);
  return status;
}

/* Flushes puts first, because they do not travel with the messages of the barrier. */
sley_status sl_process_barrier(sl_comm *comm) {
  sley_status status = sl_process_flush_puts((sl_process_comm *)comm, SL_ALL_RANKS);
  return sl_process_over(comm, status == SLEY_OK ? sl_mesh_barrier(boot_of(comm)) : status);
}

sley_status sl_process_allgather(sl_comm *comm, const void *src, int64_t bytes, void *dst) {
  return sl_process_over(comm, sl_mesh_allgather(boot_of(comm), src, bytes, dst));
}

sley_status sl_process_alltoallv(sl_comm *comm, const void *send, const int64_t *send_at,
                                 const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                                 const int64_t *recv_bytes) {
  return sl_process_over(
      comm, sl_mesh_alltoallv(boot_of(comm), send, send_at, send_bytes, recv, recv_at, recv_bytes));
}

sley_status sl_process_allreduce(sl_comm *comm, sl_reduce op, int64_t *values, int count) {
  static const sl_mesh_op ops[] = {[SL_SUM] = SL_MESH_SUM, [SL_MIN] = SL_MESH_MIN, [SL_MAX] = SL_MESH_MAX};
  if ((unsigned)op > SL_MAX)
    return sl_fail(SLEY_ERR_ARG, "allreduce: there is no operator %d", (int)op);
  return sl_process_over(comm, sl_mesh_allreduce(boot_of(comm), ops[op], values, count));
}

enum { SPINS = 2000, LOOKS = 16, PAUSE_NANOSECONDS = 50000 };

/* Returns the error for which this rank should stop waiting, or SLEY_OK. */
static sley_status trouble(sl_process_comm *comm, double begin) {
  SL_TRY(sl_mesh_progress(comm->mesh));
  if (sl_now() - begin <= comm->timeout)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_PEER,
                 "the device has not finished within %g s, and may be waiting for a rank that hangs: "
                 "give a longer timeout if its work takes so long",
                 comm->timeout);
}

sley_status sl_process_wait_for(sl_process_comm *comm, sl_queue *queue) {
  const sl_device_ops *ops = queue->ops;
  double begin = sl_now();
  for (int64_t polls = 1; !ops->host_addresses; polls++) {
    bool done = false;
    SL_TRY(ops->queue_query(queue, &done));
    if (done)
      break;
    sley_status status = polls % LOOKS == 0 || polls > SPINS ? trouble(comm, begin) : SLEY_OK;
    if (status != SLEY_OK) {
      comm->base.ops->abort(&comm->base, status);
      (void)ops->queue_wait(queue); /* the abort has ended the queue's waits */
      return status;
    }
    if (polls > SPINS)
      nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
  }
  return ops->queue_wait(queue);
}

sley_status sl_process_wait(sl_comm *comm) {
  return sl_process_over(comm, sl_process_wait_for((sl_process_comm *)comm, comm->queue));
}

void sl_process_counters(const sl_comm *comm, sl_counters *out) {
  *out = ((const sl_process_comm *)comm)->counters;
}

void sl_process_counters_reset(sl_comm *comm) {
  ((sl_process_comm *)comm)->counters = (sl_counters){{0}, {0}};
}

void sl_process_counters_add(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages) {
  sl_counters_count(&((sl_process_comm *)comm)->counters, link, bytes, messages);
}

/* Does nothing: the caller of sl_process_open ends the comm after the rank's main. */
void sl_process_close(sl_comm *comm) {
  (void)comm;
}

/* Both directions between a pair of ranks, as one of the two describes them. */
typedef struct pair_facts {
  sl_list_facts sent, taken;
} pair_facts;

/* Compares this rank's and each peer's description of the rows between them. facts: memory for twice as many
 * entries as there are ranks. */
static sley_status compare(sl_process_comm *comm, const sl_exchange_spec *spec, pair_facts *mine,
                           int64_t *at) {
  int size = comm->base.size, rank = comm->base.rank;
  pair_facts *theirs = mine + size;
  int64_t *bytes = at + size;
  for (int p = 0; p < size; p++) {
    mine[p].sent = sl_list_facts_of(spec, spec->send, spec->sends, p);
    mine[p].taken = sl_list_facts_of(spec, spec->recv, spec->recvs, p);
    at[p] = p * (int64_t)sizeof *mine;
    bytes[p] = sizeof *mine;
  }
  SL_TRY(sl_mesh_alltoallv(comm->mesh, mine, at, bytes, theirs, at, bytes));
  for (int p = 0; p < size; p++) {
    SL_TRY(sl_list_facts_match(spec->name, rank, p, &mine[p].sent, &theirs[p].taken));
    SL_TRY(sl_list_facts_match(spec->name, p, rank, &theirs[p].sent, &mine[p].taken));
  }
  return SLEY_OK;
}

sley_status sl_process_match_lists(sl_process_comm *comm, const sl_exchange_spec *spec, sley_status mine) {
  int64_t size = comm->base.size;
  pair_facts *facts = NULL;
  int64_t *places = NULL;
  if (mine == SLEY_OK)
    mine = sl_lists_check(spec, &comm->base);
  if (mine == SLEY_OK)
    mine = SL_NEW(facts, 2 * size, "an exchange");
  if (mine == SLEY_OK)
    mine = SL_NEW(places, 2 * size, "an exchange");
  sley_status status = sl_mesh_agree(comm->mesh, "exchange_create", 0, 0, mine);
  if (status == SLEY_OK) {
    status = compare(comm, spec, facts, places);
    status = sl_mesh_agree(comm->mesh, "end of exchange_create", 0, 0, status);
  }
  sl_free(places);
  sl_free(facts);
  return status;
}
