/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bootstrap/launcher.h"
#include "ops/spmm.h"
#include "transport/registry.h"

enum {
  MOST_RANKS = 64,
  MOST_CORES = 8,
  SLOTS = 90,
  LEAST_RUNS = 5,
  MOST_RUNS = 401,
  ROW = 256,
  FEW = 4,
  MANY = 20
};
static const int64_t message_bytes[] = {64, 256, 1024, 4096, 65536, 1 << 20, 8 << 20, 32 << 20};
static const int64_t widths[] = {4, 16, 64, 128}; /* of X, in f32 */
static const int64_t reaches[] = {1 << 18, 1 << 21, 1 << 23, 1 << 25};
enum {
  MESSAGES = sizeof message_bytes / sizeof *message_bytes,
  WIDTHS = sizeof widths / sizeof *widths,
  REACHES = sizeof reaches / sizeof *reaches,
  BY_ROW = 4, /* so many of the sizes are measured as messages of a row each */
  ROWS_AT_ONCE = 16384,
  NEAR = 512 /* rows to either side that half of a matrix's entries name */
};

/* Shared by the ranks; rank 0 writes to machine. */
typedef struct tuning {
  sl_machine machine;
  double slot; /* seconds for one figure */
  bool hosts;  /* messages travel between hosts, whose ranks share their links */
  bool moves;  /* and do so while ranks compute */
} tuning;

typedef struct timed {
  sley_status (*run)(void *context);
  void *context;
} timed;

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The slowest rank's seconds, each run begun together, the fastest tenth of the runs: whatever else the
 * machine does makes them longer only. The first run does not count. Collective. */
static sley_status measure(sl_comm *comm, double slot, const timed *what, double *seconds) {
  int64_t times[MOST_RUNS], spent = 0, budget = (int64_t)(slot * 1e9);
  int runs = 0;
  SL_TRY(what->run(what->context));
  while (runs < MOST_RUNS && (runs < LEAST_RUNS || spent < budget)) {
    SL_TRY(comm->ops->barrier(comm));
    double start = sl_now();
    SL_TRY(what->run(what->context));
    times[runs] = (int64_t)((sl_now() - start) * 1e9);
    SL_TRY(comm->ops->allreduce(comm, SL_MAX, &times[runs], 1));
    spent += times[runs++];
  }
  qsort(times, (size_t)runs, sizeof *times, by_value);
  *seconds = (double)times[runs / 10] * 1e-9;
  return SLEY_OK;
}

/* ---- links */

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

/* The rank that this one measures a link class with; -1: none. Ranks in pairs: within the workgroup, or
 * between two workgroups; alone: only the first of each. */
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

/* What an exchange of tuning moves: count rows of bytes each, scattered over src if so. */
typedef struct load {
  sl_link link;
  int64_t count, bytes;
  bool scattered, by_row;
  bool alone; /* one pair of two workgroups has the link between them to itself */
} load;

/* Pairs send each other such a load, all at once. */
static sley_status time_exchange(sl_comm *comm, const tuning *tune, const load *l, double *seconds) {
  int peer = partner_of(comm, l->link, l->alone);
  int64_t *rows = NULL;
  char *memory = NULL;
  sley_status status = SL_NEW(rows, l->count, "rows to send");
  if (status == SLEY_OK)
    status = SL_NEW(memory, 2 * l->count * l->bytes, "rows to send");
  for (int64_t i = 0; i < l->count && status == SLEY_OK; i++)
    rows[i] = (int64_t)((uint64_t)i * 2654435761u % (uint64_t)l->count);
  if (status == SLEY_OK) /* or all pages would be the same one, of zeros */
    memset(memory, 1, (size_t)(2 * l->count * l->bytes));
  sl_row_list to = {.peer = peer, .count = l->count, .rows = l->scattered ? rows : NULL, .bytes = l->bytes};
  sl_row_list from = {.peer = peer, .count = l->count, .bytes = l->bytes};
  int lists = peer >= 0;
  sl_exchange_spec spec = {.name = "tune",
                           .sends = lists,
                           .recvs = lists,
                           .send = &to,
                           .recv = &from,
                           .dtype = SLEY_F32,
                           .grain = l->by_row ? SL_GRAIN_ROW : SL_GRAIN_PEER};
  trip t = {comm, NULL, memory, memory ? memory + l->count * l->bytes : NULL, l->bytes};
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, comm->ops->exchange_create(comm, &spec, &t.exchange), done);
  status = measure(comm, tune->slot, &(timed){run_trip, &t}, seconds);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  comm->ops->exchange_destroy(t.exchange);
