/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the networks, and copies each rank's features and labels to its device. */
#include "gnn/place.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/agree.h"

/* A rank's rows of a layout: rows of the data, in the layout's order. */
typedef struct own_rows {
  const cli_gnn_data *data;
  const cli_gnn_layout *layout;
  int64_t first, count;
} own_rows;

static own_rows rows_of(const sley_comm *comm, const cli_gnn_data *data, const cli_gnn_layout *layout) {
  const int rank = sley_comm_rank(comm);
  return (own_rows){data, layout, layout->begin[rank], layout->begin[rank + 1] - layout->begin[rank]};
}

static int64_t name_of(const own_rows *own, int64_t i) {
  return cli_gnn_row_name(own->layout, own->first + i);
}

/* ---- the network */

/* Copies the entries of sparse features, row by row. to: arrays with room for them. */
static void copy_entries(const own_rows *own, const sley_csr *from, int64_t *rowptr, void *col, float *val) {
  const size_t index = from->index == SLEY_I64 ? sizeof(int64_t) : sizeof(int32_t);
  rowptr[0] = 0;
  for (int64_t i = 0; i < own->count; i++) {
    const int64_t begin = from->rowptr[name_of(own, i)], count = from->rowptr[name_of(own, i) + 1] - begin;
    memcpy((char *)col + (size_t)rowptr[i] * index, (const char *)from->col + (size_t)begin * index,
           (size_t)count * index);
    memcpy(val + rowptr[i], (const float *)from->val + begin, (size_t)count * sizeof *val);
    rowptr[i + 1] = rowptr[i] + count;
  }
}

/* Copies the rank's rows of sparse features. */
static sley_status gather_sparse(const own_rows *own, sley_matrix **out) {
  sley_csr from;
  sley_status status = sley_matrix_csr(own->data->sparse, &from);
  if (status != SLEY_OK)
    return status;
  int64_t entries = 0;
  for (int64_t i = 0; i < own->count; i++)
    entries += from.rowptr[name_of(own, i) + 1] - from.rowptr[name_of(own, i)];
  sley_csr to = from;
  int64_t *rowptr = malloc(((size_t)own->count + 1) * sizeof *rowptr);
  void *col = malloc((size_t)entries * sizeof(int64_t) + 1),
       *val = malloc((size_t)entries * sizeof(float) + 1);
  status = SLEY_ERR_MEMORY;
  if (rowptr && col && val) {
    copy_entries(own, &from, rowptr, col, val);
    to.rows = own->count;
    to.rowptr = rowptr;
    to.rowptr32 = NULL;
    to.col = col;
    to.val = val;
    status = sley_matrix_from_csr(&to, SLEY_COPY, out);
  }
  free(val);
  free(col);
  free(rowptr);
  return status;
}

static sley_status take_sparse(const own_rows *own, sley_matrix **out) {
  return own->layout->row_name ? gather_sparse(own, out)
                               : sley_matrix_row_block(own->data->sparse, own->first, own->count, out);
}

sley_status cli_gnn_network(sley_comm *comm, const cli_gnn_data *data, const cli_gnn_layout *layout,
                            const sley_gnn_options *model, sley_gnn **out) {
  const own_rows own = rows_of(comm, data, layout);
  sley_matrix *block = NULL, *x = NULL;
  sley_gnn_options options = *model;
  sley_status status = sley_matrix_row_block(layout->graph, own.first, own.count, &block);
  if (status == SLEY_OK && data->sparse)
    status = take_sparse(&own, &x);
  options.x = x;
  options.row_number = layout->row_name ? layout->row_name + own.first : NULL;
  status = cli_agree_status(comm, status);
  if (status == SLEY_OK)
    status = sley_gnn_create(comm, block, layout->begin, &options, out);
  sley_matrix_destroy(x);
  sley_matrix_destroy(block);
  return status;
}

/* ---- features and labels */

static sley_status place_labels(sley_comm *comm, const own_rows *own, void *label) {
  const cli_gnn_data *data = own->data;
  int32_t *counted = malloc((size_t)own->count * sizeof *counted + 1);
  if (!counted)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < own->count; i++) {
    const int64_t row = name_of(own, i);
    counted[i] = data->split.set[row] == CLI_GNN_TRAIN ? data->label[row] : -1;
  }
  const sley_status status =
      sley_comm_copy(comm, label, counted, own->count * (int64_t)sizeof *counted, SLEY_TO_DEVICE);
  free(counted);
  return status;
}

/* Copies the rows of dense features to x, through memory of their own if they are scattered. */
static sley_status place_features(sley_comm *comm, const own_rows *own, void *x) {
  const int64_t features = own->data->features, bytes = own->count * features * (int64_t)sizeof(float);
  if (!own->layout->row_name)
    return sley_comm_copy(comm, x, own->data->x + own->first * features, bytes, SLEY_TO_DEVICE);
  float *rows = malloc((size_t)bytes + 1);
  if (!rows)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < own->count; i++)
    memcpy(rows + i * features, own->data->x + name_of(own, i) * features, (size_t)features * sizeof *rows);
  const sley_status status = sley_comm_copy(comm, x, rows, bytes, SLEY_TO_DEVICE);
  free(rows);
  return status;
}

sley_status cli_gnn_place(sley_comm *comm, const cli_gnn_data *data, const cli_gnn_layout *layout, void **x,
                          void **label) {
  const own_rows own = rows_of(comm, data, layout);
  sley_status status =
      data->sparse ? SLEY_OK : sley_comm_alloc(comm, own.count * data->features * (int64_t)sizeof(float), x);
  if (status == SLEY_OK && !data->sparse)
    status = place_features(comm, &own, *x);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, own.count * (int64_t)sizeof *data->label, label);
  return status == SLEY_OK ? place_labels(comm, &own, *label) : status;
}
