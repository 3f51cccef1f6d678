/* SPDX-License-Identifier: Apache-2.0 */
/* SDDMM on graphs: argument checks. */
#include "api/graph_operands.h"
#include "base/structs.h"
#include "graph/sddmm.h"

static sley_status take_options(const sley_graph *graph, const sley_sddmm_options *given,
                                sley_sddmm_options *out) {
  static const char call[] = "sley_sddmm_create";
  SL_TRY(sl_struct_take("sley_sddmm_options", given, sizeof *out, out));
  if ((unsigned)out->form > SLEY_SDDMM_ADD)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no form %d", call, (int)out->form);
  if (out->form == SLEY_SDDMM_ADD && out->width != 1)
    return sl_fail(SLEY_ERR_ARG, "%s: width is %lld, but a sum needs one value per head: give 1", call,
                   (long long)out->width);
  return sl_check_shape(call, graph, out->heads, out->width, out->dtype, out->relation);
}

sley_status sley_sddmm_create(sley_graph *graph, const sley_sddmm_options *options, sley_sddmm **out) {
  static const char call[] = "sley_sddmm_create";
  static const char *const names[] = {"form", "heads", "width", "dtype", "relation"};
  sley_sddmm_options o = SLEY_SDDMM_OPTIONS_INIT;
  if (!graph)
    return sl_fail(SLEY_ERR_ARG, "%s: graph is NULL", call);
  sley_status status = take_options(graph, options, &o);
  if (status == SLEY_OK && !out)
    status = sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  SL_TRY(sl_agree(graph->comm, status));
  SL_TRY(sl_agree_same(graph->comm, call, names,
                       (const int64_t[]){o.form, o.heads, o.width, o.dtype, o.relation}, 5));
  return sl_sddmm_create(graph, &o, out);
}

/* Returns the operands U and V, or their gradients. */
static sl_dense_operand rows_of_u(const sley_sddmm *g, const char *name, const void *data, int64_t ld) {
  return (sl_dense_operand){name, data, g->graph->rows, sl_features(&g->shape), ld};
}

static sl_dense_operand rows_of_v(const sley_sddmm *g, const char *name, const void *data, int64_t ld) {
  return (sl_dense_operand){name, data, g->graph->cols, sl_features(&g->shape), ld};
}

static sley_status check_operands(const char *call, const sley_sddmm *g, const sley_sddmm_operands *given,
                                  sley_sddmm_operands *o) {
  SL_TRY(sl_struct_take("sley_sddmm_operands", given, sizeof *o, o));
  SL_TRY(sl_check_fetched(call, g->graph, &o->fetched));
  return sl_check_operands(
      call, (const sl_dense_operand[]){rows_of_u(g, "u", o->u, o->ldu), rows_of_v(g, "v", o->v, o->ldv)}, 2);
}

static sley_status check_forward(const sley_sddmm *g, const sley_sddmm_operands *given,
                                 sley_sddmm_operands *o) {
  static const char call[] = "sley_sddmm_forward";
  SL_TRY(check_operands(call, g, given, o));
  return sl_check_values(call, "s", o->s, g->relation->entries, g->shape.heads);
}

sley_status sley_sddmm_forward(sley_sddmm *sddmm, const sley_sddmm_operands *operands) {
  sley_sddmm_operands o = SLEY_SDDMM_OPERANDS_INIT;
  if (!sddmm)
    return sl_fail(SLEY_ERR_ARG, "sley_sddmm_forward: sddmm is NULL");
  SL_TRY(sl_abort_on_error(sddmm->graph->comm, check_forward(sddmm, operands, &o)));
  return sl_sddmm_forward(sddmm, &o);
}

static sley_status check_backward(const sley_sddmm *g, const sley_sddmm_operands *operands,
                                  const sley_sddmm_gradients *gradients, sley_sddmm_operands *o,
                                  sley_sddmm_gradients *to) {
  static const char call[] = "sley_sddmm_backward";
  SL_TRY(sl_check_gradients(call, g->graph));
  SL_TRY(check_operands(call, g, operands, o));
  SL_TRY(sl_struct_take("sley_sddmm_gradients", gradients, sizeof *to, to));
  SL_TRY(sl_check_values(call, "ds", to->ds, g->relation->entries, g->shape.heads));
  const sl_dense_operand du = rows_of_u(g, "du", to->du, to->lddu), dv = rows_of_v(g, "dv", to->dv, to->lddv);
  if (to->du)
    SL_TRY(sl_check_operands(call, &du, 1));
  return to->dv ? sl_check_operands(call, &dv, 1) : SLEY_OK;
}

sley_status sley_sddmm_backward(sley_sddmm *sddmm, const sley_sddmm_operands *operands,
                                const sley_sddmm_gradients *gradients) {
  sley_sddmm_operands o = SLEY_SDDMM_OPERANDS_INIT;
  sley_sddmm_gradients to = SLEY_SDDMM_GRADIENTS_INIT;
  if (!sddmm)
    return sl_fail(SLEY_ERR_ARG, "sley_sddmm_backward: sddmm is NULL");
  SL_TRY(sl_abort_on_error(sddmm->graph->comm, check_backward(sddmm, operands, gradients, &o, &to)));
  return sl_sddmm_backward(sddmm, &o, &to);
}

void sley_sddmm_destroy(sley_sddmm *sddmm) {
  sl_sddmm_destroy(sddmm);
}
