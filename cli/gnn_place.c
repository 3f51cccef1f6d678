/* SPDX-License-Identifier: Apache-2.0 */
/* Networks and rows of ranks. */
#include "gnn_place.h"

#include <stdlib.h>

#include "agree.h"

sley_status cli_gnn_network(sley_comm *comm, const cli_gnn_data *data, const int64_t *begin,
                            const sley_gnn_options *model, sley_gnn **out) {
  const int64_t first = begin[sley_comm_rank(comm)], rows = begin[sley_comm_rank(comm) + 1] - first;
  sley_matrix *block = NULL;
  sley_status status = cli_agree_status(comm, sley_matrix_row_block(data->graph, first, rows, &block));
  if (status == SLEY_OK)
    status = sley_gnn_create(comm, block, begin, model, out);
  sley_matrix_destroy(block);
  return status;
}

static sley_status upload(sley_comm *comm, const void *from, int64_t bytes, void **out) {
  sley_status status = sley_comm_alloc(comm, bytes, out);
  return status == SLEY_OK ? sley_comm_copy(comm, *out, from, bytes, SLEY_TO_DEVICE) : status;
}

sley_status cli_gnn_place(sley_comm *comm, const cli_gnn_data *data, int64_t first, int64_t rows, void **x,
                          void **label) {
  int32_t *counted = malloc((size_t)rows * sizeof *counted + 1);
  if (!counted)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < rows; i++)
    counted[i] = data->set[first + i] == CLI_GNN_TRAIN ? data->label[first + i] : -1;
  sley_status status =
      upload(comm, data->x + first * data->features, rows * data->features * (int64_t)sizeof *data->x, x);
  if (status == SLEY_OK)
    status = upload(comm, counted, rows * (int64_t)sizeof *counted, label);
  free(counted);
  return status;
}
