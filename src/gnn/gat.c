/* SPDX-License-Identifier: Apache-2.0 */
/* GAT: T = X W;  q = T . a_dst and k = T . a_src, head by head;  Z = attention(q, [T | k]) over the entries
 * of A and one diagonal entry per row;  Y = act(Z + b). The heads' columns are side by side.
 *
 * The vectors of all heads are in one matrix, V = [S | 0 | D] of out x scores values: a_src on the diagonal
 * of S, a_dst on the diagonal of D, one column per head. [k | 0 | q] = T V is one product.
 *
 *   backward   (dq, [dT' | dk]) = the gradients of the attention, from dZ = dY;  K = [dk | 0 | dq]
 *              U = X^T K;  da_src and da_dst = the diagonals of W^T U
 *              dT = dT' + K V^T is not stored:  dW = X^T dT' + U V^T;  dX = [dT' | K] [W | W V]^T
 *              db = sum of the rows of dY
 *
 * Rows. T, k and q share rows, and so do dT', dk and dq: q follows k after the padding to 16 bytes, which the
 * attention may overwrite. A single head is padded to the width for 16-byte loads; its values from `out` on
 * are 0.
 *
 * Source: Velickovic and others, Graph attention networks, ICLR 2018, equations 1 to 5. */
#include "gnn/layer.h"
#include "graph/row_pitch.h"

enum { WEIGHT, SOURCE_VECTOR, TARGET_VECTOR, BIAS };
enum { ROWS, RESULT };
enum { VECTORS, THROUGH_INPUT, GRADIENT_VECTORS, WIDER_WEIGHT };

/* Width of a head in the parameters. */
static int64_t width(const sl_layer *l) {
  return l->out / l->heads;
}

/* Number of columns of T for the attention; first column of q; number of columns of [k | 0 | q]; number of
   all columns of a row. */
static int64_t values_of(const sl_layer *l) {
  return l->heads == 1 ? sl_row_pitch(l->out, l->work.dtype) : l->out;
}
static int64_t query_at(const sl_layer *l) {
  return sl_row_pitch(values_of(l) + l->heads, l->work.dtype);
}
static int64_t scores_of(const sl_layer *l) {
  return query_at(l) + l->heads - values_of(l);
}
static int64_t row_of(const sl_layer *l) {
  return query_at(l) + l->heads;
}

static sley_status declare(sl_layer *l, sl_parameters *p) {
  const double limit = sl_layer_glorot(l->heads, width(l));
  SL_TRY(sl_layer_declare(l, p, WEIGHT, "weight", l->in, l->out, sl_layer_glorot(l->in, l->out)));
  SL_TRY(sl_layer_declare(l, p, SOURCE_VECTOR, "source", l->heads, width(l), limit));
  SL_TRY(sl_layer_declare(l, p, TARGET_VECTOR, "target", l->heads, width(l), limit));
  return sl_layer_declare(l, p, BIAS, "bias", 1, l->out, 0);
}

/* Allocates zeroed rows; some of their columns stay zero. */
static sley_status take_zeros(sl_layer *l, int slot, int64_t rows, int64_t cols) {
  SL_TRY(sl_rows_take(l->work.comm, l->work.dtype, rows, cols, &l->matrix[slot]));
  return sl_dense_fill(&l->work, NULL, l->matrix[slot]);
}

static sley_status take(sl_layer *l) {
  SL_TRY(sl_layer_keep_rows(l, ROWS, SL_KEPT_VALUES, row_of(l)));
  SL_TRY(sl_layer_keep_rows(l, RESULT, SL_KEPT_VALUES, values_of(l)));
  SL_TRY(take_zeros(l, VECTORS, l->out, scores_of(l)));
  SL_TRY(take_zeros(l, THROUGH_INPUT, l->in, scores_of(l)));
  SL_TRY(take_zeros(l, GRADIENT_VECTORS, l->out, scores_of(l)));
  SL_TRY(sl_row_blocks_expect(l->blocks, SL_RIGHT, row_of(l), l->work.dtype));
  return take_zeros(l, WIDER_WEIGHT, l->in, row_of(l));
}

