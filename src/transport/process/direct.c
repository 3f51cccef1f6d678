/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's block, shared with its workgroup, holds a board and, for each kind of row it sends (where in a row
 * it begins, how many bytes), every distinct row that a peer wants. Begin gathers those on an urgent queue,
 * once the peers have taken the last round's; end pulls from the peers' blocks beside the rank's queue. What
 * is lent is told with the address at which the reader has mapped the block. */
#include "transport/process/direct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/boards.h"
#include "transport/lists.h"
#include "transport/pull_list.h"

enum { ALIGNMENT = 256, PAUSE_NANOSECONDS = 100000 };
/* Seconds in which peers are expected to destroy an exchange too, and to leave the comm. */
static const double COURTESY = 0.1, PATIENCE = 2;

/* Rows of one kind in the block. */
typedef struct region {
  int64_t offset, bytes; /* of a row: where what is sent begins, and how long it is */
  int64_t count, at;     /* rows, and where they lie in the block */
  int64_t *rows;         /* on the host while it is made, then on the device */
  bool on_device;
} region;

/* A list of the spec with a peer of the workgroup. */
typedef struct lane {
  sl_row_list list;
  int region;         /* sends that move */
  int batch;          /* receives that are added, else -1 */
  int64_t *positions; /* rows of the sender's region, entry by entry; while it is made */
} lane;

struct sl_direct {
  sl_process_comm *comm;
  sl_peer_block block;
  int regions, sends, recvs, recvs_of_spec;
  region *region;
  lane *send, *recv;
  int *lane_of; /* of each list of the spec's recv: its lane, or -1 */
  sl_lend *lend;
  sl_pull_source *source;
  sl_pull_batch *batch;
  sl_pull_entry *list; /* on the device */
  sl_board_round round;
  sl_event *begun, *done;
  sl_grain grain;
  uint64_t word; /* on its way to a board, or from one */
  sl_direct *next;
};

static bool moves(const sl_row_list *list) {
  return list->count > 0 && list->bytes > 0;
}

static int64_t row_at(const sl_row_list *list, int64_t i) {
  return list->rows ? list->rows[i] : list->first + i;
}

/* ---- whether there is a way */

static void note(sl_process_comm *comm, const char *why) {
  if (!comm->note[0])
    snprintf(comm->note, sizeof comm->note,
             "GPUs of different processes do not load each other's memory (%s): rows travel as messages",
             why);
}

/* What can be said without trying: each rank of a workgroup needs a device of its own, which a waiting pull
 * may fill. */
static const char *obstacle(const sl_process_comm *comm, const int64_t *ordinals) {
  const sl_comm *base = &comm->base;
  const char *wanted = getenv("SLEY_SIGNALS");
  int group = sl_workgroup_of(base, base->rank), first = sl_workgroup_first(base, group);
  int members = sl_workgroup_size(base, group);
  if (!base->device->ops->signals)
    return "their kernels cannot signal each other";
  if (wanted && strcmp(wanted, "off") == 0)
    return "SLEY_SIGNALS is off";
  if (members > SL_PULL_SOURCES)
    return "the workgroup is too large";
  for (int i = 0; i < members; i++)
    for (int j = 0; j < i; j++)
      if (ordinals[first + i] == ordinals[first + j])
        return "ranks share a GPU";
  return NULL;
}

