/* SPDX-License-Identifier: Apache-2.0 */
/* Networks: runs layers in turn, forward and backward. */
#include "gnn/network.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "gnn/adjacency.h"
#include "ops/adam.h"
#include "plan/wishes.h"

int64_t sl_network_width(const sley_gnn_options *o, int number) {
  if (number < 0)
    return o->features;
  if (number == o->layers - 1)
    return o->classes;
  return sl_layer_kind_of(o->model)->heads ? o->heads * o->hidden : o->hidden;
}

bool sl_network_widths_fit(const sley_gnn_options *o) {
  return o->classes <= INT32_MAX && o->features <= INT32_MAX && o->hidden <= INT32_MAX / o->heads;
}

static void describe_layers(sley_gnn *gnn, const sl_layer_kind *kind) {
  const sley_gnn_options *o = &gnn->options;
  for (int i = 0; i < gnn->options.layers; i++)
    gnn->layer[i] = (sl_layer){.kind = kind,
                               .number = i,
                               .in = sl_network_width(o, i - 1),
                               .out = sl_network_width(o, i),
                               .heads = kind->heads && i < o->layers - 1 ? o->heads : 1,
                               .slope = o->slope,
                               .same_x = i == 0 && o->same_x && o->dropout == 0 && !o->x,
                               .x_stays = i == 0 && o->same_x,
                               .activations = &gnn->activations,
                               .work = gnn->work,
                               .parameters = &gnn->parameters};
}

static sley_status take(sl_comm *comm, const int64_t *row_begin, const sley_gnn_options *o,
                        const sley_gnn *of, sley_gnn **out) {
  const sl_layer_kind *kind = sl_layer_kind_of(o->model);
  SL_TRY(SL_NEW_ZERO(*out, 1, "a network"));
  sley_gnn *gnn = *out;
  gnn->comm = comm;
  gnn->options = *o;
  gnn->options.x = NULL; /* owned by the caller, and only read here, like row_number */
  gnn->options.row_number = NULL;
  gnn->options.copied = NULL;
  gnn->first_row = row_begin[comm->rank];
  gnn->work = (sl_dense_work){.comm = comm, .dtype = o->dtype, .in_order = o->reproducible};
  SL_TRY(sl_precision_read(o->precision, o->dtype, o->reproducible, &gnn->work.tf32));
  SL_TRY(sl_row_blocks_open(&gnn->work, row_begin, o->reproducible, &gnn->blocks));
  gnn->parameters = (sl_parameters){.comm = comm, .dtype = o->dtype, .of = of ? &of->parameters : NULL};
  SL_TRY(SL_NEW_ZERO(gnn->layer, o->layers, "a network's layers"));
  SL_TRY(SL_NEW_ZERO(gnn->given, o->layers, "a network's layers"));
  SL_TRY(SL_NEW_ZERO(gnn->gave, o->layers, "a network's layers"));
  describe_layers(gnn, kind);
  for (int i = 0; i < gnn->options.layers; i++)
    SL_TRY(kind->declare(&gnn->layer[i], &gnn->parameters));
  return SLEY_OK;
}

static sley_status make_graph(sley_gnn *gnn, const sley_matrix *block, const int64_t *row_begin,
                              const sley_gnn_options *given) {
  const sl_layer_kind *kind = gnn->layer[0].kind;
  const sley_gnn_options *o = &gnn->options;
  sley_graph_options graph = SLEY_GRAPH_OPTIONS_INIT;
  sley_matrix *matrix = NULL;
  graph.reproducible = o->reproducible;
  gnn->rows = row_begin[gnn->comm->rank + 1] - gnn->first_row;
  SL_TRY(
      sl_adjacency_make(gnn->comm, block, row_begin, kind->loops, o->weights, kind->norm, o->dtype, &matrix));
  if (given->copied)
    given->copied(given->copied_context);
  if (kind->sums)
    return sl_agree(gnn->comm, sl_products_open(gnn->comm, matrix, row_begin, o, &gnn->products));
  const sley_status status =
      sl_graph_create(gnn->comm, &(const sley_matrix *){matrix}, row_begin, row_begin, &graph, &gnn->graph);
  sl_matrix_destroy(matrix);
  return status;
}

