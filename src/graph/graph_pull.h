/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches data to the owners of columns for gradients that have the same bits for every number of ranks: rows
 * of other ranks, and values of entries. */
#ifndef SLEY_GRAPH_GRAPH_PULL_H
#define SLEY_GRAPH_GRAPH_PULL_H

#include "graph/graph.h"
#include "graph/halo_rows.h"

/* Rows of `features` values, first of this rank and then of the halo of rows, without gaps. */
typedef struct sl_row_pull {
  sley_graph *graph;
  sley_halo *halo;
  int64_t features;
  sley_dtype dtype;
  void *all;
} sl_row_pull;

/* For a reproducible graph. Values are copied unchanged, so f32 also serves for 32-bit integers. Collective,
 * agreed. Errors: SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY. */
sley_status sl_row_pull_open(sley_graph *graph, int64_t features, sley_dtype dtype, sl_row_pull *out);

/* Fills `all` from this rank's rows. An error ends the comm. Collective. */
sley_status sl_row_pull_run(const sl_row_pull *pull, const void *rows, int64_t ld);

/* Frees the memory and the exchange. Accepts a zeroed struct. Collective. */
void sl_row_pull_close(sl_row_pull *pull);

/* Values of the entries of a relation's own columns, `heads` for each, in the order of its pattern. */
typedef struct sl_entry_pull {
  sley_graph *graph;
  sl_exchange *exchange;
  sl_row_list *lists;
  int64_t bytes; /* bytes per entry */
  void *all;
} sl_entry_pull;

/* These functions are used in the same way as the functions of sl_row_pull. */
sley_status sl_entry_pull_open(sley_graph *graph, const sl_owned *owned, int64_t heads, sley_dtype dtype,
                               sl_entry_pull *out);
sley_status sl_entry_pull_run(const sl_entry_pull *pull, const void *values);
void sl_entry_pull_close(sl_entry_pull *pull);

#endif
