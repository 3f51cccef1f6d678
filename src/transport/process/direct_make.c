/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the direct part of an exchange. A rank's block, which its workgroup can read, holds a board and, for
 * each kind of row that it sends (offset and bytes in a row), every distinct row that a peer needs. Offers to
 * a peer carry the address at which that peer has mapped the block. */
#include <string.h>

#include "base/memory.h"
#include "transport/lists.h"
#include "transport/process/direct_inside.h"
#include "transport/pull_list.h"

enum { ALIGNMENT = 256 };

static int64_t row_at(const sl_row_list *list, int64_t i) {
  return list->rows ? list->rows[i] : list->first + i;
}

static int region_of(sl_direct *direct, const sl_row_list *list) {
  for (int r = 0; r < direct->regions; r++)
    if (direct->region[r].offset == list->offset && direct->region[r].bytes == list->bytes)
      return r;
  direct->region[direct->regions] = (sl_region){.offset = list->offset, .bytes = list->bytes};
  return direct->regions++;
}

static sley_status copy_lists(sl_direct *direct, const sl_exchange_spec *spec) {
  const sl_process_comm *comm = direct->comm;
  for (int i = 0; i < spec->sends; i++)
    if (sl_direct_serves(comm, spec->send[i].peer)) {
      sl_direct_list *l = &direct->send[direct->sends++];
      *l = (sl_direct_list){.list = spec->send[i], .batch = -1};
      if (sl_list_moves(&l->list)) {
        l->region = region_of(direct, &l->list);
        SL_TRY(SL_NEW(l->positions, l->list.count, "row lists"));
      }
    }
  for (int i = 0; i < spec->recvs; i++) {
    direct->direct_of[i] = -1;
    if (sl_direct_serves(comm, spec->recv[i].peer)) {
      direct->direct_of[i] = direct->recvs;
      sl_direct_list *l = &direct->recv[direct->recvs++];
      *l = (sl_direct_list){.list = spec->recv[i], .batch = -1};
      if (sl_list_moves(&l->list))
        SL_TRY(SL_NEW(l->positions, l->list.count, "row lists"));
    }
  }
  return SLEY_OK;
}

/* Computes the distinct rows of a region, ascending, and each list's positions among them. */
static sley_status fill_region(sl_direct *direct, int number) {
  sl_region *r = &direct->region[number];
  int64_t last = -1, *place;
  for (int s = 0; s < direct->sends; s++) {
    const sl_direct_list *l = &direct->send[s];
    for (int64_t i = 0; l->positions && l->region == number && i < l->list.count; i++)
      last = row_at(&l->list, i) > last ? row_at(&l->list, i) : last;
  }
  SL_TRY(SL_NEW_ZERO(place, last + 1, "row lists"));
  for (int s = 0; s < direct->sends; s++) {
    const sl_direct_list *l = &direct->send[s];
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
    const sl_direct_list *l = &direct->send[s];
    for (int64_t i = 0; l->positions && l->region == number && i < l->list.count; i++)
      l->positions[i] = place[row_at(&l->list, i)];
  }
  sl_free(place);
  return status;
}

