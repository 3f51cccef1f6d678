/* SPDX-License-Identifier: Apache-2.0 */
/* The direct way if kernels can read all peers' memory (sl_mapped_serves): nothing is copied between ranks. A
 * rank compresses the arrays for its peers into its own area, at positions that leave room for the worst
 * case, so every rank knows where they are. SL_OP_SPARSE_SUM and SL_OP_DECOMPRESS read them there, and take
 * formats and sizes from the headers. So no host waits for a device in a run; the headers that the report and
 * the choice need come to the host later (headers.h).
 *
 * The area has the arrays for the peers, in the order of their ranks, and then the array of the own part. A
 * rank overwrites the former after its peers have read them, and so also the latter: the reclaim in the next
 * run ensures this. */
#include "base/memory.h"
#include "collective/headers.h"
#include "collective/mapped.h"
#include "collective/route.h"

typedef struct in_place {
  sl_sparse_route route;
  sl_mapped scatter, gather;
  char *area;      /* area in device memory */
  const void **at; /* headers to copy: two for each rank */
  sl_headers headers;
  double sums; /* last known density of this rank's reduced part; -1: not known yet */
} in_place;

/* ---- making */

/* Returns the position of sender's array for peer in the sender's area, in bytes; for peer = size, the end of
 * these arrays. */
static int64_t place_of(const sl_sparse_base *base, int sender, int peer) {
  int64_t at = 0;
  for (int p = 0; p < peer && sl_route_reduces(base); p++)
    if (p != sender)
      at += sl_transfer_slot(base->spec.dense.type, sl_route_reduced_values(base, p));
  return at;
}

static void list_scatter(in_place *d) {
  const sl_sparse_base *base = d->route.base;
  int rank = base->comm->rank;
  sl_mapped *m = &d->scatter;
  for (int p = 0; p < base->comm->size; p++) {
    if (p == rank)
      continue;
    sl_transfer_list(m->send, &m->sends, p, sl_route_reduced_values(base, p), place_of(base, rank, p));
    sl_transfer_list(m->recv, &m->recvs, p, sl_route_reduced_values(base, rank), place_of(base, p, rank));
  }
}

static void list_gather(in_place *d) {
  const sl_sparse_base *base = d->route.base;
  int rank = base->comm->rank, size = base->comm->size;
  sl_mapped *m = &d->gather;
  for (int p = 0; p < size; p++) {
    if (p == rank)
      continue;
    sl_transfer_list(m->send, &m->sends, p, sl_route_values(base, rank), place_of(base, rank, size));
    sl_transfer_list(m->recv, &m->recvs, p, sl_route_values(base, p), place_of(base, p, size));
  }
}

static int items_of(const sl_mapped *m) {
  return m->sends + m->recvs;
}

static sley_status take_memory(in_place *d) {
  sl_sparse_base *base = d->route.base;
  int size = base->comm->size;
  int64_t bytes = place_of(base, base->comm->rank, size);
  SL_TRY(sl_mapped_begin(&d->scatter, size));
  SL_TRY(sl_mapped_begin(&d->gather, size));
  SL_TRY(SL_NEW(d->at, 2 * (int64_t)size, "a sparse collective"));
  if (sl_route_reduces(base))
    list_scatter(d);
  if (sl_route_gathers_parts(base)) {
    list_gather(d);
    bytes += sl_transfer_slot(base->spec.dense.type, sl_route_values(base, base->comm->rank));
  }
  SL_TRY(sl_route_take(base, bytes, (void **)&d->area));
  SL_TRY(sl_headers_open(&d->headers, base->comm->queue, base->wrong,
                         items_of(&d->scatter) + items_of(&d->gather)));
  return sl_route_reduces(base) ? sl_route_take_expanded(base, size - 1, base->longest) : SLEY_OK;
}

static sley_status start(sl_sparse_base *base, sl_sparse_route **out) {
  in_place *d;
  SL_TRY(SL_NEW_ZERO(d, 1, "a sparse collective"));
  *out = &d->route;
  d->route = (sl_sparse_route){.base = base};
  d->sums = -1;
  sley_type type = base->spec.dense.type;
  d->scatter = (sl_mapped){.name = "sparse reduce-scatter", .comm = base->comm, .type = type};
  d->gather = (sl_mapped){.name = "sparse all-gather", .comm = base->comm, .type = type};
  return take_memory(d);
}

