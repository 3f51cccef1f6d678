/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the time of moving rows. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "tune/tune_inside.h"

/* ROW: bytes of a row, in messages of several rows. BY_ROW: the number of message sizes that are also
 * measured with one row per message, ROWS_AT_ONCE rows together. */
enum { ROW = 256, BY_ROW = 4, ROWS_AT_ONCE = 16384 };
/* One-sided rows. BATCH: rows requested together, as rowwise does. FETCHED_FROM: bytes of the memory from
 * which they come. */
enum { BATCH = 8192, FETCHED_FROM = 8 << 20 };

static const int64_t message_bytes[] = {64, 256, 1024, 4096, 65536, 1 << 20, 8 << 20, 32 << 20};
static const int64_t fetched_bytes[] = {16, 64, 256, 1024};
static const int64_t gathered_bytes[] = {16, 32, 64, 256, 1024};
enum { REACHES = 3 };
static const int64_t gathered_by_core[REACHES] = {1 << 18, 1 << 21, 1 << 23},
                     gathered_by_gpu[REACHES] = {1 << 20, 1 << 23, 1 << 26};
enum {
  MESSAGES = sizeof message_bytes / sizeof *message_bytes,
  FETCHES = sizeof fetched_bytes / sizeof *fetched_bytes,
  GATHERS = sizeof gathered_bytes / sizeof *gathered_bytes
};

typedef struct trip {
  sl_comm *comm;
  sl_exchange *exchange;
  const char *src;
  char *dst;
  int64_t stride;
} trip;

static sley_status run_trip(void *context) {
  trip *t = context;
  sl_queue *queue = t->comm->queue;
  SL_TRY(t->comm->ops->exchange_begin(t->exchange, t->src, t->stride, t->dst, t->stride, queue));
  SL_TRY(t->comm->ops->exchange_end(t->exchange, queue));
  return sl_exchange_reclaim(t->exchange, queue);
}

/* The rank with which this one measures a link class; -1: none. Ranks form pairs: within the workgroup, or
 * between two workgroups; alone: only the first rank of each. */
static int partner_of(const sl_comm *comm, sl_link link, bool alone) {
  int group = sl_workgroup_of(comm, comm->rank), at = comm->rank - sl_workgroup_first(comm, group);
  if (alone && at > 0)
    return -1;
  if (link == SL_LINK_SELF)
    return comm->rank;
  if (link == SL_LINK_DIRECT)
    return (at ^ 1) < sl_workgroup_size(comm, group) ? comm->rank ^ 1 : -1;
  group ^= 1;
  return group < sl_workgroups(comm) && at < sl_workgroup_size(comm, group)
             ? sl_workgroup_first(comm, group) + at
             : -1;
}

/* Rows that an exchange of tuning moves from each peer: count rows of `bytes` bytes. listed: as in a plan's
 * lists, about every second row; else rows anywhere. */
typedef struct load {
  sl_link link;
  int64_t count, bytes;
  bool listed, anywhere, by_row;
  bool alone; /* one pair of ranks in two workgroups uses the link between them alone */
} load;

/* The ranks with which this one exchanges a load, ascending; returns their number. A device gathers from all
 * ranks that it can reach over a link class at once, as in a product: the link to one peer may be slower than
 * the rate at which it receives from all. */
static int partners_of(const sl_comm *comm, const load *l, int peer[SL_TUNE_RANKS]) {
  int count = 0;
  if (!sl_tune_enqueues(comm) || l->link == SL_LINK_SELF || l->alone) {
    peer[0] = partner_of(comm, l->link, l->alone);
    return peer[0] >= 0;
  }
  for (int p = 0; p < comm->size; p++)
    if (sl_link_to(comm, p) == l->link)
      peer[count++] = p;
  return count;
}

/* Number of messages of a load to one rank. */
static double messages_of(const sl_comm *comm, const load *l) {
  int peer[SL_TUNE_RANKS], peers = partners_of(comm, l, peer);
  return (double)(peers > 0 ? peers : 1) * (double)(l->by_row ? l->count : 1);
}

/* Lists the rows of a load, out of twice as many. */
static sley_status list_rows(const load *l, int64_t **out) {
  SL_TRY(SL_NEW(*out, l->count, "rows to send"));
  for (int64_t i = 0; i < l->count; i++) {
    uint64_t bits = (uint64_t)i * 2654435761u;
    (*out)[i] = l->anywhere ? (int64_t)(bits % (uint64_t)(2 * l->count)) : 2 * i + (int64_t)(bits >> 13 & 1);
  }
  return SLEY_OK;
}