done:
  sl_free(memory);
  sl_free(rows);
  return status;
}

static sley_status time_meeting(sl_comm *comm, const tuning *tune, sl_link link, double *seconds) {
  return time_exchange(comm, tune, &(load){.link = link, .count = 1, .bytes = 4}, seconds);
}

/* One link class: the meeting, then messages by size less the meeting. What packing takes is measured apart,
 * as the link self; over direct links it is part of the message, for only some transports pack. */
static sley_status tune_link(sl_comm *comm, tuning *tune, sl_link link) {
  sl_machine *m = &tune->machine;
  sl_link_speed speed = {.points = MESSAGES};
  double meeting;
  SL_TRY(time_meeting(comm, tune, link, &meeting));
  for (int i = 0; i < MESSAGES; i++) {
    int64_t bytes = message_bytes[i];
    load l = {.link = link,
              .count = i < BY_ROW ? ROWS_AT_ONCE : bytes / ROW,
              .bytes = i < BY_ROW ? bytes : ROW,
              .scattered = true,
              .by_row = i < BY_ROW,
              .alone = tune->hosts && link == SL_LINK_MESSAGE};
    double seconds;
    l.scattered = link != SL_LINK_MESSAGE || l.by_row;
    SL_TRY(time_exchange(comm, tune, &l, &seconds));
    seconds = fmax(seconds - meeting, 0.2 * seconds) / (l.by_row ? ROWS_AT_ONCE : 1);
    if (i > 0 && seconds < speed.point[i - 1].seconds) /* a longer one is no faster */
      seconds = speed.point[i - 1].seconds;
    speed.point[i] = (sl_link_point){(double)bytes, seconds};
  }
  const sl_link_point *first = speed.point, *last = &speed.point[MESSAGES - 1];
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

/* The link of a host, which its ranks share. */
static sley_status tune_node(sl_comm *comm, tuning *tune) {
  int64_t bytes = message_bytes[MESSAGES - 1];
  double meeting, seconds;
  SL_TRY(time_meeting(comm, tune, SL_LINK_MESSAGE, &meeting));
  SL_TRY(time_exchange(comm, tune, &(load){.link = SL_LINK_MESSAGE, .count = bytes / ROW, .bytes = ROW},
                       &seconds));
  if (comm->rank == 0) {
    tune->machine.node_bandwidth = (double)bytes * comm->workgroup / fmax(seconds - meeting, 0.2 * seconds);
    tune->machine.messages_move = tune->moves;
  }
  return SLEY_OK;
}

/* ---- kernels */

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* A column of an entry: near the diagonal, or anywhere in the block. */
static int64_t column_of(uint64_t seed, int64_t row, int64_t n, bool near) {
  uint64_t bits = mix(seed);
  int64_t width = n < 2 * NEAR ? n : 2 * NEAR, first = row - width / 2;
  if (!near)
    return (int64_t)(bits % (uint64_t)n);
  first = first < 0 ? 0 : first > n - width ? n - width : first;
  return first + (int64_t)(bits % (uint64_t)width);
}

/* Rank's rows of a block diagonal matrix, degree entries each. */
static sley_status make_block(const sl_comm *comm, int64_t n, int degree, bool near, sley_matrix **out) {
  sl_csr_arrays csr;
  SL_TRY(sl_csr_arrays_alloc(n, n * degree, SLEY_I32, SLEY_F32, &csr));
  int32_t *col = csr.col;
  float *val = csr.val;
  for (int64_t i = 0; i < n; i++) {
    int32_t *row = col + i * degree;
    csr.rowptr[i] = i * degree;
    for (int j = 0; j < degree; j++) {
      int32_t c = (int32_t)(column_of((uint64_t)(i * degree + j) + 1, i, n, near) + comm->rank * n);
      int at = j;
      for (; at > 0 && row[at - 1] > c; at--)
        row[at] = row[at - 1];
      row[at] = c;
      val[i * degree + j] = 1;
    }
  }
  csr.rowptr[n] = n * degree;
  return sl_matrix_adopt(n, n * comm->size, SLEY_I32, SLEY_F32, csr, -1, out);
}

typedef struct product {
  sley_plan *plan;
  const float *x;
  float *y;
  int64_t k;
} product;

static sley_status run_product(void *context) {
  product *p = context;
  return sl_spmm_execute(p->plan, 1, p->x, p->k, 0, p->y, p->k);
}

/* A product with n rows a rank; *at_hand: the share of entries whose row of X is. */
static sley_status time_product(sl_comm *comm, const tuning *tune, int64_t n, int degree, bool near,
                                int64_t k, double *seconds, double *at_hand) {
  int64_t begin[MOST_RANKS + 1];
  float *x = NULL, *y = NULL;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "halo-coalesced";
  for (int r = 0; r <= comm->size; r++)
    begin[r] = r * n;
  sley_status status = make_block(comm, n, degree, near, &block);
  if (status == SLEY_OK)
    status = SL_NEW(x, n * k, "X");
  for (int64_t i = 0; i < n * k && status == SLEY_OK; i++)
    x[i] = (float)(i % 17);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(y, n * k, "Y");
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, sl_spmm_plan(comm, block, begin, begin, k, &options, &plan), done);
  status = measure(comm, tune->slot, &(timed){run_product, &(product){plan, x, y, k}}, seconds);
  *at_hand = plan->plan.near_local;
  sl_spmm_plan_destroy(plan);
done:
  sl_free(y);
  sl_free(x);
  sley_matrix_destroy(block);
  return status;
}

