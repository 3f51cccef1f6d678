/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of X that an operation on a graph fetches, and rows of gradients that it sends back: the exchanges of
 * one width along the graph's halo, and a buffer in device memory. */
#ifndef SLEY_GRAPH_GRAPH_ROWS_H
#define SLEY_GRAPH_GRAPH_ROWS_H

#include "graph/graph.h"
#include "graph/halo_rows.h"

typedef struct sl_graph_rows {
  sley_graph *graph;
  sley_halo *halo;      /* exchanges of this width */
  int64_t features, ld; /* ld: leading dimension of the halo's rows, in the buffer and where they are kept */
  sley_dtype dtype;
  void *buffer; /* halo rows x ld values */
} sl_graph_rows;

/* Rows of `features` values of dtype; the halo's rows begin ld values apart. Collective, agreed. Errors:
 * SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY. */
sley_status sl_graph_rows_open(sley_graph *graph, int64_t features, int64_t ld, sley_dtype dtype,
                               sl_graph_rows *out);

/* Frees the memory and the exchange. Accepts a zeroed struct. Collective. */
void sl_graph_rows_close(sl_graph_rows *rows);

/* The rows that an operation fetches. Own rows x, of leading dimension ldx, are sent to others; the halo's
 * rows arrive in `fetched` (NULL: the buffer). there: they are in `fetched` already. */
typedef struct sl_graph_fetch {
  const void *x;
  int64_t ldx;
  void *fetched;
  bool there;
} sl_graph_fetch;

/* Returns the rank's own rows and the halo's rows as an operand. Sends nothing. */
sl_split_rows sl_graph_rows_operand(const sl_graph_rows *rows, const sl_graph_fetch *fetch);

/* Fetches, and runs a kernel for args on all rows of a relation of the graph: while the halo's rows arrive,
 * on the rows that need none of them, then on the others; or on all rows at once if nothing is sent. args are
 * for AGGREGATE, SDDMM or ATTENTION, with the operand of that fetch; the call sets the pattern. Errors end
 * the comm, except SLEY_ERR_INTERRUPTED if nothing is sent. Collective, unless `there`. */
sley_status sl_graph_rows_fetch_and_run(const sl_graph_rows *rows, const sl_graph_fetch *fetch,
                                        const sl_relation *relation, sl_kernel_args *args);

/* Begin and end sending the buffer's rows back to their owners, which add them to their rows at x. Between
 * the calls x may be written. An error in either call ends the comm. Collective. */
sley_status sl_graph_rows_return(const sl_graph_rows *rows, void *x, int64_t ldx);
sley_status sl_graph_rows_returned(const sl_graph_rows *rows);

/* Runs a kernel for args on the rank's queue; a failure ends the comm, because others may be waiting for this
 * rank. */
sley_status sl_graph_kernel(const sley_graph *graph, const sl_kernel_args *args);

/* Checks that the device has a kernel for args; the error names the kernel that is missing. */
sley_status sl_graph_serves(const sley_graph *graph, const sl_kernel_args *args);

#endif
