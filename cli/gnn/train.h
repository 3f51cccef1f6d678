/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of `sley gnn`: they run epochs, count the rows that each epoch classifies correctly, and write
 * the state. */
#ifndef SLEY_CLI_GNN_TRAIN_H
#define SLEY_CLI_GNN_TRAIN_H

#include "command.h"
#include "gnn/order.h"
#include "gnn/sample.h"

typedef struct cli_gnn_epoch {
  double loss;                /* loss of the training rows, with dropout, before the step */
  double right[CLI_GNN_SETS]; /* for each set the share of rows whose largest logit is their label's, after
                                 the step; NaN: no rows. CLI_GNN_NONE: rows with a label that are in no set */
  double ms;                  /* ms of its steps; NaN: an earlier run made them */
  double drawn_ms;            /* part of ms spent to draw neighbourhoods and create networks over them */
} cli_gnn_epoch;

/* The message of an error of the command; "": the library has the message. */
typedef struct cli_gnn_message {
  char text[512];
} cli_gnn_message;

/* Why a training ended. */
typedef enum cli_gnn_end {
  CLI_GNN_ALL_EPOCHS,
  CLI_GNN_NO_BETTER,   /* no better validation within `patience` epochs */
  CLI_GNN_INTERRUPTED, /* a signal ended it after an epoch */
  CLI_GNN_DIVERGED     /* loss, weights or logits were not finite in the epoch after the last recorded one */
} cli_gnn_end;

/* The results that rank 0 reports. They are in shared memory, because rank 0 may be another process. */
typedef struct cli_gnn_result {
  cli_patience patience;
  bool ended;      /* the training has ended, and can be reported */
  cli_gnn_end end; /* how it ended */
  int64_t done;    /* number of its epochs */
  int64_t best;    /* first epoch with the best validation, or the last if no rows are for validation */
  double plan_ms;  /* ms to create the network: plans, memory, initial weights */
  char found[256]; /* name of the device in use */
  char transport[32];
  cli_gnn_chosen order;
  cli_gnn_message message;
  cli_gnn_epoch epoch[];
} cli_gnn_result;

typedef struct cli_gnn_training {
  cli_gnn_data *data; /* its graph is moved to the layouts, whose graphs are freed once all ranks have copied
                         their rows, unless neighbourhoods are drawn */
  const char *order;  /* one of sley_orders(), or CLI_GNN_AUTO; if neighbourhoods are drawn, the data's */
  cli_gnn_layouts layouts;
  sley_gnn_options model;
  sley_rank_options ranks;
  int64_t epochs, patience; /* patience: epochs without a better validation; 0: no limit */
  double rate, decay;
  sley_gnn_optimizer optimizer;
  cli_gnn_sampling sampling;         /* if neighbourhoods are drawn there is one rank */
  const char *out;                   /* file of the state, or NULL */
  int64_t every;                     /* the state is written after each `every` epochs, and at the end */
  const struct cli_gnn_facts *facts; /* description of the training for the state; set if out is */
  bool resumes;                      /* true: training continues from the state in out */
  int64_t before;                    /* number of epochs in that state, which result holds already */
  bool anew;              /* true: those epochs used other data, so none of them can be the best epoch */
  cli_gnn_result *result; /* memory for `epochs` epochs; from cli_share */
  sley_gnn_bytes *bytes;  /* memory of the network on each rank; from cli_share */
  /* Rank 0 calls it after each epoch; NULL: nothing is called. */
  void (*tell)(const struct cli_gnn_training *training, int64_t number, const cli_gnn_epoch *epoch);
} cli_gnn_training;

/* Trains, and fills result, bytes and layouts, which the caller frees. Errors: the library's errors;
 * SLEY_ERR_INTERRUPTED after an epoch, with the state written; SLEY_ERR_INTERNAL with a message: training
 * diverged, and the diverged state is not written. After an error, the epochs up to it are valid if
 * result->ended. */
sley_status cli_gnn_train(cli_gnn_training *training);

/* Computes the logits of all rows with the network in the file `weights`: with the weights of its best epoch,
 * or, if `last`, of its last epoch. out: .npy file for the logits, or NULL. *result: one epoch with the
 * shares of the sets and loss 0. Errors: the library's errors; SLEY_ERR_INTERNAL with a message: some logits
 * are not finite. */
typedef struct cli_gnn_inference {
  cli_gnn_data *data; /* its graph is freed */
  sley_gnn_options model;
  sley_rank_options ranks;
  const char *weights, *out;
  bool last;
  cli_gnn_result *result; /* memory for one epoch */
} cli_gnn_inference;
sley_status cli_gnn_infer(cli_gnn_inference *inference);

#endif