/* Times an exchange in which partners send each other such a load, all at once. */
static sley_status time_exchange(sl_comm *comm, sl_tuning *tune, const load *l, double *seconds) {
  int peer[SL_TUNE_RANKS], peers = partners_of(comm, l, peer);
  sl_row_list send[SL_TUNE_RANKS], recv[SL_TUNE_RANKS];
  int64_t *rows = NULL, bytes = l->count * l->bytes;
  void *src = NULL, *dst = NULL;
  sley_status status = list_rows(l, &rows);
  if (status == SLEY_OK)
    status = sl_tune_alloc(comm, 2 * bytes, "rows to send", &src);
  if (status == SLEY_OK)
    status = sl_tune_alloc(comm, peers * bytes, "rows to receive", &dst);
  for (int i = 0; i < peers; i++) {
    send[i] =
        (sl_row_list){.peer = peer[i], .count = l->count, .rows = l->listed ? rows : NULL, .bytes = l->bytes};
    recv[i] = (sl_row_list){.peer = peer[i], .count = l->count, .first = i * l->count, .bytes = l->bytes};
  }
  sl_exchange_spec spec = {.name = "tune",
                           .sends = peers,
                           .recvs = peers,
                           .send = send,
                           .recv = recv,
                           .dtype = SLEY_F32,
                           .grain = l->by_row ? SL_GRAIN_ROW : SL_GRAIN_PEER};
  trip t = {comm, NULL, src, dst, l->bytes};
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, comm->ops->exchange_create(comm, &spec, &t.exchange), done);
  status = sl_tune_measure(comm, tune, &(sl_timed){.run = run_trip, .context = &t}, seconds);
  comm->ops->exchange_destroy(t.exchange);
done:
  comm->device->ops->free(comm->device, dst);
  comm->device->ops->free(comm->device, src);
  sl_free(rows);
  return status;
}

static sley_status time_meeting(sl_comm *comm, sl_tuning *tune, sl_link link, double *seconds) {
  return time_exchange(comm, tune, &(load){.link = link, .count = 1, .bytes = 4}, seconds);
}

/* A shorter message is not slower: if it seems so, the measurement was disturbed. */
static void mend(sl_link_point *point, int points) {
  for (int i = points - 2; i >= 0; i--)
    point[i].seconds = fmin(point[i].seconds, point[i + 1].seconds);
}

/* One-sided rows of a given size. */
typedef struct asking {
  sl_symm *symm;
  sl_row_list list; /* empty for a rank that requests none */
  char *dst;
} asking;

static sley_status run_asking(void *context) {
  asking *a = context;
  return a->list.count > 0 ? sl_get_rows(a->symm, 1, &a->list, a->dst) : SLEY_OK;
}

/* Pairs of ranks get rows of each other's host memory, at random places, all at once; *seconds: per row. */
static sley_status time_rows(sl_comm *comm, sl_tuning *tune, sl_link link, int64_t bytes, double *seconds) {
  int peer = partner_of(comm, link, tune->hosts && link == SL_LINK_MESSAGE);
  int64_t *rows = NULL, there = FETCHED_FROM / bytes;
  asking a = {.list = {.peer = peer, .count = peer >= 0 ? BATCH : 0, .bytes = bytes}};
  sley_status status = SL_NEW(rows, BATCH, "rows to get");
  if (status == SLEY_OK)
    status = SL_NEW(a.dst, BATCH * bytes, "rows to get");
  for (int64_t i = 0; i < BATCH && status == SLEY_OK; i++)
    rows[i] = (int64_t)((uint64_t)i * 2654435761u % (uint64_t)there);
  a.list.rows = rows;
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, sl_symm_alloc(comm, there * bytes, &a.symm), done);
  memset(sl_peer_ptr(a.symm, comm->rank), 1, (size_t)(there * bytes));
  status = sl_tune_measure(comm, tune, &(sl_timed){.run = run_asking, .context = &a}, seconds);
  sl_symm_free(a.symm);
  *seconds /= BATCH;
done:
  sl_free(a.dst);
  sl_free(rows);
  return status;
}

/* Seconds of one message of a load, without the meeting. */
static sley_status time_message(sl_comm *comm, sl_tuning *tune, const load *l, double meeting,
                                double *seconds) {
  SL_TRY(time_exchange(comm, tune, l, seconds));
  *seconds = fmax(*seconds - meeting, 0.2 * *seconds) / messages_of(comm, l);
  return SLEY_OK;
}

