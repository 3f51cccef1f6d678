/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: rows of sources are fetched once, values and keys together, and a kernel computes the rows of Y.
 * One kernel computes the gradients of rows, another the gradients of columns; gradients of the halo's rows
 * are then sent back. */
#include "graph/attention.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "graph/graph_memory.h"
#include "graph/row_pitch.h"

enum { ALIGNMENT = 64 };

/* Values of a row of queries. */
static int64_t query_width(sley_attention_kind kind, int64_t heads, int64_t width) {
  return kind == SLEY_ATTENTION_GAT ? heads : heads * width;
}

static int64_t key_width(sley_attention_kind kind, int64_t heads, int64_t width) {
  return kind == SLEY_ATTENTION_GATV2 ? 0 : query_width(kind, heads, width);
}

static int64_t sum_bytes(sley_dtype dtype) {
  return (int64_t)sley_dtype_bytes(sl_sum_dtype(dtype));
}

/* Adds a part of count values to the saved data, aligned; *at: its offset. */
static bool add_part(int64_t count, int64_t each, int64_t *at, int64_t *bytes) {
  int64_t part;
  *at = *bytes;
  return __builtin_mul_overflow(count, each, &part) || __builtin_add_overflow(part, ALIGNMENT, &part) ||
         __builtin_add_overflow(*bytes, part / ALIGNMENT * ALIGNMENT, bytes);
}

static int64_t source_width(const sley_attention *g) {
  return sl_features(&g->shape) + g->key_width;
}
/* Leading dimension of the halo's rows. Keys follow the values, so without padding devices could not load
 * vectors from most rows. */
static int64_t source_ld(const sley_attention *g) {
  return sl_row_pitch(source_width(g), g->dtype);
}

