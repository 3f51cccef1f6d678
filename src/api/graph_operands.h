/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of all operations on graphs share. */
#ifndef SLEY_API_GRAPH_OPERANDS_H
#define SLEY_API_GRAPH_OPERANDS_H

#include "graph/graph.h"

/* A dense operand: rows of so many features at data, leading dimension ld. */
typedef struct sl_dense_operand {
  const char *name;
  const void *data;
  int64_t rows, features, ld;
} sl_dense_operand;

/* Whether each has its rows and a leading dimension that holds them. call: the public function's name. */
sley_status sl_check_operands(const char *call, const sl_dense_operand *operands, int count);

/* An array of values of entries; optional: it may be NULL. */
sley_status sl_check_values(const char *call, const char *name, const void *values, int64_t entries,
                            int64_t heads);

/* heads, width, dtype and relation, as options give them. */
sley_status sl_check_shape(const char *call, const sley_graph *graph, int64_t heads, int64_t width,
                           sley_dtype dtype, int relation);

/* Whether the graph has what gradients are made with. */
sley_status sl_check_gradients(const char *call, const sley_graph *graph);

/* Whether rows that are said to be fetched have an address. */
sley_status sl_check_fetched(const char *call, const sley_graph *graph, const sley_fetched *fetched);

#endif
