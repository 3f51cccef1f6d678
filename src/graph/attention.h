/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on a graph, and its gradients. The public functions of the same names say what each does. */
#ifndef SLEY_GRAPH_ATTENTION_H
#define SLEY_GRAPH_ATTENTION_H

#include "graph/graph_pull.h"
#include "graph/graph_rows.h"

/* Where each part of what a forward call saves begins, in bytes. */
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
  int64_t query_width, key_width; /* of sources: their values, and then so many of keys */
  sl_saved_layout saved;
  sl_graph_rows source; /* the rows of sources that are fetched, and the gradients that are sent back */
  /* Of a graph that pulls: what the gradients of columns are made of. */
  sl_row_pull all_query, all_dy, all_stats, all_delta;
  void *delta, *work; /* of the gradients, in the device's memory; NULL: a graph for forward operations */
};

/* options: checked, the same on all ranks. Collective, agreed. */
sley_status sl_attention_create(sley_graph *graph, const sley_attention_options *options,
                                sley_attention **out);
sley_status sl_attention_forward(const sley_attention *attention, const sley_attention_operands *operands);
sley_status sl_attention_backward(const sley_attention *attention, const sley_attention_operands *operands,
                                  const sley_attention_gradients *gradients);
void sl_attention_destroy(sley_attention *attention);

#endif