static sley_status open(sl_layer *l) {
  sley_attention_options o = SLEY_ATTENTION_OPTIONS_INIT;
  o.heads = l->heads;
  o.width = values_of(l) / l->heads;
  o.dtype = l->work.dtype;
  o.slope = l->slope;
  o.padded = true;
  sley_status status = take(l);
  if (status == SLEY_OK && l->sparse)
    status = sl_sparse_input_expect(l->sparse, true, scores_of(l));
  SL_TRY(sl_agree(l->work.comm, status));
  SL_TRY(sl_attention_create(l->graph, &o, &l->attention));
  sl_activations_add_bytes(l->activations, l->number, l->attention->saved.bytes, &l->saved);
  return SLEY_OK;
}

static sl_rows columns(const sl_layer *l, sl_rows m, int64_t first, int64_t count) {
  return sl_rows_columns(m, first, count, l->work.dtype);
}

/* Returns the block of a matrix of vectors that belongs to head h of a parameter, width x 1. */
static sl_rows block_of(const sl_layer *l, sl_rows vectors, int parameter, int64_t h) {
  const int64_t first = parameter == SOURCE_VECTOR ? 0 : query_at(l) - values_of(l);
  sl_rows block = columns(l, vectors, h * width(l) * vectors.ld + first + h, 1);
  block.rows = width(l);
  return block;
}

/* A head's vector in its parameter, as a column. */
static sl_rows vector_of(const sl_layer *l, sl_rows parameter, int64_t h) {
  return (sl_rows){.data = columns(l, parameter, h * width(l), 1).data, .rows = width(l), .cols = 1, .ld = 1};
}

static sley_status place_vectors(const sl_layer *l) {
  for (int parameter = SOURCE_VECTOR; parameter <= TARGET_VECTOR; parameter++)
    for (int64_t h = 0; h < l->heads; h++)
      SL_TRY(sl_dense_copy(&l->work, vector_of(l, sl_layer_value(l, parameter), h),
                           block_of(l, l->matrix[VECTORS], parameter, h)));
  return SLEY_OK;
}

static sley_attention_operands operands_of(const sl_layer *l) {
  const sl_rows rows = l->rows[ROWS];
  sley_attention_operands o = SLEY_ATTENTION_OPERANDS_INIT;
  o.query = columns(l, rows, query_at(l), l->heads).data;
  o.ldq = rows.ld;
  o.source = rows.data;
  o.lds = rows.ld;
  o.y = l->rows[RESULT].data;
  o.ldy = l->rows[RESULT].ld;
  o.saved = l->saved;
  return o;
}

/* Zeroes columns [first, end), because they are multiplied by 0 and may contain NaN. */
static sley_status clear(const sl_layer *l, sl_rows m, int64_t first, int64_t end) {
  return end > first ? sl_dense_fill(&l->work, NULL, columns(l, m, first, end - first)) : SLEY_OK;
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const sl_rows t = columns(l, l->rows[ROWS], 0, l->out), z = l->rows[RESULT];
  const sl_product transform = {.a = p->x, .b = sl_layer_value(l, WEIGHT)},
                   score = {.a = t, .b = l->matrix[VECTORS]};
  const sley_attention_operands operands = operands_of(l);
  sl_queue *queue = l->work.comm->queue;
  SL_TRY(place_vectors(l));
  SL_TRY(sl_dense_multiply(&l->work, &transform, t));
  SL_TRY(clear(l, l->rows[ROWS], l->out, values_of(l)));
  SL_TRY(sl_dense_multiply(&l->work, &score, columns(l, l->rows[ROWS], values_of(l), scores_of(l))));
  SL_TRY(sl_attention_forward(l->attention, &operands));
  SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, p->y.data, z.data,
                          z.rows * z.ld * (int64_t)sley_dtype_bytes(l->work.dtype)));
  return sl_dense_activate(&l->work, sl_layer_value(l, BIAS).data, p->act, p->slope, p->y);
}

