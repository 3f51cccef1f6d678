/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a network: turns rows of `in` values into rows of `out` values, along the entries of the graph's
 * matrix. Each kind has its own file, with its equations, forward and backward. */
#ifndef SLEY_GNN_LAYER_H
#define SLEY_GNN_LAYER_H

#include "gnn/activations.h"
#include "gnn/parameters.h"
#include "gnn/products.h"
#include "gnn/row_blocks.h"
#include "gnn/sparse_features.h"
#include "graph/aggregation.h"
#include "graph/attention.h"

/* The normalization of the entries' values in the matrix over which a kind of layer sums. */
typedef enum sl_norm {
  SL_NORM_NONE,
  SL_NORM_MEAN,     /* each value is divided by the sum of its row */
  SL_NORM_SYMMETRIC /* each value is divided by the square root of (the sum of its row) (the sum of the row
                       with its column's number) */
} sl_norm;

typedef struct sl_layer sl_layer;

/* The rows of a forward call: y = act(layer(x)). same_x: x is the same as in the call before. spare: memory
 * that the call may overwrite, as wide as any layer's y. */
typedef struct sl_pass {
  sl_rows x, y, spare;
  sley_activation act;
  double slope;
  bool same_x;
} sl_pass;

/* The rows of a backward call. x: as in the forward call. dy: the gradient with respect to after.y, the
 * layer's output; if after.act is SLEY_NO_ACTIVATION, dy is already the gradient with respect to the
 * activation's input. Otherwise the call first converts dy to that; afterwards the values of after.y are not
 * needed, and it may use their memory. dx: receives the gradient with respect to x; data NULL: not wanted. It
 * may be the memory of dy, unless the kind sets dx_apart. before: NULL, or the activation whose output is x;
 * a product that computes dx may include that activation's gradient (sl_dense_multiply_back). */
typedef struct sl_pass_back {
  sl_rows x, dy, dx;
  sl_activated after;
  sl_activated *before;
} sl_pass_back;

typedef struct sl_layer_kind {
  const char *name;    /* name in the command */
  const char *summary; /* one line, for users: the equation; N(i) stands for the entries of row i */
  int hops;            /* number of entries between a row of a layer's output and the farthest input rows that
                        * it depends on */
  bool sums;           /* uses sparse products; else operations on a graph */
  bool loops;          /* each row has exactly one diagonal entry, whether or not A has it */
  sl_norm norm;
  sley_activation act; /* activation between layers */
  bool heads;          /* hidden layers have several heads */
  bool dense_x;        /* does not accept sparse features */
  bool dx_apart;       /* dx must not share memory with dy */
  bool reads_dy;       /* the update reads dy itself, so that dx is apart if both are computed at once */
  /* Returns the values per row of working memory that the backward call of a layer needs, or 0. */
  int64_t (*scratch)(const sl_layer *layer);
  /* Adds the parameters. Errors: SLEY_ERR_UNSUPPORTED (too many). */
  sley_status (*declare)(sl_layer *layer, sl_parameters *parameters);
  /* Creates operations on the graph, which sl_layer_close destroys, and declares the rows that the layer
   * keeps. Collective, agreed. */
  sley_status (*open)(sl_layer *layer);
  sley_status (*forward)(sl_layer *layer, const sl_pass *pass);
  /* Computes the gradients of the layer's parameters for this rank's blocks of rows. Collective, like
   * forward. */
  sley_status (*backward)(sl_layer *layer, const sl_pass_back *pass);
} sl_layer_kind;

enum { SL_LAYER_PARAMETERS = 6, SL_LAYER_ROWS = 2, SL_LAYER_MATRICES = 4 };

struct sl_layer {
  const sl_layer_kind *kind;
  int number;
  int64_t in, out; /* out: heads x head width */
  int64_t heads;
  double slope; /* slope of attention */
  sl_dense_work work;
  int64_t local_rows;    /* rows of this rank */
  sley_graph *graph;     /* for kinds that do not use products */
  sl_products *products; /* for kinds that use products, else NULL */
  sl_row_blocks *blocks; /* blocks over which gradients of parameters are summed */
  sl_rows scratch;       /* memory that all layers share, scratch(layer) columns */
  const sl_parameters *parameters;
  int parameter[SL_LAYER_PARAMETERS];
  bool same_x;             /* results that depend only on x are kept from one step to the next */
  bool x_stays;            /* x is the same in all calls, so a call may use the sums of the call before */
  sl_sparse_input *sparse; /* sparse x of the first layer, or NULL */
  sl_activations *activations;
  /* For use by the kind: kept rows, and matrices that sl_layer_close frees. */
  sl_rows rows[SL_LAYER_ROWS], matrix[SL_LAYER_MATRICES];
  int product;
  sley_aggregation *aggregation;
  void *arg; /* for a maximum: the chosen entries, int32_t */
  sley_attention *attention;
  void *saved;
  sl_rows between; /* the product T = X W, if the update keeps it */
};

