/* SPDX-License-Identifier: Apache-2.0 */
/* Whether GPUs of a workgroup's processes load each other's memory, and the rounds of an exchange in which
 * they do. Begin gathers the peers' rows on an urgent queue, once the peers have taken the last round's rows;
 * end pulls from the peers' blocks, concurrently with the rank's queue. */
#include "transport/process/direct.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/overrides.h"
#include "transport/process/direct_inside.h"

enum { PAUSE_NANOSECONDS = 100000 };
/* Seconds in which peers are expected to destroy the same exchange, and seconds in which they are expected to
   leave the comm. */
static const double COURTESY = 0.1, PATIENCE = 2;

/* ---- whether there is direct access */

static void note(sl_process_comm *comm, const char *why) {
  if (!comm->note[0])
    sl_text_format(
        comm->note, sizeof comm->note,
        "GPUs of different processes cannot load each other's memory (%s): rows travel as messages", why);
}

/* Returns a reason why there is no direct access, or NULL, as far as it can be found without trying: each
 * rank of a workgroup needs its own device, because a waiting pull may occupy the device. */
static const char *obstacle(const sl_process_comm *comm) {
  const sl_comm *base = &comm->base;
  int group = sl_workgroup_of(base, base->rank), first = sl_workgroup_first(base, group);
  int members = sl_workgroup_size(base, group);
  if (!base->device->ops->signals)
    return "their kernels cannot signal each other";
  if (sl_overrides.signals == SL_SIGNALS_OFF)
    return "signals are off";
  if (members > SL_PULL_SOURCES)
    return "the workgroup is too large";
  for (int i = first; i < first + members; i++)
    for (int j = first; j < i; j++)
      if (comm->first_there[i] == comm->first_there[j])
        return "ranks share a GPU";
  return NULL;
}

/* Sets *found to whether any rank has such a reason. Collective: the result is the same on all ranks. */
static sley_status find_obstacle(sl_process_comm *comm, bool *found) {
  const char *why = obstacle(comm);
  int64_t blocked = why != NULL;
  if (why)
    note(comm, why);
  sley_status status = sl_mesh_allreduce(comm->mesh, SL_MESH_MAX, &blocked, 1);
  if (status == SLEY_OK && blocked && !why)
    note(comm, "another workgroup's cannot");
  *found = blocked;
  return status;
}

sley_status sl_direct_start(sl_process_comm *comm, const sl_peer_memory *memory) {
  const sl_device_ops *ops = comm->base.device->ops;
  comm->memory = memory;
  if (ops->host_addresses || comm->base.workgroup == 1)
    return SLEY_OK;
  bool blocked;
  SL_TRY(find_obstacle(comm, &blocked));
  if (blocked)
    return SLEY_OK;
  void *stop = NULL;
  sley_status status = ops->host_alloc(comm->base.device, sizeof *comm->stop, "a word", &stop);
  comm->stop = stop;
  if (status == SLEY_OK)
    status = ops->queue_create_urgent(comm->base.device, &comm->urgent);
  status = sl_mesh_agree(comm->mesh, "queues of a workgroup", 0, 0, status);
  sl_peer_block trial;
  if (status == SLEY_OK)
    status = memory->take(comm, 1, &trial);
  if (status == SLEY_OK) {
    memory->close(comm, &trial);
    status = sl_mesh_barrier(comm->mesh);
    memory->give(comm, &trial, status != SLEY_OK);
    comm->direct = status == SLEY_OK;
    return status;
  }
  if (sl_mesh_broken(comm->mesh))
    return status;
  note(comm, sley_last_error());
  return SLEY_OK;
}

/* ---- running */

sley_status sl_direct_begin(sl_direct *direct, const void *src, int64_t src_stride, sl_queue *queue) {
  if (!direct)
    return SLEY_OK;
  sl_queue *beside = direct->comm->urgent;
  SL_TRY(queue->ops->event_record(queue, direct->begun));
  SL_TRY(queue->ops->event_wait(beside, direct->begun));
  SL_TRY(sl_boards_await(&direct->round.signals, beside)); /* until the last round's rows have been taken */
  for (int i = 0; i < direct->regions; i++) {
    const sl_region *r = &direct->region[i];
    sl_kernel_args args = {.op = SL_OP_ROWS,
                           .rows = {.count = r->count,
                                    .bytes = r->bytes,
                                    .src = (const char *)src + r->offset,
                                    .src_stride = src_stride,
                                    .src_rows = r->rows,
                                    .dst = direct->block.own + r->at,
                                    .dst_stride = r->bytes,
                                    .dtype = direct->round.dtype}};
    SL_TRY(sl_kernel_run(beside, &args));
  }
  return SLEY_OK;
}

