/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/scatter.h"

void sl_scatter_list(const sl_sparse_base *base, sl_transfer *scatter, int64_t *send, int64_t *recv) {
  int rank = base->comm->rank;
  sley_type type = base->spec.dense.type;
  for (int p = 0; p < base->comm->size; p++) {
    if (p == rank)
      continue;
    sl_transfer_send(scatter, p, sl_route_reduced_values(base, p), *send);
    sl_transfer_recv(scatter, p, sl_route_reduced_values(base, rank), *recv);
    *send += sl_transfer_slot(type, sl_route_reduced_values(base, p));
    *recv += sl_transfer_slot(type, sl_route_reduced_values(base, rank));
  }
}

sley_status sl_scatter_run(sl_sparse_base *base, sl_transfer *scatter, char *send, char *recv,
                           const void *src, void *dst, double *density, sl_queue *queue) {
  int rank = base->comm->rank;
  int64_t values = sl_route_reduced_values(base, rank);
  SL_TRY(sl_route_compress_reduced(base, scatter->send, scatter->sends, src, send, queue));
  SL_TRY(sl_route_measure(base, scatter, send, SL_ARRAYS_OF_SRC, queue));
  SL_TRY(sl_route_move(base, scatter, send, recv, queue));
  *density = sl_route_density(scatter, base->density);
  sl_route_lay(base, base->comm->size, rank, recv, sl_transfer_slot(base->spec.dense.type, values));
  sl_route_fold_args fold = {.values = values,
                             .parts = base->comm->size,
                             .own = rank,
                             .own_src = sl_route_reduced_part(base, src, rank),
                             .dst = dst};
  return sl_route_fold(base, &fold, queue);
}
