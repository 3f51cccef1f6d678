/* SPDX-License-Identifier: Apache-2.0 */
/* The training of `sley gnn train`: ranks that are threads, epochs, and how many rows each finds right. */
#ifndef SLEY_CLI_GNN_TRAIN_H
#define SLEY_CLI_GNN_TRAIN_H

#include "gnn_data.h"

typedef struct cli_gnn_epoch {
  double loss; /* of the training rows, with dropout, before the step */
  double
      right[CLI_GNN_SETS]; /* share of the set's rows whose largest logit is that of their label, after it */
  double ms;               /* of the step */
} cli_gnn_epoch;

typedef struct cli_gnn_training {
  const cli_gnn_data *data;
  sley_gnn_options model;
  int ranks, threads;
  const char *device;
  int64_t epochs, patience; /* patience: epochs without a better validation, after which it ends; 0: never */
  double rate, decay;
  cli_gnn_epoch *epoch; /* room for `epochs` of them */
  int64_t done;         /* epochs that were run */
  char found[256];      /* the device */
  /* NULL, or called by rank 0 after each epoch. */
  void (*tell)(void *context, int64_t number, const cli_gnn_epoch *epoch);
  void *context;
} cli_gnn_training;

/* Trains, and fills epoch, done and found. Errors: the library's. */
sley_status cli_gnn_train(cli_gnn_training *training);

/* The epoch with the best validation, the first of equals; without validation rows the last. -1: none. */
int64_t cli_gnn_best(const cli_gnn_training *training);

#endif
