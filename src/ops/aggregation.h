/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregations on a graph, and their gradients. The public functions of the same names say what each does. */
#ifndef SLEY_OPS_AGGREGATION_H
#define SLEY_OPS_AGGREGATION_H

#include "ops/graph_rows.h"

struct sley_aggregation {
  sley_graph *graph;
  const sl_relation *relation;
  sl_aggregate kind;
  sl_heads shape;
  sley_dtype dtype;
  sl_graph_rows x; /* the rows of X that are fetched, and the gradients that are sent back */
};

/* options: checked, the same on all ranks. Collective, agreed. */
sley_status sl_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                  sley_aggregation **out);
sley_status sl_aggregation_forward(const sley_aggregation *aggregation,
                                   const sley_aggregation_operands *operands);
sley_status sl_aggregation_backward(const sley_aggregation *aggregation,
                                    const sley_aggregation_operands *operands,
                                    const sley_aggregation_gradients *gradients);
void sl_aggregation_destroy(sley_aggregation *aggregation);

/* Each row of X becomes the sum that `args`, whose pattern is by columns, says of it: the halo's rows first,
 * which then travel to their owners, where they are added to the rows at x. Of args y is set here.
 * Collective. */
sley_status sl_aggregate_to_columns(const sl_graph_rows *rows, const sl_aggregate_args *args, void *x,
                                    int64_t ldx);

#endif
