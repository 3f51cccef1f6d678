/* SPDX-License-Identifier: Apache-2.0 */
/* The data that a graph network is trained on: a graph, features and a label for each row, and a split of the
 * rows into training, validation and test. */
#ifndef SLEY_CLI_GNN_DATA_H
#define SLEY_CLI_GNN_DATA_H

#include "matrix/source.h"
#include "sley_gnn.h"

#include <stdbool.h>

typedef enum cli_gnn_set {
  CLI_GNN_NONE,
  CLI_GNN_TRAIN,
  CLI_GNN_VALID,
  CLI_GNN_TEST,
  CLI_GNN_SETS,
  CLI_GNN_SPENT = CLI_GNN_SETS /* an earlier training was trained on this row, so the row is in no set */
} cli_gnn_set;

/* A division of the rows into sets. */
typedef struct cli_gnn_split {
  int64_t seed; /* seed with which it was drawn; -1: read from a file, or absent */
  uint8_t *set; /* one cli_gnn_set, or CLI_GNN_SPENT, per row */
  int64_t count[CLI_GNN_SETS];
} cli_gnn_split;

enum { CLI_GNN_PRINT = 4 };

/* A fingerprint: 32 bytes of BLAKE2b over the data that was read. It does not depend on ranks, the order of
 * entries or the file format. */
typedef struct cli_gnn_print {
  int64_t word[CLI_GNN_PRINT];
} cli_gnn_print;

typedef struct cli_gnn_data {
  sley_matrix *graph; /* NULL once layouts have taken it over (order.h) */
  int64_t rows, entries, features, classes;
  /* dense features, rows x features; NULL if features are sparse: then `sparse` has them, in f32 */
  float *x;
  sley_matrix *sparse;
  /* why features of a sparse file are dense: the file has few zeros, or the source asked */
  enum { CLI_GNN_NOT_MADE, CLI_GNN_FULL, CLI_GNN_ASKED } made_dense;
  cli_gnn_print graph_print,
      feature_print;          /* fingerprints of the data as read, if the source requests them */
  int64_t other_values;       /* number of entries of A whose value is not 1 */
  int64_t looked_at, one_way; /* number of entries that were examined, and number of these without an opposite
                                 entry; both 0 if the graph was made undirected */
  char told[256];             /* remark on the numbers of the labels; "": none */
  int32_t *label;             /* class of each row, 0 .. classes - 1; -1: none */
  cli_gnn_split split;
  bool undirected, normalized, weights; /* copied from the source */
  double graph_ms;                      /* ms to read or generate the graph */
} cli_gnn_data;

typedef struct cli_gnn_source {
  const char *graph, *features; /* files or generators; features may be random:K */
  const char *labels;           /* a file, or planted:C; NULL: no labels, and no sets */
  const char *split; /* a file with train, valid, test or none on each line; NULL: the split is drawn */
  bool undirected, normalize; /* undirected: A is replaced by A or A^T; normalize: each row of features is
                                 divided by the sum of its magnitudes */
  bool weights;               /* true: the values of A are used */
  bool dense;                 /* true: make features dense, even if the file is sparse */
  bool prints;                /* true: compute the fingerprints */
  const cli_gnn_split *known; /* a split that is used instead of drawing or reading one; NULL: none */
  int64_t known_rows;   /* number of rows of known; if the graph has another number, no row is in a set */
  int64_t train, valid; /* drawn rows of each class for training and validation */
  int64_t split_seed;
  int64_t seed; /* seed of generators and of random features */
  int64_t threads;
  const cli_reading *reading; /* how the graph's file is read */
} cli_gnn_source;

/* Writes the features of one row to `to`, dense. */
void cli_gnn_features_row(const cli_gnn_data *data, int64_t row, float *to);

/* Reads the graph, features and labels, and makes the split (split.h). planted:C computes labels from the
 * features and the graph by one round of averaging. The caller calls cli_gnn_data_free, also after an error.
 * *path: the input to which an error of the library refers. Errors: the library's errors; SLEY_ERR_INPUT with
 * a message of `room` bytes at most, which names file and place (wrong lengths, values that are not numbers).
 */
sley_status cli_gnn_data_read(const cli_gnn_source *source, cli_gnn_data *out, char *message, size_t room,
                              const char **path);
void cli_gnn_data_free(cli_gnn_data *data);

#endif
