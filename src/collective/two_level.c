/* SPDX-License-Identifier: Apache-2.0 */
/* Two levels: inside workgroups over direct links, and between them over messages, which carry each value
 * once per workgroup instead of once per rank.
 *
 * In workgroup v the part of rank r is relayed by member place(r) % size(v), place(r) being r's place in its
 * own workgroup: so r relays its own part, and all workgroups but a smaller last one divide the work equally.
 *
 *   reduce-scatter   inside: each relay receives the members' values for its parts, and
 *                    adds them in the order of the members. Across: r receives the relays' sums of its part,
 *                    and adds them in the order of the workgroups
 *   all-gather       across: r's part is sent to its relay in each workgroup. Inside: relays forward the
 *                    parts as they have received them
 *
 * A transfer moves one array between two ranks, so inside there is a round for each part that a relay may
 * have: (w, j) is the part of member place + j * size(v) of workgroup w. */
#include "base/memory.h"
#include "collective/route.h"
#include "device/device.h"

typedef struct two_level {
  sl_sparse_route route;
  int group, groups;               /* this rank's workgroup, and the number of workgroups */
  int first, members, place;       /* first rank of the workgroup, its number of ranks, and this rank's place
                                      in it */
  int repeats;                     /* number of rounds per workgroup: j is 0 .. repeats - 1 */
  sl_transfer inside, sums, parts; /* inside: transfer in the workgroup; sums: transfer between workgroups for
                                      a reduce-scatter; parts: the same for an all-gather */
  char *send, *recv;               /* areas of the transfers */
  char *across;                    /* area for transfers between workgroups: this rank's part, then the parts
                                      that it relays for other workgroups */
  char *partial; /* dense sums of the parts that this rank relays; its own part comes first */
} two_level;

/* Returns the rank whose part `member` of this workgroup relays in round (w, j), or -1. */
static int relayed(const two_level *t, int w, int j, int member) {
  int place = member + j * t->members;
  const sl_comm *comm = t->route.base->comm;
  return place < sl_workgroup_size(comm, w) ? sl_workgroup_first(comm, w) + place : -1;
}

/* Returns the rank that relays this rank's part in workgroup v. */
static int relay_in(const two_level *t, int v) {
  const sl_comm *comm = t->route.base->comm;
  return sl_workgroup_first(comm, v) + t->place % sl_workgroup_size(comm, v);
}

/* ---- making */

/* The number of parts of other workgroups that this rank relays. */
static int count_relayed(const two_level *t) {
  int count = 0;
  for (int w = 0; w < t->groups; w++)
    for (int j = 0; j < t->repeats; j++)
      count += w != t->group && relayed(t, w, j, t->place) >= 0;
  return count;
}

static void list_inside(two_level *t) {
  const sl_sparse_base *base = t->route.base;
  for (int m = 0; m < t->members; m++) {
    if (m == t->place)
      continue;
    sl_transfer_send(&t->inside, t->first + m, base->longest, 0);
    sl_transfer_recv(&t->inside, t->first + m, base->longest, 0);
  }
}