/* The kind of layer of a model, or NULL. */
const sl_layer_kind *sl_layer_kind_of(int64_t model);

/* The names of the kinds, indexed by sley_gnn_model; NULL-terminated, static. */
const char *const *sl_layer_names(void);

/* ---- for the kinds */

/* Adds parameter number `slot` of the layer. limit: as in sl_parameter. */
sley_status sl_layer_declare(sl_layer *layer, sl_parameters *parameters, int slot, const char *what,
                             int64_t rows, int64_t cols, double limit);

/* sqrt(6 / (rows + cols)): Glorot and Bengio, AISTATS 2010, equation 16. */
double sl_layer_glorot(int64_t rows, int64_t cols);

/* 1 / sqrt(rows): for weights of `rows` inputs and their biases, as PyTorch initializes them (GIN, SAGE). */
double sl_layer_fan_in(int64_t rows);

/* Return the values of a parameter, and the contribution of a block of rows to its gradient. */
sl_rows sl_layer_value(const sl_layer *layer, int slot);
sl_rows sl_layer_grad(const sl_layer *layer, int slot, int64_t block);

/* Computes the gradient of a parameter as a^T b, for the layer's rows a and b. Their widths must be expected
 * (sl_row_blocks_expect); layer->in on the left and layer->out on the right always are. Collective. */
sley_status sl_layer_weight_back(const sl_layer *layer, int slot, sl_rows a, sl_rows b);

/* Multiplies dy by act'(y) for `after`, and computes the gradient of a bias: the sum of the rows of the new
 * dy. Collective. */
sley_status sl_layer_bias_back(const sl_layer *layer, int slot, const sl_activated *after, sl_rows dy);

/* Computes both gradients of x W + b: first of the bias, then of the weight, a^T dy; in one pass over dy if a
 * kernel supports that. Collective. */
sley_status sl_layer_affine_back(const sl_layer *layer, int weight, int bias, sl_rows a,
                                 const sl_activated *after, sl_rows dy);

/* Adds the rank's rows of `cols` values, as rows[slot], to the rows that the layer keeps; they have memory
 * once all layers are open. Rows begin at multiples of 16 bytes. */
sley_status sl_layer_keep_rows(sl_layer *layer, int slot, sl_kept_kind kind, int64_t cols);

/* The update of most kinds: Y = act((Y +) N X W + b), where N X is the sum, or the maximum, of values times
 * the rows of X that the entries of a row name. If W makes rows narrower, X W is computed first, so that
 * fewer values are aggregated and sent; likewise for sparse rows, which aggregation would make dense:
 *
 *   update first      T = X W;  Y = act((Y +) N T + b)      D = N^T dY;  dW = X^T D;  dX = D W^T
 *   T is not kept     T = N X;  Y = act((Y +) T W + b)      the same
 *   T is kept         T = N X;  Y = act((Y +) T W + b)      dW = T^T dY;  D = dY W^T;  dX = N^T D
 *
 * where dY is the gradient with respect to the input of act. N^T of a maximum adds each value to the entry
 * that was chosen. T is kept in three cases: by the first layer, which needs no dX and reuses T in the next
 * pass with the same x; by layers that W makes wider, because D is then narrower; and for maxima.
 *
 * Products use rows padded to 16 bytes, if the rows are the network's own: the padding does no harm, and rows
 * are loaded in vectors. */

/* The slot scratch of kinds with this update. */
int64_t sl_layer_update_scratch(const sl_layer *layer);

/* Columns of the products of an update, or 0. */
int64_t sl_layer_product_width(const sl_layer *layer);

/* Creates the aggregation, and T if it is kept. Collective, agreed. */
sley_status sl_layer_open_update(sl_layer *layer);

/* Runs the update. weight: slot of W, in x out. add: adds to Y instead of overwriting it. bias: NULL, or one
 * value per column. Collective. */
sley_status sl_layer_update(sl_layer *layer, int weight, const sl_pass *pass, bool add, const void *bias);

/* bias: slot of b, or SL_NO_BIAS if its gradient and act's have been computed. pass->after.y: as wide as Y; D
 * may use its memory. Collective. */
enum { SL_NO_BIAS = -1 };
sley_status sl_layer_update_back(sl_layer *layer, int weight, int bias, const sl_pass_back *pass);

/* Returns whether dx of a backward call should not share memory with dy: the kind sets dx_apart, or dx is
 * computed while rows of dy are still read. The layer is open. */
bool sl_layer_dx_apart(const sl_layer *layer);

/* Destroys what open has created, also if open has failed or was not called. Collective. */
void sl_layer_close(sl_layer *layer);

#endif