static sley_status lay_out(sley_attention *g) {
  const int64_t rows = g->graph->rows, features = sl_features(&g->shape), each = sum_bytes(g->dtype);
  sl_saved_layout *s = &g->saved;
  if (add_part(rows * 2, g->shape.heads * each, &s->stats, &s->bytes) ||
      (g->kind == SL_ATTENTION_GAT &&
       add_part(rows, (features + g->shape.heads) * each, &s->side, &s->bytes)) ||
      add_part(g->graph->halo->count, source_ld(g) * (int64_t)sley_dtype_bytes(g->dtype), &s->fetched,
               &s->bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "what attention saves has more than 2^63 bytes");
  return SLEY_OK;
}

static sl_attention_args forward_args(const sley_attention *g) {
  return (sl_attention_args){.pattern = g->relation->by_rows,
                             .shape = g->shape,
                             .dtype = g->dtype,
                             .kind = g->kind,
                             .slope = g->slope};
}

static sley_status check_kernels(const sley_attention *g) {
  sl_kernel_args args = {.op = SL_OP_ATTENTION, .attention = forward_args(g)};
  SL_TRY(sl_graph_serves(g->graph, &args));
  args = (sl_kernel_args){.op = SL_OP_ATTENTION_ROWS, .attention_grad = {.of = forward_args(g)}};
  SL_TRY(sl_graph_serves(g->graph, &args));
  args.op = SL_OP_ATTENTION_COLUMNS;
  return sl_graph_serves(g->graph, &args);
}

static sley_status take_work(sley_attention *g) {
  sl_device *device = g->graph->comm->device;
  const int64_t rows = g->graph->rows;
  if (g->graph->forward)
    return SLEY_OK;
  SL_TRY(device->ops->alloc(device, rows * g->shape.heads * sum_bytes(g->dtype), "attention", &g->delta));
  if (g->kind != SL_ATTENTION_GATV2)
    return SLEY_OK;
  return device->ops->alloc(device,
                            sl_attention_work(&g->relation->by_rows, sl_features(&g->shape), g->dtype),
                            "attention", &g->work);
}

/* Opens the pulls. Collective, agreed. */
static sley_status open_pulls(sley_attention *g) {
  const sley_dtype sums = sl_sum_dtype(g->dtype);
  if (!sl_graph_pulls(g->graph))
    return SLEY_OK;
  SL_TRY(sl_row_pull_open(g->graph, g->query_width, g->dtype, &g->all_query));
  SL_TRY(sl_row_pull_open(g->graph, sl_features(&g->shape), g->dtype, &g->all_dy));
  SL_TRY(sl_row_pull_open(g->graph, 2 * g->shape.heads, sums, &g->all_stats));
  return sl_row_pull_open(g->graph, g->shape.heads, sums, &g->all_delta);
}

static sley_status take(sley_graph *graph, const sley_attention_options *o, sley_attention **out) {
  SL_TRY(SL_NEW_ZERO(*out, 1, "attention"));
  **out = (sley_attention){.graph = graph,
                           .relation = &graph->relation[o->relation],
                           .kind = (sl_attention)o->kind,
                           .shape = {o->heads, o->width},
                           .dtype = o->dtype,
                           .slope = o->slope,
                           .query_width = query_width(o->kind, o->heads, o->width),
                           .key_width = key_width(o->kind, o->heads, o->width)};
  SL_TRY(check_kernels(*out));
  SL_TRY(lay_out(*out));
  return take_work(*out);
}

sley_status sl_attention_create(sley_graph *graph, const sley_attention_options *options,
                                sley_attention **out) {
  sley_attention *made = NULL;
  *out = NULL;
  sley_status status = sl_agree(graph->comm, take(graph, options, &made));
  if (status == SLEY_OK)
    status = sl_graph_rows_open(graph, options->padded ? source_ld(made) : source_width(made),
                                source_ld(made), options->dtype, &made->source);
  if (status == SLEY_OK)
    status = open_pulls(made);
  if (status != SLEY_OK) {
    sl_attention_destroy(made);
    return status;
  }
  *out = made;
  return SLEY_OK;
}

/* The keys, which follow the values in the same rows. */
static sl_split_rows keys_of(const sley_attention *g, sl_split_rows source) {
  const int64_t bytes = sl_features(&g->shape) * (int64_t)sley_dtype_bytes(g->dtype);
  source.near = (char *)source.near + bytes;
  source.far = source.far ? (char *)source.far + bytes : NULL;
  return source;
}

/* Sets the operands that all kernels have. */
static void set_operands(const sley_attention *g, const sley_attention_operands *o, sl_split_rows source,
                         sl_attention_args *a) {
  char *saved = o->saved;
  a->q = o->query;
  a->ldq = o->ldq;
  a->v = source;
  a->k = keys_of(g, source);
  a->a = o->a;
  a->y = o->y;
  a->ldy = o->ldy;
  a->stats = saved ? saved + g->saved.stats : NULL;
  a->side = saved && g->kind == SL_ATTENTION_GAT ? saved + g->saved.side : NULL;
}

static sl_graph_fetch fetch_of(const sley_attention *g, const sley_attention_operands *o) {
  void *fetched = o->saved ? (char *)o->saved + g->saved.fetched : NULL;
  return (sl_graph_fetch){.x = o->source, .ldx = o->lds, .fetched = fetched};
}

sley_status sl_attention_forward(const sley_attention *g, const sley_attention_operands *o) {
  sl_kernel_args args = {.op = SL_OP_ATTENTION, .attention = forward_args(g)};
  const sl_graph_fetch fetch = fetch_of(g, o);
  set_operands(g, o, sl_graph_rows_operand(&g->source, &fetch), &args.attention);
  return sl_graph_rows_fetch_and_run(&g->source, &fetch, g->relation, &args);
}

/* Computes gradients of the columns that are halo rows, or of the rank's own columns; the rows of each kind
   lie in one memory. */
static sley_status columns(const sley_attention *g, const sl_attention_grad_args *given, bool halo, void *to,
                           int64_t ld) {
  const int64_t count = halo ? g->graph->halo->count : g->graph->cols;
  sl_kernel_args args = {.op = SL_OP_ATTENTION_COLUMNS, .attention_grad = *given};
  sl_attention_grad_args *a = &args.attention_grad;
  a->of.pattern = sl_relation_columns(g->relation, halo);
  if (halo) {
    a->of.v = (sl_split_rows){.near = a->of.v.far, .near_rows = count, .near_ld = a->of.v.far_ld};
    a->of.k = (sl_split_rows){.near = a->of.k.far, .near_rows = count, .near_ld = a->of.k.far_ld};
  }
  a->dv = (sl_split_rows){.near = to, .near_rows = count, .near_ld = ld};
  a->dk = keys_of(g, a->dv);
  return sl_graph_kernel(g->graph, &args);
}

/* Computes the halo's columns first, so that their gradients are sent while the rank's own are computed. */
static sley_status make_and_send(const sley_attention *g, const sl_attention_grad_args *a,
                                 const sley_attention_gradients *to) {
  SL_TRY(columns(g, a, true, g->source.buffer, g->source.ld));
  SL_TRY(sl_graph_rows_return(&g->source, to->dsource, to->ldds));
  SL_TRY(columns(g, a, false, to->dsource, to->ldds));
  return sl_graph_rows_returned(&g->source);
}

/* Fetches the rows of all ranks and computes the gradients of the rank's own columns. */
static sley_status fetch_and_make(const sley_attention *g, const sl_attention_grad_args *given,
                                  const sley_attention_gradients *to) {
  sl_kernel_args args = {.op = SL_OP_ATTENTION_COLUMNS, .attention_grad = *given};
  sl_attention_grad_args *a = &args.attention_grad;
  SL_TRY(sl_row_pull_run(&g->all_query, a->of.q, a->of.ldq));
  SL_TRY(sl_row_pull_run(&g->all_dy, a->dy, a->lddy));
  SL_TRY(sl_row_pull_run(&g->all_stats, a->of.stats, g->all_stats.features));
  SL_TRY(sl_row_pull_run(&g->all_delta, a->delta, g->all_delta.features));
  a->of.pattern = g->relation->owned.pattern;
  a->of.q = g->all_query.all;
  a->of.ldq = g->all_query.features;
  a->dy = g->all_dy.all;
  a->lddy = g->all_dy.features;
  a->of.stats = g->all_stats.all;
  a->delta = g->all_delta.all;
  a->dv = (sl_split_rows){.near = to->dsource, .near_rows = g->graph->cols, .near_ld = to->ldds};
  a->dk = keys_of(g, a->dv);
  return sl_graph_kernel(g->graph, &args);
}

sley_status sl_attention_backward(const sley_attention *g, const sley_attention_operands *o,
                                  const sley_attention_gradients *to) {
  sl_kernel_args args = {.op = SL_OP_ATTENTION_ROWS, .attention_grad = {.of = forward_args(g)}};
  sl_attention_grad_args *a = &args.attention_grad;
  const sl_graph_fetch fetch = fetch_of(g, o); /* rows of the forward call, so nothing is sent */
  SL_TRY(sl_interrupted());
  set_operands(g, o, sl_graph_rows_operand(&g->source, &fetch), &a->of);
  a->dy = to->dy;
  a->lddy = to->lddy;
  a->delta = g->delta;
  a->dq = to->dquery;
  a->lddq = to->lddq;
  a->da = to->da;
  a->work = g->work;
  SL_TRY(sl_graph_kernel(g->graph, &args));
  return sl_graph_pulls(g->graph) ? fetch_and_make(g, a, to) : make_and_send(g, a, to);
}

void sl_attention_destroy(sley_attention *attention) {
  if (!attention)
    return;
  sl_row_pull_close(&attention->all_delta);
  sl_row_pull_close(&attention->all_stats);
  sl_row_pull_close(&attention->all_dy);
  sl_row_pull_close(&attention->all_query);
  sl_graph_rows_close(&attention->source);
  sl_graph_give(attention->graph->comm, attention->work);
  sl_graph_give(attention->graph->comm, attention->delta);
  sl_free(attention);
}
