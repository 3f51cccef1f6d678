/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the networks, and copies each rank's features and labels to its device. */
#include "gnn/place.h"

#include <stdlib.h>

#include "ranks/agree.h"

sley_status cli_gnn_network(sley_comm *comm, const cli_gnn_data *data, const int64_t *begin,
                            const sley_gnn_options *model, sley_gnn **out) {
  const int64_t first = begin[sley_comm_rank(comm)], rows = begin[sley_comm_rank(comm) + 1] - first;
  sley_matrix *block = NULL, *x = NULL;
  sley_gnn_options options = *model;
  sley_status status = sley_matrix_row_block(data->graph, first, rows, &block);
  if (status == SLEY_OK && data->sparse)
    status = sley_matrix_row_block(data->sparse, first, rows, &x);
  options.x = x;
  status = cli_agree_status(comm, status);
  if (status == SLEY_OK)
    status = sley_gnn_create(comm, block, begin, &options, out);
  sley_matrix_destroy(x);
  sley_matrix_destroy(block);
  return status;
}

static sley_status place_labels(sley_comm *comm, const cli_gnn_data *data, int64_t first, int64_t rows,
                                void *label) {
  int32_t *counted = malloc((size_t)rows * sizeof *counted + 1);
  if (!counted)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < rows; i++)
    counted[i] = data->split.set[first + i] == CLI_GNN_TRAIN ? data->label[first + i] : -1;
  const sley_status status =
      sley_comm_copy(comm, label, counted, rows * (int64_t)sizeof *counted, SLEY_TO_DEVICE);
  free(counted);
  return status;
}

sley_status cli_gnn_place(sley_comm *comm, const cli_gnn_data *data, int64_t first, int64_t rows, void **x,
                          void **label) {
  const int64_t bytes = rows * data->features * (int64_t)sizeof *data->x;
  sley_status status = data->sparse ? SLEY_OK : sley_comm_alloc(comm, bytes, x);
  if (status == SLEY_OK && !data->sparse)
    status = sley_comm_copy(comm, *x, data->x + first * data->features, bytes, SLEY_TO_DEVICE);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, rows * (int64_t)sizeof *data->label, label);
  return status == SLEY_OK ? place_labels(comm, data, first, rows, *label) : status;
}
