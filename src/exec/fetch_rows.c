/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided fetches of rows of the peers' X. */
#include "exec/fetch_rows.h"

#include "base/memory.h"

/* The rows of a fetch that come from one group of SL_PULL_SOURCES ranks. */
typedef struct pulled {
  int64_t first, count; /* range of entries of the list */
  sl_counters given;    /* traffic of these entries; the kernel loads each row separately */
} pulled;

typedef struct requests requests;

struct sl_fetches {
  const sl_plan *plan;
  sl_comm *comm;
  int64_t row_bytes;
  sl_symm *published;
  sl_row_list *wanted; /* memory for a list per rank */
  /* The next fields are used if the host cannot address the device's memory; otherwise NULL. */
  sl_exchange *fence; /* an exchange without rows, which orders the queues of the ranks */
  int groups;
  sl_pull_source *source; /* memory of each rank; src NULL: its rows come by exchanges */
  sl_pull_entry *list;    /* entries of all fetches, on the device */
  pulled *pulls;          /* `groups` elements per fetch */
  /* Exchanges for rows that cannot be pulled, one per fetch, as many as the rank with the most fetches has.
   * NULL: all rows can be pulled. */
  sl_exchange **exchanges;
  requests *requests; /* lists of the exchanges */
  int rounds, done;   /* number of exchanges; number of exchanges that have run since publish */
};

static bool on_host(const sl_fetches *f) {
  return f->comm->device->ops->host_addresses;
}

/* Creates an exchange without rows with every rank. Collective. */
static sley_status make_fence(sl_fetches *f) {
  sl_row_list *lists;
  sley_status status = SL_NEW_ZERO(lists, f->comm->size, "an exchange");
  status = sl_agree(f->comm, status);
  if (status == SLEY_OK) {
    for (int p = 0; p < f->comm->size; p++)
      lists[p].peer = p;
    sl_exchange_spec spec = {.name = "fence",
                             .sends = f->comm->size,
                             .recvs = f->comm->size,
                             .send = lists,
                             .recv = lists,
                             .dtype = f->plan->dtype,
                             .capture = f->plan->capture};
    status = f->comm->ops->exchange_create(f->comm, &spec, &f->fence);
  }
  sl_free(lists);
  return status;
}

/* Writes the entries of all fetches, grouped by SL_PULL_SOURCES ranks, and returns their number. */
static int64_t list_entries(sl_fetches *f, sl_pull_entry *entries) {
  int64_t at = 0;
  for (int i = 0; i < f->plan->fetches.count; i++) {
    const sl_fetch *fetch = SL_FETCH(f->plan, i);
    for (int g = 0; g < f->groups; g++) {
      pulled *one = &f->pulls[(int64_t)i * f->groups + g];
      one->first = at;
      for (int64_t n = 0; n < fetch->count; n++) {
        int owner = fetch->owner[n];
        if (owner / SL_PULL_SOURCES != g || !f->source[owner].src)
          continue;
        entries[at++] =
            (sl_pull_entry){.src_row = fetch->row[n], .dst_row = n, .source = owner % SL_PULL_SOURCES};
        sl_counters_count(&one->given, sl_link_to(f->comm, owner), f->row_bytes, 1);
      }
      one->count = at - one->first;
    }
  }
  return at;
}

static sley_status make_lists(sl_fetches *f) {
  int64_t most = 0;
  f->groups = (f->comm->size + SL_PULL_SOURCES - 1) / SL_PULL_SOURCES;
  SL_TRY(SL_NEW_ZERO(f->source, f->comm->size, "lists of fetches"));
  SL_TRY(SL_NEW_ZERO(f->pulls, (int64_t)f->groups * f->plan->fetches.count, "lists of fetches"));
  for (int p = 0; p < f->comm->size; p++)
    f->source[p] =
        (sl_pull_source){.src = sl_peer_ptr(f->published, p), .stride = f->row_bytes, .bytes = f->row_bytes};
  for (int i = 0; i < f->plan->fetches.count; i++)
    most += SL_FETCH(f->plan, i)->count;
  sl_pull_entry *entries;
  SL_TRY(SL_NEW_ZERO(entries, most, "lists of fetches"));
  int64_t bytes = list_entries(f, entries) * (int64_t)sizeof *entries;
  sley_status status =
      sl_device_upload_private(f->comm->queue, entries, bytes, "lists of fetches", (void **)&f->list);
  sl_free(entries);
  return status;
}

/* ---- rows that kernels cannot reach */

/* The lists of one exchange, in order of the owners. */
struct requests {
  int64_t *count, *asked_count; /* for each rank: number of rows that this rank wants from it, and number of
                                 * rows that it wants from this rank */
  int64_t *row, *place, *asked; /* wanted rows: number at the owner, and place in dst; asked: numbers of this
                                   rank's rows that others want */
  sl_row_list *send, *recv;
};

/* Returns whether an owner's rows come by exchanges. On the host this is so if the transport sends the rows
 * of an exchange one by one, because fetched rows then travel in the same way. */
