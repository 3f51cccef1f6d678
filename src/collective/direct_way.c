/* SPDX-License-Identifier: Apache-2.0 */
/* The direct way: each array is sent directly to the rank that needs it. It suits comms in which every pair
 * of ranks has a link; if kernels can read all peers' memory, in_place_way.c does the same. An all-reduce of
 * two ranks is a reduce-scatter whose parts are the whole array. */
#include "base/memory.h"
#include "collective/scatter.h"
#include "device/device.h"

typedef struct direct {
  sl_sparse_route route;
  sl_transfer scatter, gather;
  char *send, *recv; /* areas in device memory, which both transfers use */
} direct;

/* ---- making */

/* Lists the transfers of a gather: every rank sends its part to each peer, in one or two formats. */
static void list_gather(direct *d, int64_t *send, int64_t *recv) {
  const sl_sparse_base *base = d->route.base;
  int rank = base->comm->rank;
  sley_type type = base->spec.dense.type;
  for (int p = 0; p < base->comm->size; p++) {
    if (p == rank)
      continue;
    sl_transfer_send(&d->gather, p, sl_route_values(base, rank), 0);
    sl_transfer_recv(&d->gather, p, sl_route_values(base, p), *recv);
    *recv += sl_transfer_slot(type, sl_route_values(base, p));
  }
  *send = 2 * sl_transfer_slot(type, sl_route_values(base, rank));
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static sley_status take_memory(direct *d) {
  sl_sparse_base *base = d->route.base;
  int64_t send[2] = {0, 0}, recv[2] = {0, 0};
  SL_TRY(sl_transfer_begin(&d->scatter, base->comm->size));
  SL_TRY(sl_transfer_begin(&d->gather, base->comm->size));
  if (sl_route_reduces(base))
    sl_scatter_list(base, &d->scatter, &send[0], &recv[0]);
  if (sl_route_gathers_parts(base))
    list_gather(d, &send[1], &recv[1]);
  SL_TRY(sl_route_take(base, larger(send[0], send[1]), (void **)&d->send));
  SL_TRY(sl_route_take(base, larger(recv[0], recv[1]), (void **)&d->recv));
  return sl_route_reduces(base) ? sl_route_take_expanded(base, base->comm->size - 1, base->longest) : SLEY_OK;
}

static sley_status start(sl_sparse_base *base, sl_sparse_route **out) {
  direct *d;
  SL_TRY(SL_NEW_ZERO(d, 1, "a sparse collective"));
  *out = &d->route;
  d->route = (sl_sparse_route){.base = base};
  sley_type type = base->spec.dense.type;
  d->scatter = (sl_transfer){.name = "sparse reduce-scatter", .comm = base->comm, .type = type};
  d->gather = (sl_transfer){.name = "sparse all-gather", .comm = base->comm, .type = type};
  return take_memory(d);
}

static sley_status direct_open(sl_sparse_base *base, sl_sparse_route **out) {
  SL_TRY(sl_agree(base->comm, start(base, out)));
  direct *d = (direct *)*out;
  if (sl_route_reduces(base))
    SL_TRY(sl_transfer_make(&d->scatter));
  return sl_route_gathers_parts(base) ? sl_transfer_make(&d->gather) : SLEY_OK;
}

static void direct_close(sl_sparse_route *route) {
  direct *d = (direct *)route;
  sl_transfer_destroy(&d->gather);
  sl_transfer_destroy(&d->scatter);
  sl_route_give(route->base, d->recv);
  sl_route_give(route->base, d->send);
  sl_free(d);
}

/* ---- running */

static sley_status direct_scatter(sl_sparse_route *route, const void *src, void *dst, double *density,
                                  sl_queue *queue) {
  direct *d = (direct *)route;
  return sl_scatter_run(route->base, &d->scatter, d->send, d->recv, src, dst, density, queue);
}

/* Compresses own in the format of each link class that leads to a peer; if both formats are the same, only
 * once. */
static sley_status compress_own(direct *d, const void *own, double density, sl_queue *queue) {
  sl_sparse_base *base = d->route.base;
  sl_transfer *gather = &d->gather;
  int64_t values = sl_route_values(base, base->comm->rank);
  int64_t slot = sl_transfer_slot(base->spec.dense.type, values);
  sl_compressed_format made[2];
  int count = 0;
  for (int i = 0; i < gather->sends; i++) {
    sl_link link = sl_link_to(base->comm, gather->send[i].peer);
    sl_compressed_format format = sl_route_format(base, link, true, values, density);
    int place = 0;
    while (place < count && made[place] != format)
      place++;
    gather->send[i].at = place * slot;
    if (place < count)
      continue;
    made[count++] = format;
    SL_TRY(sl_route_compress(base, format, own, values, d->send + place * slot, NULL, queue));
  }
  return SLEY_OK;
}

static sley_status direct_gather(sl_sparse_route *route, const void *own, double density, void *dst,
                                 sl_queue *queue) {
  direct *d = (direct *)route;
  sl_sparse_base *base = route->base;
  sl_transfer *gather = &d->gather;
  SL_TRY(compress_own(d, own, density, queue));
  SL_TRY(sl_route_measure(base, gather, d->send, SL_ARRAYS_GATHERED, queue));
  int64_t nonzeros = gather->sends > 0 ? gather->header[0].nonzeros : 0;
  base->report.result_nonzeros = nonzeros;
  if (!sl_route_reduces(base)) { /* counted once, although it may be compressed in two formats */
    base->report.values = sl_route_values(base, base->comm->rank);
    base->report.nonzeros = nonzeros;
  }
  SL_TRY(sl_route_move(base, gather, d->send, d->recv, queue));
  sl_route_count_result(base, gather);
  for (int i = 0; i < gather->recvs; i++) {
    const sl_transfer_item *item = &gather->recv[i];
    sl_route_list(base, d->recv + item->at, item->bytes, item->values, sl_route_part(base, dst, item->peer));
  }
  return sl_route_decompress(base, queue);
}

const sl_sparse_route_ops sl_sparse_direct = {.open = direct_open,
                                              .scatter = direct_scatter,
                                              .gather = direct_gather,
                                              .finish = sl_route_finish,
                                              .settle = sl_route_settle_nothing,
                                              .close = direct_close};
