/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of `sley gnn`: epochs, how many rows each finds right, and the state that is written meanwhile.
 */
#ifndef SLEY_CLI_GNN_TRAIN_H
#define SLEY_CLI_GNN_TRAIN_H

#include "command.h"
#include "gnn/sample.h"

typedef struct cli_gnn_epoch {
  double loss;                /* of the training rows, with dropout, before the step */
  double right[CLI_GNN_SETS]; /* share of the set's rows whose largest logit is that of their label, after it;
                               * NaN: it has no rows. CLI_GNN_NONE: rows with a label that are in no set */
  double ms;                  /* of its steps; NaN: they were made by an earlier run */
  double drawn_ms;            /* of these, to draw neighbourhoods and make networks over them */
} cli_gnn_epoch;

/* Of an error that is the command's own; empty: the library has it. */
typedef struct cli_gnn_message {
  char text[512];
} cli_gnn_message;

/* A training, once it has ended. */
typedef struct cli_gnn_run {
  int64_t split;        /* of the data */
  uint64_t seed;        /* of first weights, dropout and drawn neighbourhoods */
  int64_t epochs, best; /* how many; the one with the best validation, the first of equals; without rows for
                         * validation the last */
  cli_gnn_epoch at_best;
  double loss;    /* of the last epoch */
  double seconds; /* all of it, but for reading, and planning the sums */
} cli_gnn_run;

/* How a training has ended. */
typedef enum cli_gnn_end {
  CLI_GNN_ALL_EPOCHS,
  CLI_GNN_NO_BETTER,   /* patience was at its end */
  CLI_GNN_INTERRUPTED, /* after an epoch */
  CLI_GNN_DIVERGED     /* in the epoch after the last one that counts */
} cli_gnn_end;

/* What rank 0 tells, from a process of its own where ranks are processes. */
typedef struct cli_gnn_result {
  cli_patience patience;
  cli_gnn_end end; /* of the last training */
  int64_t runs;    /* that have ended */
  int64_t done;    /* epochs of the last one */
  double plan_ms;  /* to make the network: plans of the sums, memory, first weights */
  char found[256]; /* the device */
  char transport[32];
  cli_gnn_message message;
  cli_gnn_epoch epoch[];
} cli_gnn_result;

typedef struct cli_gnn_training {
  const cli_gnn_data *data;
  sley_gnn_options model;
  sley_rank_options ranks;
  int64_t epochs, patience; /* patience: epochs without a better validation, after which it ends; 0: never */
  double rate, decay;
  sley_gnn_optimizer optimizer;
  int64_t repeats; /* trainings on each split of the data, with seeds model.seed and those after it */
  cli_gnn_sampling sampling;         /* with words there is one rank */
  const char *out;                   /* where the state goes, or NULL; each `every` epochs, and at the end */
  int64_t every;                     /* with `out` there is one training */
  const struct cli_gnn_facts *facts; /* what the state holds of the data; with `out` */
  bool resumes;                      /* out has the state that training goes on from, */
  int64_t before;                    /* after so many epochs, which the result has; */
  bool anew; /* they were of other data, so that none of them can be the best: that is looked for anew */
  cli_gnn_result *result; /* room for `epochs` of them; from cli_share */
  cli_gnn_run *run;       /* room for all; from cli_share */
  sley_gnn_bytes *bytes;  /* of the network on each rank; from cli_share */
  /* NULL, or called by rank 0 after each epoch, and after each training. */
  void (*tell)(void *context, int64_t number, const cli_gnn_epoch *epoch);
  void (*tell_run)(void *context, int64_t number);
  void *context;
} cli_gnn_training;

/* Trains on each split in turn, `repeats` times, with one network that is restarted; fills result, run and
 * bytes. Errors: the library's; SLEY_ERR_INTERRUPTED after an epoch, with the state written;
 * SLEY_ERR_INTERNAL with a message: training diverged, and no state of it is written. What has ended by then
 * is there, and of one training what it has done. */
sley_status cli_gnn_train(cli_gnn_training *training);

/* Logits of all rows by the network of the file
 * `weights`, of its best epoch, or with `last` of its last. out: .npy that gets them, or NULL. *result: one
 * epoch, whose shares are those of the sets and whose loss is 0. Errors: the library's. */
typedef struct cli_gnn_inference {
  const cli_gnn_data *data;
  sley_gnn_options model;
  sley_rank_options ranks;
  const char *weights, *out;
  bool last;
  cli_gnn_result *result; /* room for one epoch */
} cli_gnn_inference;
sley_status cli_gnn_infer(cli_gnn_inference *inference);

#endif