static bool is_far(const sl_fetches *f, int owner) {
  if (!on_host(f))
    return !f->source[owner].src;
  return f->comm->processes && !sl_peer_ptr(f->published, owner) &&
         f->comm->ops->row_messages(f->comm, owner, 2, f->row_bytes) == 2;
}

static sley_status list_requests(sl_fetches *f, int index, requests *q) {
  int size = f->comm->size;
  const sl_fetch *fetch = index < f->plan->fetches.count ? SL_FETCH(f->plan, index) : NULL;
  int64_t most = fetch ? fetch->count : 0, at = 0;
  SL_TRY(SL_NEW_ZERO(q->count, size, "lists of fetches"));
  SL_TRY(SL_NEW_ZERO(q->asked_count, size, "lists of fetches"));
  SL_TRY(SL_NEW_ZERO(q->send, size, "lists of fetches"));
  SL_TRY(SL_NEW_ZERO(q->recv, size, "lists of fetches"));
  SL_TRY(SL_NEW(q->row, most, "lists of fetches"));
  SL_TRY(SL_NEW(q->place, most, "lists of fetches"));
  for (int p = 0; p < size; p++) {
    if (!is_far(f, p))
      continue;
    int64_t first = at;
    for (int64_t n = 0; n < most; n++)
      if (fetch->owner[n] == p) {
        q->row[at] = fetch->row[n];
        q->place[at++] = n;
      }
    q->count[p] = at - first;
  }
  return SLEY_OK;
}

static void free_requests(requests *q) {
  sl_free(q->recv);
  sl_free(q->send);
  sl_free(q->asked);
  sl_free(q->place);
  sl_free(q->row);
  sl_free(q->asked_count);
  sl_free(q->count);
  *q = (requests){0};
}

/* Creates the exchange for the rows that fetch `index` wants. kept receives its lists, which must outlive it.
 * Collective. */
static sley_status make_exchange(sl_fetches *f, int index, requests *kept) {
  sl_comm *comm = f->comm;
  void *asked = NULL;
  SL_TRY(sl_agree(comm, list_requests(f, index, kept)));
  SL_TRY(sl_exchange_items(comm, sizeof *kept->row, kept->row, kept->count, &asked, kept->asked_count));
  kept->asked = asked;
  int peers = 0;
  int64_t at = 0, wanted = 0;
  for (int p = 0; p < comm->size; p++) {
    if (!is_far(f, p))
      continue;
    kept->send[peers] = (sl_row_list){
        .peer = p, .count = kept->asked_count[p], .rows = kept->asked + at, .bytes = f->row_bytes};
    kept->recv[peers++] = (sl_row_list){
        .peer = p, .count = kept->count[p], .rows = kept->place + wanted, .bytes = f->row_bytes};
    at += kept->asked_count[p];
    wanted += kept->count[p];
  }
  sl_exchange_spec spec = {.name = "far rows",
                           .sends = peers,
                           .recvs = peers,
                           .send = kept->send,
                           .recv = kept->recv,
                           .dtype = f->plan->dtype,
                           .grain = SL_GRAIN_ROW,
                           .capture = f->plan->capture};
  return comm->ops->exchange_create(comm, &spec, &f->exchanges[index]);
}

/* Creates the exchanges, if any rank has rows that it cannot reach. If rank p cannot reach q, then q cannot
 * reach p. Collective. */
static sley_status make_exchanges(sl_fetches *f) {
  sl_comm *comm = f->comm;
  int64_t most[2] = {f->plan->fetches.count, 0};
  for (int p = 0; p < comm->size; p++)
    most[1] += is_far(f, p);
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, 2));
  if (most[1] == 0)
    return SLEY_OK;
  SL_TRY(sl_agree(comm, SL_NEW_ZERO(f->exchanges, most[0], "lists of fetches")));
  SL_TRY(sl_agree(comm, SL_NEW_ZERO(f->requests, most[0], "lists of fetches")));
  f->rounds = (int)most[0];
  for (int i = 0; i < f->rounds; i++)
    SL_TRY(make_exchange(f, i, &f->requests[i]));
  return SLEY_OK;
}

/* Runs the next exchange. dst: memory for this rank's rows, if it wants any. */
static sley_status run_exchange(sl_fetches *f, void *dst) {
  sl_exchange *exchange = f->exchanges[f->done++];
  sl_comm *comm = f->comm;
  const void *src = sl_peer_ptr(f->published, comm->rank);
  SL_TRY(comm->ops->exchange_begin(exchange, src, f->row_bytes, dst, f->row_bytes, comm->queue));
  return comm->ops->exchange_end(exchange, comm->queue);
}

