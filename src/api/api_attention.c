/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on graphs: argument checks. */
#include <math.h>
#include <string.h>

#include "api/graph_operands.h"
#include "base/structs.h"
#include "graph/attention.h"

static sley_status take_options(const sley_graph *graph, const sley_attention_options *given,
                                sley_attention_options *out) {
  static const char call[] = "sley_attention_create";
  SL_TRY(sl_struct_take("sley_attention_options", given, sizeof *out, out));
  if ((unsigned)out->kind > SLEY_ATTENTION_DOT)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no attention %d", call, (int)out->kind);
  if (!isfinite(out->slope))
    return sl_fail(SLEY_ERR_ARG, "%s: the slope is %g: it must be finite", call, out->slope);
  SL_TRY(sl_check_shape(call, graph, out->heads, out->width, out->dtype, out->relation));
  return sl_check_shape(call, graph, out->heads, 2 * out->width + 1, out->dtype,
                        out->relation); /* the shape of rows of sources */
}

sley_status sley_attention_create(sley_graph *graph, const sley_attention_options *options,
                                  sley_attention **out) {
  static const char call[] = "sley_attention_create";
  static const char *const names[] = {"kind", "heads", "width", "dtype", "slope", "relation", "padded"};
  sley_attention_options o = SLEY_ATTENTION_OPTIONS_INIT;
  int64_t slope;
  if (!graph)
    return sl_fail(SLEY_ERR_ARG, "%s: graph is NULL", call);
  sley_status status = take_options(graph, options, &o);
  if (status == SLEY_OK && !out)
    status = sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  SL_TRY(sl_agree(graph->comm, status));
  memcpy(&slope, &o.slope, sizeof slope);
  SL_TRY(sl_agree_same(graph->comm, call, names,
                       (const int64_t[]){o.kind, o.heads, o.width, o.dtype, slope >> 1, o.relation, o.padded},
                       7));
  return sl_attention_create(graph, &o, out);
}

sley_status sley_attention_info_get(const sley_attention *attention, sley_attention_info *out) {
  if (!attention || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_attention_info_get: attention or out is NULL");
  *out = (sley_attention_info){.query_width = attention->query_width,
                               .source_width = sl_features(&attention->shape) + attention->key_width,
                               .saved_bytes = attention->saved.bytes};
  return SLEY_OK;
}

static sl_dense_operand rows(const sley_attention *g, const char *name, const void *data, int64_t features,
                             int64_t ld) {
  return (sl_dense_operand){name, data, g->graph->rows, features, ld};
}

static sl_dense_operand sources(const sley_attention *g, const char *name, const void *data, int64_t ld) {
  return (sl_dense_operand){name, data, g->graph->cols, g->source.features, ld};
}

static sley_status check_operands(const char *call, const sley_attention *g,
                                  const sley_attention_operands *given, sley_attention_operands *o) {
  enum { ALIGNMENT = 64 };
  const int64_t features = sl_features(&g->shape);
  SL_TRY(sl_struct_take("sley_attention_operands", given, sizeof *o, o));
  if ((uintptr_t)o->saved % ALIGNMENT != 0)
    return sl_fail(SLEY_ERR_ARG, "%s: saved is not aligned to %d bytes", call, ALIGNMENT);
  if (g->kind == SL_ATTENTION_GATV2 && !o->a && features > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: a is NULL", call);
  const sl_dense_operand all[] = {rows(g, "query", o->query, g->query_width, o->ldq),
                                  sources(g, "source", o->source, o->lds),
                                  rows(g, "y", o->y, features, o->ldy)};
  return sl_check_operands(call, all, 3);
}

sley_status sley_attention_forward(sley_attention *attention, const sley_attention_operands *operands) {
  static const char call[] = "sley_attention_forward";
  sley_attention_operands o = SLEY_ATTENTION_OPERANDS_INIT;
  if (!attention)
    return sl_fail(SLEY_ERR_ARG, "%s: attention is NULL", call);
  SL_TRY(sl_abort_on_error(attention->graph->comm, check_operands(call, attention, operands, &o)));
  return sl_attention_forward(attention, &o);
}

static sley_status check_backward(const sley_attention *g, const sley_attention_operands *operands,
                                  const sley_attention_gradients *gradients, sley_attention_operands *o,
                                  sley_attention_gradients *to) {
  static const char call[] = "sley_attention_backward";
  const int64_t features = sl_features(&g->shape);
  SL_TRY(sl_check_gradients(call, g->graph));
  SL_TRY(check_operands(call, g, operands, o));
  SL_TRY(sl_struct_take("sley_attention_gradients", gradients, sizeof *to, to));
  if (!o->saved && g->saved.bytes > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: saved is NULL: give the forward call memory for it", call);
  if (g->kind == SL_ATTENTION_GATV2 && !to->da && features > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: da is NULL", call);
  const sl_dense_operand all[] = {rows(g, "dy", to->dy, features, to->lddy),
                                  rows(g, "dquery", to->dquery, g->query_width, to->lddq),
                                  sources(g, "dsource", to->dsource, to->ldds)};
  return sl_check_operands(call, all, 3);
}

sley_status sley_attention_backward(sley_attention *attention, const sley_attention_operands *operands,
                                    const sley_attention_gradients *gradients) {
  sley_attention_operands o = SLEY_ATTENTION_OPERANDS_INIT;
  sley_attention_gradients to = SLEY_ATTENTION_GRADIENTS_INIT;
  if (!attention)
    return sl_fail(SLEY_ERR_ARG, "sley_attention_backward: attention is NULL");
  SL_TRY(sl_abort_on_error(attention->graph->comm, check_backward(attention, operands, gradients, &o, &to)));
  return sl_attention_backward(attention, &o, &to);
}

void sley_attention_destroy(sley_attention *attention) {
  sl_attention_destroy(attention);
}
