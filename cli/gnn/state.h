/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley gnn` keeps in a file beside the state of the network (sley_gnn_save): epochs, a row for each
 * with its loss and the shares of right rows in training, validation and test; the weights of the epoch with
 * the best validation; and what the training was of: fingerprints of graph, features, labels and split, the
 * split itself, and settings. docs/FORMATS.md has the arrays. */
#ifndef SLEY_CLI_GNN_STATE_H
#define SLEY_CLI_GNN_STATE_H

#include "gnn/train.h"

#define CLI_GNN_BEST "best."

/* The weights of the best epoch so far, in the host's memory. */
typedef struct cli_gnn_kept {
  int count;
  int64_t epoch; /* -1: none yet */
  struct cli_gnn_kept_array *array;
} cli_gnn_kept;

/* Room for a network's weights; its dtype is f32. Errors: SLEY_ERR_MEMORY. Freed by the last, which accepts
 * one that is zeroed. */
sley_status cli_gnn_kept_open(const sley_gnn *gnn, cli_gnn_kept *out);
/* Copies what the network has, as that of an epoch. Waits. */
sley_status cli_gnn_keep(cli_gnn_kept *kept, sley_comm *comm, const sley_gnn *gnn, int64_t epoch);
/* The same from a file that has them. */
sley_status cli_gnn_keep_from(cli_gnn_kept *kept, const char *path, cli_gnn_message *message);
void cli_gnn_kept_close(cli_gnn_kept *kept);

/* Whether all weights are finite; else what is where, in text. Waits. Errors: SLEY_ERR_MEMORY. */
sley_status cli_gnn_weights_finite(sley_comm *comm, const sley_gnn *gnn, char *text, size_t room,
                                   bool *finite);

/* Settings that decide what is trained, beside the network's shape. */
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
  CLI_GNN_BATCH, /* 0: nothing is drawn */
  CLI_GNN_DRAWN, /* the settings of how the split was drawn; -1: it was of a file */
  CLI_GNN_DRAWN_VALID,
  CLI_GNN_DRAWN_SEED,
  CLI_GNN_SETTINGS
};

/* What a training is of. */
typedef struct cli_gnn_facts {
  double setting[CLI_GNN_SETTINGS];
  int64_t fan_out[CLI_GNN_MOST_HOPS]; /* 0 after the last hop, and where nothing is drawn */
  cli_gnn_print graph, features, labels, split;
} cli_gnn_facts;

/* Those of a training that is about to begin on the data's first split. train, valid: rows of a class that
 * were drawn. Errors: the library's. */
sley_status cli_gnn_facts_of(const cli_gnn_training *training, int64_t train, int64_t valid,
                             cli_gnn_facts *out);

/* A state's facts, its split, and the network's options. */
typedef struct cli_gnn_state {
  sley_gnn_options model;
  cli_gnn_facts facts;
  cli_gnn_split split;
  int64_t rows; /* of the split */
} cli_gnn_state;

/* Reads them. Freed by the second, also on an error. Errors: the library's; SLEY_ERR_INPUT with a message
 * (an array that is not what it should be, a state of another version). */
sley_status cli_gnn_state_read(const char *path, cli_gnn_state *out, cli_gnn_message *message);
void cli_gnn_state_free(cli_gnn_state *state);

/* What differs, as words for a message: "" if nothing does. */
void cli_gnn_settings_differ(const cli_gnn_facts *state, const cli_gnn_facts *now, char *text, size_t room);
/* The same of graph, features, labels (if they are there) and split (if it is looked at). */
void cli_gnn_data_differ(const cli_gnn_facts *state, const cli_gnn_facts *now, bool labels, bool split,
                         char *text, size_t room);

/* Writes the state. Collective; what rank 0 has counts. */
sley_status cli_gnn_state_write(sley_gnn *gnn, const char *path, const cli_gnn_training *training,
                                const cli_gnn_kept *kept);

/* Reads the epochs of a file, with ms NaN. *count: how many; *out is freed by free(). Errors: as
 * cli_gnn_state_read. */
sley_status cli_gnn_state_epochs(const char *path, int64_t *count, cli_gnn_epoch **out,
                                 cli_gnn_message *message);

#endif