/* Lists the transfers between workgroups. Slot 0 of the area `across` is this rank's own part. */
static void list_across(two_level *t) {
  const sl_sparse_base *base = t->route.base;
  int64_t own = sl_route_values(base, base->comm->rank), slot = sl_route_slot(base);
  int next = 1;
  for (int w = 0; w < t->groups; w++) {
    if (w == t->group)
      continue;
    for (int j = 0; j < t->repeats; j++) {
      int rank = relayed(t, w, j, t->place);
      if (rank < 0)
        continue;
      sl_transfer_send(&t->sums, rank, sl_route_values(base, rank), next * slot);
      sl_transfer_recv(&t->parts, rank, sl_route_values(base, rank), next++ * slot);
    }
  }
  int come = 0;
  for (int v = 0; v < t->groups; v++) {
    if (v == t->group)
      continue;
    sl_transfer_recv(&t->sums, relay_in(t, v), own, come++ * slot);
    sl_transfer_send(&t->parts, relay_in(t, v), own, 0);
  }
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

static sley_status take_memory(two_level *t) {
  sl_sparse_base *base = t->route.base;
  int64_t slot = sl_route_slot(base);
  int count = count_relayed(t), most = larger(larger(t->members, t->groups), count + 1);
  SL_TRY(sl_transfer_begin(&t->inside, most));
  SL_TRY(sl_transfer_begin(&t->sums, most));
  SL_TRY(sl_transfer_begin(&t->parts, most));
  list_inside(t);
  list_across(t);
  SL_TRY(sl_route_take(base, t->members * slot, (void **)&t->send));
  SL_TRY(sl_route_take(base, larger(t->members, t->groups) * slot, (void **)&t->recv));
  SL_TRY(sl_route_take(base, (count + 1) * slot, (void **)&t->across));
  if (!sl_route_reduces(base))
    return SLEY_OK;
  SL_TRY(sl_route_take(base, (count + 1) * slot, (void **)&t->partial));
  return sl_route_take_expanded(base, larger(t->members, t->groups), base->longest);
}

static sley_status start(sl_sparse_base *base, sl_sparse_route **out) {
  const sl_comm *comm = base->comm;
  two_level *t;
  SL_TRY(SL_NEW_ZERO(t, 1, "a sparse collective"));
  *out = &t->route;
  t->route = (sl_sparse_route){.base = base};
  t->groups = sl_workgroups(comm);
  t->group = sl_workgroup_of(comm, comm->rank);
  t->first = sl_workgroup_first(comm, t->group);
  t->members = sl_workgroup_size(comm, t->group);
  t->place = comm->rank - t->first;
  int least = sl_workgroup_size(comm, t->groups - 1);
  t->repeats = (comm->workgroup + least - 1) / least;
  sl_transfer empty = {.comm = base->comm, .type = base->spec.dense.type};
  t->inside = t->sums = t->parts = empty;
  t->inside.name = "sparse, inside workgroups";
  t->sums.name = "sparse, sums between workgroups";
  t->parts.name = "sparse, parts between workgroups";
  return take_memory(t);
}

static sley_status two_level_open(sl_sparse_base *base, sl_sparse_route **out) {
  SL_TRY(sl_agree(base->comm, start(base, out)));
  two_level *t = (two_level *)*out;
  SL_TRY(sl_transfer_make(&t->inside));
  if (sl_route_reduces(base))
    SL_TRY(sl_transfer_make(&t->sums));
  return sl_route_gathers(base) ? sl_transfer_make(&t->parts) : SLEY_OK;
}

static void two_level_close(sl_sparse_route *route) {
  two_level *t = (two_level *)route;
  sl_transfer_destroy(&t->parts);
  sl_transfer_destroy(&t->sums);
  sl_transfer_destroy(&t->inside);
  sl_route_give(route->base, t->partial);
  sl_route_give(route->base, t->across);
  sl_route_give(route->base, t->recv);
  sl_route_give(route->base, t->send);
  sl_free(t);
}

/* ---- running */

/* Returns the slot, in the areas `across` and `partial`, for the part of a rank that this rank relays. */
static int slot_of(const two_level *t, int rank) {
  int slot = 1;
  for (int w = 0; w < t->groups; w++)
    for (int j = 0; j < t->repeats && w != t->group; j++) {
      int other = relayed(t, w, j, t->place);
      if (other == rank)
        return slot;
      slot += other >= 0;
    }
  return 0;
}

/* Sets the arrays of round (w, j) inside the workgroup: each member receives the part that it relays; if
 * gathering, each member sends that part. */
static void set_round(two_level *t, int w, int j, bool gathering) {
  const sl_sparse_base *base = t->route.base;
  int own = relayed(t, w, j, t->place);
  int64_t own_values = own < 0 ? 0 : sl_route_values(base, own), slot = sl_route_slot(base);
  for (int i = 0; i < t->inside.sends; i++) {
    int other = relayed(t, w, j, t->inside.send[i].peer - t->first);
    int64_t values = other < 0 ? 0 : sl_route_values(base, other);
    t->inside.send[i].values = gathering ? own_values : values;
    t->inside.recv[i].values = gathering ? values : own_values;
    t->inside.send[i].at = gathering ? 0 : i * slot;
    t->inside.recv[i].at = i * slot;
  }
}

/* Adds up the members' values of the part that this rank relays in round (w, j). */
static sley_status add_inside(two_level *t, int w, int j, const void *src, sl_queue *queue) {
  sl_sparse_base *base = t->route.base;
  int own = relayed(t, w, j, t->place);
  set_round(t, w, j, false);
  for (int i = 0; i < t->inside.sends; i++) {
    const sl_transfer_item *item = &t->inside.send[i];
    int rank = relayed(t, w, j, item->peer - t->first);
    if (item->values > 0)
      SL_TRY(
          sl_route_compress(base, sl_route_format(base, SL_LINK_DIRECT, false, item->values, base->density),
                            sl_route_part(base, src, rank), item->values, t->send + item->at, NULL, queue));
  }
  SL_TRY(sl_route_measure(base, &t->inside, t->send, SL_ARRAYS_OF_SRC, queue));
  SL_TRY(sl_route_move(base, &t->inside, t->send, t->recv, queue));
  if (own < 0)
    return SLEY_OK;
  int64_t slot = sl_route_slot(base);
  sl_route_lay(base, t->members, t->place, t->recv, slot);
  sl_route_fold_args fold = {.values = sl_route_values(base, own),
                             .parts = t->members,
                             .own = t->place,
                             .own_src = sl_route_part(base, src, own),
                             .dst = t->partial + slot_of(t, own) * slot};
  return sl_route_fold(base, &fold, queue);
}

/* Adds up the workgroups' sums to dst, this rank's part; density: expected density of these sums. */
static sley_status add_across(two_level *t, double density, void *dst, sl_queue *queue) {
  sl_sparse_base *base = t->route.base;
  int64_t slot = sl_route_slot(base);
  for (int i = 0; i < t->sums.sends; i++) {
    const sl_transfer_item *item = &t->sums.send[i];
    SL_TRY(sl_route_compress(base, sl_route_format(base, SL_LINK_MESSAGE, false, item->values, density),
                             t->partial + item->at, item->values, t->across + item->at, NULL, queue));
  }
  SL_TRY(sl_route_measure(base, &t->sums, t->across, t->members == 1 ? SL_ARRAYS_OF_SRC : SL_ARRAYS_OF_SUMS,
                          queue));
  SL_TRY(sl_route_move(base, &t->sums, t->across, t->recv, queue));
  sl_route_lay(base, t->groups, t->group, t->recv, slot);
  sl_route_fold_args fold = {.values = sl_route_values(base, base->comm->rank),
                             .parts = t->groups,
                             .own = t->group,
                             .own_src = t->partial,
                             .dst = dst};
  return sl_route_fold(base, &fold, queue);
}

static sley_status two_level_scatter(sl_sparse_route *route, const void *src, void *dst, double *density,
                                     sl_queue *queue) {
  two_level *t = (two_level *)route;
  const sl_sparse_base *base = route->base;
  double inside = sl_density_of_sums(base->density, t->members);
  for (int w = 0; w < t->groups; w++)
    for (int j = 0; j < t->repeats; j++) {
      SL_TRY(add_inside(t, w, j, src, queue));
      if (relayed(t, w, j, t->place) >= 0)
        inside = sl_route_density(&t->inside, base->density);
    }
  SL_TRY(add_across(t, inside, dst, queue));
  *density = sl_route_density(&t->sums, inside);
  return SLEY_OK;
}

static sley_status gather_across(two_level *t, const void *own, double density, void *dst, sl_queue *queue) {
  sl_sparse_base *base = t->route.base;
  int64_t values = sl_route_values(base, base->comm->rank);
  if (values > 0)
    SL_TRY(sl_route_compress(base, sl_route_format(base, SL_LINK_MESSAGE, true, values, density), own, values,
                             t->across, NULL, queue));
  SL_TRY(sl_route_measure(base, &t->parts, t->across, sl_route_gathered(base), queue));
  base->report.result_nonzeros = values > 0 ? t->parts.header[0].nonzeros : 0;
  SL_TRY(sl_route_move(base, &t->parts, t->across, t->across, queue));
  sl_route_count_result(base, &t->parts);
  for (int i = 0; i < t->parts.recvs; i++) {
    const sl_transfer_item *item = &t->parts.recv[i];
    sl_route_list(base, t->across + item->at, item->bytes, item->values,
                  sl_route_part(base, dst, item->peer));
  }
  return sl_route_decompress(base, queue);
}

/* Returns the bytes of the part of `rank`, which this rank relays or, if it is its own part, has made; 0 if
   the part has no values. */
static int64_t bytes_of(const two_level *t, int rank) {
  if (rank == t->route.base->comm->rank)
    return t->parts.sends > 0 ? t->parts.send[0].bytes : 0;
  for (int i = 0; i < t->parts.recvs; i++)
    if (t->parts.recv[i].peer == rank)
      return t->parts.recv[i].bytes;
  return 0;
}

static sley_status gather_inside(two_level *t, int w, int j, void *dst, sl_queue *queue) {
  sl_sparse_base *base = t->route.base;
  int own = relayed(t, w, j, t->place);
  int64_t at = own < 0 ? 0 : slot_of(t, own) * sl_route_slot(base), bytes = own < 0 ? 0 : bytes_of(t, own);
  set_round(t, w, j, true);
  for (int i = 0; i < t->inside.sends; i++) {
    t->inside.send[i].at = at;
    t->inside.send[i].bytes = bytes;
  }
  SL_TRY(sl_route_move(base, &t->inside, t->across, t->recv, queue));
  sl_route_count_result(base, &t->inside);
  for (int i = 0; i < t->inside.recvs; i++) {
    const sl_transfer_item *item = &t->inside.recv[i];
    if (item->values > 0)
      sl_route_list(base, t->recv + item->at, item->bytes, item->values,
                    sl_route_part(base, dst, relayed(t, w, j, item->peer - t->first)));
  }
  return sl_route_decompress(base, queue);
}

static sley_status two_level_gather(sl_sparse_route *route, const void *own, double density, void *dst,
                                    sl_queue *queue) {
  two_level *t = (two_level *)route;
  SL_TRY(gather_across(t, own, density, dst, queue));
  for (int w = 0; w < t->groups; w++)
    for (int j = 0; j < t->repeats; j++)
      SL_TRY(gather_inside(t, w, j, dst, queue));
  return SLEY_OK;
}

const sl_sparse_route_ops sl_sparse_two_level = {.open = two_level_open,
                                                 .scatter = two_level_scatter,
                                                 .gather = two_level_gather,
                                                 .finish = sl_route_finish,
                                                 .settle = sl_route_settle_nothing,
                                                 .close = two_level_close};