static sley_status lay_out(sl_direct *direct, const sl_exchange_spec *spec, int64_t *bytes) {
  SL_TRY(SL_NEW_ZERO(direct->send, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->recv, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->direct_of, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->region, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->lend, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->source, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(direct->batch, spec->recvs, "an exchange"));
  SL_TRY(copy_lists(direct, spec));
  *bytes = sl_board_bytes(direct->comm->base.workgroup);
  for (int r = 0; r < direct->regions; r++) {
    SL_TRY(fill_region(direct, r));
    *bytes = (*bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    direct->region[r].at = *bytes;
    *bytes += direct->region[r].count * direct->region[r].bytes;
  }
  return SLEY_OK;
}

/* Messages between peers: the address at which a rank has mapped the peer's block, and the positions of the
 * rows that it sends. */
typedef struct letters {
  int64_t *send, *recv; /* messages of all peers */
  int64_t *table;       /* four tables of size entries */
  int64_t send_words, recv_words;
} letters;

enum { SEND_AT, SEND_BYTES, RECV_AT, RECV_BYTES, TABLES };

static int64_t *table_of(const sl_direct *direct, const letters *l, int table) {
  return l->table + (int64_t)table * direct->comm->base.size;
}

static const sl_direct_list *list_with(const sl_direct_list *lists, int count, int peer) {
  for (int i = 0; i < count; i++)
    if (lists[i].list.peer == peer)
      return &lists[i];
  return NULL;
}

static int64_t positions_in(const sl_direct_list *l) {
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
    int64_t sent = 1 + positions_in(list_with(direct->send, direct->sends, p));
    int64_t received = 1 + positions_in(list_with(direct->recv, direct->recvs, p));
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
    const sl_direct_list *sent = list_with(direct->send, direct->sends, p);
    int64_t *letter = l->send + table_of(direct, l, SEND_AT)[p] / word;
    letter[0] = (int64_t)(uintptr_t)block_of(direct, p);
    if (positions_in(sent) > 0)
      memcpy(letter + 1, sent->positions, (size_t)(positions_in(sent) * word));
  }
  SL_TRY(sl_mesh_alltoallv(direct->comm->mesh, l->send, table_of(direct, l, SEND_AT),
                           table_of(direct, l, SEND_BYTES), l->recv, table_of(direct, l, RECV_AT),
                           table_of(direct, l, RECV_BYTES)));
  for (int i = 0; i < direct->recvs; i++) {
    sl_direct_list *got = &direct->recv[i];
    const int64_t *letter = l->recv + table_of(direct, l, RECV_AT)[got->list.peer] / word;
    if (positions_in(got) > 0)
      memcpy(got->positions, letter + 1, (size_t)(positions_in(got) * word));
  }
  return SLEY_OK;
}

/* Fills in this rank's offers, with the addresses at which the readers see the rows. */
static void fill_lends(sl_direct *direct, const letters *l) {
  for (int i = 0; i < direct->sends; i++) {
    const sl_direct_list *sent = &direct->send[i];
    int peer = sent->list.peer;
    const sl_region *r = sent->positions ? &direct->region[sent->region] : NULL;
    uintptr_t there = (uintptr_t)l->recv[table_of(direct, l, RECV_AT)[peer] / (int64_t)sizeof(int64_t)];
    direct->lend[i] = (sl_offer){.board = (sl_board *)(void *)block_of(direct, peer),
                                 .peer = sl_place_in_workgroup(&direct->comm->base, peer),
                                 .src = (const void *)(there + (r ? (uintptr_t)r->at : 0)),
                                 .stride = r ? r->bytes : 0};
  }
}

/* Fills in the sources: first the lists whose rows move, then the others. Returns the number of lists whose
 * rows move. */
static int fill_sources(sl_direct *direct) {
  int filled = 0, moving = 0;
  for (int with_rows = 1; with_rows >= 0; with_rows--)
    for (int i = 0; i < direct->recvs; i++) {
      const sl_row_list *list = &direct->recv[i].list;
      if (sl_list_moves(list) != (with_rows != 0))
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

/* Counts the traffic of a batch, by source: one launch loads the rows of a source together. */
static void count_given(const sl_direct *direct, const sl_pull_entry *entries, sl_pull_batch *batch) {
  int64_t listed[SL_PULL_SOURCES] = {0};
  for (int64_t i = 0; i < batch->count; i++)
    listed[entries[i].source]++;
  for (int s = 0; s < batch->sources; s++)
    sl_counters_count(&batch->given, SL_LINK_DIRECT,
                      listed[s] * direct->source[batch->first_source + s].bytes, listed[s] > 0);
}

/* Fills in the entries: one batch for all lists, or, if rows are added, one batch per list. */
static sley_status fill_entries(sl_direct *direct, bool add, sl_pull_rows *rows, sl_pull_entry *entries) {
  int moving = 0, start = 0;
  int64_t listed = 0;
  for (int i = 0; i < direct->recvs; i++) {
    sl_direct_list *l = &direct->recv[i];
    if (!l->positions)
      continue;
    rows[moving] = (sl_pull_rows){.source = add ? 0 : moving,
                                  .count = l->list.count,
                                  .src_rows = l->positions,
                                  .dst_rows = l->list.rows,
                                  .dst_first = l->list.first,
                                  .piece_end = l->list.piece_end};
    if (add) {
      int64_t count = sl_pull_count(&rows[moving], 1);
      SL_TRY(sl_pull_interleave(direct->comm->base.team, &rows[moving], 1, 0, 1, 0, NULL, entries + listed));
      l->batch = direct->round.batches++;
      direct->batch[l->batch] =
          (sl_pull_batch){.first = listed, .count = count, .first_source = moving, .sources = 1};
      count_given(direct, entries + listed, &direct->batch[l->batch]);
      listed += count;
    } else if (l->list.peer < direct->comm->base.rank) {
      start = moving + 1;
    }
    moving++;
  }
  if (!add && moving > 0) {
    SL_TRY(sl_arrivals_interleave(&direct->pieces, direct->comm->base.team, rows, moving,
                                  start < moving ? start : 0, entries));
    direct->batch[0] = (sl_pull_batch){.count = sl_pull_count(rows, moving), .sources = moving};
    count_given(direct, entries, &direct->batch[0]);
    direct->round.batches = 1;
  }
  return SLEY_OK;
}

static sley_status upload_regions(sl_direct *direct) {
  for (int i = 0; i < direct->regions; i++) {
    sl_region *r = &direct->region[i];
    void *there = NULL;
    sley_status status = sl_device_upload_private(direct->comm->base.queue, r->rows,
                                                  r->count * (int64_t)sizeof *r->rows, "row lists", &there);
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
  sley_status status = SL_NEW(entries, total, "row lists");
  if (status == SLEY_OK)
    status = fill_entries(direct, spec->add, rows, entries);
  if (status == SLEY_OK)
    status = sl_device_upload_private(direct->comm->base.queue, entries, total * (int64_t)sizeof *entries,
                                      "row lists", (void **)&direct->list);
  sl_free(entries);
  sl_free(rows);
  return status == SLEY_OK ? sl_arrivals_create(&direct->pieces, direct->comm->base.queue) : status;
}

/* The part of making an exchange that needs no other rank, once all messages have been exchanged. */
static sley_status finish(sl_direct *direct, const sl_exchange_spec *spec, const letters *l) {
  sl_process_comm *comm = direct->comm;
  const sl_device_ops *ops = comm->base.device->ops;
  fill_lends(direct, l);
  int moving = fill_sources(direct);
  SL_TRY(upload_regions(direct));
  direct->pieces.count = moving > 0 ? spec->pieces : 0;
  direct->pieces.unhurried = spec->unhurried;
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
  direct->round.pieces = &direct->pieces;
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

void sl_direct_free(sl_direct *direct, bool keep) {
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
  sl_arrivals_destroy(&direct->pieces, comm->base.device);
  ops->event_destroy(direct->begun);
  ops->event_destroy(direct->done);
  sl_free(direct->name);
  sl_free(direct->batch);
  sl_free(direct->source);
  sl_free(direct->lend);
  sl_free(direct->region);
  sl_free(direct->direct_of);
  sl_free(direct->recv);
  sl_free(direct->send);
  sl_free(direct);
}

/* Whether any rank has a list with a peer of its workgroup, even without rows. Collective. */
static sley_status is_wanted(sl_process_comm *comm, const sl_exchange_spec *spec, int64_t *wanted) {
  *wanted = 0;
  for (int i = 0; i < spec->sends; i++)
    *wanted |= sl_direct_serves(comm, spec->send[i].peer);
  for (int i = 0; i < spec->recvs; i++)
    *wanted |= sl_direct_serves(comm, spec->recv[i].peer);
  return sl_mesh_allreduce(comm->mesh, SL_MESH_MAX, wanted, 1);
}

sley_status sl_direct_create(sl_process_comm *comm, const sl_exchange_spec *spec, sl_direct **out) {
  sl_direct *direct = NULL;
  letters l = {0};
  int64_t bytes = 0, wanted = 0;
  *out = NULL;
  if (comm->direct)
    SL_TRY(is_wanted(comm, spec, &wanted));
  if (!wanted)
    return SLEY_OK;
  sley_status status = SL_NEW_ZERO(direct, 1, "an exchange");
  if (status == SLEY_OK) {
    direct->comm = comm;
    direct->recvs_of_spec = spec->recvs;
    direct->name = sl_strdup(spec->name);
    status = direct->name ? lay_out(direct, spec, &bytes) : SLEY_ERR_MEMORY;
  }
  if (status == SLEY_OK)
    status = open_letters(direct, &l);
  status = sl_mesh_agree(comm->mesh, "rows of a workgroup", 0, 0, status);
  if (status == SLEY_OK)
    status = comm->memory->take(comm, bytes, &direct->block);
  bool taken = status == SLEY_OK;
  if (taken) {
    status = tell(direct, &l);
    if (status == SLEY_OK)
      status = finish(direct, spec, &l);
    status = sl_mesh_agree(comm->mesh, "lists of a workgroup", 0, 0, status);
  }
  close_letters(&l);
  if (status == SLEY_OK) {
    *out = direct;
  } else if (taken) { /* peers may have made their part already and begun a round: their devices write here */
    sl_direct_destroy(direct);
  } else {
    sl_direct_free(direct, false);
  }
  return status;
}

int64_t sl_direct_memory(sl_comm *comm, const sl_exchange_spec *spec) {
  int64_t bytes = sl_lists_memory(comm, spec);
  if (!((const sl_process_comm *)comm)->direct)
    return bytes;
  for (int i = 0; i < spec->recvs; i++)
    bytes += spec->recv[i].count * (int64_t)sizeof(sl_pull_entry);
  bytes += sl_arrivals_memory(spec->pieces);
  return bytes + SL_SHARED_GRAIN + ALIGNMENT * (int64_t)spec->sends;
}
