/* SPDX-License-Identifier: Apache-2.0 */
/* The undirected graph that orderings use. */
#include "order/undirected.h"

#include "base/memory.h"

static sley_status symmetrise(const sley_matrix *matrix, sl_team *team, sl_undirected *out) {
  sl_csr_arrays arrays;
  SL_TRY(sl_csr_undirected(matrix, false, team, &arrays));
  out->begin = out->own_begin = arrays.rowptr;
  out->neighbour = out->own_neighbour = arrays.col; /* 32-bit, as there are fewer than 2^31 rows */
  return SLEY_OK;
}

/* Narrows 64-bit column numbers. */
static sley_status narrow_columns(const sley_matrix *matrix, sl_undirected *out) {
  int64_t first = matrix->rowptr[0], count = matrix->rowptr[matrix->rows] - first;
  SL_TRY(SL_NEW(out->own_begin, matrix->rows + 1, "a graph"));
  SL_TRY(SL_NEW(out->own_neighbour, count, "a graph"));
  for (int64_t i = 0; i <= matrix->rows; i++)
    out->own_begin[i] = matrix->rowptr[i] - first;
  for (int64_t e = 0; e < count; e++)
    out->own_neighbour[e] = (int32_t)sl_index_at(matrix->col, matrix->index, first + e);
  out->begin = out->own_begin;
  out->neighbour = out->own_neighbour;
  return SLEY_OK;
}

sley_status sl_order_numbers_fit(const sley_matrix *matrix) {
  if (matrix->rows <= INT32_MAX)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "this ordering takes at most %d rows, not %lld: use none or random",
                 INT32_MAX, (long long)matrix->rows);
}

sley_status sl_undirected_create(const sley_matrix *matrix, sl_team *team, sl_undirected *out) {
  *out = (sl_undirected){0};
  SL_TRY(sl_order_numbers_fit(matrix));
  sl_asymmetry a;
  SL_TRY(sl_matrix_asymmetry(matrix, 0, false, team, &a));
  sley_status status = SLEY_OK;
  if (a.sum[0] != 0)
    status = symmetrise(matrix, team, out);
  else if (matrix->index == SLEY_I64)
    status = narrow_columns(matrix, out);
  else {
    out->begin = matrix->rowptr;
    out->neighbour = matrix->col;
  }
  out->count = (int32_t)matrix->rows;
  if (status != SLEY_OK)
    sl_undirected_free(out);
  return status;
}

void sl_undirected_free(sl_undirected *graph) {
  sl_free(graph->own_neighbour);
  sl_free(graph->own_begin);
  *graph = (sl_undirected){0};
}

sley_status sl_undirected_by_degree(const sl_undirected *graph, int32_t *order) {
  int64_t greatest = 0;
  for (int32_t v = 0; v < graph->count; v++) {
    int64_t degree = graph->begin[v + 1] - graph->begin[v];
    greatest = degree > greatest ? degree : greatest;
  }
  int32_t *place;
  SL_TRY(SL_NEW_ZERO(place, greatest + 2, "a sort by degree"));
  for (int32_t v = 0; v < graph->count; v++)
    place[graph->begin[v + 1] - graph->begin[v] + 1]++;
  for (int64_t d = 0; d <= greatest; d++)
    place[d + 1] += place[d];
  for (int32_t v = 0; v < graph->count; v++)
    order[place[graph->begin[v + 1] - graph->begin[v]]++] = v;
  sl_free(place);
  return SLEY_OK;
}