/* Of rows of so many bytes that take so many together. Products near the diagonal, whose rows of X are at
 * hand, with few and with many entries a row tell these from storing Y; entries anywhere tell what those cost
 * whose row is not. */
static sley_status tune_products(sl_comm *comm, tuning *tune, int64_t width, int64_t reach, bool first) {
  sl_machine *m = &tune->machine;
  int64_t row = 4 * width, n = reach / row;
  double few, close, many, at_hand, ignored;
  SL_TRY(time_product(comm, tune, n, FEW, true, width, &few, &ignored));
  SL_TRY(time_product(comm, tune, n, MANY, true, width, &close, &ignored));
  SL_TRY(time_product(comm, tune, n, MANY, false, width, &many, &at_hand));
  if (comm->rank > 0)
    return SLEY_OK;
  few = fmax(few - m->meeting, 0.5 * few);
  close = fmax(close - m->meeting, 0.5 * close);
  many = fmax(many - m->meeting, close);
  double near = fmax(close - few, 0.5 * close) / (double)(n * (MANY - FEW));
  double stored = fmax(few - (double)(n * FEW) * near, 0.1 * few);
  double entry = (many - stored) / (double)(n * MANY), far = entry;
  if (at_hand < 0.9)
    far = fmax(entry - at_hand * near, 0) / (1 - at_hand);
  double store_rate = (double)reach / stored, near_rate = (double)(8 + row) / near;
  if (!first) { /* more is no faster: a measurement that says so has met with other work */
    store_rate = fmin(store_rate, m->store[m->stores - 1].bandwidth);
    m->nears--; /* of sizes that are no longer all in a core's own cache, the first */
    near_rate = reach > reaches[2] ? m->near[m->nears].bandwidth : near_rate;
  }
  m->rate[m->rates++] = (sl_rate){(double)row, (double)reach, (double)(8 + row) / fmax(far, near)};
  m->store[m->stores++] = (sl_rate){(double)row, (double)reach, store_rate};
  m->near[m->nears++] = (sl_rate){(double)row, 0, near_rate};
  m->spmm_bandwidth = m->rate[m->rates - 1].bandwidth;
  m->stream_bandwidth = store_rate;
  return SLEY_OK;
}