static sley_status in_place_open(sl_sparse_base *base, sl_sparse_route **out) {
  SL_TRY(sl_agree(base->comm, start(base, out)));
  in_place *d = (in_place *)*out;
  if (sl_route_reduces(base))
    SL_TRY(sl_mapped_make(&d->scatter));
  return sl_route_gathers_parts(base) ? sl_mapped_make(&d->gather) : SLEY_OK;
}

static void in_place_close(sl_sparse_route *route) {
  in_place *d = (in_place *)route;
  sl_mapped_destroy(&d->gather);
  sl_mapped_destroy(&d->scatter);
  sl_headers_close(&d->headers);
  sl_route_give(route->base, d->area);
  sl_free(d->at);
  sl_free(d);
}

/* ---- running */

/* Copies the headers of a round, which is open; `first`: number of its first header in the run. */
static sley_status take_headers(in_place *d, const sl_mapped *m, int first, sl_queue *queue) {
  for (int i = 0; i < m->sends; i++)
    d->at[i] = d->area + m->send[i].at;
  for (int i = 0; i < m->recvs; i++)
    d->at[m->sends + i] = sl_mapped_src(m, i);
  return sl_headers_take(&d->headers, first, items_of(m), d->at, queue);
}

static sley_status fold(in_place *d, const void *src, void *dst, sl_queue *queue) {
  sl_sparse_base *base = d->route.base;
  int rank = base->comm->rank;
  const sl_mapped *scatter = &d->scatter;
  base->src[rank] = NULL;
  for (int i = 0; i < scatter->recvs; i++)
    base->src[scatter->recv[i].peer] = sl_mapped_src(scatter, i);
  sl_route_fold_args args = {.values = sl_route_reduced_values(base, rank),
                             .parts = base->comm->size,
                             .own = rank,
                             .own_src = sl_route_reduced_part(base, src, rank),
                             .dst = dst};
  return sl_route_fold(base, &args, queue);
}

static sley_status in_place_scatter(sl_sparse_route *route, const void *src, void *dst, double *density,
                                    sl_queue *queue) {
  in_place *d = (in_place *)route;
  sl_sparse_base *base = route->base;
  sl_mapped *scatter = &d->scatter;
  SL_TRY(sl_mapped_reclaim(scatter, queue));
  SL_TRY(sl_route_compress_reduced(base, scatter->send, scatter->sends, src, d->area, queue));
  SL_TRY(sl_mapped_open(scatter, d->area, queue));
  SL_TRY(fold(d, src, dst, queue));
  SL_TRY(take_headers(d, scatter, 0, queue));
  SL_TRY(sl_mapped_end(scatter, queue));
  *density = d->sums >= 0 ? d->sums : sl_density_of_sums(base->density, base->comm->size);
  return SLEY_OK;
}

static sley_status in_place_gather(sl_sparse_route *route, const void *own, double density, void *dst,
                                   sl_queue *queue) {
  in_place *d = (in_place *)route;
  sl_sparse_base *base = route->base;
  sl_mapped *gather = &d->gather;
  int64_t values = sl_route_values(base, base->comm->rank);
  char *own_dst = sl_route_part(base, dst, base->comm->rank);
  SL_TRY(sl_mapped_reclaim(gather, queue));
  if (values > 0)
    SL_TRY(sl_route_compress(base, sl_route_format(base, SL_LINK_DIRECT, true, values, density), own, values,
                             d->area + place_of(base, base->comm->rank, base->comm->size),
                             own_dst != own ? own_dst : NULL, queue));
  SL_TRY(sl_mapped_open(gather, d->area, queue));
  for (int i = 0; i < gather->recvs; i++) {
    const sl_transfer_item *item = &gather->recv[i];
    sl_route_list(base, sl_mapped_src(gather, i), sl_transfer_room(base->spec.dense.type, item->values),
                  item->values, sl_route_part(base, dst, item->peer));
  }
  SL_TRY(sl_route_decompress(base, queue));
  SL_TRY(take_headers(d, gather, items_of(&d->scatter), queue));
  return sl_mapped_end(gather, queue);
}