sley_status sl_direct_receive(sl_direct *direct, void *dst, int64_t dst_stride, sl_queue *queue) {
  if (!direct)
    return SLEY_OK;
  sl_queue *beside = direct->comm->urgent;
  direct->round.dst = dst;
  direct->round.dst_stride = dst_stride;
  if (!direct->round.add)
    SL_TRY(sl_boards_pull(&direct->round, beside, &direct->comm->counters));
  SL_TRY(queue->ops->event_record(beside, direct->done));
  sl_arrivals_begin(&direct->pieces);
  if (!direct->round.add)
    return SLEY_OK;
  SL_TRY(queue->ops->event_wait(queue, direct->done));
  return sl_boards_open(&direct->round, queue);
}

sley_status sl_direct_arrive(sl_direct *direct, sl_queue *queue, const sl_piece_words **words) {
  *words = NULL;
  return direct && !direct->round.add ? sl_arrivals_arrive(&direct->pieces, direct->done, queue, words)
                                      : SLEY_OK;
}

sley_status sl_direct_complete(sl_direct *direct, sl_queue *queue) {
  return direct && !direct->round.add ? sl_arrivals_complete(&direct->pieces, direct->done, queue) : SLEY_OK;
}

sley_status sl_direct_add(sl_direct *direct, int recv, sl_queue *queue) {
  int at = direct && recv < direct->recvs_of_spec ? direct->direct_of[recv] : -1;
  int batch = at >= 0 ? direct->recv[at].batch : -1;
  return batch >= 0 ? sl_boards_add(&direct->round, batch, queue, &direct->comm->counters) : SLEY_OK;
}

/* ---- Destroying an exchange. Ranks do not meet for this, because after a failure a rank may be alone. Each
 * writes to its peers' boards that its device has finished, and keeps its block until all peers have written
 * so. */

/* Returns whether all peers have written that they have finished, or had no list for this rank. */
static bool all_gone(sl_direct *direct) {
  sl_comm *base = &direct->comm->base;
  int place = sl_place_in_workgroup(base, base->rank), group = sl_workgroup_of(base, base->rank);
  for (int i = 0; i < sl_workgroup_size(base, group); i++) {
    const uint64_t *word = &((sl_board *)(void *)direct->block.own)->slot[i].ready;
    if (i != place && (base->device->ops->copy(base->queue, SL_COPY_TO_HOST, &direct->word, word,
                                               sizeof *word) != SLEY_OK ||
                       direct->word != SL_BOARD_CLOSED))
      return false;
  }
  return true;
}

/* Frees exchanges that no peer accesses any more; waits for the peers up to `patience` seconds. */
static void reap(sl_process_comm *comm, double patience) {
  double deadline = sl_now() + patience;
  for (sl_direct **at = &comm->parting; *at;) {
    sl_direct *direct = *at;
    bool gone = all_gone(direct);
    if (gone) {
      *at = direct->next;
      sl_direct_free(direct, false);
    } else if (sl_now() > deadline) {
      at = &direct->next;
    } else {
      nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
    }
  }
}

static void leave_words(sl_direct *direct) {
  sl_comm *base = &direct->comm->base;
  int place = sl_place_in_workgroup(base, base->rank), group = sl_workgroup_of(base, base->rank);
  direct->word = SL_BOARD_CLOSED;
  for (int i = 0; i < sl_workgroup_size(base, group); i++) {
    sl_board *there = (sl_board *)(void *)direct->block.at[i];
    if (i != place)
      (void)base->device->ops->copy(base->queue, SL_COPY_TO_DEVICE, &there->slot[place].ready, &direct->word,
                                    sizeof direct->word);
  }
  (void)base->queue->ops->queue_wait(base->queue);
}

void sl_direct_destroy(sl_direct *direct) {
  if (!direct)
    return;
  sl_process_comm *comm = direct->comm;
  sl_error error;
  sl_error_save(&error);
  if (sl_mesh_broken(comm->mesh))
    comm->base.ops->abort(&comm->base, SLEY_ERR_PEER);
  /* Wait until the peers have taken all rows: a closing word that came earlier would stop their pulls. */
  if (direct->round.signals.own) /* false if the exchange was not completely made */
    (void)sl_boards_await(&direct->round.signals, comm->urgent);
  (void)sl_process_wait_for(comm, comm->urgent);
  (void)sl_process_wait_for(comm, comm->base.queue);
  leave_words(direct);
  comm->memory->close(comm, &direct->block);
  direct->next = comm->parting;
  comm->parting = direct;
  reap(comm, COURTESY);
  if (*error.text)
    (void)sl_error_restore(&error); /* the error from before this call */
}

void sl_direct_stop(sl_process_comm *comm) {
  const sl_device_ops *ops = comm->base.device->ops;
  reap(comm, PATIENCE);
  while (comm->parting) { /* a peer may have been killed: memory that it may still access stays */
    sl_direct *direct = comm->parting;
    comm->parting = direct->next;
    sl_direct_free(direct, true);
  }
  if (comm->urgent)
    ops->queue_destroy(comm->urgent);
  if (comm->stop)
    ops->host_free(comm->base.device, comm->stop);
  comm->urgent = NULL;
  comm->stop = NULL;
  comm->direct = false;
}
