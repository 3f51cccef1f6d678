/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph network is trained on: a graph, a row of features and a label for each of its rows, and splits
 * of the rows for training, validation and test. */
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
  CLI_GNN_SPENT = CLI_GNN_SETS /* an earlier training was trained on the row: it is in no set */
} cli_gnn_set;

/* Which rows are for what. */
typedef struct cli_gnn_split {
  int64_t seed; /* by which it was drawn; -1: it was not */
  uint8_t *set; /* of each row, a cli_gnn_set, or CLI_GNN_SPENT */
  int64_t count[CLI_GNN_SETS];
} cli_gnn_split;

enum { CLI_GNN_PRINT = 4 };

/* 32 bytes of BLAKE2b over what was read, the same however it is divided, ordered or stored. */
typedef struct cli_gnn_print {
  int64_t word[CLI_GNN_PRINT];
} cli_gnn_print;

typedef struct cli_gnn_data {
  sley_matrix *graph;
  int64_t rows, features, classes;
  /* rows x features; of features that are kept sparse, as an f32 matrix, x is NULL */
  float *x;
  sley_matrix *sparse;
  enum { CLI_GNN_NOT_MADE, CLI_GNN_FULL, CLI_GNN_ASKED } made_dense; /* why a sparse file's are dense */
  cli_gnn_print graph_print, feature_print; /* of the graph and the features as read, if the source asks */
  int64_t other_values;                     /* entries of A whose value is not 1 */
  int64_t looked_at, one_way; /* entries that were looked at, and those of them without their opposite; 0, 0
                               * of a graph made undirected */
  char told[256];             /* what the labels' numbers are, where that needs a line; else "" */
  int32_t *label;             /* 0 .. classes - 1; -1: none */
  int64_t splits;             /* 1 or more */
  cli_gnn_split *split;
  int64_t splits_found;                 /* in the source's file, which may have more */
  bool undirected, normalized, weights; /* as the source asked */
  double graph_ms;                      /* to read or generate the graph */
} cli_gnn_data;

typedef struct cli_gnn_source {
  const char *graph, *features; /* features: a file, or random:K */
  const char *labels;           /* a file, or planted:C; NULL: none, and no sets */
  const char *split;            /* a file whose lines have a word for each split: train, valid, test or none;
                                 * NULL: splits are drawn */
  bool undirected, normalize;   /* A becomes A or A^T; rows of features are divided by their sums */
  bool weights;                 /* values of A are used */
  bool dense;                   /* features are to be dense, whatever the file has */
  bool prints;                  /* the prints are wanted */
  const cli_gnn_split *known;   /* NULL, or the split: nothing is drawn or read; */
  int64_t known_rows;           /* it has so many; where the graph has another number, no row is in a set */
  int64_t train, valid;         /* rows of each class */
  int64_t splits; /* so many, the file's first, or drawn by split_seed and the numbers after it */
  int64_t split_seed;
  int64_t seed; /* of generators and of random features */
  int64_t threads;
  const cli_reading *reading; /* of the graph */
} cli_gnn_source;

/* Writes the `features` values of one row. */
void cli_gnn_features_row(const cli_gnn_data *data, int64_t row, float *to);

/* Reads all, and draws the splits, if no file has them (gnn_split.h). planted:C: labels that follow from
 * features and the graph, by one round of averaging. Freed by the second, also on error. Errors: the
 * library's, which *path names the input of; SLEY_ERR_INPUT with its message (lengths that do not fit, a
 * value that is no number: file and place). */
sley_status cli_gnn_data_read(const cli_gnn_source *source, cli_gnn_data *out, char *message, size_t room,
                              const char **path);
void cli_gnn_data_free(cli_gnn_data *data);

#endif