static sley_status take_rows(const sley_gnn *gnn, int64_t cols, sl_rows *out) {
  return sl_rows_take(gnn->comm, gnn->work.dtype, gnn->rows, cols, out);
}

/* Returns whether dropout before layer i needs separate memory. Dropout of relu's output is done in place,
 * because relu' is 1 exactly for the positive values that were kept, and the gradient is already 0 for the
 * others. */
static bool drops_apart(const sley_gnn *gnn, int i) {
  if (i == 0 && gnn->sparse)
    return false;
  return gnn->options.dropout > 0 && (i == 0 || gnn->layer[i].kind->act != SLEY_RELU);
}

static sley_status take_shared_rows(sley_gnn *gnn) {
  int64_t scratch = 0;
  for (int i = 0; i < gnn->options.layers; i++) {
    const sl_layer *l = &gnn->layer[i];
    scratch = l->kind->scratch(l) > scratch ? l->kind->scratch(l) : scratch;
  }
  return scratch > 0 ? take_rows(gnn, scratch, &gnn->scratch) : SLEY_OK;
}

static sley_status open_activations(sley_gnn *gnn) {
  SL_TRY(sl_activations_open(&gnn->work, gnn->rows, gnn->options.layers, gnn->options.memory,
                             &gnn->activations));
  for (int i = 0; i < gnn->options.layers; i++) {
    const sl_layer *l = &gnn->layer[i];
    if (drops_apart(gnn, i))
      SL_TRY(sl_activations_add(&gnn->activations, i, SL_KEPT_GIVEN, l->in, &gnn->given[i]));
    SL_TRY(sl_activations_add(&gnn->activations, i, SL_KEPT_GAVE, l->out, &gnn->gave[i]));
  }
  return SLEY_OK;
}

static sley_status open_layer(sley_gnn *gnn, sl_layer *l) {
  l->local_rows = gnn->rows;
  l->graph = gnn->graph;
  l->products = l->kind->sums ? &gnn->products : NULL;
  l->blocks = &gnn->blocks;
  l->scratch = sl_rows_columns(gnn->scratch, 0, l->kind->scratch(l), gnn->work.dtype);
  if (!l->sparse)
    SL_TRY(sl_row_blocks_expect(&gnn->blocks, SL_LEFT, l->in, gnn->work.dtype));
  SL_TRY(sl_row_blocks_expect(&gnn->blocks, SL_RIGHT, l->out, gnn->work.dtype));
  return l->kind->open(l);
}

/* Allocates outputs and kept rows of layers, and gradients: for two layers, or with memory to recompute a
 * segment in place of one. */
static sley_status take_activations(sley_gnn *gnn) {
  const sl_layer_kind *kind = gnn->layer[0].kind;
  const bool recomputes = gnn->options.memory == SLEY_GNN_RECOMPUTE;
  int64_t widest = 0, bytes;
  sl_rows shape;
  for (int i = 0; i < gnn->options.layers; i++)
    widest = gnn->layer[i].out > widest ? gnn->layer[i].out : widest;
  SL_TRY(sl_rows_shape(gnn->work.dtype, gnn->rows, widest, &shape, &bytes));
  for (int i = 0; i < gnn->options.layers; i++)
    gnn->apart |= sl_layer_dx_apart(&gnn->layer[i]);
  SL_TRY(sl_activations_take(&gnn->activations, kind->sums && !gnn->apart ? bytes : 0));
  const bool two = gnn->apart || (recomputes && kind->sums && sl_activations_any_lost(&gnn->activations));
  sley_status status = take_rows(gnn, widest, &gnn->gradient[0]);
  if (status == SLEY_OK && two)
    status = take_rows(gnn, widest, &gnn->gradient[1]);
  return sl_agree(gnn->comm, status);
}

/* Plans the widest products before all others, and before rows are allocated, because planning needs memory
 * too. */
static sley_status plan_widest(sley_gnn *gnn) {
  int64_t widest = 0;
  int number;
  for (int i = 0; i < gnn->options.layers; i++)
    if (sl_layer_product_width(&gnn->layer[i]) > widest)
      widest = sl_layer_product_width(&gnn->layer[i]);
  return widest > 0 ? sl_products_take(&gnn->products, widest, &number) : SLEY_OK;
}

