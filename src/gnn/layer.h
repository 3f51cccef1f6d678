/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a network: rows of `in` values become rows of `out` values, along the entries of the graph's
 * relation. Each kind stands in a file of its own, with its equations, forward and backward. */
#ifndef SLEY_GNN_LAYER_H
#define SLEY_GNN_LAYER_H

#include "gnn/activations.h"
#include "gnn/parameters.h"
#include "gnn/products.h"
#include "gnn/row_blocks.h"
#include "gnn/sparse_features.h"
#include "graph/aggregation.h"
#include "graph/attention.h"

/* The values of the entries that a kind of layer sums over. */
typedef enum sl_norm {
  SL_NORM_NONE,
  SL_NORM_MEAN,     /* values are divided by the sum of their row */
  SL_NORM_SYMMETRIC /* by sqrt(the sum of their row, the sum of their column's row) */
} sl_norm;

typedef struct sl_layer sl_layer;

/* The rows of a forward call. y = act(layer(x)). same_x: x is that of the call before. spare: memory whose
 * values nobody needs, as wide as any layer's y. */
typedef struct sl_pass {
  sl_rows x, y, spare;
  sley_activation act;
  double slope;
  bool same_x;
} sl_pass;

/* Of a backward call: x as it was; dy: the gradient with respect to after.y, which the layer gave; after.act
 * is SLEY_NO_ACTIVATION where dy is the one with respect to what the activation was given already. The call
 * makes dy that first, and then nobody needs the values of after.y, whose memory it may use. dx.data NULL:
 * not wanted, else the gradient with respect to x; it may be where dy is, unless the kind says dx_apart.
 * before: NULL, or of what x was given by: a product that ends dx may take that activation's gradient, too
 * (sl_dense_multiply_back). */
typedef struct sl_pass_back {
  sl_rows x, dy, dx;
  sl_activated after;
  sl_activated *before;
} sl_pass_back;

typedef struct sl_layer_kind {
  const char *name;    /* as the command takes it */
  const char *summary; /* one line, for users: the equation, with N(i) the entries of row i */
  int hops;            /* of a layer: how far along entries the rows lie that a row is made of */
  bool sums;           /* by products; else by operations on a graph */
  bool loops;          /* each row has exactly one entry of its own, whether or not A has it */
  sl_norm norm;
  sley_activation act; /* between layers */
  bool heads;          /* hidden layers have several */
  bool dense_x;        /* takes no sparse features */
  bool dx_apart;       /* dx is not where dy is */
  /* Values of a row of memory that the backward call of a layer needs, or 0. */
  int64_t (*scratch)(const sl_layer *layer);
  /* Adds the parameters. Errors: SLEY_ERR_UNSUPPORTED (too many). */
  sley_status (*declare)(sl_layer *layer, sl_parameters *parameters);
  /* Operations on the graph, which sl_layer_close frees, and what the layer keeps. Collective, agreed. */
  sley_status (*open)(sl_layer *layer);
  sley_status (*forward)(sl_layer *layer, const sl_pass *pass);
  /* Writes the gradients of the layer's parameters, of this rank's blocks of rows. Collective, as forward. */
  sley_status (*backward)(sl_layer *layer, const sl_pass_back *pass);
} sl_layer_kind;

enum { SL_LAYER_PARAMETERS = 6, SL_LAYER_ROWS = 2, SL_LAYER_MATRICES = 4 };

struct sl_layer {
  const sl_layer_kind *kind;
  int number;
  int64_t in, out; /* out: heads x width */
  int64_t heads;
  double slope; /* of attention */
  sl_dense_work work;
  int64_t local_rows;    /* this rank's */
  sley_graph *graph;     /* of kinds that do not sum */
  sl_products *products; /* of those that do, else NULL */
  sl_row_blocks *blocks; /* over which gradients of parameters are summed */
  sl_rows scratch;       /* that all layers share, scratch(layer) columns of it */
  const sl_parameters *parameters;
  int parameter[SL_LAYER_PARAMETERS];
  bool same_x;       /* what it makes of x is kept from one step to the next */
  sl_sparse_input *sparse; /* of the first layer: its x, or NULL */
  sl_activations *activations;
  /* The kind's: kept rows, and matrices that sl_layer_close frees. */
  sl_rows rows[SL_LAYER_ROWS], matrix[SL_LAYER_MATRICES];
  int product;
  sley_aggregation *aggregation;
  void *arg; /* of a maximum: its arguments, int32_t */
  sley_attention *attention;
  void *saved;
  sl_rows between; /* T of an update that keeps it */
};

