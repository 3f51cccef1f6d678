/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that `sley bench ops` measures: one row of a table each. Forward calls also write the
 * results that only training needs: the entries that min and max choose, and the data that attention saves.
 */
#include <math.h>

#include "bench/ops.h"

#define SET(array) (1U << CLI_OP_##array)

double cli_op_slope(const cli_op *op, int64_t width) {
  return op->kind == SLEY_ATTENTION_DOT ? 1 / sqrt((double)width) : 0.2;
}

bool cli_op_of_entries(const cli_op *op, cli_op_array array) {
  const bool out = array == CLI_OP_OUT || array == CLI_OP_D_OUT;
  return array == CLI_OP_VAL || array == CLI_OP_D_VAL ||
         (out && (op->form == CLI_OP_PRODUCTS || op->form == CLI_OP_SOFTMAX));
}

static void *at(const cli_op_case *c, cli_op_array array) {
  return c->data[array].here;
}

/* ---- the product, with which the other operations are compared */

static sley_status product_create(cli_op_case *c) {
  sley_matrix *block = NULL;
  const int rank = sley_comm_rank(c->comm);
  c->source_width = c->source_ld = c->width;
  sley_status status = sley_matrix_row_block(c->matrix, c->row_begin[rank],
                                             c->row_begin[rank + 1] - c->row_begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(c->comm, block, c->row_begin, c->col_begin, c->width, NULL, &c->plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_status product_forward(cli_op_case *c) {
  return sley_spmm(c->plan, 1, at(c, CLI_OP_SOURCE), c->width, 0, at(c, CLI_OP_OUT), c->width);
}

static void product_destroy(cli_op_case *c) {
  sley_plan_destroy(c->plan);
}

/* ---- aggregation */

static sley_status aggregation_create(cli_op_case *c) {
  sley_aggregation_options options = SLEY_AGGREGATION_OPTIONS_INIT;
  options.kind = (sley_aggregate)c->op->kind;
  options.heads = c->heads;
  options.width = c->width;
  options.dtype = c->dtype;
  c->source_width = c->source_ld = c->fetched_width = c->heads * c->width;
  return sley_aggregation_create(c->graph, &options, &c->aggregation);
}

static sley_aggregation_operands aggregation_operands(const cli_op_case *c, bool there) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  o.val = at(c, CLI_OP_VAL);
  o.x = at(c, CLI_OP_SOURCE);
  o.y = at(c, CLI_OP_OUT);
  o.ldx = o.ldy = c->heads * c->width;
  o.arg = at(c, CLI_OP_ARG);
  o.fetched = c->fetched;
  o.fetched.there = there;
  return o;
}

static sley_status aggregation_forward(cli_op_case *c) {
  sley_aggregation_operands o = aggregation_operands(c, false);
  return sley_aggregate_forward(c->aggregation, &o);
}

static sley_status aggregation_backward(cli_op_case *c) {
  sley_aggregation_operands o = aggregation_operands(c, true);
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  to.dy = at(c, CLI_OP_D_OUT);
  to.dx = at(c, CLI_OP_D_SOURCE);
  to.lddy = to.lddx = c->heads * c->width;
  to.dval = at(c, CLI_OP_D_VAL);
  return sley_aggregate_backward(c->aggregation, &o, &to);
}

static void aggregation_destroy(cli_op_case *c) {
  sley_aggregation_destroy(c->aggregation);
}

/* ---- SDDMM */

static sley_status sddmm_create(cli_op_case *c) {
  sley_sddmm_options options = SLEY_SDDMM_OPTIONS_INIT;
  options.form = (sley_sddmm_form)c->op->kind;
  options.heads = c->heads;
  options.width = c->width;
  options.dtype = c->dtype;
  c->source_width = c->source_ld = c->query_width = c->fetched_width = c->heads * c->width;
  return sley_sddmm_create(c->graph, &options, &c->sddmm);
}

static sley_sddmm_operands sddmm_operands(const cli_op_case *c, bool there) {
  sley_sddmm_operands o = SLEY_SDDMM_OPERANDS_INIT;
  o.u = at(c, CLI_OP_QUERY);
  o.v = at(c, CLI_OP_SOURCE);
  o.ldu = o.ldv = c->heads * c->width;
  o.fetched = c->fetched;
  o.fetched.there = there;
  o.s = at(c, CLI_OP_OUT);
  return o;
}

static sley_status sddmm_forward(cli_op_case *c) {
  sley_sddmm_operands o = sddmm_operands(c, false);
  return sley_sddmm_forward(c->sddmm, &o);
}

static sley_status sddmm_backward(cli_op_case *c) {
  sley_sddmm_operands o = sddmm_operands(c, true);
  sley_sddmm_gradients to = SLEY_SDDMM_GRADIENTS_INIT;
  to.ds = at(c, CLI_OP_D_OUT);
  to.du = at(c, CLI_OP_D_QUERY);
  to.dv = at(c, CLI_OP_D_SOURCE);
  to.lddu = to.lddv = c->heads * c->width;
  return sley_sddmm_backward(c->sddmm, &o, &to);
}

static void sddmm_destroy(cli_op_case *c) {
  sley_sddmm_destroy(c->sddmm);
}

/* ---- softmax */

static sley_status softmax_create(cli_op_case *c) {
  (void)c;
  return SLEY_OK;
}

static sley_status softmax_forward(cli_op_case *c) {
  return sley_edge_softmax(c->graph, 0, c->heads, c->dtype, at(c, CLI_OP_VAL), at(c, CLI_OP_OUT));
}

static sley_status softmax_backward(cli_op_case *c) {
  return sley_edge_softmax_backward(c->graph, 0, c->heads, c->dtype, at(c, CLI_OP_OUT), at(c, CLI_OP_D_OUT),
                                    at(c, CLI_OP_D_VAL));
}

static void softmax_destroy(cli_op_case *c) {
  (void)c;
}

/* ---- attention */

/* Rounds a width up so that rows begin at multiples of 16 bytes, as sley_graph.h advises. */
static int64_t aligned(const cli_op_case *c, int64_t width) {
  const int64_t each = 16 / (int64_t)sley_dtype_bytes(c->dtype);
  return (width + each - 1) / each * each;
}

static sley_status attention_create(cli_op_case *c) {
  sley_attention_options options = SLEY_ATTENTION_OPTIONS_INIT;
  sley_attention_info info;
  options.kind = (sley_attention_kind)c->op->kind;
  options.heads = c->heads;
  options.width = c->width;
  options.dtype = c->dtype;
  options.slope = cli_op_slope(c->op, c->width);
  options.padded = true;
  sley_status status = sley_attention_create(c->graph, &options, &c->attention);
  if (status == SLEY_OK)
    status = sley_attention_info_get(c->attention, &info);
  if (status != SLEY_OK)
    return status;
  c->query_width = info.query_width;
  c->source_width = info.source_width;
  c->source_ld = aligned(c, info.source_width);
  c->saved_bytes = info.saved_bytes;
  return SLEY_OK;
}

static sley_attention_operands attention_operands(const cli_op_case *c) {
  sley_attention_operands o = SLEY_ATTENTION_OPERANDS_INIT;
  o.query = at(c, CLI_OP_QUERY);
  o.ldq = c->query_width;
  o.source = at(c, CLI_OP_SOURCE);
  o.lds = c->source_ld;
  o.a = at(c, CLI_OP_A);
  o.y = at(c, CLI_OP_OUT);
  o.ldy = c->heads * c->width;
  o.saved = at(c, CLI_OP_SAVED);
  return o;
}

static sley_status attention_forward(cli_op_case *c) {
  sley_attention_operands o = attention_operands(c);
  return sley_attention_forward(c->attention, &o);
}

static sley_status attention_backward(cli_op_case *c) {
  sley_attention_operands o = attention_operands(c);
  sley_attention_gradients to = SLEY_ATTENTION_GRADIENTS_INIT;
  to.dy = at(c, CLI_OP_D_OUT);
  to.lddy = c->heads * c->width;
  to.dquery = at(c, CLI_OP_D_QUERY);
  to.lddq = c->query_width;
  to.dsource = at(c, CLI_OP_D_SOURCE);
  to.ldds = c->source_ld;
  to.da = at(c, CLI_OP_D_A);
  return sley_attention_backward(c->attention, &o, &to);
}

static void attention_destroy(cli_op_case *c) {
  sley_attention_destroy(c->attention);
}

/* ---- the table */

#define AGGREGATION                                                                                          \
  .form = CLI_OP_SUMS, .create = aggregation_create, .call = {aggregation_forward, aggregation_backward},    \
  .destroy = aggregation_destroy
#define ATTENTION                                                                                            \
  .form = CLI_OP_ATTENTION, .by_heads = true, .create = attention_create,                                    \
  .call = {attention_forward, attention_backward}, .destroy = attention_destroy

const cli_op cli_op_product = {.name = "spmm",
                               .kind = SLEY_AGGREGATE_SUM,
                               .form = CLI_OP_SUMS,
                               .reads = {SET(SOURCE)},
                               .writes = {SET(OUT)},
                               .create = product_create,
                               .call = {product_forward},
                               .destroy = product_destroy};

const cli_op cli_ops[] = {
    {.name = "sum",
     .kind = SLEY_AGGREGATE_SUM,
     .reads = {SET(VAL) | SET(SOURCE), SET(VAL) | SET(SOURCE) | SET(D_OUT)},
     .writes = {SET(OUT), SET(D_SOURCE) | SET(D_VAL)},
     AGGREGATION},
    {.name = "mean",
     .kind = SLEY_AGGREGATE_MEAN,
     .reads = {SET(SOURCE), SET(D_OUT)},
     .writes = {SET(OUT), SET(D_SOURCE)},
     AGGREGATION},
    {.name = "min",
     .kind = SLEY_AGGREGATE_MIN,
     .reads = {SET(SOURCE), SET(D_OUT) | SET(ARG)},
     .writes = {SET(OUT) | SET(ARG), SET(D_SOURCE)},
     AGGREGATION},
    {.name = "max",
     .kind = SLEY_AGGREGATE_MAX,
     .reads = {SET(SOURCE), SET(D_OUT) | SET(ARG)},
     .writes = {SET(OUT) | SET(ARG), SET(D_SOURCE)},
     AGGREGATION},
    {.name = "sddmm",
     .kind = SLEY_SDDMM_DOT,
     .reads = {SET(QUERY) | SET(SOURCE), SET(QUERY) | SET(SOURCE) | SET(D_OUT)},
     .writes = {SET(OUT), SET(D_QUERY) | SET(D_SOURCE)},
     .form = CLI_OP_PRODUCTS,
     .create = sddmm_create,
     .call = {sddmm_forward, sddmm_backward},
     .destroy = sddmm_destroy},
    {.name = "softmax",
     .by_heads = true,
     .form = CLI_OP_SOFTMAX,
     .reads = {SET(VAL), SET(OUT) | SET(D_OUT)},
     .writes = {SET(OUT), SET(D_VAL)},
     .create = softmax_create,
     .call = {softmax_forward, softmax_backward},
     .destroy = softmax_destroy},
    {.name = "gat",
     .kind = SLEY_ATTENTION_GAT,
     .reads = {SET(QUERY) | SET(SOURCE), SET(QUERY) | SET(SOURCE) | SET(OUT) | SET(SAVED) | SET(D_OUT)},
     .writes = {SET(OUT) | SET(SAVED), SET(D_QUERY) | SET(D_SOURCE)},
     ATTENTION},
    {.name = "gatv2",
     .kind = SLEY_ATTENTION_GATV2,
     .reads = {SET(QUERY) | SET(SOURCE) | SET(A),
               SET(QUERY) | SET(SOURCE) | SET(A) | SET(OUT) | SET(SAVED) | SET(D_OUT)},
     .writes = {SET(OUT) | SET(SAVED), SET(D_QUERY) | SET(D_SOURCE) | SET(D_A)},
     ATTENTION},
    {.name = "dot",
     .kind = SLEY_ATTENTION_DOT,
     .reads = {SET(QUERY) | SET(SOURCE), SET(QUERY) | SET(SOURCE) | SET(OUT) | SET(SAVED) | SET(D_OUT)},
     .writes = {SET(OUT) | SET(SAVED), SET(D_QUERY) | SET(D_SOURCE)},
     ATTENTION},
};

int cli_ops_count(void) {
  return (int)(sizeof cli_ops / sizeof *cli_ops);
}
