/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of rows themselves, and normalisation. */
#include "gnn/adjacency.h"

#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"

static int64_t column_of(const sley_matrix *m, int64_t e) {
  return m->index == SLEY_I64 ? ((const int64_t *)m->col)[e] : ((const int32_t *)m->col)[e];
}

static void set_column(void *col, sley_index index, int64_t e, int64_t column) {
  if (index == SLEY_I64)
    ((int64_t *)col)[e] = column;
  else
    ((int32_t *)col)[e] = (int32_t)column;
}

/* The entries of row i, with exactly one of column `own`, before the first column that is greater. */
static int64_t copy_row(const sley_matrix *from, int64_t i, int64_t own, void *col, int64_t at) {
  bool there = false;
  for (int64_t e = from->rowptr[i]; e < from->rowptr[i + 1]; e++) {
    const int64_t column = column_of(from, e);
    if (column == own)
      continue;
    if (column > own && !there) {
      set_column(col, from->index, at++, own);
      there = true;
    }
    set_column(col, from->index, at++, column);
  }
  if (!there)
    set_column(col, from->index, at++, own);
  return at;
}

sley_status sl_adjacency_with_loops(const sley_matrix *block, int64_t first, sley_matrix **out) {
  sl_csr_arrays arrays;
  int64_t at = 0;
  *out = NULL;
  SL_TRY(sl_csr_arrays_alloc(block->rows, block->nnz + block->rows, block->index, SLEY_F32, &arrays));
  for (int64_t i = 0; i < block->rows; i++) {
    arrays.rowptr[i] = at;
    at = copy_row(block, i, first + i, arrays.col, at);
  }
  arrays.rowptr[block->rows] = at;
  return sl_matrix_adopt(block->rows, block->cols, block->index, SLEY_F32, arrays, at, out);
}

/* ---- values */

/* What the host needs of a graph for them. */
typedef struct pattern {
  int64_t *rowptr;
  int32_t *col;
  double *degree; /* entries of the row of each column: own, then of the halo */
} pattern;

static sley_status download(sl_comm *comm, void *to, const void *from, int64_t bytes) {
  SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_HOST, to, from, bytes));
  return comm->queue->ops->queue_wait(comm->queue);
}

static sley_status take(const sley_graph *graph, pattern *p) {
  const sl_relation *r = &graph->relation[0];
  SL_TRY(SL_NEW(p->rowptr, graph->rows + 1, "a graph's rows"));
  SL_TRY(SL_NEW(p->col, r->entries, "a graph's columns"));
  SL_TRY(SL_NEW(p->degree, graph->cols + graph->halo->count, "degrees"));
  SL_TRY(download(graph->comm, p->rowptr, r->by_rows.rowptr, (graph->rows + 1) * (int64_t)sizeof *p->rowptr));
  SL_TRY(download(graph->comm, p->col, r->by_rows.col, r->entries * (int64_t)sizeof *p->col));
  for (int64_t i = 0; i < graph->rows; i++)
    p->degree[i] = (double)(p->rowptr[i + 1] - p->rowptr[i]);
  return SLEY_OK;
}

/* Degrees of the halo's rows, from their owners. own, halo: memory of the device, of `cols` and halo values.
 * Collective. */
static sley_status fetch_degrees(const sley_graph *graph, pattern *p, void *own, void *halo) {
  sl_comm *comm = graph->comm;
  sley_halo *exchange = NULL;
  const int64_t value = (int64_t)sizeof(double);
  SL_TRY(sl_agree(
      comm, comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, own, p->degree, graph->cols * value)));
  SL_TRY(sl_halo_rows_of(graph->halo, 1, SLEY_F64, &exchange));
  sley_status status = sl_halo_rows_run(exchange, SL_HALO_GATHER, own, 1, halo, 1);
  if (status == SLEY_OK)
    status = download(comm, p->degree + graph->cols, halo, graph->halo->count * value);
  sl_halo_rows_destroy(exchange);
  return status;
}

static sley_status fetch(const sley_graph *graph, pattern *p) {
  sl_device *device = graph->comm->device;
  void *own = NULL, *halo = NULL;
  const int64_t value = (int64_t)sizeof(double);
  sley_status status = device->ops->alloc(device, graph->cols * value, "degrees", &own);
  if (status == SLEY_OK)
    status = device->ops->alloc(device, graph->halo->count * value, "degrees", &halo);
  status = sl_agree(graph->comm, status);
  if (status == SLEY_OK)
    status = fetch_degrees(graph, p, own, halo);
  if (halo)
    device->ops->free(device, halo);
  if (own)
    device->ops->free(device, own);
  return status;
}

static sley_status make_values(const sley_graph *graph, const pattern *p, sl_norm norm, sley_dtype dtype,
                               void **out) {
  sl_comm *comm = graph->comm;
  const int64_t entries = graph->relation[0].entries;
  void *host = sl_alloc(entries, sley_dtype_bytes(dtype), "values of entries");
  if (!host)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < graph->rows; i++)
    for (int64_t e = p->rowptr[i]; e < p->rowptr[i + 1]; e++)
      sl_value_set(host, dtype, e,
                   norm == SL_NORM_MEAN ? 1 / p->degree[i] : 1 / sqrt(p->degree[i] * p->degree[p->col[e]]));
  return sl_dense_upload(comm, host, entries * (int64_t)sley_dtype_bytes(dtype), out);
}

sley_status sl_adjacency_norm(sley_graph *graph, sl_norm norm, sley_dtype dtype, void **out) {
  pattern p = {0};
  *out = NULL;
  if (norm == SL_NORM_NONE)
    return SLEY_OK;
  sley_status status = sl_agree(graph->comm, take(graph, &p));
  if (status == SLEY_OK && norm == SL_NORM_SYMMETRIC)
    status = fetch(graph, &p);
  if (status == SLEY_OK)
    status = sl_agree(graph->comm, make_values(graph, &p, norm, dtype, out));
  sl_free(p.degree);
  sl_free(p.col);
  sl_free(p.rowptr);
  return status;
}
