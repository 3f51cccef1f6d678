/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of X that an operation on a graph fetches, and rows of gradients that it sends back: the exchanges of
 * one width along the graph's halo, and a buffer of the device. */
#ifndef SLEY_GRAPH_GRAPH_ROWS_H
#define SLEY_GRAPH_GRAPH_ROWS_H

#include "graph/graph.h"
#include "graph/halo_rows.h"

typedef struct sl_graph_rows {
  sley_graph *graph;
  sley_halo *halo;      /* its exchanges */
  int64_t features, ld; /* ld: of the halo's rows, in the buffer and where they are kept */
  sley_dtype dtype;
  void *buffer; /* halo rows x ld values */
} sl_graph_rows;

/* Rows of so many values of dtype; the halo's begin ld values apart. Collective, agreed. Errors:
 * SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY. */
sley_status sl_graph_rows_open(sley_graph *graph, int64_t features, int64_t ld, sley_dtype dtype,
                               sl_graph_rows *out);

/* Accepts one that is zeroed. Collective. */
void sl_graph_rows_close(sl_graph_rows *rows);

/* What an operation fetches: own rows x, of leading dimension ldx, are sent to others, and the halo's rows
 * come to `fetched`, NULL: the buffer. there: they are in `fetched` already. */
typedef struct sl_graph_fetch {
  const void *x;
  int64_t ldx;
  void *fetched;
  bool there;
} sl_graph_fetch;

/* The own rows and the halo's as an operand. Nothing travels. */
sl_split_rows sl_graph_rows_operand(const sl_graph_rows *rows, const sl_graph_fetch *fetch);

/* Fetches, and runs a kernel for args on all rows of a relation of the graph: while the halo's rows travel on
 * those rows that need none of them, then on the others; where nothing travels on all rows at once. args are
 * of AGGREGATE, SDDMM or ATTENTION, have the operand of that fetch, and get the pattern here. Errors end the
 * comm, but for SLEY_ERR_INTERRUPTED where nothing travels. Collective, unless there. */
sley_status sl_graph_rows_fetch_and_run(const sl_graph_rows *rows, const sl_graph_fetch *fetch,
                                        const sl_relation *relation, sl_kernel_args *args);

/* Begins to send the buffer's rows back, to be added to their owners' rows at x, and ends that: in between x
 * may be written. An error of begin or end has ended the comm. Collective. */
sley_status sl_graph_rows_return(const sl_graph_rows *rows, void *x, int64_t ldx);
sley_status sl_graph_rows_returned(const sl_graph_rows *rows);

/* Runs a kernel for args on the rank's queue; a failure ends the comm, for others may wait for this rank. */
sley_status sl_graph_kernel(const sley_graph *graph, const sl_kernel_args *args);

/* Whether the device has a kernel for args: an error that names it where not. */
sley_status sl_graph_serves(const sley_graph *graph, const sl_kernel_args *args);

#endif
