/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a halo: the needed rows grouped by owner, and the rows that other ranks have requested. */
#include "plan/halo.h"

#include <stdatomic.h>

#include "base/memory.h"
#include "base/search.h"

enum { GRAIN = 1 << 15 };

typedef struct checking {
  const int64_t *row;
  int64_t end;            /* number of rows of X */
  _Atomic int64_t *wrong; /* first wrong entry */
} checking;

static sley_status check_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const checking *c = context;
  for (int64_t h = begin; h < end; h++)
    if (c->row[h] < 0 || c->row[h] >= c->end || (h > 0 && c->row[h] <= c->row[h - 1])) {
      int64_t least = atomic_load(c->wrong);
      while (h < least && !atomic_compare_exchange_weak(c->wrong, &least, h)) {
      }
      break;
    }
  return SLEY_OK;
}

/* Finds where each owner's rows begin, and checks that the rows ascend and have an owner. */
static sley_status find_owners(sl_halo *halo, const int64_t *begin) {
  int ranks = halo->comm->size;
  _Atomic int64_t wrong = halo->count;
  SL_TRY(SL_NEW(halo->begin, ranks + 1, "the halo"));
  SL_TRY(sl_team_for(halo->comm->team, halo->count, GRAIN, check_rows,
                     &(checking){halo->row, begin[ranks], &wrong}));
  if (wrong < halo->count)
    return sl_fail(SLEY_ERR_ARG,
                   "entry %lld of the halo is row %lld: the rows must ascend and be less than %lld",
                   (long long)wrong, (long long)halo->row[wrong], (long long)begin[ranks]);
  for (int p = 0; p <= ranks; p++)
    halo->begin[p] = sl_lower_bound(halo->row, 0, halo->count, begin[p]);
  return SLEY_OK;
}

/* Converts global row numbers to row numbers within this rank's rows. */
static sley_status number_locally(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_halo *halo = context;
  for (int64_t i = begin; i < end; i++)
    halo->wanted[i] -= halo->first;
  return SLEY_OK;
}

/* Sends to every owner the list of its rows that this rank needs. Collective, agreed. */
static sley_status tell_owners(sl_halo *halo) {
  sl_comm *comm = halo->comm;
  int64_t *counts = NULL;
  sley_status status = sl_agree(comm, SL_NEW(counts, 2 * (int64_t)comm->size, "halo counts"));
  if (status != SLEY_OK) {
    sl_free(counts);
    return status;
  }
  for (int p = 0; p < comm->size; p++)
    counts[p] = halo->begin[p + 1] - halo->begin[p];
  int64_t *received = counts + comm->size;
  status = sl_exchange_items(comm, sizeof *halo->row, halo->row, counts, (void **)&halo->wanted, received);
  if (status == SLEY_OK)
    status = sl_agree(comm, SL_NEW(halo->wanted_begin, comm->size + 1, "halo counts"));
  if (status == SLEY_OK) {
    halo->wanted_begin[0] = 0;
    for (int p = 0; p < comm->size; p++)
      halo->wanted_begin[p + 1] = halo->wanted_begin[p] + received[p];
    status = sl_team_for(comm->team, halo->wanted_begin[comm->size], GRAIN, number_locally, halo);
  }
  sl_free(counts);
  return status;
}

sley_status sl_halo_create(sl_comm *comm, const int64_t *begin, int64_t *row, int64_t count, sl_halo **out) {
  sl_halo *halo = NULL;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(halo, 1, "the halo");
  if (status == SLEY_OK) {
    *halo = (sl_halo){.comm = comm,
                      .users = 1,
                      .first = begin[comm->rank],
                      .rows = begin[comm->rank + 1] - begin[comm->rank],
                      .count = count,
                      .row = row};
    status = find_owners(halo, begin);
  } else {
    sl_free(row);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = tell_owners(halo);
  if (status != SLEY_OK) {
    sl_halo_release(halo);
    return status;
  }
  *out = halo;
  return SLEY_OK;
}

sl_halo *sl_halo_hold(sl_halo *halo) {
  halo->users++;
  return halo;
}

void sl_halo_release(sl_halo *halo) {
  if (!halo || --halo->users > 0)
    return;
  sl_free(halo->wanted_begin);
  sl_free(halo->wanted);
  sl_free(halo->begin);
  sl_free(halo->row);
  sl_free(halo);
}

sl_row_list sl_halo_list_of_x(const sl_halo *halo, int peer, int64_t row_bytes) {
  int64_t begin = halo->wanted_begin[peer];
  return (sl_row_list){.peer = peer,
                       .count = halo->wanted_begin[peer + 1] - begin,
                       .rows = halo->wanted + begin,
                       .bytes = row_bytes};
}

sl_row_list sl_halo_list_of_buffer(const sl_halo *halo, int peer, int64_t row_bytes) {
  int64_t begin = halo->begin[peer];
  return (sl_row_list){
      .peer = peer, .count = halo->begin[peer + 1] - begin, .first = begin, .bytes = row_bytes};
}

void sl_halo_spec(const sl_halo *halo, sl_halo_way way, const char *name, sley_dtype dtype, int64_t row_bytes,
                  sl_row_list *lists, sl_exchange_spec *out) {
  sl_row_list *of_x = lists, *of_buffer = lists + halo->comm->size;
  int x_lists = 0, buffer_lists = 0;
  for (int p = 0; p < halo->comm->size; p++) {
    of_x[x_lists] = sl_halo_list_of_x(halo, p, row_bytes);
    of_buffer[buffer_lists] = sl_halo_list_of_buffer(halo, p, row_bytes);
    x_lists += sl_list_moves(&of_x[x_lists]);
    buffer_lists += sl_list_moves(&of_buffer[buffer_lists]);
  }
  bool gathers = way == SL_HALO_GATHER;
  *out = (sl_exchange_spec){.name = name,
                            .send = gathers ? of_x : of_buffer,
                            .sends = gathers ? x_lists : buffer_lists,
                            .recv = gathers ? of_buffer : of_x,
                            .recvs = gathers ? buffer_lists : x_lists,
                            .add = !gathers,
                            .dtype = dtype};
}
