/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of `sley gnn train --sample`: steps over batches of rows and the neighbourhoods that are drawn for
 * them, on one rank. */
#ifndef SLEY_CLI_GNN_SAMPLE_H
#define SLEY_CLI_GNN_SAMPLE_H

#include "gnn/data.h"

enum { CLI_GNN_MOST_LAYERS = 64, CLI_GNN_MOST_HOPS = CLI_GNN_MOST_LAYERS };

typedef struct cli_gnn_sampling {
  const char *words; /* of --sample; NULL: nothing is drawn, each step is over the whole graph */
  int hops;          /* of all layers, or 0 */
  int64_t fan_out[CLI_GNN_MOST_HOPS];
  int64_t batch; /* rows to train on of a step */
} cli_gnn_sampling;

/* words: NULL, or numbers from 1 on or `all` for each of the hops that each layer makes, with commas between.
 * An exit code, after one line on stderr where it is not CLI_DONE. */
int cli_gnn_sampling_parse(const char *words, int64_t layers, int hops, int64_t batch, cli_gnn_sampling *out);

/* How many steps an epoch of so many rows to train on has. */
int64_t cli_gnn_sampling_steps(const cli_gnn_sampling *sampling, int64_t rows);

typedef struct cli_gnn_sampler {
  sley_comm *comm;
  const sley_gnn *gnn;
  const cli_gnn_data *data;
  const cli_gnn_split *split; /* whose rows are trained on */
  sley_gnn_sampler *sampler;
  int64_t steps, room; /* of an epoch; rows that there is memory for */
  float *host_x;       /* of drawn rows */
  int32_t *host_label; /* -1 of rows that are not the batch's */
  void *x, *label;     /* the same in the device's memory */
} cli_gnn_sampler;

/* gnn: what is trained; it outlives the sampler, as data and its split do. Freed by the last, also on an
 * error, which accepts one that is zeroed. Errors: the library's. */
sley_status cli_gnn_sampler_open(sley_comm *comm, const sley_gnn *gnn, const cli_gnn_data *data,
                                 const cli_gnn_split *split, const cli_gnn_sampling *sampling, uint64_t seed,
                                 cli_gnn_sampler *out);

/* All steps of an epoch, counted from 0. how: rate, decay and optimizer. *loss: the mean over rows, each in
 * its step. *drawn_ms: to draw, to copy features and to make networks. Errors: the library's. */
sley_status cli_gnn_sampler_epoch(cli_gnn_sampler *sampler, int64_t number, const sley_gnn_batch *how,
                                  double *loss, double *drawn_ms);
void cli_gnn_sampler_close(cli_gnn_sampler *sampler);

#endif
