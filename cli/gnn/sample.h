/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of `sley gnn train --sample`, on one rank: steps over batches of rows and the neighbourhoods that
 * are drawn for them. */
#ifndef SLEY_CLI_GNN_SAMPLE_H
#define SLEY_CLI_GNN_SAMPLE_H

#include "gnn/data.h"

enum { CLI_GNN_MOST_LAYERS = 64, CLI_GNN_MOST_HOPS = CLI_GNN_MOST_LAYERS };

typedef struct cli_gnn_sampling {
  const char *words; /* value of --sample; NULL: nothing is drawn, and each step uses the whole graph */
  int hops;          /* number of hops of all layers together, or 0 */
  int64_t fan_out[CLI_GNN_MOST_HOPS];
  int64_t batch; /* training rows per step */
} cli_gnn_sampling;

/* Reads NULL, or one number from 1 on, or `all`, for each hop of each layer, separated by commas. Returns an
 * exit code; if it is not CLI_DONE, one line has been printed on stderr. */
int cli_gnn_sampling_parse(const char *words, int64_t layers, int hops, int64_t batch, cli_gnn_sampling *out);

/* Returns the number of steps of an epoch with `rows` training rows. */
int64_t cli_gnn_sampling_steps(const cli_gnn_sampling *sampling, int64_t rows);

typedef struct cli_gnn_sampler {
  sley_comm *comm;
  const sley_gnn *gnn;
  const cli_gnn_data *data;
  sley_gnn_sampler *sampler;
  int64_t steps, room; /* steps: per epoch; room: number of rows for which memory is allocated */
  float *host_x;       /* features of the drawn rows */
  int32_t *host_label; /* label of each drawn row; -1 for rows outside the batch */
  void *x, *label;     /* copies in device memory */
} cli_gnn_sampler;

/* gnn: the network that is trained. gnn, data and graph must outlive the sampler. The caller calls
 * cli_gnn_sampler_close, also after an error; that accepts a zeroed sampler. Errors: the library's errors. */
sley_status cli_gnn_sampler_open(sley_comm *comm, const sley_gnn *gnn, const cli_gnn_data *data,
                                 const sley_matrix *graph, const cli_gnn_sampling *sampling, uint64_t seed,
                                 cli_gnn_sampler *out);

/* Makes all steps of an epoch; number counts from 0. how: rate, decay and optimizer. *loss: mean over the
 * training rows, each at its own step. *drawn_ms: ms to draw neighbourhoods, copy features and create
 * networks. Errors: the library's errors. */
sley_status cli_gnn_sampler_epoch(cli_gnn_sampler *sampler, int64_t number, const sley_gnn_batch *how,
                                  double *loss, double *drawn_ms);
void cli_gnn_sampler_close(cli_gnn_sampler *sampler);

#endif
