/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by columns: the gradients of aggregations and SDDMM with respect to rows of X, or V. Either each rank
 * sums its rows' entries, and the sums of the halo's rows are sent to their owners, which add them; or, in a
 * reproducible graph, the operands are sent, and the owner of a column sums it alone. */
#ifndef SLEY_GRAPH_COLUMN_SUMS_H
#define SLEY_GRAPH_COLUMN_SUMS_H

#include "graph/graph_pull.h"
#include "graph/graph_rows.h"

/* The chosen_bits of sl_aggregate_args, for devices with their own memory. */
typedef struct sl_chosen_memory {
  void *bits;
  bool positions_kept;
} sl_chosen_memory;

typedef struct sl_column_sums {
  const sl_graph_rows *rows; /* used in the first way, and for own columns */
  const sl_relation *relation;
  sl_row_pull x, chosen; /* used in the second way; chosen is zeroed if nothing is chosen */
  sl_entry_pull val, factor;
  sl_chosen_memory *chosen_memory; /* NULL: none */
} sl_column_sums;

/* Opens sums for args of this shape. chooses: whether args will have chosen; factors: whether they will have
 * factor. rows must outlive it. Collective, agreed. */
sley_status sl_column_sums_open(const sl_graph_rows *rows, const sl_relation *relation, const sl_heads *shape,
                                bool chooses, bool factors, sl_column_sums *out);

/* Sets each own row of X to the sum that args describe. The call sets pattern, y and of_row; x, val, factor,
 * scale and chosen belong to this rank's rows and entries. Collective. */
sley_status sl_column_sums_run(const sl_column_sums *sums, const sl_aggregate_args *args, void *x,
                               int64_t ldx);

/* Frees the memory. Accepts a zeroed struct. Collective. */
void sl_column_sums_close(sl_column_sums *sums);

#endif
