/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and the softmax of values of entries: argument checks. */
#include "api/graph_operands.h"
#include "base/structs.h"
#include "graph/graph_rows.h"

static sley_status take_options(const sley_graph_options *given, sley_graph_options *out) {
  SL_TRY(sl_struct_take("sley_graph_options", given, sizeof *out, out));
  if (out->relations < 1)
    return sl_fail(SLEY_ERR_ARG, "sley_graph_create: relations is %d: it must be 1 or more", out->relations);
  return SLEY_OK;
}

sley_status sley_graph_create(sley_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                              const int64_t *col_begin, const sley_graph_options *options, sley_graph **out) {
  sley_graph_options chosen = SLEY_GRAPH_OPTIONS_INIT;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_graph_create: comm is NULL");
  sley_status status = take_options(options, &chosen);
  if (status == SLEY_OK && (!blocks || !row_begin || !col_begin || !out))
    status = sl_fail(SLEY_ERR_ARG, "sley_graph_create: blocks, row_begin, col_begin or out is NULL");
  SL_TRY(sl_agree(comm, status));
  return sl_graph_create(comm, blocks, row_begin, col_begin, &chosen, out);
}

sley_status sley_graph_info_get(const sley_graph *graph, sley_graph_info *out) {
  if (!graph || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_graph_info_get: graph or out is NULL");
  *out = (sley_graph_info){.rows = graph->rows,
                           .cols = graph->cols,
                           .halo_rows = graph->halo->count,
                           .relations = graph->relations};
  return SLEY_OK;
}

sley_status sley_graph_halo(const sley_graph *graph, int64_t k, sley_dtype dtype, sley_halo **out) {
  static const char *const names[] = {"k", "dtype"};
  sley_status status = SLEY_OK;
  if (!graph)
    return sl_fail(SLEY_ERR_ARG, "sley_graph_halo: graph is NULL");
  if (!out)
    status = sl_fail(SLEY_ERR_ARG, "sley_graph_halo: out is NULL");
  else
    status = sl_check_shape("sley_graph_halo", graph, 1, k, dtype, 0);
  SL_TRY(sl_agree(graph->comm, status));
  SL_TRY(sl_agree_same(graph->comm, "sley_graph_halo", names, (const int64_t[]){k, dtype}, 2));
  return sl_halo_rows_of(graph->halo, k, dtype, out);
}

void sley_graph_destroy(sley_graph *graph) {
  sl_graph_destroy(graph);
}

/* Runs a softmax. args: all fields except the pattern are set. */
static sley_status softmax(const char *call, const sley_graph *graph, int relation,
                           sl_edge_softmax_args args) {
  SL_TRY(sl_check_shape(call, graph, args.heads, 1, args.dtype, relation));
  const sl_relation *of = &graph->relation[relation];
  SL_TRY(sl_check_values(call, "the array that is read", args.in, of->entries, args.heads));
  SL_TRY(sl_check_values(call, "the array that is written", args.out, of->entries, args.heads));
  args.pattern = of->by_rows;
  return sl_kernel_run(graph->comm->queue, &(sl_kernel_args){.op = SL_OP_EDGE_SOFTMAX, .edge_softmax = args});
}

sley_status sley_edge_softmax(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype, const void *s,
                              void *p) {
  static const char call[] = "sley_edge_softmax";
  if (!graph)
    return sl_fail(SLEY_ERR_ARG, "%s: graph is NULL", call);
  return softmax(call, graph, relation,
                 (sl_edge_softmax_args){.heads = heads, .dtype = dtype, .in = s, .out = p});
}

sley_status sley_edge_softmax_backward(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype,
                                       const void *p, const void *dp, void *ds) {
  static const char call[] = "sley_edge_softmax_backward";
  if (!graph)
    return sl_fail(SLEY_ERR_ARG, "%s: graph is NULL", call);
  if (!dp && p)
    return sl_fail(SLEY_ERR_ARG, "%s: dp is NULL", call);
  return softmax(call, graph, relation,
                 (sl_edge_softmax_args){.heads = heads, .dtype = dtype, .in = p, .grad = dp, .out = ds});
}