static sley_status in_place_finish(sl_sparse_route *route, sl_queue *queue) {
  return sl_headers_send(&((in_place *)route)->headers, queue);
}

/* ---- the headers of earlier runs */

/* Adds one exchange to the report. The transport has counted the headers; the bytes after them are counted
   here. */
static sley_status report_round(const in_place *d, sl_mapped *m, const sl_compressed_header *header,
                                unsigned what, sl_sparse_report *report) {
  sl_comm *comm = d->route.base->comm;
  int64_t received = 0;
  SL_TRY(sl_mapped_measure(m, header));
  sl_route_report_made(comm, report, m->send, m->sends, header, what);
  for (int i = 0; i < m->sends; i++)
    report->sent += m->send[i].bytes;
  for (int i = 0; i < m->recvs; i++)
    received += m->recv[i].bytes;
  report->received += received;
  comm->ops->counters_add(comm, SL_LINK_DIRECT, received - m->recvs * (int64_t)SL_COMPRESSED_HEADER, 0);
  return SLEY_OK;
}

/* Adds the gathered parts to the report; header: this rank's header for all peers, then the headers of the
   peers. */
static void report_result(in_place *d, const sl_compressed_header *header, sl_sparse_report *report) {
  const sl_sparse_base *base = d->route.base;
  const sl_mapped *gather = &d->gather;
  report->result_nonzeros = gather->sends > 0 ? header[0].nonzeros : 0;
  for (int i = 0; i < gather->recvs; i++)
    report->result_nonzeros += header[gather->sends + i].nonzeros;
  if (gather->sends > 0 && sl_route_reduces(base))
    d->sums = (double)header[0].nonzeros / (double)header[0].count;
}

/* Processes the headers of a run. is_last: the report is about this run. */
static sley_status note_run(in_place *d, const sl_headers_run *run, bool is_last) {
  sl_sparse_base *base = d->route.base;
  sl_sparse_report report = {.path = base->report.path,
                             .in_place = base->report.in_place,
                             .reason = base->report.reason,
                             .dense_sent = base->report.dense_sent,
                             .result_nonzeros = -1};
  const sl_compressed_header *gathered = run->header + items_of(&d->scatter);
  SL_TRY(sl_route_check(run->verdict));
  SL_TRY(report_round(d, &d->scatter, run->header, SL_ARRAYS_OF_SRC, &report));
  SL_TRY(report_round(d, &d->gather, gathered, sl_route_gathered(base), &report));
  if (sl_route_gathers_parts(base))
    report_result(d, gathered, &report);
  base->known = (sl_sparse_counts){report.values, report.nonzeros};
  if (is_last)
    base->report = report;
  return SLEY_OK;
}

/* Processes all headers that have arrived; if waits is set, also waits for headers in flight. */
static sley_status note_runs(in_place *d, bool waits) {
  bool ran_last = d->route.base->report.in_place, come = true;
  while (come) {
    sl_headers_run run;
    SL_TRY(sl_headers_read(&d->headers, waits, &come, &run));
    if (come)
      SL_TRY(note_run(d, &run, ran_last && sl_headers_waiting(&d->headers) == 0));
  }
  return SLEY_OK;
}

/* If the maximum number of runs is in flight, the host also waits, because it is far ahead of the device. */
static sley_status in_place_settle(sl_sparse_route *route, bool wait) {
  in_place *d = (in_place *)route;
  sl_comm *comm = route->base->comm;
  SL_TRY(note_runs(d, false));
  int64_t waiting = sl_headers_waiting(&d->headers);
  if (waiting == 0 || (!wait && waiting < SL_HEADERS_RUNS))
    return SLEY_OK;
  SL_TRY(comm->ops->wait(comm));
  return note_runs(d, true);
}

const sl_sparse_route_ops sl_sparse_in_place = {.in_place = true,
                                                .copies_own = true,
                                                .open = in_place_open,
                                                .scatter = in_place_scatter,
                                                .gather = in_place_gather,
                                                .finish = in_place_finish,
                                                .settle = in_place_settle,
                                                .close = in_place_close};