/* Computes the gradients of the attention: all columns of `to`, which are dT', dk and dq. */
static sley_status attention_back(const sl_layer *l, sl_rows dy, sl_rows to) {
  const sley_attention_operands operands = operands_of(l);
  sley_attention_gradients gradients = SLEY_ATTENTION_GRADIENTS_INIT;
  gradients.dy = dy.data;
  gradients.lddy = dy.ld;
  gradients.dquery = columns(l, to, query_at(l), l->heads).data;
  gradients.lddq = to.ld;
  gradients.dsource = to.data;
  gradients.ldds = to.ld;
  SL_TRY(clear(l, dy, l->out, values_of(l)));
  SL_TRY(sl_attention_backward(l->attention, &operands, &gradients));
  SL_TRY(clear(l, to, l->out, values_of(l)));
  return clear(l, to, values_of(l) + l->heads, query_at(l));
}

/* Adds a block of rows to dW and the gradients of the vectors. */
static sley_status block_back(const sl_layer *l, int64_t number) {
  const sl_rows x = sl_row_blocks_of(l->blocks, SL_LEFT, number),
                to = sl_row_blocks_of(l->blocks, SL_RIGHT, number), through = l->matrix[THROUGH_INPUT],
                vectors = l->matrix[GRADIENT_VECTORS], weight = sl_layer_value(l, WEIGHT),
                dw = sl_layer_grad(l, WEIGHT, number);
  const sl_product sums = {.a = x, .transpose_a = true, .b = columns(l, to, values_of(l), scores_of(l))},
                   of_vectors = {.a = weight, .transpose_a = true, .b = through},
                   of_weight = {.a = x, .transpose_a = true, .b = columns(l, to, 0, l->out)},
                   more = {.a = through, .b = l->matrix[VECTORS], .transpose_b = true, .beta = 1};
  SL_TRY(sl_dense_multiply(&l->work, &sums, through));
  SL_TRY(sl_dense_multiply(&l->work, &of_vectors, vectors));
  for (int parameter = SOURCE_VECTOR; parameter <= TARGET_VECTOR; parameter++)
    for (int64_t h = 0; h < l->heads; h++)
      SL_TRY(sl_dense_copy(&l->work, block_of(l, vectors, parameter, h),
                           vector_of(l, sl_layer_grad(l, parameter, number), h)));
  SL_TRY(sl_dense_multiply(&l->work, &of_weight, dw));
  return sl_dense_multiply(&l->work, &more, dw);
}

static sley_status parameters_back(const sl_layer *l, sl_rows x, sl_rows to) {
  SL_TRY(sl_row_blocks_bring(l->blocks, &x, &to, l->work.dtype));
  for (int64_t n = 0; n < l->blocks->count; n++)
    SL_TRY(block_back(l, n));
  return SLEY_OK;
}

static sley_status input_back(const sl_layer *l, sl_rows to, sl_activated *before, sl_rows dx) {
  const sl_rows wider = l->matrix[WIDER_WEIGHT], weight = sl_layer_value(l, WEIGHT);
  const sl_product of_vectors = {.a = weight, .b = l->matrix[VECTORS]},
                   back = {.a = to, .b = wider, .transpose_b = true};
  SL_TRY(sl_dense_copy(&l->work, weight, columns(l, wider, 0, l->out)));
  SL_TRY(sl_dense_multiply(&l->work, &of_vectors, columns(l, wider, values_of(l), scores_of(l))));
  return sl_dense_multiply_back(&l->work, &back, before, dx);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_rows to = l->scratch;
  SL_TRY(sl_layer_bias_back(l, BIAS, &p->after, p->dy));
  SL_TRY(attention_back(l, p->dy, to));
  SL_TRY(parameters_back(l, p->x, to));
  return p->dx.data ? input_back(l, to, p->before, p->dx) : SLEY_OK;
}

const sl_layer_kind sl_layer_gat = {
    .name = "gat",
    .summary = "sum of softmax(leaky(a_dst . W x[i] + a_src . W x[j])) W x[j], head by head, + b",
    .hops = 1,
    .loops = true,
    .norm = SL_NORM_NONE,
    .act = SLEY_ELU,
    .heads = true,
    .scratch = row_of,
    .declare = declare,
    .open = open,
    .forward = forward,
    .backward = backward};