/* Collective: the answer is the same on all ranks. */
static sley_status find_obstacle(sl_process_comm *comm, bool *found) {
  int64_t *ordinals = NULL, mine = comm->ordinal, blocked = 0;
  sley_status status = SL_NEW(ordinals, comm->base.size, "a comm");
  status = sl_bootstrap_agree(comm->boot, "ways of a workgroup", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_bootstrap_allgather(comm->boot, &mine, sizeof mine, ordinals);
  if (status == SLEY_OK) {
    const char *why = obstacle(comm, ordinals);
    blocked = why != NULL;
    if (why)
      note(comm, why);
    status = sl_bootstrap_allreduce(comm->boot, SL_BOOT_MAX, &blocked, 1);
    if (status == SLEY_OK && blocked && !why)
      note(comm, "another workgroup's cannot");
  }
  *found = blocked;
  sl_free(ordinals);
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
  status = sl_bootstrap_agree(comm->boot, "queues of a workgroup", 0, 0, status);
  sl_peer_block trial;
  if (status == SLEY_OK)
    status = memory->take(comm, 1, &trial);
  if (status == SLEY_OK) {
    memory->close(comm, &trial);
    status = sl_bootstrap_barrier(comm->boot);
    memory->give(comm, &trial, status != SLEY_OK);
    comm->direct = status == SLEY_OK;
    return status;
  }
  if (sl_bootstrap_broken(comm->boot))
    return status;
  note(comm, sley_last_error());
  return SLEY_OK;
}

/* ---- making */

static int region_of(sl_direct *direct, const sl_row_list *list) {
  for (int r = 0; r < direct->regions; r++)
    if (direct->region[r].offset == list->offset && direct->region[r].bytes == list->bytes)
      return r;
  direct->region[direct->regions] = (region){.offset = list->offset, .bytes = list->bytes};
  return direct->regions++;
}

static sley_status copy_lanes(sl_direct *direct, const sl_exchange_spec *spec) {
  const sl_process_comm *comm = direct->comm;
  for (int i = 0; i < spec->sends; i++)
    if (sl_direct_serves(comm, spec->send[i].peer)) {
      lane *l = &direct->send[direct->sends++];
      *l = (lane){.list = spec->send[i], .batch = -1};
      if (moves(&l->list)) {
        l->region = region_of(direct, &l->list);
        SL_TRY(SL_NEW(l->positions, l->list.count, "row lists"));
      }
    }
  for (int i = 0; i < spec->recvs; i++) {
    direct->lane_of[i] = -1;
    if (sl_direct_serves(comm, spec->recv[i].peer)) {
      direct->lane_of[i] = direct->recvs;
      lane *l = &direct->recv[direct->recvs++];
      *l = (lane){.list = spec->recv[i], .batch = -1};
      if (moves(&l->list))
        SL_TRY(SL_NEW(l->positions, l->list.count, "row lists"));
    }
  }
  return SLEY_OK;
}

/* The distinct rows of a region, ascending, and each list's positions among them. */
static sley_status fill_region(sl_direct *direct, int number) {
  region *r = &direct->region[number];
  int64_t last = -1, *place;
  for (int s = 0; s < direct->sends; s++) {
    const lane *l = &direct->send[s];
    for (int64_t i = 0; l->positions && l->region == number && i < l->list.count; i++)
      last = row_at(&l->list, i) > last ? row_at(&l->list, i) : last;
  }
  SL_TRY(SL_NEW_ZERO(place, last + 1, "row lists"));
  for (int s = 0; s < direct->sends; s++) {
    const lane *l = &direct->send[s];
    for (int64_t i = 0; l->positions && l->region == number && i < l->list.count; i++)
      place[row_at(&l->list, i)] = 1;
  }
  for (int64_t row = 0; row <= last; row++)
    r->count += place[row];
  sley_status status = SL_NEW(r->rows, r->count, "row lists");
  int64_t filled = 0;
  for (int64_t row = 0; row <= last && status == SLEY_OK; row++)
    if (place[row]) {
      place[row] = filled;
      r->rows[filled++] = row;
    }
  for (int s = 0; s < direct->sends && status == SLEY_OK; s++) {
    const lane *l = &direct->send[s];
    for (int64_t i = 0; l->positions && l->region == number && i < l->list.count; i++)
      l->positions[i] = place[row_at(&l->list, i)];
  }
  sl_free(place);
  return status;
}

static sley_status lay_out(sl_direct *direct, const sl_exchange_spec *spec, int64_t *bytes) {
  SL_TRY(SL_NEW_ZERO(direct->send, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->recv, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->lane_of, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->region, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->lend, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->source, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->batch, spec->recvs, "an exchange"));
  SL_TRY(copy_lanes(direct, spec));
  *bytes = sl_board_bytes(direct->comm->base.workgroup);
  for (int r = 0; r < direct->regions; r++) {
    SL_TRY(fill_region(direct, r));
    *bytes = (*bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    direct->region[r].at = *bytes;
    *bytes += direct->region[r].count * direct->region[r].bytes;
  }
  return SLEY_OK;
}

/* What a rank tells a peer: at which address it has mapped the peer's block, and the positions of the rows
 * that it sends. */
typedef struct letters {
  int64_t *send, *recv; /* all peers' */
  int64_t *table;       /* four of size entries */
  int64_t send_words, recv_words;
} letters;

enum { SEND_AT, SEND_BYTES, RECV_AT, RECV_BYTES, TABLES };

static int64_t *table_of(const sl_direct *direct, const letters *l, int table) {
  return l->table + (int64_t)table * direct->comm->base.size;
}

static const lane *lane_with(const lane *lanes, int count, int peer) {
  for (int i = 0; i < count; i++)
    if (lanes[i].list.peer == peer)
      return &lanes[i];
  return NULL;
}

static int64_t positions_in(const lane *l) {
  return l && l->positions ? l->list.count : 0;
}

static sley_status open_letters(const sl_direct *direct, letters *l) {
  int size = direct->comm->base.size;
  const int64_t word = sizeof(int64_t);
  *l = (letters){0};
  SL_TRY(SL_NEW_ZERO(l->table, (int64_t)TABLES * size, "an exchange"));
  for (int p = 0; p < size; p++) {
    if (!sl_direct_serves(direct->comm, p))
      continue;
    int64_t sent = 1 + positions_in(lane_with(direct->send, direct->sends, p));
    int64_t received = 1 + positions_in(lane_with(direct->recv, direct->recvs, p));
    table_of(direct, l, SEND_AT)[p] = l->send_words * word;
    table_of(direct, l, SEND_BYTES)[p] = sent * word;
    table_of(direct, l, RECV_AT)[p] = l->recv_words * word;
    table_of(direct, l, RECV_BYTES)[p] = received * word;
    l->send_words += sent;
    l->recv_words += received;
  }
  SL_TRY(SL_NEW(l->send, l->send_words, "an exchange"));
  return SL_NEW(l->recv, l->recv_words, "an exchange");
}

static void close_letters(letters *l) {
  sl_free(l->recv);
  sl_free(l->send);
  sl_free(l->table);
}

static char *block_of(const sl_direct *direct, int rank) {
  return direct->block.at[sl_place_in_workgroup(&direct->comm->base, rank)];
}

static sley_status tell(sl_direct *direct, letters *l) {
  const int64_t word = sizeof(int64_t);
  for (int p = 0; p < direct->comm->base.size; p++) {
    if (!sl_direct_serves(direct->comm, p))
      continue;
    const lane *sent = lane_with(direct->send, direct->sends, p);
    int64_t *letter = l->send + table_of(direct, l, SEND_AT)[p] / word;
    letter[0] = (int64_t)(uintptr_t)block_of(direct, p);
    if (positions_in(sent) > 0)
      memcpy(letter + 1, sent->positions, (size_t)(positions_in(sent) * word));
  }
  SL_TRY(sl_bootstrap_alltoallv(direct->comm->boot, l->send, table_of(direct, l, SEND_AT),
                                table_of(direct, l, SEND_BYTES), l->recv, table_of(direct, l, RECV_AT),
                                table_of(direct, l, RECV_BYTES)));
  for (int i = 0; i < direct->recvs; i++) {
    lane *got = &direct->recv[i];
    const int64_t *letter = l->recv + table_of(direct, l, RECV_AT)[got->list.peer] / word;
    if (positions_in(got) > 0)
      memcpy(got->positions, letter + 1, (size_t)(positions_in(got) * word));
  }
  return SLEY_OK;
}

/* What this rank lends, at the addresses where the readers see it. */
static void fill_lends(sl_direct *direct, const letters *l) {
  for (int i = 0; i < direct->sends; i++) {
    const lane *sent = &direct->send[i];
    int peer = sent->list.peer;
    const region *r = sent->positions ? &direct->region[sent->region] : NULL;
    uintptr_t there = (uintptr_t)l->recv[table_of(direct, l, RECV_AT)[peer] / (int64_t)sizeof(int64_t)];
    direct->lend[i] = (sl_lend){.board = (sl_board *)(void *)block_of(direct, peer),
                                .peer = sl_place_in_workgroup(&direct->comm->base, peer),
                                .src = (const void *)(there + (r ? (uintptr_t)r->at : 0)),
                                .stride = r ? r->bytes : 0};
  }
}

/* Sources: the lanes whose rows move, then the others. Returns the number of the former. */
static int fill_sources(sl_direct *direct) {
  int filled = 0, moving = 0;
  for (int with_rows = 1; with_rows >= 0; with_rows--)
    for (int i = 0; i < direct->recvs; i++) {
      const sl_row_list *list = &direct->recv[i].list;
      if (moves(list) != (with_rows != 0))
        continue;
      direct->source[filled++] =
          (sl_pull_source){.bytes = with_rows ? list->bytes : 0,
                           .dst_offset = list->offset,
                           .board = (sl_board *)(void *)block_of(direct, list->peer),
                           .peer = sl_place_in_workgroup(&direct->comm->base, list->peer)};
      moving += with_rows;
    }
  return moving;
}

/* One batch of all lanes, or, where rows are added, one a lane. Returns the entries' number. */
static int64_t fill_entries(sl_direct *direct, bool add, sl_pull_rows *rows, sl_pull_entry *entries) {
  int moving = 0, start = 0;
  int64_t listed = 0;
  for (int i = 0; i < direct->recvs; i++) {
    lane *l = &direct->recv[i];
    if (!l->positions)
      continue;
    rows[moving] = (sl_pull_rows){.source = add ? 0 : moving,
                                  .count = l->list.count,
                                  .src_rows = l->positions,
                                  .dst_rows = l->list.rows,
                                  .dst_first = l->list.first};
    if (add) {
      int64_t count = sl_pull_interleave(&rows[moving], 1, 0, entries + listed);
      l->batch = direct->round.batches++;
      direct->batch[l->batch] = (sl_pull_batch){listed, count, moving, 1};
      listed += count;
    } else if (l->list.peer < direct->comm->base.rank) {
      start = moving + 1;
    }
    moving++;
  }
  if (!add && moving > 0) {
    listed = sl_pull_interleave(rows, moving, start < moving ? start : 0, entries);
    direct->batch[0] = (sl_pull_batch){0, listed, 0, moving};
    direct->round.batches = 1;
  }
  return listed;
}

static sley_status upload(sl_direct *direct, const void *host, int64_t bytes, void **out) {
  sl_comm *base = &direct->comm->base;
  SL_TRY(base->device->ops->alloc(base->device, bytes, "row lists", out));
  return base->device->ops->copy(base->queue, SL_COPY_TO_DEVICE, *out, host, bytes);
}

static sley_status upload_regions(sl_direct *direct) {
  for (int i = 0; i < direct->regions; i++) {
    region *r = &direct->region[i];
    void *there = NULL;
    sley_status status = upload(direct, r->rows, r->count * (int64_t)sizeof *r->rows, &there);
    sl_free(r->rows);
    r->rows = there;
    r->on_device = true;
    SL_TRY(status);
  }
  return SLEY_OK;
}

static sley_status upload_list(sl_direct *direct, const sl_exchange_spec *spec) {
  int64_t total = 0;
  sl_pull_rows *rows;
  sl_pull_entry *entries = NULL;
  for (int i = 0; i < direct->recvs; i++)
    total += positions_in(&direct->recv[i]);
  SL_TRY(SL_NEW_ZERO(rows, direct->recvs, "row lists"));
  sley_status status = SL_NEW_ZERO(entries, total, "row lists");
  if (status == SLEY_OK) {
    fill_entries(direct, spec->add, rows, entries);
    status = upload(direct, entries, total * (int64_t)sizeof *entries, (void **)&direct->list);
  }
  sl_free(entries);
  sl_free(rows);
  return status;
}

/* What needs no other rank, once all have told. */
static sley_status finish(sl_direct *direct, const sl_exchange_spec *spec, const letters *l) {
  sl_process_comm *comm = direct->comm;
  const sl_device_ops *ops = comm->base.device->ops;
  fill_lends(direct, l);
  int moving = fill_sources(direct);
  SL_TRY(upload_regions(direct));
  SL_TRY(upload_list(direct, spec));
  SL_TRY(ops->event_create(comm->base.device, &direct->begun));
  SL_TRY(ops->event_create(comm->base.device, &direct->done));
  direct->round.signals = (sl_signals){.own = (sl_board *)(void *)direct->block.own,
                                       .rank = sl_place_in_workgroup(&comm->base, comm->base.rank),
                                       .lends = direct->sends,
                                       .lend = direct->lend,
                                       .stop = comm->stop};
  direct->round.list = direct->list;
  direct->round.batch = direct->batch;
  direct->round.source = direct->source;
  direct->round.moving = moving;
  direct->round.still = direct->recvs - moving;
  direct->round.add = spec->add;
  direct->round.dtype = spec->dtype;
  direct->grain = spec->grain;
  for (int i = 0; i < direct->sends; i++) {
    sl_free(direct->send[i].positions);
    direct->send[i].positions = NULL;
  }
  for (int i = 0; i < direct->recvs; i++) {
    sl_free(direct->recv[i].positions);
    direct->recv[i].positions = NULL;
  }
  return sl_process_wait_for(comm, comm->base.queue);
}

static void free_direct(sl_direct *direct, bool keep) {
  if (!direct)
    return;
  sl_process_comm *comm = direct->comm;
  const sl_device_ops *ops = comm->base.device->ops;
  if (direct->block.own)
    comm->memory->give(comm, &direct->block, keep);
  for (int i = 0; i < direct->sends; i++)
    sl_free(direct->send[i].positions);
  for (int i = 0; i < direct->recvs; i++)
    sl_free(direct->recv[i].positions);
  for (int i = 0; i < direct->regions; i++)
    if (direct->region[i].on_device)
      ops->free(comm->base.device, direct->region[i].rows);
    else
      sl_free(direct->region[i].rows);
  ops->free(comm->base.device, direct->list);
  ops->event_destroy(direct->begun);
  ops->event_destroy(direct->done);
  sl_free(direct->batch);
  sl_free(direct->source);
  sl_free(direct->lend);
  sl_free(direct->region);
  sl_free(direct->lane_of);
  sl_free(direct->recv);
  sl_free(direct->send);
  sl_free(direct);
}

sley_status sl_direct_create(sl_process_comm *comm, const sl_exchange_spec *spec, sl_direct **out) {
  sl_direct *direct = NULL;
  letters l = {0};
  int64_t bytes = 0;
  *out = NULL;
  if (!comm->direct)
    return SLEY_OK;
  sley_status status = SL_NEW_ZERO(direct, 1, "an exchange");
  if (status == SLEY_OK) {
    direct->comm = comm;
    direct->recvs_of_spec = spec->recvs;
    status = lay_out(direct, spec, &bytes);
  }
  if (status == SLEY_OK)
    status = open_letters(direct, &l);
  status = sl_bootstrap_agree(comm->boot, "rows of a workgroup", 0, 0, status);
  if (status == SLEY_OK)
    status = comm->memory->take(comm, bytes, &direct->block);
  bool taken = status == SLEY_OK;
  if (taken) {
    status = tell(direct, &l);
    if (status == SLEY_OK)
      status = finish(direct, spec, &l);
    status = sl_bootstrap_agree(comm->boot, "lists of a workgroup", 0, 0, status);
  }
  close_letters(&l);
  if (status != SLEY_OK) {
    if (taken)
      comm->memory->close(comm, &direct->block);
    free_direct(direct, false);
    return status;
  }
  *out = direct;
  return SLEY_OK;
}

int64_t sl_direct_memory(sl_comm *comm, const sl_exchange_spec *spec) {
  int64_t bytes = sl_lists_memory(comm, spec);
  if (!((const sl_process_comm *)comm)->direct)
    return bytes;
  for (int i = 0; i < spec->recvs; i++)
    bytes += spec->recv[i].count * (int64_t)sizeof(sl_pull_entry);
  return bytes + SL_SHARED_GRAIN + ALIGNMENT * (int64_t)spec->sends;
}

/* ---- running */

sley_status sl_direct_begin(sl_direct *direct, const void *src, int64_t src_stride, sl_queue *queue) {
  if (!direct)
    return SLEY_OK;
  sl_queue *beside = direct->comm->urgent;
  SL_TRY(queue->ops->event_record(queue, direct->begun));
  SL_TRY(queue->ops->event_wait(beside, direct->begun));
  SL_TRY(sl_boards_await(&direct->round.signals, beside)); /* the last round's rows have been taken */
  for (int i = 0; i < direct->regions; i++) {
    const region *r = &direct->region[i];
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

sley_status sl_direct_end(sl_direct *direct, void *dst, int64_t dst_stride, sl_queue *queue) {
  if (!direct)
    return SLEY_OK;
  sl_queue *beside = direct->comm->urgent;
  direct->round.dst = dst;
  direct->round.dst_stride = dst_stride;
  if (!direct->round.add)
    SL_TRY(sl_boards_pull(&direct->round, beside));
  SL_TRY(queue->ops->event_record(beside, direct->done));
  SL_TRY(queue->ops->event_wait(queue, direct->done));
  for (int i = 0; i < direct->recvs; i++)
    sl_process_count(direct->comm, &direct->recv[i].list, direct->grain);
  return direct->round.add ? sl_boards_open(&direct->round, queue) : SLEY_OK;
}

sley_status sl_direct_add(sl_direct *direct, int recv, sl_queue *queue) {
  int at = direct && recv < direct->recvs_of_spec ? direct->lane_of[recv] : -1;
  int batch = at >= 0 ? direct->recv[at].batch : -1;
  return batch >= 0 ? sl_boards_add(&direct->round, batch, queue) : SLEY_OK;
}

/* ---- ending. Ranks do not meet for that, since one that has failed may come alone: each tells its peers, on
 * their boards, that its device is quiet, and keeps its block until all have told it so. */

/* Whether a peer's word is here, or the peer never had a list for this rank. */
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

/* Frees what no peer touches any more, waiting for them for so many seconds. */
static void reap(sl_process_comm *comm, double patience) {
  double deadline = sl_now() + patience;
  for (sl_direct **at = &comm->parting; *at;) {
    sl_direct *direct = *at;
    bool gone = all_gone(direct);
    if (gone) {
      *at = direct->next;
      free_direct(direct, false);
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
  char message[1024];
  snprintf(message, sizeof message, "%s", sley_last_error());
  if (sl_bootstrap_broken(comm->boot))
    comm->base.ops->abort(&comm->base, SLEY_ERR_PEER);
  /* Until they have taken all: a word that came before would stop their pulls. */
  (void)sl_boards_await(&direct->round.signals, comm->urgent);
  (void)sl_process_wait_for(comm, comm->urgent);
  (void)sl_process_wait_for(comm, comm->base.queue);
  leave_words(direct);
  comm->memory->close(comm, &direct->block);
  direct->next = comm->parting;
  comm->parting = direct;
  reap(comm, COURTESY);
  if (*message)
    (void)sl_fail(SLEY_OK, "%s", message); /* of what went wrong before */
}

void sl_direct_stop(sl_process_comm *comm) {
  const sl_device_ops *ops = comm->base.device->ops;
  reap(comm, PATIENCE);
  while (comm->parting) { /* a peer was killed, perhaps: what it may still touch stays */
    sl_direct *direct = comm->parting;
    comm->parting = direct->next;
    free_direct(direct, true);
  }
  if (comm->urgent)
    ops->queue_destroy(comm->urgent);
  if (comm->stop)
    ops->host_free(comm->base.device, comm->stop);
  comm->urgent = NULL;
  comm->stop = NULL;
  comm->direct = false;
}
