/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of graph, features, labels and splits share: where they write, messages of their own, and
 * texts with a line for each row of the graph. */
#ifndef SLEY_CLI_GNN_READING_H
#define SLEY_CLI_GNN_READING_H

#include "gnn/data.h"

typedef struct cli_gnn_reading {
  const cli_gnn_source *source;
  cli_gnn_data *data;
  char *message;
  size_t room;       /* of it */
  const char **path; /* *path: the input that is being read, for the library's errors */
} cli_gnn_reading;

/* gnn_features.c: the features, and their print; gnn_labels.c: labels and the number of classes. Errors: as
 * cli_gnn_data_read. */
sley_status cli_gnn_features_read(const cli_gnn_reading *reading);
sley_status cli_gnn_labels_read(const cli_gnn_reading *reading);

/* Of entry e of a matrix of f32 or f64. */
int64_t cli_gnn_column(const sley_csr *m, int64_t e);
double cli_gnn_value(const sley_csr *m, int64_t e);

/* SLEY_ERR_INPUT with a message of the command's own. line 0: of the whole file. */
sley_status cli_gnn_refuse(const cli_gnn_reading *reading, const char *path, int64_t line, const char *what);

/* The same for a value that is not finite in f32, in which networks compute. what: "feature" or "entry"; row
 * and col count from 0. */
sley_status cli_gnn_refuse_value(const cli_gnn_reading *reading, const char *path, const char *what,
                                 int64_t row, int64_t col, double value);

/* Refuses the first entry of a matrix of f32 or f64 that is not finite in f32. */
sley_status cli_gnn_check_entries(const cli_gnn_reading *reading, const char *path, const char *what,
                                  const sley_matrix *matrix);

/* A line of a text that has one for each row: what is wrong with it, or NULL. It may be written to, and is
 * kept for that row if `there`, which is that the graph has the row. */
typedef const char *cli_gnn_take_line(const cli_gnn_reading *reading, char *line, int64_t row, bool there);

/* Hands over line by line. Blank lines at the end are left out, as is a byte order mark. what: the plural of
 * what lines have. Errors: SLEY_ERR_INPUT (what is wrong with a line; more or fewer lines than rows),
 * SLEY_ERR_MEMORY. */
sley_status cli_gnn_read_lines(const cli_gnn_reading *reading, const char *path, const char *what,
                               cli_gnn_take_line *take);

#endif
