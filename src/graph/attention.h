/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on a graph, and their gradients. The public functions of the same names document each. */
#ifndef SLEY_GRAPH_ATTENTION_H
#define SLEY_GRAPH_ATTENTION_H

#include "graph/graph_pull.h"
#include "graph/graph_rows.h"

/* Offset in bytes of each part that a forward call saves. */
typedef struct sl_saved_layout {
  int64_t stats, side, fetched, bytes;
} sl_saved_layout;

struct sley_attention {
  sley_graph *graph;
  const sl_relation *relation;
  sl_attention kind;
  sl_heads shape;
  sley_dtype dtype;
  double slope;
  int64_t query_width, key_width; /* a row of sources has its values, then key_width keys */
  sl_saved_layout saved;
  sl_graph_rows source; /* rows of sources that are fetched, and gradients that are sent back */
  /* For graphs whose owners of columns fetch operands: rows of all ranks from which the gradients of columns
     are computed. */
  sl_row_pull all_query, all_dy, all_stats, all_delta;
  void *delta, *work; /* for gradients, in device memory; NULL: the graph has only forward operations */
};

/* Creates an attention. options: checked, the same on all ranks. Collective, agreed. */
sley_status sl_attention_create(sley_graph *graph, const sley_attention_options *options,
                                sley_attention **out);
sley_status sl_attention_forward(const sley_attention *attention, const sley_attention_operands *operands);
sley_status sl_attention_backward(const sley_attention *attention, const sley_attention_operands *operands,
                                  const sley_attention_gradients *gradients);
void sl_attention_destroy(sley_attention *attention);

#endif
