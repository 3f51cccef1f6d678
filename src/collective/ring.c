/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: in each hop every rank sends one part to the next rank and receives one from the previous rank.
 *
 *   reduce-scatter   part q starts at rank q + 1; each rank on the way adds its own values to the received
 *                    sum, and compresses the new sum; rank q is the last
 *   all-gather       every part is forwarded unchanged, as its own rank has compressed it
 *
 * So after hop s, of size - 1, rank r holds part r - 2 - s of the first, part r - 1 - s of the second (modulo
 * size). Source: Hough et al., Adaptive Space-efficient Collectives, section IV-B; with coo arrays and the
 * switch to dense where they are longer: Renggli et al., SparCML. */
#include "base/memory.h"
#include "collective/route.h"
#include "device/device.h"

typedef struct ring {
  sl_sparse_route route;
  sl_transfer hop; /* transfer to the next rank and from the previous rank; values and positions differ from
                      hop to hop */
  char *area;      /* memory of two slots: one for sending, one for receiving */
  char *sum;       /* this rank's sum of the last hop, dense */
} ring;

static int part_at(const sl_comm *comm, int hops) {
  return (comm->rank - hops + 2 * comm->size) % comm->size;
}

static sley_status start(sl_sparse_base *base, sl_sparse_route **out) {
  sl_comm *comm = base->comm;
  ring *r;
  SL_TRY(SL_NEW_ZERO(r, 1, "a sparse collective"));
  *out = &r->route;
  r->route = (sl_sparse_route){.base = base};
  r->hop = (sl_transfer){.name = "sparse ring", .comm = comm, .type = base->spec.dense.type};
  SL_TRY(sl_transfer_begin(&r->hop, 1));
  sl_transfer_send(&r->hop, part_at(comm, -1), base->longest, 0);
  sl_transfer_recv(&r->hop, part_at(comm, 1), base->longest, 0);
  SL_TRY(sl_route_take(base, 2 * sl_route_slot(base), (void **)&r->area));
  if (!sl_route_reduces(base))
    return SLEY_OK;
  SL_TRY(sl_route_take(base, base->longest * base->value_bytes, (void **)&r->sum));
  return sl_route_take_expanded(base, 1, base->longest);
}

static sley_status ring_open(sl_sparse_base *base, sl_sparse_route **out) {
  SL_TRY(sl_agree(base->comm, start(base, out)));
  return sl_transfer_make(&((ring *)*out)->hop);
}

static void ring_close(sl_sparse_route *route) {
  ring *r = (ring *)route;
  sl_transfer_destroy(&r->hop);
  sl_route_give(route->base, r->sum);
  sl_route_give(route->base, r->area);
  sl_free(r);
}

/* Sets the parts that are sent and received in the next hop, and their slots. */
static void set_hop(ring *r, int send_part, int recv_part, int send_slot) {
  const sl_sparse_base *base = r->route.base;
  r->hop.send[0].values = sl_route_values(base, send_part);
  r->hop.send[0].at = send_slot * sl_route_slot(base);
  r->hop.recv[0].values = sl_route_values(base, recv_part);
  r->hop.recv[0].at = (1 - send_slot) * sl_route_slot(base);
}

/* Compresses an array of that density to the slot from which the hop sends it. */
static sley_status compress(ring *r, const void *src, double density, unsigned what, sl_queue *queue) {
  sl_sparse_base *base = r->route.base;
  const sl_transfer_item *item = &r->hop.send[0];
  sl_link link = sl_link_to(base->comm, item->peer);
  if (item->values > 0)
    SL_TRY(sl_route_compress(base,
                             sl_route_format(base, link, what & SL_ARRAYS_GATHERED, item->values, density),
                             src, item->values, r->area + item->at, NULL, queue));
  return sl_route_measure(base, &r->hop, r->area, what, queue);
}

static sley_status ring_scatter(sl_sparse_route *route, const void *src, void *dst, double *density,
                                sl_queue *queue) {
  ring *r = (ring *)route;
  sl_sparse_base *base = route->base;
  const sl_comm *comm = base->comm;
  *density = base->density;
  for (int s = 0; s < comm->size - 1; s++) {
    int sent = part_at(comm, s + 1), come = part_at(comm, s + 2);
    set_hop(r, sent, come, 0);
    SL_TRY(compress(r, s == 0 ? sl_route_part(base, src, sent) : r->sum, *density,
                    s == 0 ? SL_ARRAYS_OF_SRC : SL_ARRAYS_OF_SUMS, queue));
    SL_TRY(sl_route_move(base, &r->hop, r->area, r->area, queue));
    sl_route_lay(base, 2, 1, r->area + r->hop.recv[0].at, sl_route_slot(base));
    sl_route_fold_args fold = {.values = sl_route_values(base, come),
                               .parts = 2,
                               .own = 1,
                               .own_src = sl_route_part(base, src, come),
                               .dst = s == comm->size - 2 ? dst : r->sum};
    SL_TRY(sl_route_fold(base, &fold, queue));
    *density = sl_route_density(&r->hop, base->density);
  }
  return SLEY_OK;
}

/* In each hop the part that was received last is sent on from its slot. */
static sley_status ring_gather(sl_sparse_route *route, const void *own, double density, void *dst,
                               sl_queue *queue) {
  ring *r = (ring *)route;
  sl_sparse_base *base = route->base;
  const sl_comm *comm = base->comm;
  set_hop(r, comm->rank, part_at(comm, 1), 0);
  SL_TRY(compress(r, own, density, sl_route_gathered(base), queue));
  base->report.result_nonzeros = sl_route_values(base, comm->rank) > 0 ? r->hop.header[0].nonzeros : 0;
  for (int s = 0; s < comm->size - 1; s++) {
    int come = part_at(comm, s + 1);
    if (s > 0) {
      r->hop.send[0].bytes = r->hop.recv[0].bytes;
      set_hop(r, part_at(comm, s), come, s % 2);
    }
    SL_TRY(sl_route_move(base, &r->hop, r->area, r->area, queue));
    sl_route_count_result(base, &r->hop);
    const sl_transfer_item *item = &r->hop.recv[0];
    sl_route_list(base, r->area + item->at, item->bytes, item->values, sl_route_part(base, dst, come));
    SL_TRY(sl_route_decompress(base, queue));
  }
  return SLEY_OK;
}

const sl_sparse_route_ops sl_sparse_ring = {.open = ring_open,
                                            .scatter = ring_scatter,
                                            .gather = ring_gather,
                                            .finish = sl_route_finish,
                                            .settle = sl_route_settle_nothing,
                                            .close = ring_close};