/* Opens sparse features, if there are any, with the products of the first layer. */
static sley_status open_features(sley_gnn *gnn, const sley_matrix *x, const int64_t *number) {
  const int64_t out = gnn->layer[0].out;
  if (!x)
    return SLEY_OK;
  SL_TRY(sl_sparse_input_open(&gnn->work, x, gnn->first_row, number, &gnn->blocks, gnn->options.dropout > 0,
                              &gnn->sparse));
  gnn->layer[0].sparse = gnn->sparse;
  sley_status status = sl_sparse_input_expect(gnn->sparse, false, out);
  if (status == SLEY_OK)
    status = sl_sparse_input_expect(gnn->sparse, true, out);
  return sl_agree(gnn->comm, status);
}

/* Copies the rows' numbers, which only masks of dropout need. */
static sley_status open_numbers(sley_gnn *gnn, const int64_t *number) {
  sl_queue *queue = gnn->comm->queue;
  if (!number || gnn->options.dropout == 0)
    return SLEY_OK;
  SL_TRY(sl_device_upload(queue, number, gnn->rows * (int64_t)sizeof *number, "row numbers",
                          (void **)&gnn->row_number));
  return queue->ops->queue_wait(queue);
}

static sley_status open(sley_gnn *gnn, const sley_matrix *x, const int64_t *number) {
  SL_TRY(sl_agree(gnn->comm, open_numbers(gnn, number)));
  SL_TRY(open_features(gnn, x, number));
  SL_TRY(plan_widest(gnn));
  sley_status status = take_shared_rows(gnn);
  if (status == SLEY_OK)
    status = open_activations(gnn);
  SL_TRY(sl_agree(gnn->comm, status));
  SL_TRY(sl_parameters_open(&gnn->parameters, gnn->options.seed));
  for (int i = 0; i < gnn->options.layers; i++)
    SL_TRY(open_layer(gnn, &gnn->layer[i]));
  SL_TRY(take_activations(gnn));
  SL_TRY(sl_loss_open(&gnn->work, &gnn->blocks, gnn->rows, &gnn->loss));
  return sl_row_blocks_prepare(&gnn->blocks, gnn->parameters.values);
}

sley_status sl_network_create(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const sley_gnn_options *options, const sley_gnn *of, sley_gnn **out) {
  sley_gnn *gnn = NULL;
  *out = NULL;
  sley_status status = sl_agree(comm, take(comm, row_begin, options, of, &gnn));
  if (status == SLEY_OK)
    status = make_graph(gnn, block, row_begin, options);
  if (status == SLEY_OK)
    status = open(gnn, of ? NULL : options->x, of ? NULL : options->row_number);
  sl_comm_begin_work(comm, NULL, 0);
  if (status != SLEY_OK) {
    sl_network_destroy(gnn);
    return status;
  }
  *out = gnn;
  return SLEY_OK;
}

sley_status sl_network_restart(sley_gnn *gnn, uint64_t seed) {
  SL_TRY(sl_parameters_restart(&gnn->parameters, seed));
  gnn->options.seed = seed;
  gnn->kept_input = false;
  return SLEY_OK;
}

/* ---- forward and backward */

/* Returns the dropout mask of a layer and step; all masks differ. */
static sl_mask mask_of(const sley_gnn *gnn, int layer, int64_t step) {
  return (sl_mask){.p = gnn->options.dropout,
                   .seed = gnn->options.seed,
                   .stream = (uint32_t)(step * gnn->options.layers + layer),
                   .first_row = gnn->first_row,
                   .row = gnn->row_number};
}

/* Returns the input of layer i, where x holds the features. */
static sl_rows input_of(const sley_gnn *gnn, sl_rows x, int i, bool dropped) {
  return dropped && gnn->given[i].data ? gnn->given[i] : i > 0 ? gnn->gave[i - 1] : x;
}

static sley_activation activation_after(const sley_gnn *gnn, int i) {
  return i < gnn->options.layers - 1 ? gnn->layer[i].kind->act : SLEY_NO_ACTIVATION;
}

/* Parameter of ELU. */
static const double ALPHA = 1;

/* Applies dropout to the input of layer i. */
static sley_status drop(const sley_gnn *gnn, sl_rows x, int i, int64_t step) {
  const sl_mask mask = mask_of(gnn, i, step);
  if (i == 0 && gnn->sparse)
    return sl_sparse_input_drop(gnn->sparse, &mask);
  return sl_dense_drop(&gnn->work, &mask, input_of(gnn, x, i, false), input_of(gnn, x, i, true));
}