/* The kind of a model, or NULL. */
const sl_layer_kind *sl_layer_kind_of(int64_t model);

/* The names of the kinds, by sley_gnn_model; NULL-terminated, static. */
const char *const *sl_layer_names(void);

/* ---- for the kinds */

/* Adds parameter number `slot` of the layer. limit: see sl_parameter. */
sley_status sl_layer_declare(sl_layer *layer, sl_parameters *parameters, int slot, const char *what,
                             int64_t rows, int64_t cols, double limit);

/* sqrt(6 / (rows + cols)): Glorot and Bengio, AISTATS 2010, equation 16. */
double sl_layer_glorot(int64_t rows, int64_t cols);

/* 1 / sqrt(rows): of weights of `rows` inputs and their biases where PyTorch draws them so (GIN, SAGE). */
double sl_layer_fan_in(int64_t rows);

/* The values of a parameter; and what a block of rows adds to its gradient. */
sl_rows sl_layer_value(const sl_layer *layer, int slot);
sl_rows sl_layer_grad(const sl_layer *layer, int slot, int64_t block);

/* The gradient of a parameter is a^T b, of the layer's rows a and b; their widths were expected
 * (sl_row_blocks_expect): on the left layer->in columns are, on the right layer->out. Collective. */
sley_status sl_layer_weight_back(const sl_layer *layer, int slot, sl_rows a, sl_rows b);

/* dy = dy act'(y), of `after`, and the gradient of a parameter, a bias, is the sum of the rows of dy.
 * Collective. */
sley_status sl_layer_bias_back(const sl_layer *layer, int slot, const sl_activated *after, sl_rows dy);

/* Both of a layer x W + b: first the bias, then the weight, a^T dy; in one pass over dy where a kernel does
 * that. Collective. */
sley_status sl_layer_affine_back(const sl_layer *layer, int weight, int bias, sl_rows a,
                                 const sl_activated *after, sl_rows dy);

/* Adds the rank's rows of `cols` values, as rows[slot], to what the layer keeps: they have memory once all
 * layers are open. Rows begin at multiples of 16 bytes. */
sley_status sl_layer_keep_rows(sl_layer *layer, int slot, sl_kept_kind kind, int64_t cols);

/* The update of most kinds: Y = act((Y +) N X W + b), N X being the sum, or the maximum, of values times the
 * rows of X that the entries of a row name. Sums of rows that W makes narrower are of X W, so that fewer
 * values are aggregated and travel, as are those of sparse rows, which sums would make dense:
 *
 *   update first      T = X W;  Y = act((Y +) N T + b)      D = N^T dY;  dW = X^T D;  dX = D W^T
 *   T is not kept     T = N X;  Y = act((Y +) T W + b)      the same
 *   T is kept         T = N X;  Y = act((Y +) T W + b)      dW = T^T dY;  D = dY W^T;  dX = N^T D
 *
 * with dY the gradient with respect to what act is given. N^T of a maximum gives each value to the entry that
 * was chosen. T is kept by the first layer, which needs no dX and whose next pass with the same x does not
 * make it again; by layers that W makes wider, whose D is narrower so; and of maxima.
 *
 * Products are of rows rounded up to 16 bytes, where these are the network's own: what stands there does no
 * harm, and rows are loaded in vectors. */

/* See sl_layer_kind.scratch. */
int64_t sl_layer_update_scratch(const sl_layer *layer);

/* Columns of the products of an update, or 0. */
int64_t sl_layer_product_width(const sl_layer *layer);

/* The aggregation, and T where it is kept. Collective, agreed. */
sley_status sl_layer_open_update(sl_layer *layer);

/* weight: the slot of W, in x out. add: Y is added to. bias: NULL, or a value for each column. Collective. */
sley_status sl_layer_update(sl_layer *layer, int weight, const sl_pass *pass, bool add, const void *bias);

/* bias: the slot of b, or SL_NO_BIAS where its gradient and act's have been made. pass->after.y: as wide as
 * Y; D may be in its memory. Collective. */
enum { SL_NO_BIAS = -1 };
sley_status sl_layer_update_back(sl_layer *layer, int weight, int bias, const sl_pass_back *pass);

/* Frees what open has made; accepts one that it has failed for, or that it has not seen. Collective. */
void sl_layer_close(sl_layer *layer);

#endif
