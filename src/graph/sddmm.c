/* SPDX-License-Identifier: Apache-2.0 */
/* SDDMM: rows of V are fetched, and a kernel computes the values of entries. Its gradients are aggregations
 * and an SDDMM. */
#include "graph/sddmm.h"

#include "base/memory.h"

static sl_sddmm_args forward_args(const sley_sddmm *g) {
  return (sl_sddmm_args){
      .pattern = g->relation->by_rows, .shape = g->shape, .dtype = g->dtype, .form = g->form};
}

/* Returns the arguments for sums over the entries of a row, or a column, each multiplied by val and ds. */
static sl_aggregate_args gradient_args(const sley_sddmm *g) {
  return (sl_aggregate_args){.pattern = g->relation->by_rows,
                             .shape = g->shape,
                             .dtype = g->dtype,
                             .kind = SL_AGGREGATE_SUM,
                             .in_order = g->graph->reproducible};
}

static sley_status check_kernels(const sley_sddmm *g) {
  const sl_aggregate_args gradient = gradient_args(g);
  SL_TRY(sl_graph_serves(g->graph, &(sl_kernel_args){.op = SL_OP_SDDMM, .sddmm = forward_args(g)}));
  return sl_graph_serves(g->graph, &(sl_kernel_args){.op = SL_OP_AGGREGATE, .aggregate = gradient});
}

static sley_status take(sley_graph *graph, const sley_sddmm_options *o, sley_sddmm **out) {
  SL_TRY(SL_NEW_ZERO(*out, 1, "an SDDMM"));
  **out = (sley_sddmm){.graph = graph,
                       .relation = &graph->relation[o->relation],
                       .form = (sl_sddmm)o->form,
                       .shape = {o->heads, o->width},
                       .dtype = o->dtype};
  return check_kernels(*out);
}

sley_status sl_sddmm_create(sley_graph *graph, const sley_sddmm_options *options, sley_sddmm **out) {
  const int64_t features = options->heads * options->width;
  sley_sddmm *made = NULL;
  *out = NULL;
  sley_status status = sl_agree(graph->comm, take(graph, options, &made));
  if (status == SLEY_OK)
    status = sl_graph_rows_open(graph, features, features, options->dtype, &made->v);
  if (status == SLEY_OK && !graph->forward)
    status = sl_column_sums_open(&made->v, made->relation, &made->shape, false, true, &made->dv);
  if (status != SLEY_OK) {
    sl_sddmm_destroy(made);
    return status;
  }
  *out = made;
  return SLEY_OK;
}

static sl_graph_fetch fetch_of(const sley_sddmm_operands *o, bool there) {
  return (sl_graph_fetch){.x = o->v, .ldx = o->ldv, .fetched = o->fetched.rows, .there = there};
}

/* Computes S = values (U V^T), or S = values (U + V), at the entries. */
static sley_status make_values(const sley_sddmm *g, const sley_sddmm_operands *o, const void *values,
                               void *s) {
  sl_kernel_args args = {.op = SL_OP_SDDMM, .sddmm = forward_args(g)};
  const sl_graph_fetch fetch = fetch_of(o, o->fetched.there);
  args.sddmm.v = sl_graph_rows_operand(&g->v, &fetch);
  args.sddmm.val = values;
  args.sddmm.u = o->u;
  args.sddmm.ldu = o->ldu;
  args.sddmm.s = s;
  return sl_graph_rows_fetch_and_run(&g->v, &fetch, g->relation, &args);
}

sley_status sl_sddmm_forward(const sley_sddmm *g, const sley_sddmm_operands *o) {
  return make_values(g, o, o->val, o->s);
}

static sley_status gradient_of_u(const sley_sddmm *g, const sley_sddmm_operands *o,
                                 const sley_sddmm_gradients *to, bool there) {
  sl_kernel_args args = {.op = SL_OP_AGGREGATE, .aggregate = gradient_args(g)};
  const sl_graph_fetch fetch = fetch_of(o, there);
  sl_aggregate_args *a = &args.aggregate;
  a->val = to->ds;
  a->factor = o->val;
  a->y = (sl_split_rows){.near = to->du, .near_rows = g->graph->rows, .near_ld = to->lddu};
  if (g->form == SL_SDDMM_ADD) /* sums of ones */
    return sl_graph_kernel(g->graph, &args);
  a->x = sl_graph_rows_operand(&g->v, &fetch);
  return sl_graph_rows_fetch_and_run(&g->v, &fetch, g->relation, &args);
}

static sley_status gradient_of_v(const sley_sddmm *g, const sley_sddmm_operands *o,
                                 const sley_sddmm_gradients *to) {
  sl_aggregate_args a = gradient_args(g);
  if (g->form == SL_SDDMM_DOT)
    a.x = (sl_split_rows){.near = (void *)o->u, .near_rows = g->graph->rows, .near_ld = o->ldu};
  a.val = to->ds;
  a.factor = o->val;
  return sl_column_sums_run(&g->dv, &a, to->dv, to->lddv);
}

/* Rows of V that have been fetched for one gradient are reused for the next, before the buffer receives
 * gradients. */
sley_status sl_sddmm_backward(const sley_sddmm *g, const sley_sddmm_operands *o,
                              const sley_sddmm_gradients *to) {
  if (to->dval)
    SL_TRY(make_values(g, o, to->ds, to->dval));
  if (to->du)
    SL_TRY(gradient_of_u(g, o, to, o->fetched.there || to->dval));
  return to->dv ? gradient_of_v(g, o, to) : SLEY_OK;
}

void sl_sddmm_destroy(sley_sddmm *sddmm) {
  if (!sddmm)
    return;
  sl_column_sums_close(&sddmm->dv);
  sl_graph_rows_close(&sddmm->v);
  sl_free(sddmm);
}
