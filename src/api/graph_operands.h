/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that all operations on graphs share. */
#ifndef SLEY_API_GRAPH_OPERANDS_H
#define SLEY_API_GRAPH_OPERANDS_H

#include "graph/graph.h"

/* A dense operand: rows of `features` values at data, leading dimension ld. */
typedef struct sl_dense_operand {
  const char *name;
  const void *data;
  int64_t rows, features, ld;
} sl_dense_operand;

/* Checks that each operand has its rows and a sufficient leading dimension. call: the public function's
 * name. */
sley_status sl_check_operands(const char *call, const sl_dense_operand *operands, int count);

/* Checks an array of values of entries. */
sley_status sl_check_values(const char *call, const char *name, const void *values, int64_t entries,
                            int64_t heads);

/* Checks heads, width, dtype and relation of options. */
sley_status sl_check_shape(const char *call, const sley_graph *graph, int64_t heads, int64_t width,
                           sley_dtype dtype, int relation);

/* Checks that the graph was prepared for gradients. */
sley_status sl_check_gradients(const char *call, const sley_graph *graph);

/* Checks that rows that are marked as fetched have an address. */
sley_status sl_check_fetched(const char *call, const sley_graph *graph, const sley_fetched *fetched);

#endif
