/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on a graph, and their gradients. The public functions of the same names document each. */
#ifndef SLEY_GRAPH_AGGREGATION_H
#define SLEY_GRAPH_AGGREGATION_H

#include "graph/column_sums.h"

struct sley_aggregation {
  sley_graph *graph;
  const sl_relation *relation;
  sl_aggregate kind;
  sl_heads shape;
  sley_dtype dtype;
  sl_graph_rows x; /* fetched rows of X */
  sl_column_sums dx;
};

/* Creates an aggregation. options: checked, the same on all ranks. Collective, agreed. */
sley_status sl_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                  sley_aggregation **out);
sley_status sl_aggregation_forward(const sley_aggregation *aggregation,
                                   const sley_aggregation_operands *operands);
sley_status sl_aggregation_backward(const sley_aggregation *aggregation,
                                    const sley_aggregation_operands *operands,
                                    const sley_aggregation_gradients *gradients);
void sl_aggregation_destroy(sley_aggregation *aggregation);

#endif
