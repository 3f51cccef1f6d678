/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the arguments of operations on graphs. */
#include "api/graph_operands.h"

static sley_status check_operand(const char *call, const sl_dense_operand *o) {
  if (o->ld < o->features)
    return sl_fail(SLEY_ERR_ARG, "%s: the leading dimension of %s is %lld, less than its %lld columns", call,
                   o->name, (long long)o->ld, (long long)o->features);
  if (!o->data && o->rows > 0 && o->features > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is NULL", call, o->name);
  return SLEY_OK;
}

sley_status sl_check_operands(const char *call, const sl_dense_operand *operands, int count) {
  for (int i = 0; i < count; i++)
    SL_TRY(check_operand(call, &operands[i]));
  return SLEY_OK;
}

sley_status sl_check_values(const char *call, const char *name, const void *values, int64_t entries,
                            int64_t heads) {
  if (!values && entries > 0 && heads > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is NULL", call, name);
  return SLEY_OK;
}

sley_status sl_check_shape(const char *call, const sley_graph *graph, int64_t heads, int64_t width,
                           sley_dtype dtype, int relation) {
  enum { MOST_BYTES = 64 };
  int64_t features;
  if (heads < 1 || width < 0)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: heads is %lld, width %lld: heads must be 1 or more, and width 0 or more", call,
                   (long long)heads, (long long)width);
  if (sley_dtype_bytes(dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no dtype %d", call, (int)dtype);
  if (relation < 0 || relation >= graph->relations)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no relation %d: the graph has %d", call, relation,
                   graph->relations);
  if (__builtin_add_overflow(width, 1, &features) || __builtin_mul_overflow(heads, features, &features) ||
      features > INT64_MAX / MOST_BYTES ||
      __builtin_mul_overflow(features * MOST_BYTES, graph->rows + graph->cols + graph->halo->count,
                             &features) ||
      __builtin_mul_overflow(heads * MOST_BYTES, graph->relation[relation].entries, &features))
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "%s: %lld heads of width %lld: operands would have more than 2^63 bytes", call,
                   (long long)heads, (long long)width);
  return SLEY_OK;
}

sley_status sl_check_gradients(const char *call, const sley_graph *graph) {
  if (graph->forward)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: the graph was made for forward operations only: leave its option forward out", call);
  return SLEY_OK;
}

sley_status sl_check_fetched(const char *call, const sley_graph *graph, const sley_fetched *fetched) {
  if (fetched->there && !fetched->rows && graph->halo->count > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: fetched says that the rows are there, but fetched.rows is NULL", call);
  return SLEY_OK;
}
