/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/stages.h"

#include "base/memory.h"

/* The ranks that take part in swaps are at places 0 .. places - 1, a power of two; `rest` of them are joined
 * by another rank. */
typedef struct layout {
  int places, rest;
} layout;

static layout lay_out(int size) {
  layout l = {.places = 1};
  while (2 * l.places <= size)
    l.places *= 2;
  l.rest = size - l.places;
  return l;
}

static bool joins(const layout *l, int rank) {
  return rank < 2 * l->rest && rank % 2 == 1;
}

static int place_of(const layout *l, int rank) {
  return rank < 2 * l->rest ? rank / 2 : rank - l->rest;
}

/* The rank at a place; for place = places the number of ranks. */
static int rank_at(const layout *l, int place) {
  return place < l->rest ? 2 * place : place + l->rest;
}

/* ---- making */

/* Sets the stage in which rank 2 i + 1 joins rank 2 i, or leaves it. */
static void set_pair(const layout *l, const sl_comm *comm, bool leaves, sl_stage *stage) {
  int rank = comm->rank, partner = rank % 2 ? rank - 1 : rank + 1;
  stage->leaves = leaves;
  if (rank >= 2 * l->rest)
    return;
  const sl_rank_block one = {rank, rank + 1}, other = {partner, partner + 1}, all = {0, comm->size};
  stage->partner = partner;
  stage->sends = joins(l, rank) != leaves;
  stage->receives = !stage->sends;
  stage->own = leaves && stage->sends ? all : one;
  stage->peer = leaves && stage->receives ? all : other;
}

static void set_swap(const layout *l, const sl_comm *comm, int distance, sl_stage *stage) {
  if (joins(l, comm->rank))
    return;
  int place = place_of(l, comm->rank), own = place - place % distance, peer = own ^ distance;
  stage->partner = rank_at(l, place ^ distance);
  stage->sends = stage->receives = true;
  stage->own = (sl_rank_block){rank_at(l, own), rank_at(l, own + distance)};
  stage->peer = (sl_rank_block){rank_at(l, peer), rank_at(l, peer + distance)};
}

static int count_swaps(const layout *l) {
  int swaps = 0;
  for (int distance = 1; distance < l->places; distance *= 2)
    swaps++;
  return swaps;
}

sley_status sl_stages_begin(sl_stages *stages, sl_sparse_base *base, const char *name) {
  sl_comm *comm = base->comm;
  const layout l = lay_out(comm->size);
  int count = count_swaps(&l) + (l.rest > 0 ? 2 : 0), next = 0;
  SL_TRY(SL_NEW_ZERO(stages->stage, count, "a sparse collective"));
  stages->count = count;
  for (int i = 0; i < count; i++) {
    sl_stage *stage = &stages->stage[i];
    stage->partner = -1;
    stage->transfer = (sl_transfer){.name = name, .comm = comm, .type = base->spec.dense.type};
  }
  for (int i = 0; i < count; i++)
    SL_TRY(sl_transfer_begin(&stages->stage[i].transfer, 1));
  if (l.rest > 0)
    set_pair(&l, comm, false, &stages->stage[next++]);
  for (int distance = 1; distance < l.places; distance *= 2)
    set_swap(&l, comm, distance, &stages->stage[next++]);
  if (l.rest > 0)
    set_pair(&l, comm, true, &stages->stage[next]);
  return SLEY_OK;
}

static int64_t values_of(const sl_sparse_base *base, const sl_rank_block *block, bool ranges) {
  return ranges ? base->begin[block->end] - base->begin[block->first] : base->longest;
}

sley_status sl_stages_make(sl_stages *stages, const sl_sparse_base *base, bool ranges) {
  for (int i = 0; i < stages->count; i++) {
    sl_stage *s = &stages->stage[i];
    if (s->sends)
      sl_transfer_send(&s->transfer, s->partner, values_of(base, &s->own, ranges), 0);
    if (s->receives)
      sl_transfer_recv(&s->transfer, s->partner, values_of(base, &s->peer, ranges), sl_route_slot(base));
    SL_TRY(sl_transfer_make(&s->transfer));
  }
  return SLEY_OK;
}

void sl_stages_close(sl_stages *stages) {
  for (int i = stages->count - 1; i >= 0; i--)
    sl_transfer_destroy(&stages->stage[i].transfer);
  sl_free(stages->stage);
}

/* ---- running */

sley_status sl_stage_run(sl_sparse_base *base, sl_stage *stage, const void *src, double density,
                         unsigned what, char *area, sl_queue *queue) {
  sl_transfer *transfer = &stage->transfer;
  if (transfer->sends > 0) {
    const sl_transfer_item *item = &transfer->send[0];
    sl_link link = sl_link_to(base->comm, item->peer);
    sl_compressed_format format =
        sl_route_format(base, link, what & SL_ARRAYS_GATHERED, item->values, density);
    SL_TRY(sl_route_compress(base, format, src, item->values, area + item->at, NULL, queue));
  }
  SL_TRY(sl_route_measure(base, transfer, area, what, queue));
  stage->sent_nonzeros = transfer->sends > 0 ? transfer->header[0].nonzeros : 0;
  return sl_route_move(base, transfer, area, area, queue);
}