static sley_status run_layer(sley_gnn *gnn, sl_rows x, int i, bool drops, bool same_x, sl_rows spare) {
  const sl_pass pass = {.x = input_of(gnn, x, i, drops),
                        .y = gnn->gave[i],
                        .spare = spare,
                        .act = activation_after(gnn, i),
                        .slope = ALPHA,
                        .same_x = same_x};
  return gnn->layer[i].kind->forward(&gnn->layer[i], &pass);
}

sley_status sl_network_forward(sley_gnn *gnn, sl_rows x, bool training, int64_t step) {
  const bool drops = training && gnn->options.dropout > 0,
             kept = gnn->kept_input && gnn->options.same_x && !drops;
  SL_TRY(sl_interrupted());
  gnn->kept_input = false;
  if (gnn->sparse && !drops)
    SL_TRY(sl_sparse_input_drop(gnn->sparse, NULL));
  for (int i = 0; i < gnn->options.layers; i++) {
    if (drops)
      SL_TRY(drop(gnn, x, i, step));
    SL_TRY(run_layer(gnn, x, i, drops, i == 0 && kept, gnn->gradient[0]));
    if (training)
      SL_TRY(sl_activations_narrow(&gnn->activations, i));
  }
  gnn->kept_input = !drops && (gnn->options.memory == SLEY_GNN_KEEP || gnn->layer[0].same_x);
  return SLEY_OK;
}

sl_rows sl_network_logits(const sley_gnn *gnn) {
  return gnn->gave[gnn->options.layers - 1];
}

/* Return the memory for the gradient of layer i's output, and the other memory for gradients. */
static sl_rows *gradient_at(sley_gnn *gnn, int i) {
  return &gnn->gradient[gnn->apart ? i % 2 : 0];
}
static sl_rows *beside_gradient(sley_gnn *gnn, int i) {
  return &gnn->gradient[gradient_at(gnn, i) == gnn->gradient];
}
static sl_rows gradient_of(sley_gnn *gnn, int i) {
  return sl_rows_columns(*gradient_at(gnn, i), 0, gnn->layer[i].out, gnn->work.dtype);
}

sley_status sl_network_loss(sley_gnn *gnn, const int32_t *label, bool gradient, double *loss,
                            int64_t *counted) {
  const sl_rows logits = sl_network_logits(gnn);
  SL_TRY(sl_loss_mean(&gnn->loss, logits, label, loss, counted));
  return gradient ? sl_loss_gradient(&gnn->loss, logits, label, *counted,
                                     gradient_of(gnn, gnn->options.layers - 1))
                  : SLEY_OK;
}

/* With recompute, if layer `end` is the last of a segment: recomputes the lost rows of its layers from the
 * segment's input. If dropout of that input is in place, the input is already there. */
static sley_status make_again(sley_gnn *gnn, sl_rows x, int end, int64_t step) {
  const int segment = gnn->activations.segment, begin = end + 1 - segment;
  const bool drops = gnn->options.dropout > 0;
  int last = end;
  if (gnn->options.memory != SLEY_GNN_RECOMPUTE || begin % segment != 0)
    return SLEY_OK;
  while (last >= begin && !sl_activations_lost(&gnn->activations, last))
    last--;
  if (begin <= last && gnn->given[begin].data)
    SL_TRY(drop(gnn, x, begin, step));
  for (int i = begin; i <= last; i++) {
    SL_TRY(run_layer(gnn, x, i, drops, gnn->layer[i].same_x, *beside_gradient(gnn, end)));
    if (drops && i < end)
      SL_TRY(drop(gnn, x, i + 1, step));
  }
  return SLEY_OK;
}

/* Restores the rows that the backward call of layer i needs. */
static sley_status bring(sley_gnn *gnn, sl_rows x, int i, int64_t step) {
  const bool again = gnn->options.memory != SLEY_GNN_KEEP && gnn->given[i].data;
  SL_TRY(make_again(gnn, x, i, step));
  SL_TRY(sl_activations_widen(&gnn->activations, i));
  return again ? drop(gnn, x, i, step) : SLEY_OK; /* then the input of another layer is in the memory */
}

