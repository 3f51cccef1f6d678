/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays that `sley gnn` stores in a file in addition to the network's state (sley_gnn_save): a row per
 * epoch with its loss and its shares of correctly classified rows in training, validation and test; the
 * weights of the epoch with the best validation; and a description of the training: fingerprints of graph,
 * features, labels and split, the split itself, and settings. docs/FORMATS.md lists the arrays. */
#ifndef SLEY_CLI_GNN_STATE_H
#define SLEY_CLI_GNN_STATE_H

#include "gnn/train.h"

#define CLI_GNN_BEST "best."

/* The weights of the best epoch so far, in host memory. */
typedef struct cli_gnn_kept {
  int count;
  int64_t epoch; /* -1: none yet */
  struct cli_gnn_kept_array *array;
} cli_gnn_kept;

/* Allocates memory for the weights of a network in f32. The caller calls cli_gnn_kept_close, which accepts a
 * zeroed object. Errors: SLEY_ERR_MEMORY. */
sley_status cli_gnn_kept_open(const sley_gnn *gnn, cli_gnn_kept *out);
/* Copies the network's current weights as the weights of `epoch`. Waits for the device. */
sley_status cli_gnn_keep(cli_gnn_kept *kept, sley_comm *comm, const sley_gnn *gnn, int64_t epoch);
/* Reads the weights of the best epoch from a file. */
sley_status cli_gnn_keep_from(cli_gnn_kept *kept, const char *path, cli_gnn_message *message);
void cli_gnn_kept_close(cli_gnn_kept *kept);

/* Sets *finite to true if all weights are finite. If not, text gets the name, place and value of the first
 * weight that is not. Waits for the device. Errors: SLEY_ERR_MEMORY. */
sley_status cli_gnn_weights_finite(sley_comm *comm, const sley_gnn *gnn, char *text, size_t room,
                                   bool *finite);

/* Settings that affect the training, including the network's shape. */
enum {
  CLI_GNN_RATE,
  CLI_GNN_DECAY,
  CLI_GNN_DROPOUT,
  CLI_GNN_SEED,
  CLI_GNN_MODEL,
  CLI_GNN_LAYERS,
  CLI_GNN_HIDDEN,
  CLI_GNN_HEADS,
  CLI_GNN_OPTIMIZER,
  CLI_GNN_UNDIRECTED,
  CLI_GNN_NORMALIZE,
  CLI_GNN_WEIGHTS,
  CLI_GNN_REPRODUCIBLE,
  CLI_GNN_TF32,
  CLI_GNN_MEMORY,
  CLI_GNN_WIRE,
  CLI_GNN_BATCH, /* 0: no neighbourhoods are drawn */
  CLI_GNN_DRAWN, /* how the split was drawn: rows per class for training and for validation, seed; -1: it was
                    read from a file */
  CLI_GNN_DRAWN_VALID,
  CLI_GNN_DRAWN_SEED,
  CLI_GNN_SETTINGS
};

/* The description of a training. */
typedef struct cli_gnn_facts {
  double setting[CLI_GNN_SETTINGS];
  int64_t fan_out[CLI_GNN_MOST_HOPS]; /* 0 after the last hop, and if nothing is drawn */
  cli_gnn_print graph, features, labels, split;
} cli_gnn_facts;

/* Describes a training that is about to begin. train, valid: drawn rows per class.
 * Errors: the library's errors. */
sley_status cli_gnn_facts_of(const cli_gnn_training *training, int64_t train, int64_t valid,
                             cli_gnn_facts *out);

/* A state: its description, its split, and the network's options. */
typedef struct cli_gnn_state {
  sley_gnn_options model;
  cli_gnn_facts facts;
  cli_gnn_split split;
  int64_t rows; /* number of rows of the split */
} cli_gnn_state;

/* Reads a state. The caller calls cli_gnn_state_free, also after an error. Errors: the library's errors;
 * SLEY_ERR_INPUT with a message (an unexpected array, a state of another version). */
sley_status cli_gnn_state_read(const char *path, cli_gnn_state *out, cli_gnn_message *message);
void cli_gnn_state_free(cli_gnn_state *state);

/* Appends to text the settings that differ, as words for a message; nothing if none differs. */
void cli_gnn_settings_differ(const cli_gnn_facts *state, const cli_gnn_facts *now, char *text, size_t room);
/* Appends to text which of graph, features, labels (if `labels`) and split (if `split`) differ. */
void cli_gnn_data_differ(const cli_gnn_facts *state, const cli_gnn_facts *now, bool labels, bool split,
                         char *text, size_t room);

/* Writes the state. The data of rank 0 is written; other ranks pass NULL as kept. Collective. */
sley_status cli_gnn_state_write(sley_gnn *gnn, const char *path, const cli_gnn_training *training,
                                const cli_gnn_kept *kept);

/* Reads the epochs of a file; their ms are NaN. *count: number of epochs; the caller frees *out with free().
 * Errors: as cli_gnn_state_read. */
sley_status cli_gnn_state_epochs(const char *path, int64_t *count, cli_gnn_epoch **out,
                                 cli_gnn_message *message);

#endif
