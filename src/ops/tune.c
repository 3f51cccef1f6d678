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
#include "ops/spmm.h"
#include "transport/registry.h"

enum { MOST_RANKS = 8, SLOTS = 64, LEAST_RUNS = 3, MOST_RUNS = 201, DEGREE = 8, ROW = 256 };
static const int64_t message_bytes[] = {64, 256, 1024, 4096, 65536, 1 << 20, 8 << 20, 32 << 20};
static const int64_t widths[] = {4, 16, 64, 128}; /* of X, in f32 */
static const int64_t reaches[] = {1 << 18, 1 << 21, 1 << 24, 1 << 26};
enum {
  MESSAGES = sizeof message_bytes / sizeof *message_bytes,
  WIDTHS = sizeof widths / sizeof *widths,
  REACHES = sizeof reaches / sizeof *reaches,
  BY_ROW = 4, /* so many of the sizes are measured as messages of a row each */
  ROWS_AT_ONCE = 4096,
  ARRAY = 1 << 26 /* bytes of the arrays that memory is measured with */
};

/* Shared by the ranks; rank 0 writes to machine. */
typedef struct tuning {
  sl_machine machine;
  double slot; /* seconds for one figure */
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

/* Neighbours in pairs send each other count rows of bytes each, scattered over src; an odd last rank does
 * not. */
static sley_status time_exchange(sl_comm *comm, const tuning *tune, int64_t count, int64_t bytes, bool by_row,
                                 double *seconds) {
  int peer = comm->rank ^ 1;
  int64_t *rows = NULL;
  char *memory = NULL;
  sley_status status = SL_NEW(rows, count, "rows to send");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(memory, 2 * count * bytes, "rows to send");
  for (int64_t i = 0; i < count && status == SLEY_OK; i++)
    rows[i] = (int64_t)((uint64_t)i * 2654435761u % (uint64_t)count);
  sl_row_list to = {.peer = peer, .count = count, .rows = rows, .bytes = bytes};
  sl_row_list from = {.peer = peer, .count = count, .bytes = bytes};
  int lists = peer < comm->size;
  sl_exchange_spec spec = {.name = "tune",
                           .sends = lists,
                           .recvs = lists,
                           .send = &to,
                           .recv = &from,
                           .dtype = SLEY_F32,
                           .grain = by_row ? SL_GRAIN_ROW : SL_GRAIN_PEER};
  trip t = {comm, NULL, memory, memory ? memory + count * bytes : NULL, bytes};
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

/* One link class: the meeting, then messages by size less the meeting and what packing them takes. */
static sley_status tune_link(sl_comm *comm, tuning *tune, sl_link link) {
  sl_machine *m = &tune->machine;
  sl_link_speed speed = {.points = MESSAGES};
  double meeting;
  SL_TRY(time_exchange(comm, tune, 1, 4, false, &meeting));
  for (int i = 0; i < MESSAGES; i++) {
    int64_t bytes = message_bytes[i], count = i < BY_ROW ? ROWS_AT_ONCE : bytes / ROW;
    double seconds;
    SL_TRY(time_exchange(comm, tune, count, i < BY_ROW ? bytes : ROW, i < BY_ROW, &seconds));
    double whole = seconds;
    seconds -= meeting;
    if (link == SL_LINK_MESSAGE)
      seconds -= (double)count * (double)(i < BY_ROW ? bytes : ROW) / m->pack_bandwidth;
    seconds = fmax(seconds, 0.2 * whole) / (i < BY_ROW ? ROWS_AT_ONCE : 1);
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
  m->meeting = link == SL_LINK_DIRECT ? meeting : fmax(m->meeting, meeting);
  return SLEY_OK;
}

/* ---- memory */

typedef struct arrays {
  char *from, *to;
  uint64_t sum; /* so that reading is not left out */
} arrays;

static sley_status write_rows(void *context) {
  arrays *a = context;
  for (int64_t i = 0; i < ARRAY; i += ROW)
    memset(a->to + i, (int)(i >> 8), ROW);
  return SLEY_OK;
}

static sley_status gather_rows(void *context) {
  arrays *a = context;
  uint64_t rows = ARRAY / ROW;
  for (uint64_t i = 0; i < rows; i++)
    memcpy(a->to + i * ROW, a->from + i * 2654435761u % rows * ROW, ROW);
  return SLEY_OK;
}

static sley_status read_all(void *context) {
  arrays *a = context;
  const uint64_t *words = (const uint64_t *)a->from;
  for (int64_t i = 0; i < ARRAY / 8; i++)
    a->sum += words[i];
  return SLEY_OK;
}

static sley_status tune_memory(sl_comm *comm, tuning *tune) {
  arrays a = {0};
  double write = 0, gather = 0, read = 0;
  sley_status status = SL_NEW_ZERO(a.from, ARRAY, "an array");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(a.to, ARRAY, "an array");
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, measure(comm, tune->slot, &(timed){write_rows, &a}, &write), done);
  SL_TRY_GOTO(status, measure(comm, tune->slot, &(timed){gather_rows, &a}, &gather), done);
  SL_TRY_GOTO(status, measure(comm, tune->slot, &(timed){read_all, &a}, &read), done);
  if (comm->rank == 0) {
    tune->machine.stream_bandwidth = ARRAY / write;
    tune->machine.pack_bandwidth = ARRAY / gather;
    tune->machine.memory_bandwidth = (double)comm->size * ARRAY / read;
    tune->machine.link[SL_LINK_SELF] = (sl_link_speed){.bandwidth = ARRAY / gather};
  }
  status = comm->ops->barrier(comm);
done:
  sl_free(a.to);
  sl_free(a.from);
  return status;
}

/* ---- kernels */

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* Rank's rows of a block diagonal matrix, DEGREE entries each; of n columns a few are named often and most
 * seldom, as in graphs of people or pages: column number n u^3 for u uniform, spread over the block. */
static sley_status make_block(const sl_comm *comm, int64_t n, sley_matrix **out) {
  sl_csr_arrays csr;
  SL_TRY(sl_csr_arrays_alloc(n, n * DEGREE, SLEY_I32, SLEY_F32, &csr));
  int32_t *col = csr.col;
  float *val = csr.val;
  for (int64_t i = 0; i < n; i++) {
    int32_t *row = col + i * DEGREE;
    csr.rowptr[i] = i * DEGREE;
    for (int j = 0; j < DEGREE; j++) {
      double u = (double)(mix((uint64_t)(i * DEGREE + j) + 1) >> 11) * 0x1p-53;
      uint64_t hot = (uint64_t)((double)n * u * u * u);
      int32_t c = (int32_t)(hot * 2654435761u % (uint64_t)n + (uint64_t)(comm->rank * n));
      int at = j;
      for (; at > 0 && row[at - 1] > c; at--)
        row[at] = row[at - 1];
      row[at] = c;
      val[i * DEGREE + j] = 1;
    }
  }
  csr.rowptr[n] = n * DEGREE;
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

static sley_status time_product(sl_comm *comm, const tuning *tune, int64_t n, int64_t k, double *seconds) {
  int64_t begin[MOST_RANKS + 1];
  float *x = NULL, *y = NULL;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "halo-coalesced";
  for (int r = 0; r <= comm->size; r++)
    begin[r] = r * n;
  sley_status status = make_block(comm, n, &block);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(x, n * k, "X");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(y, n * k, "Y");
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, sl_spmm_plan(comm, block, begin, begin, k, &options, &plan), done);
  status = measure(comm, tune->slot, &(timed){run_product, &(product){plan, x, y, k}}, seconds);
  sl_spmm_plan_destroy(plan);
done:
  sl_free(y);
  sl_free(x);
  sl_matrix_destroy(block);
  return status;
}

static sley_status tune_kernels(sl_comm *comm, tuning *tune) {
  for (int w = 0; w < WIDTHS; w++)
    for (int r = 0; r < REACHES; r++) {
      int64_t row = 4 * widths[w], n = reaches[r] / row;
      double seconds;
      if (n > 1 << 20)
        continue; /* narrow rows of a long X take long to make and say little more */
      SL_TRY(time_product(comm, tune, n, widths[w], &seconds));
      if (comm->rank > 0)
        continue;
      sl_machine *m = &tune->machine;
      /* Storing Y is counted apart; a small Y stays in a cache and takes less than its stream. */
      double stored = fmin((double)(n * row) / m->stream_bandwidth, 0.25 * seconds);
      double sums = fmax(seconds - m->meeting - stored, 0.5 * seconds);
      double bytes = (double)(n * DEGREE) * (double)(8 + row);
      m->rate[m->rates++] = (sl_rate){(double)row, (double)reaches[r], bytes / sums};
      m->spmm_bandwidth = m->rate[m->rates - 1].bandwidth;
    }
  return SLEY_OK;
}

/* ---- ranks */

static sley_status tune_direct(sl_comm *comm, void *arg) {
  SL_TRY(tune_memory(comm, arg));
  SL_TRY(tune_link(comm, arg, SL_LINK_DIRECT));
  return tune_kernels(comm, arg);
}

static sley_status tune_message(sl_comm *comm, void *arg) {
  return tune_link(comm, arg, SL_LINK_MESSAGE);
}

sley_status sl_tune(const char *transport, double seconds, sl_machine *out) {
  const sl_transport_backend *backend;
  char host[64] = "host";
  int cores = sl_cores(), ranks = cores < 2 ? 2 : cores > MOST_RANKS ? MOST_RANKS : cores;
  SL_TRY(sl_transport_backend_find(transport, &backend));
  /* Ranks may be processes forked from this one. */
  tuning *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "out of memory for a machine's figures");
  gethostname(host, sizeof host - 1);
  *shared = (tuning){.slot = seconds / SLOTS};
  sl_machine *m = &shared->machine;
  *m = (sl_machine){.device = "cpu", .source = "measured now", .cores = cores};
  snprintf(m->name, sizeof m->name, "%s, %d cores, %.8s", host, cores, transport);
  sl_launch launch = {.ranks = ranks, .workgroup = ranks, .threads = 1, .device = "cpu"};
  sley_status status = backend->run(&launch, tune_direct, shared);
  launch.workgroup = 1;
  if (status == SLEY_OK)
    status = backend->run(&launch, tune_message, shared);
  if (status == SLEY_OK)
    *out = *m;
  munmap(shared, sizeof *shared);
  return status;
}
