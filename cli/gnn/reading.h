/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of graph, features, labels and splits have in common: their destination, error messages,
 * and text files with one line per row of the graph. */
#ifndef SLEY_CLI_GNN_READING_H
#define SLEY_CLI_GNN_READING_H

#include "gnn/data.h"

enum { CLI_GNN_ROWS_AT_ONCE = 1024 }; /* grain of loops over the rows of a graph */

typedef struct cli_gnn_reading {
  const cli_gnn_source *source;
  cli_gnn_data *data;
  char *message;
  size_t room;       /* bytes of message */
  const char **path; /* *path is set to the input that is being read, for errors of the library */
} cli_gnn_reading;

/* Read the features and their fingerprint (features.c), and the labels and the number of classes (labels.c).
 * Errors: as cli_gnn_data_read. */
sley_status cli_gnn_features_read(const cli_gnn_reading *reading);
sley_status cli_gnn_labels_read(const cli_gnn_reading *reading);

/* Column and value of entry e of a matrix in f32 or f64. */
int64_t cli_gnn_column(const sley_csr *m, int64_t e);
double cli_gnn_value(const sley_csr *m, int64_t e);

/* Writes a message of the command and returns SLEY_ERR_INPUT. line 0: the message is about the whole file. */
sley_status cli_gnn_refuse(const cli_gnn_reading *reading, const char *path, int64_t line, const char *what);

/* Refuses a value that is not finite in f32, in which networks compute. what: "feature" or "entry"; row and
 * col count from 0. */
sley_status cli_gnn_refuse_value(const cli_gnn_reading *reading, const char *path, const char *what,
                                 int64_t row, int64_t col, double value);

/* Refuses the first entry of a matrix in f32 or f64 that is not finite in f32. */
sley_status cli_gnn_check_entries(const cli_gnn_reading *reading, const char *path, const char *what,
                                  const sley_matrix *matrix);

/* Parses the line of one row; it may change the line. there: the graph has this row, so the value is stored.
 * Returns NULL, or a message about a wrong line. */
typedef const char *cli_gnn_take_line(const cli_gnn_reading *reading, char *line, int64_t row, bool there);

/* Calls take for each line. Skips a byte order mark and blank lines at the end. what: plural noun for the
 * contents of lines, for messages. Errors: SLEY_ERR_INPUT (a wrong line; more or fewer lines than rows),
 * SLEY_ERR_MEMORY. */
sley_status cli_gnn_read_lines(const cli_gnn_reading *reading, const char *path, const char *what,
                               cli_gnn_take_line *take);

#endif