static sley_status tune_kernels(sl_comm *comm, tuning *tune) {
  for (int w = 0; w < WIDTHS; w++)
    for (int r = 0; r < REACHES; r++)
      if (reaches[r] / (4 * widths[w]) <= 1 << 19) /* narrow rows of a long X take long to make */
        SL_TRY(tune_products(comm, tune, widths[w], reaches[r], r == 0));
  return SLEY_OK;
}

/* ---- ranks */

static sley_status tune_direct(sl_comm *comm, void *arg) {
  SL_TRY(tune_link(comm, arg, SL_LINK_SELF));
  SL_TRY(tune_link(comm, arg, SL_LINK_DIRECT));
  return tune_kernels(comm, arg);
}

static sley_status tune_message(sl_comm *comm, void *arg) {
  return tune_link(comm, arg, SL_LINK_MESSAGE);
}

/* Ranks that a launcher has started, perhaps on several hosts. */
static sley_status tune_launched(sl_comm *comm, void *arg) {
  tuning *tune = arg;
  sl_machine *m = &tune->machine;
  bool several = sl_workgroups(comm) > 1;
  tune->hosts = several;
  if (comm->size > MOST_RANKS)
    return sl_fail(SLEY_ERR_ARG, "%d ranks are measured at most, not %d", MOST_RANKS, comm->size);
  if (comm->workgroup > 1)
    SL_TRY(tune_direct(comm, arg));
  if (several)
    SL_TRY(tune_message(comm, arg));
  if (several)
    SL_TRY(tune_node(comm, arg));
  if (comm->workgroup == 1) {
    SL_TRY(tune_link(comm, arg, SL_LINK_SELF));
    SL_TRY(tune_kernels(comm, arg));
    m->link[SL_LINK_DIRECT] = m->link[SL_LINK_MESSAGE];
  } else if (!several) {
    m->link[SL_LINK_MESSAGE] = m->link[SL_LINK_DIRECT];
  }
  return SLEY_OK;
}

/* More ranks than cores. */
static sley_status tune_crowded(sl_comm *comm, void *arg) {
  tuning *tune = arg;
  double meeting;
  SL_TRY(time_meeting(comm, tune, SL_LINK_DIRECT, &meeting));
  if (comm->rank == 0)
    tune->machine.crowded_meeting = fmax(meeting, tune->machine.meeting);
  return SLEY_OK;
}

static sley_status run(const sl_transport_backend *backend, int cores, tuning *shared) {
  int ranks = cores < 2 ? 2 : cores > MOST_CORES ? MOST_CORES : cores;
  sl_launch launch = {.ranks = ranks, .workgroup = ranks, .threads = 1, .device = "cpu"};
  SL_TRY(backend->run(&launch, tune_direct, shared));
  launch.workgroup = 1;
  SL_TRY(backend->run(&launch, tune_message, shared));
  launch.ranks = launch.workgroup = 2 * ranks;
  return backend->run(&launch, tune_crowded, shared);
}

sley_status sl_tune(const char *transport, double seconds, sl_machine *out, bool *first) {
  const sl_transport_backend *backend;
  sl_launcher launcher = {0};
  char host[64] = "host";
  int cores = sl_cores();
  SL_TRY(sl_transport_backend_find(transport, &backend));
  if (strcmp(transport, "threads") != 0)
    SL_TRY(sl_launcher_find(&launcher));
  *first = launcher.rank == 0;
  /* Ranks may be processes forked from this one. */
  tuning *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "out of memory for a machine's figures");
  gethostname(host, sizeof host - 1);
  *shared = (tuning){.slot = seconds / SLOTS, .moves = strcmp(transport, "tcp") == 0};
  sl_machine *m = &shared->machine;
  *m = (sl_machine){.device = "cpu", .source = "measured now", .cores = cores};
  snprintf(m->name, sizeof m->name, "%s, %d cores, %.8s", host, cores, transport);
  sl_launch launch = {.ranks = launcher.size, .workgroup = launcher.size, .threads = 1, .device = "cpu"};
  sley_status status =
      launcher.name ? backend->run(&launch, tune_launched, shared) : run(backend, cores, shared);
  if (status == SLEY_OK)
    *out = *m;
  munmap(shared, sizeof *shared);
  return status;
}
