/* SPDX-License-Identifier: Apache-2.0 */
/* An all-reduce by recursive doubling: in each stage (stages.h) two ranks exchange their sums of whole
 * arrays, and add them, the sum of the lower ranks first. So all ranks compute the same tree of sums of
 * neighbouring blocks: (v0 + v1) + (v2 + v3) for 4 ranks, (v0 + v1) + v2 for 3. 16-bit types are rounded in
 * each stage.
 *
 * Sums become denser from stage to stage, until a sum would be longer compressed than dense, and travels
 * dense. Source: Renggli et al., SparCML, sparse all-reduce by recursive doubling; but here a rank keeps its
 * sum as a dense array and compresses it in each stage. */
#include "base/memory.h"
#include "collective/stages.h"

typedef struct doubling {
  sl_sparse_route route;
  sl_stages stages;
  char *area; /* two slots in device memory */
} doubling;

static sley_status start(sl_sparse_base *base, sl_sparse_route **out) {
  doubling *d;
  SL_TRY(SL_NEW_ZERO(d, 1, "a sparse collective"));
  *out = &d->route;
  d->route = (sl_sparse_route){.base = base};
  SL_TRY(sl_stages_begin(&d->stages, base, "sparse recursive doubling"));
  SL_TRY(sl_route_take(base, 2 * sl_route_slot(base), (void **)&d->area));
  return sl_route_take_expanded(base, 1, base->longest);
}

static sley_status doubling_open(sl_sparse_base *base, sl_sparse_route **out) {
  SL_TRY(sl_agree(base->comm, start(base, out)));
  return sl_stages_make(&((doubling *)*out)->stages, base, false);
}

static void doubling_close(sl_sparse_route *route) {
  doubling *d = (doubling *)route;
  sl_stages_close(&d->stages);
  sl_route_give(route->base, d->area);
  sl_free(d);
}

/* Adds the array that a stage has brought to this rank's sum; in the last stage it is the result. */
static sley_status take_array(doubling *d, const sl_stage *stage, const void *sum, void *dst,
                              sl_queue *queue) {
  sl_sparse_base *base = d->route.base;
  const sl_transfer_item *item = &stage->transfer.recv[0];
  const char *come = d->area + item->at;
  if (stage->leaves) {
    sl_route_list(base, come, item->bytes, item->values, dst);
    return sl_route_decompress(base, queue);
  }
  int own = stage->own.first < stage->peer.first ? 0 : 1;
  sl_route_lay(base, 2, own, come, sl_route_slot(base));
  sl_route_fold_args fold = {.values = base->longest, .parts = 2, .own = own, .own_src = sum, .dst = dst};
  return sl_route_fold(base, &fold, queue);
}

/* The whole all-reduce. A rank's sum is src at first, and then in dst. */
static sley_status doubling_scatter(sl_sparse_route *route, const void *src, void *dst, double *density,
                                    sl_queue *queue) {
  doubling *d = (doubling *)route;
  sl_sparse_base *base = route->base;
  const void *sum = src;
  unsigned what = SL_ARRAYS_OF_SRC;
  *density = base->density;
  for (int i = 0; i < d->stages.count; i++) {
    sl_stage *stage = &d->stages.stage[i];
    SL_TRY(
        sl_stage_run(base, stage, sum, *density, stage->leaves ? SL_ARRAYS_GATHERED : what, d->area, queue));
    if (!stage->receives)
      continue;
    SL_TRY(take_array(d, stage, sum, dst, queue));
    sum = dst;
    what = SL_ARRAYS_OF_SUMS;
    *density = sl_route_density(&stage->transfer, *density);
  }
  return SLEY_OK;
}

const sl_sparse_route_ops sl_sparse_doubling = {.open = doubling_open,
                                                .scatter = doubling_scatter,
                                                .finish = sl_route_finish,
                                                .settle = sl_route_settle_nothing,
                                                .close = doubling_close};
