/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by columns: what aggregations and SDDMM give rows of X, or V, as gradients. Either each rank sums its
 * rows' entries, and the sums of the halo's rows travel to their owners, which add them; or, in a
 * reproducible graph, what the sums are of travels, and the owner of a column sums it alone. */
#ifndef SLEY_GRAPH_COLUMN_SUMS_H
#define SLEY_GRAPH_COLUMN_SUMS_H

#include "graph/graph_pull.h"
#include "graph/graph_rows.h"

/* For devices that have memory of their own, where something is chosen: sl_aggregate_args' chosen_bits. */
typedef struct sl_chosen_memory {
  void *bits;
  bool positions_kept;
} sl_chosen_memory;

typedef struct sl_column_sums {
  const sl_graph_rows *rows; /* of the first way, and of own columns */
  const sl_relation *relation;
  sl_row_pull x, chosen; /* of the second way; chosen is zeroed where nothing is chosen */
  sl_entry_pull val, factor;
  sl_chosen_memory *chosen_memory; /* NULL: none */
} sl_column_sums;

/* For args of this shape. chooses: whether args will have chosen; factors: factor. rows outlive it.
 * Collective, agreed. */
sley_status sl_column_sums_open(const sl_graph_rows *rows, const sl_relation *relation, const sl_heads *shape,
                                bool chooses, bool factors, sl_column_sums *out);

/* Each own row of X becomes the sum that args say, whose pattern, y and of_row are set here, x, val, factor,
 * scale and chosen being those of this rank's rows and entries. Collective. */
sley_status sl_column_sums_run(const sl_column_sums *sums, const sl_aggregate_args *args, void *x,
                               int64_t ldx);

/* Accepts one that is zeroed. Collective. */
void sl_column_sums_close(sl_column_sums *sums);

#endif
