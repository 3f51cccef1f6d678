/* SPDX-License-Identifier: Apache-2.0 */
/* GAT: T = X W;  q = T . a_dst and k = T . a_src, head by head;  Z = attention(q, [T | k]) over the entries
 * of A and one for each row itself;  Y = act(Z + b). Heads stand side by side.
 *
 * Of several heads the vectors stand in the diagonal of a matrix, S of out x heads values, so that all heads
 * are one product, k = T S_src; of dS = T^T dk the diagonal counts.
 *
 *   backward   (dq, [dT | dk]) = the gradients of the attention, from dZ = dY
 *              da_src = T^T dk, da_dst = T^T dq, head by head;  dT += dk a_src^T + dq a_dst^T
 *              dW = X^T dT;  dX = dT W^T;  db = sum of the rows of dY
 *
 * Source: Velickovic and others, Graph attention networks, ICLR 2018, equations 1 to 5. */
#include "gnn/layer.h"

enum { WEIGHT, SOURCE_VECTOR, TARGET_VECTOR, BIAS };
enum { SOURCE, QUERY, GRADIENT_QUERY, RESULT };
enum { SOURCE_DIAGONAL, TARGET_DIAGONAL, GRADIENT_DIAGONAL };

static int64_t width(const sl_layer *l) {
  return l->out / l->heads;
}

static sley_status declare(sl_layer *l, sl_parameters *p) {
  const double limit = sl_layer_glorot(l->heads, width(l));
  SL_TRY(sl_layer_declare(l, p, WEIGHT, "weight", l->in, l->out, sl_layer_glorot(l->in, l->out)));
  SL_TRY(sl_layer_declare(l, p, SOURCE_VECTOR, "source", l->heads, width(l), limit));
  SL_TRY(sl_layer_declare(l, p, TARGET_VECTOR, "target", l->heads, width(l), limit));
  return sl_layer_declare(l, p, BIAS, "bias", 1, l->out, 0);
}

static sley_status take(sl_layer *l) {
  SL_TRY(sl_layer_keep_rows(l, SOURCE, SL_KEPT_VALUES, l->out + l->heads));
  SL_TRY(sl_layer_keep_rows(l, QUERY, SL_KEPT_VALUES, l->heads));
  SL_TRY(sl_layer_keep_rows(l, GRADIENT_QUERY, SL_KEPT_NEVER, l->heads));
  SL_TRY(sl_layer_keep_rows(l, RESULT, SL_KEPT_VALUES, l->out));
  for (int slot = SOURCE_DIAGONAL; slot <= GRADIENT_DIAGONAL && l->heads > 1; slot++) {
    SL_TRY(sl_rows_take(l->work.comm, l->work.dtype, l->out, l->heads, &l->matrix[slot]));
    SL_TRY(sl_dense_fill(&l->work, NULL, l->matrix[slot]));
  }
  return SLEY_OK;
}

static sley_status open(sl_layer *l) {
  sley_attention_options o = SLEY_ATTENTION_OPTIONS_INIT;
  o.heads = l->heads;
  o.width = width(l);
  o.dtype = l->work.dtype;
  o.slope = l->slope;
  o.padded = true;
  SL_TRY(sl_agree(l->work.comm, take(l)));
  SL_TRY(sl_attention_create(l->graph, &o, &l->attention));
  sl_activations_add_bytes(l->activations, l->number, l->attention->saved.bytes, &l->saved);
  return SLEY_OK;
}

/* A vector of each head, side by side in a row, as a column. */
static sl_rows upright(sl_rows row) {
  return (sl_rows){.data = row.data, .rows = row.rows * row.cols, .cols = 1, .ld = 1};
}

/* Block h of a diagonal, width x 1, and of the vectors that stand there. */
static sl_rows block_of(const sl_layer *l, sl_rows diagonal, int64_t h) {
  sl_rows block = sl_rows_columns(diagonal, h * width(l) * diagonal.ld + h, 1, l->work.dtype);
  block.rows = width(l);
  return block;
}
static sl_rows vector_of(const sl_layer *l, sl_rows vectors, int64_t h) {
  sl_rows row = sl_rows_columns(vectors, h * width(l), width(l), l->work.dtype);
  row.rows = 1;
  return upright(row);
}

/* The matrix of a parameter's vectors, out x heads. Of one head the vector itself is one. */
static sley_status make_diagonal(const sl_layer *l, int parameter, int slot, sl_rows *out) {
  const sl_rows vectors = sl_layer_value(l, parameter);
  *out = l->heads > 1 ? l->matrix[slot] : upright(vectors);
  for (int64_t h = 0; h < l->heads && l->heads > 1; h++)
    SL_TRY(sl_dense_copy(&l->work, vector_of(l, vectors, h), block_of(l, *out, h)));
  return SLEY_OK;
}

