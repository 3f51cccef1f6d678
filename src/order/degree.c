/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by descending degree of the undirected graph, rows of equal degree in their original order. */
#include "base/memory.h"
#include "order/builtin.h"
#include "order/undirected.h"

static sley_status order_degree(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)seed;
  sl_undirected graph;
  int32_t *order = NULL;
  sley_status status;
  SL_TRY(sl_undirected_create(matrix, team, &graph));
  SL_TRY_GOTO(status, SL_NEW(order, graph.count, "an ordering"), done);
  SL_TRY_GOTO(status, sl_undirected_by_degree(&graph, order), done);
  /* reverses the order of the runs of equal degree */
  int32_t placed = 0;
  for (int32_t end = graph.count, first; end > 0; end = first) {
    int64_t degree = graph.begin[order[end - 1] + 1] - graph.begin[order[end - 1]];
    for (first = end;
         first > 0 && graph.begin[order[first - 1] + 1] - graph.begin[order[first - 1]] == degree; first--) {
    }
    for (int32_t i = first; i < end; i++)
      perm[order[i]] = placed++;
  }
done:
  sl_free(order);
  sl_undirected_free(&graph);
  return status;
}

const sl_ordering sl_order_degree = {"degree", "rows with most neighbours first", order_degree};
