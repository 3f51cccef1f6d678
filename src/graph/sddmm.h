/* SPDX-License-Identifier: Apache-2.0 */
/* Values of entries on a graph: SDDMM and its gradients, and the softmax by rows. The public functions of the
 * same names document each. */
#ifndef SLEY_GRAPH_SDDMM_H
#define SLEY_GRAPH_SDDMM_H

#include "graph/column_sums.h"

struct sley_sddmm {
  sley_graph *graph;
  const sl_relation *relation;
  sl_sddmm form;
  sl_heads shape;
  sley_dtype dtype;
  sl_graph_rows v; /* fetched rows of V */
  sl_column_sums dv;
};

/* Creates an SDDMM. options: checked, the same on all ranks. Collective, agreed. */
sley_status sl_sddmm_create(sley_graph *graph, const sley_sddmm_options *options, sley_sddmm **out);
sley_status sl_sddmm_forward(const sley_sddmm *sddmm, const sley_sddmm_operands *operands);
sley_status sl_sddmm_backward(const sley_sddmm *sddmm, const sley_sddmm_operands *operands,
                              const sley_sddmm_gradients *gradients);
void sl_sddmm_destroy(sley_sddmm *sddmm);

#endif