/* If ranks enqueue, one-sided rows arrive by exchanges of their devices. */
static sley_status tune_fetches(sl_comm *comm, sl_tuning *tune, sl_link link, double meeting,
                                sl_link_speed *speed) {
  for (int i = 0; i < FETCHES; i++) {
    load l = {.link = link,
              .count = ROWS_AT_ONCE,
              .bytes = fetched_bytes[i],
              .listed = true,
              .anywhere = true,
              .by_row = true,
              .alone = tune->hosts && link == SL_LINK_MESSAGE};
    double seconds;
    if (sl_tune_enqueues(comm))
      SL_TRY(time_message(comm, tune, &l, meeting, &seconds));
    else
      SL_TRY(time_rows(comm, tune, link, fetched_bytes[i], &seconds));
    speed->fetch[i] = (sl_link_point){(double)fetched_bytes[i], seconds};
    speed->fetches++;
  }
  mend(speed->fetch, speed->fetches);
  return SLEY_OK;
}

/* Measures messages by size, without the meeting. Their rows are contiguous, because gathering is measured
 * separately, as the link self. But a device loads rows in place from its peers, as it gathers its own. */
static sley_status tune_messages(sl_comm *comm, sl_tuning *tune, sl_link link, double meeting,
                                 sl_link_speed *speed) {
  bool gathers = link == SL_LINK_SELF || (link == SL_LINK_DIRECT && sl_tune_enqueues(comm));
  for (int i = 0; i < MESSAGES && (double)message_bytes[i] <= tune->most_bytes; i++) {
    int64_t bytes = message_bytes[i];
    load l = {.link = link,
              .count = i < BY_ROW ? ROWS_AT_ONCE : bytes / ROW,
              .bytes = i < BY_ROW ? bytes : ROW,
              .listed = i < BY_ROW || gathers,
              .by_row = i < BY_ROW,
              .alone = tune->hosts && link == SL_LINK_MESSAGE};
    double seconds;
    SL_TRY(time_message(comm, tune, &l, meeting, &seconds));
    speed->point[i] = (sl_link_point){(double)bytes, seconds};
    speed->points++;
  }
  mend(speed->point, speed->points);
  return SLEY_OK;
}

sley_status sl_tune_link(sl_comm *comm, sl_tuning *tune, sl_link link) {
  sl_machine *m = &tune->machine;
  sl_link_speed speed = {0};
  double meeting;
  SL_TRY(time_meeting(comm, tune, link, &meeting));
  SL_TRY(tune_messages(comm, tune, link, meeting, &speed));
  if (link != SL_LINK_SELF)
    SL_TRY(tune_fetches(comm, tune, link, meeting, &speed));
  const sl_link_point *first = speed.point, *last = &speed.point[speed.points - 1];
  speed.bandwidth = last->bytes / last->seconds;
  speed.latency = fmax(first->seconds - first->bytes / speed.bandwidth, 0);
  if (comm->rank > 0)
    return SLEY_OK;
  m->link[link] = speed;
  if (link == SL_LINK_SELF)
    m->pack_bandwidth = speed.bandwidth;
  else
    m->meeting = fmax(m->meeting, meeting);
  return SLEY_OK;
}

sley_status sl_tune_gather(sl_comm *comm, sl_tuning *tune) {
  sl_machine *m = &tune->machine;
  const int64_t *reach = sl_tune_enqueues(comm) ? gathered_by_gpu : gathered_by_core;
  double meeting, seconds;
  SL_TRY(time_meeting(comm, tune, SL_LINK_SELF, &meeting));
  for (int w = 0; w < GATHERS; w++)
    for (int r = 0; r < REACHES && (double)reach[r] <= tune->most_bytes; r++) {
      load l = {.link = SL_LINK_SELF,
                .count = reach[r] / gathered_bytes[w],
                .bytes = gathered_bytes[w],
                .listed = true};
      SL_TRY(time_message(comm, tune, &l, meeting, &seconds));
      if (comm->rank == 0)
        m->gather[m->gathers++] =
            (sl_rate){(double)gathered_bytes[w], (double)reach[r], (double)reach[r] / seconds};
    }
  return SLEY_OK;
}

sley_status sl_tune_node(sl_comm *comm, sl_tuning *tune) {
  int64_t bytes = message_bytes[MESSAGES - 1];
  load l = {.link = SL_LINK_MESSAGE, .count = bytes / ROW, .bytes = ROW};
  double meeting, seconds;
  SL_TRY(time_meeting(comm, tune, SL_LINK_MESSAGE, &meeting));
  SL_TRY(time_message(comm, tune, &l, meeting, &seconds));
  if (comm->rank == 0) {
    tune->machine.node_bandwidth = (double)bytes * comm->workgroup / seconds;
    tune->machine.messages_move = tune->moves;
  }
  return SLEY_OK;
}

sley_status sl_tune_crowded(sl_comm *comm, sl_tuning *tune) {
  double meeting;
  SL_TRY(time_meeting(comm, tune, SL_LINK_DIRECT, &meeting));
  if (comm->rank == 0)
    tune->machine.crowded_meeting = fmax(meeting, tune->machine.meeting);
  return SLEY_OK;
}