static sley_attention_operands operands_of(const sl_layer *l) {
  sley_attention_operands o = SLEY_ATTENTION_OPERANDS_INIT;
  o.query = l->rows[QUERY].data;
  o.ldq = l->rows[QUERY].ld;
  o.source = l->rows[SOURCE].data;
  o.lds = l->rows[SOURCE].ld;
  o.y = l->rows[RESULT].data;
  o.ldy = l->rows[RESULT].ld;
  o.saved = l->saved;
  return o;
}

static sley_status make_scores(sl_layer *l, sl_rows t) {
  const sl_rows keys = sl_rows_columns(l->rows[SOURCE], l->out, l->heads, l->work.dtype);
  sl_product product = {.a = t};
  SL_TRY(make_diagonal(l, SOURCE_VECTOR, SOURCE_DIAGONAL, &product.b));
  SL_TRY(sl_dense_multiply(&l->work, &product, keys));
  SL_TRY(make_diagonal(l, TARGET_VECTOR, TARGET_DIAGONAL, &product.b));
  return sl_dense_multiply(&l->work, &product, l->rows[QUERY]);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const sl_rows t = sl_rows_columns(l->rows[SOURCE], 0, l->out, l->work.dtype), z = l->rows[RESULT];
  const sl_product product = {.a = p->x, .b = sl_layer_value(l, WEIGHT)};
  const sley_attention_operands operands = operands_of(l);
  sl_queue *queue = l->work.comm->queue;
  SL_TRY(sl_dense_multiply(&l->work, &product, t));
  SL_TRY(make_scores(l, t));
  SL_TRY(sl_attention_forward(l->attention, &operands));
  SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, p->y.data, z.data,
                          z.rows * z.ld * (int64_t)sley_dtype_bytes(l->work.dtype)));
  return sl_dense_activate(&l->work, sl_layer_value(l, BIAS).data, p->act, p->slope, p->y);
}

/* Of one parameter's vectors: their gradient, and what comes to dT through them. */
static sley_status vectors_back(sl_layer *l, int parameter, int slot, sl_rows t, sl_rows scores, sl_rows dt) {
  const sl_rows gradient = sl_layer_grad(l, parameter),
                all = l->heads > 1 ? l->matrix[GRADIENT_DIAGONAL] : upright(gradient);
  sl_product more = {.a = scores, .transpose_b = true, .beta = 1};
  SL_TRY(sl_dense_multiply(&l->work, &(sl_product){.a = t, .transpose_a = true, .b = scores}, all));
  for (int64_t h = 0; h < l->heads && l->heads > 1; h++)
    SL_TRY(sl_dense_copy(&l->work, block_of(l, all, h), vector_of(l, gradient, h)));
  more.b =
      l->heads > 1 ? l->matrix[slot] : upright(sl_layer_value(l, parameter)); /* as forward has made it */
  return sl_dense_multiply(&l->work, &more, dt);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_rows gradient = l->scratch, query = l->rows[GRADIENT_QUERY];
  const sl_rows t = sl_rows_columns(l->rows[SOURCE], 0, l->out, l->work.dtype),
                dt = sl_rows_columns(gradient, 0, l->out, l->work.dtype),
                dk = sl_rows_columns(gradient, l->out, l->heads, l->work.dtype);
  const sl_product dw = {.a = p->x, .transpose_a = true, .b = dt},
                   back = {.a = dt, .b = sl_layer_value(l, WEIGHT), .transpose_b = true};
  const sley_attention_operands operands = operands_of(l);
  sley_attention_gradients to = SLEY_ATTENTION_GRADIENTS_INIT;
  to.dy = p->dy.data;
  to.lddy = p->dy.ld;
  to.dquery = query.data;
  to.lddq = query.ld;
  to.dsource = gradient.data;
  to.ldds = gradient.ld;
  SL_TRY(sl_dense_column_sums(&l->work, p->dy, sl_layer_grad(l, BIAS).data));
  SL_TRY(sl_attention_backward(l->attention, &operands, &to));
  SL_TRY(vectors_back(l, SOURCE_VECTOR, SOURCE_DIAGONAL, t, dk, dt));
  SL_TRY(vectors_back(l, TARGET_VECTOR, TARGET_DIAGONAL, t, query, dt));
  SL_TRY(sl_dense_multiply(&l->work, &dw, sl_layer_grad(l, WEIGHT)));
  return p->dx.data ? sl_dense_multiply(&l->work, &back, p->dx) : SLEY_OK;
}

const sl_layer_kind sl_layer_gat = {.loops = true,
                                    .norm = SL_NORM_NONE,
                                    .act = SLEY_ELU,
                                    .heads = true,
                                    .declare = declare,
                                    .open = open,
                                    .forward = forward,
                                    .backward = backward};