sley_status sl_fetches_create(const sl_plan *plan, sl_fetches **out) {
  sl_comm *comm = plan->comm;
  sl_fetches *f = NULL;
  *out = NULL;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(f, 1, "fetches"));
  if (status == SLEY_OK) {
    f->plan = plan;
    f->comm = comm;
    f->row_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes;
    status = sl_symm_alloc(comm, plan->x_rows * f->row_bytes, &f->published);
  }
  if (status == SLEY_OK)
    status = sl_agree(comm, SL_NEW(f->wanted, comm->size, "lists of fetches"));
  if (status == SLEY_OK && !on_host(f))
    status = make_fence(f);
  if (status == SLEY_OK && !on_host(f))
    status = sl_agree(comm, make_lists(f));
  if (status == SLEY_OK && f->row_bytes > 0)
    status = make_exchanges(f);
  if (status != SLEY_OK) {
    sl_fetches_destroy(f);
    return status;
  }
  *out = f;
  return SLEY_OK;
}

void sl_fetches_destroy(sl_fetches *f) {
  if (!f)
    return;
  for (int i = f->rounds - 1; i >= 0; i--) {
    if (f->exchanges[i])
      f->comm->ops->exchange_destroy(f->exchanges[i]);
    free_requests(&f->requests[i]);
  }
  sl_free(f->requests);
  sl_free(f->exchanges);
  if (f->fence)
    f->comm->ops->exchange_destroy(f->fence);
  if (f->published)
    sl_symm_free(f->published);
  if (f->list)
    f->comm->device->ops->free(f->comm->device, f->list);
  sl_free(f->pulls);
  sl_free(f->source);
  sl_free(f->wanted);
  sl_free(f);
}

/* Waits until all ranks have made this call: the hosts, or with a fence the queues. */
static sley_status meet(sl_fetches *f) {
  if (!f->fence)
    return f->comm->ops->barrier(f->comm);
  SL_TRY(f->comm->ops->exchange_begin(f->fence, NULL, 0, NULL, 0, f->comm->queue));
  return f->comm->ops->exchange_end(f->fence, f->comm->queue);
}

sley_status sl_fetches_publish(sl_fetches *f, const void *x, int64_t stride) {
  f->done = 0;
  if (f->plan->x_rows > 0 && f->row_bytes > 0)
    SL_TRY(sl_kernel_run(f->comm->queue,
                         &(sl_kernel_args){.op = SL_OP_ROWS,
                                           .rows = {.count = f->plan->x_rows,
                                                    .bytes = f->row_bytes,
                                                    .src = x,
                                                    .src_stride = stride,
                                                    .dst = sl_peer_ptr(f->published, f->comm->rank),
                                                    .dst_stride = f->row_bytes,
                                                    .dtype = f->plan->dtype}}));
  return meet(f);
}

/* Pulls the rows that kernels can reach, and counts their traffic. */
static sley_status pull(sl_fetches *f, int index, void *dst) {
  for (int g = 0; g < f->groups; g++) {
    const pulled *one = &f->pulls[(int64_t)index * f->groups + g];
    int first = g * SL_PULL_SOURCES, rest = f->comm->size - first;
    sl_kernel_args args = {.op = SL_OP_PULL,
                           .pull = {.count = one->count,
                                    .list = f->list + one->first,
                                    .sources = rest < SL_PULL_SOURCES ? rest : SL_PULL_SOURCES,
                                    .source = f->source + first,
                                    .dst = dst,
                                    .dst_stride = f->row_bytes,
                                    .dtype = f->plan->dtype}};
    if (one->count > 0)
      SL_TRY(sl_kernel_run(f->comm->queue, &args));
    for (int link = 0; link < SL_LINK_COUNT; link++)
      f->comm->ops->counters_add(f->comm, (sl_link)link, one->given.bytes[link], one->given.messages[link]);
  }
  return SLEY_OK;
}

/* Requests from each owner all its rows at once: the entries of a fetch are in order of the owners. */
static sley_status get(sl_fetches *f, const sl_fetch *fetch, void *dst) {
  int lists = 0;
  for (int64_t n = 0, end; n < fetch->count; n = end) {
    for (end = n + 1; end < fetch->count && fetch->owner[end] == fetch->owner[n];)
      end++;
    if (is_far(f, fetch->owner[n]))
      continue;
    f->wanted[lists++] = (sl_row_list){
        .peer = fetch->owner[n], .count = end - n, .rows = fetch->row + n, .first = n, .bytes = f->row_bytes};
  }
  return sl_get_rows(f->published, lists, f->wanted, dst);
}

sley_status sl_fetches_run(sl_fetches *f, int index, void *dst) {
  if (f->row_bytes == 0)
    return SLEY_OK;
  if (on_host(f))
    SL_TRY(get(f, SL_FETCH(f->plan, index), dst));
  if (f->list)
    SL_TRY(pull(f, index, dst));
  return f->exchanges ? run_exchange(f, dst) : SLEY_OK;
}

sley_status sl_fetches_retire(sl_fetches *f) {
  while (f->done < f->rounds) /* takes part in the exchanges of ranks with more fetches */
    SL_TRY(run_exchange(f, NULL));
  return meet(f);
}