static sl_activated activated_by(const sley_gnn *gnn, int i) {
  return (sl_activated){.y = gnn->gave[i], .act = activation_after(gnn, i), .slope = ALPHA};
}

/* The gradient of an activation is normally computed in the backward call of the layer before it. The layer
 * after it may include it if the activation's output is in memory and there is no dropout between. */
sley_status sl_network_backward(sley_gnn *gnn, sl_rows x, int64_t step) {
  const bool drops = gnn->options.dropout > 0, may = !drops && gnn->options.memory == SLEY_GNN_KEEP;
  sl_activated after = activated_by(gnn, gnn->options.layers - 1);
  for (int i = gnn->options.layers - 1; i >= 0; i--) {
    sl_layer *layer = &gnn->layer[i];
    SL_TRY(bring(gnn, x, i, step));
    sl_pass_back pass = {.x = input_of(gnn, x, i, drops), .dy = gradient_of(gnn, i), .after = after};
    if (i > 0) {
      after = activated_by(gnn, i - 1);
      pass.dx = gradient_of(gnn, i - 1);
      pass.before = may ? &after : NULL;
    }
    SL_TRY(layer->kind->backward(layer, &pass));
    if (drops && i > 0) {
      const sl_mask mask = mask_of(gnn, i, step);
      SL_TRY(sl_dense_drop(&gnn->work, &mask, pass.dx, pass.dx));
    }
  }
  return gnn->blocks.fixed ? sl_row_blocks_add(&gnn->blocks, gnn->parameters.grad)
                           : sl_parameters_sum(&gnn->parameters);
}

sley_status sl_network_step(sley_gnn *gnn, sley_gnn_optimizer optimizer, double rate, double decay) {
  sl_parameters *p = &gnn->parameters;
  sley_adam_spec adam = SLEY_ADAM_SPEC_INIT;
  if (optimizer == SLEY_GNN_SGD)
    return sl_parameters_descend(p, &gnn->work, rate, decay);
  adam.dtype = p->dtype;
  adam.count = p->values;
  adam.param = p->value;
  adam.grad = p->grad;
  adam.m = p->first;
  adam.v = p->second;
  adam.step = ++*p->step;
  adam.rate = rate;
  adam.decay = decay;
  return sl_adam(gnn->comm, &adam);
}

sley_gnn_bytes sl_network_bytes(const sley_gnn *gnn) {
  const sley_dtype dtype = gnn->work.dtype;
  sley_gnn_bytes bytes = {.rows = gnn->activations.bytes + sl_rows_bytes(gnn->gradient[0], dtype) +
                                  sl_rows_bytes(gnn->gradient[1], dtype) +
                                  sl_rows_bytes(gnn->scratch, dtype) + sl_sparse_input_bytes(gnn->sparse),
                          .parameters =
                              sl_parameters_bytes(&gnn->parameters) + sl_row_blocks_bytes(&gnn->blocks),
                          .plans = sl_products_bytes(&gnn->products)};
  for (int i = 0; i < gnn->options.layers; i++)
    for (int slot = 0; slot < SL_LAYER_MATRICES; slot++)
      bytes.rows += sl_rows_bytes(gnn->layer[i].matrix[slot], dtype);
  return bytes;
}

static void close_layers(sley_gnn *gnn) {
  for (int i = gnn->options.layers - 1; i >= 0 && gnn->layer; i--)
    sl_layer_close(&gnn->layer[i]);
  sl_activations_close(&gnn->activations);
}

void sl_network_destroy(sley_gnn *gnn) {
  if (!gnn)
    return;
  sl_row_blocks_close(&gnn->blocks);
  sl_loss_close(&gnn->loss);
  close_layers(gnn);
  sl_parameters_close(&gnn->parameters);
  for (int i = 0; i < 2; i++)
    sl_rows_give(gnn->comm, &gnn->gradient[i]);
  sl_rows_give(gnn->comm, &gnn->scratch);
  sl_products_close(&gnn->products);
  sl_graph_destroy(gnn->graph);
  sl_sparse_input_close(gnn->sparse);
  if (gnn->row_number)
    gnn->comm->device->ops->free(gnn->comm->device, gnn->row_number);
  sl_free(gnn->gave);
  sl_free(gnn->given);
  sl_free(gnn->layer);
  sl_free(gnn);
}
