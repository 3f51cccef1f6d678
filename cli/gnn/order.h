/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the rows in which ranks of `sley gnn` have the graph. Features, labels and sets keep the order
 * of the data, and so does everything that is written: only the ranks' copies are in another order. */
#ifndef SLEY_CLI_GNN_ORDER_H
#define SLEY_CLI_GNN_ORDER_H

#include "gnn/data.h"
#include "output/json.h"

#define CLI_GNN_AUTO "auto"

enum { CLI_GNN_MOST_LAYOUTS = 8 };

/* A graph in an order, and its rows' division among the ranks. */
typedef struct cli_gnn_layout {
  const char *order; /* one of sley_orders() */
  sley_matrix *graph;
  int64_t *row_name; /* row i of graph is row row_name[i] of the data; NULL: row i */
  int64_t *begin;    /* ranks + 1 elements: rank r has rows begin[r] to begin[r + 1] of graph */
} cli_gnn_layout;

/* The layouts from which the ranks choose one. */
typedef struct cli_gnn_layouts {
  int count;
  cli_gnn_layout at[CLI_GNN_MOST_LAYOUTS];
  double ms;           /* ms to compute all orders */
  _Atomic int readers; /* ranks of this process that still read graphs */
} cli_gnn_layouts;

/* The layout that the ranks have chosen, for the report. predicted_ms: time of a sum in each layout, if there
 * are several. */
typedef struct cli_gnn_chosen {
  int layout;
  double predicted_ms[CLI_GNN_MOST_LAYOUTS];
} cli_gnn_chosen;

/* Makes the layout of an order, or for CLI_GNN_AUTO the layouts that may pay. Takes data->graph over. The
 * caller calls cli_gnn_layouts_free, also after an error. Errors: the library's errors. */
sley_status cli_gnn_layouts_make(cli_gnn_data *data, const char *order, const sley_rank_options *ranks,
                                 int64_t seed, cli_gnn_layouts *out);
void cli_gnn_layouts_free(cli_gnn_layouts *layouts);

/* Frees the graphs when the last rank of this process has called it. */
void cli_gnn_layouts_copied(cli_gnn_layouts *layouts);

/* Chooses a layout: the one in which the library predicts the least time for a sum of hidden rows, if that is
 * clearly less than in the order of the data. Rank 0 fills *chosen. Collective, agreed. */
sley_status cli_gnn_layouts_choose(sley_comm *comm, const cli_gnn_layouts *layouts,
                                   const sley_gnn_options *model, cli_gnn_chosen *chosen,
                                   const cli_gnn_layout **out);

/* Print the chosen order, as text and as JSON. */
void cli_gnn_chosen_print(const cli_gnn_layouts *layouts, const cli_gnn_chosen *chosen, FILE *stream);
void cli_gnn_chosen_json(const cli_gnn_layouts *layouts, const cli_gnn_chosen *chosen, cli_json *json);

/* Row of the data that row i of the layout is. */
int64_t cli_gnn_row_name(const cli_gnn_layout *layout, int64_t i);

#endif
