/* SPDX-License-Identifier: Apache-2.0 */
/* An all-reduce by a split and an all-gather: the parts go directly to the ranks that reduce them, which add
 * them in the order of the ranks (scatter.h). Then the ranks gather the results by recursive doubling
 * (stages.h): in each stage the parts of a block of ranks are compressed anew, as one array. Source: Renggli
 * et al., SparCML, sparse all-reduce by split and all-gather: static, or, if the results are gathered dense,
 * dynamic. */
#include "base/memory.h"
#include "collective/scatter.h"
#include "collective/stages.h"

typedef struct split {
  sl_sparse_route route;
  sl_transfer scatter;
  sl_stages stages;
  char *send, *recv; /* areas of the scatter in device memory */
  char *area;        /* area of the stages: two slots */
} split;

static sley_status start(sl_sparse_base *base, sl_sparse_route **out) {
  split *s;
  int64_t send = 0, recv = 0;
  SL_TRY(SL_NEW_ZERO(s, 1, "a sparse collective"));
  *out = &s->route;
  s->route = (sl_sparse_route){.base = base};
  s->scatter = (sl_transfer){.name = "sparse split", .comm = base->comm, .type = base->spec.dense.type};
  SL_TRY(sl_transfer_begin(&s->scatter, base->comm->size));
  sl_scatter_list(base, &s->scatter, &send, &recv);
  SL_TRY(sl_stages_begin(&s->stages, base, "sparse all-gather by recursive doubling"));
  SL_TRY(sl_route_take(base, send, (void **)&s->send));
  SL_TRY(sl_route_take(base, recv, (void **)&s->recv));
  SL_TRY(sl_route_take(base, 2 * sl_route_slot(base), (void **)&s->area));
  return sl_route_take_expanded(base, base->comm->size - 1, sl_route_values(base, base->comm->rank));
}

static sley_status split_open(sl_sparse_base *base, sl_sparse_route **out) {
  SL_TRY(sl_agree(base->comm, start(base, out)));
  split *s = (split *)*out;
  SL_TRY(sl_transfer_make(&s->scatter));
  return sl_stages_make(&s->stages, base, true);
}

static void split_close(sl_sparse_route *route) {
  split *s = (split *)route;
  sl_stages_close(&s->stages);
  sl_transfer_destroy(&s->scatter);
  sl_route_give(route->base, s->area);
  sl_route_give(route->base, s->recv);
  sl_route_give(route->base, s->send);
  sl_free(s);
}

static sley_status split_scatter(sl_sparse_route *route, const void *src, void *dst, double *density,
                                 sl_queue *queue) {
  split *s = (split *)route;
  return sl_scatter_run(route->base, &s->scatter, s->send, s->recv, src, dst, density, queue);
}

/* own is this rank's part of dst. After the last array that a rank receives, the blocks of the stage are all
 * ranks. */
static sley_status split_gather(sl_sparse_route *route, const void *own, double density, void *dst,
                                sl_queue *queue) {
  split *s = (split *)route;
  sl_sparse_base *base = route->base;
  (void)own;
  for (int i = 0; i < s->stages.count; i++) {
    sl_stage *stage = &s->stages.stage[i];
    const sl_transfer *transfer = &stage->transfer;
    SL_TRY(sl_stage_run(base, stage, sl_route_part(base, dst, stage->own.first), density,
                        sl_route_gathered(base), s->area, queue));
    if (!stage->receives)
      continue;
    base->report.result_nonzeros = stage->leaves ? 0 : stage->sent_nonzeros;
    sl_route_count_result(base, transfer);
    if (transfer->recvs > 0)
      sl_route_list(base, s->area + transfer->recv[0].at, transfer->recv[0].bytes, transfer->recv[0].values,
                    sl_route_part(base, dst, stage->peer.first));
    SL_TRY(sl_route_decompress(base, queue));
  }
  return SLEY_OK;
}

const sl_sparse_route_ops sl_sparse_split = {.open = split_open,
                                             .scatter = split_scatter,
                                             .gather = split_gather,
                                             .finish = sl_route_finish,
                                             .settle = sl_route_settle_nothing,
                                             .close = split_close};
