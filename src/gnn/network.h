/* SPDX-License-Identifier: Apache-2.0 */
/* A network: layers in sequence, with dropout before each and an activation between them; its parameters; and
 * the loss over rows that have a label. */
#ifndef SLEY_GNN_NETWORK_H
#define SLEY_GNN_NETWORK_H

#include "sley_gnn.h"

#include "gnn/layer.h"
#include "gnn/loss.h"
#include "transport/stopwatch.h"

struct sley_gnn {
  sl_comm *comm;
  sley_gnn_options options;
  sl_dense_work work;
  sl_parameters parameters;
  sley_graph *graph;       /* for kinds of layers that do not use products */
  sl_products products;    /* for kinds that use products */
  int64_t rows;            /* rows of this rank */
  int64_t first_row;       /* first row of this rank among all ranks' rows */
  int64_t *row_number;     /* numbers of this rank's rows for masks of dropout, in device memory; NULL: their
                              places among all ranks' rows */
  sl_layer *layer;         /* options.layers elements */
  sl_sparse_input *sparse; /* the features; NULL: passed to each call */
  sl_activations activations;
  sl_rows *given, *gave; /* input and output of each layer, in the activations' memory */
  /* The gradient of a layer's output. If gradients are apart, because a layer wants that (sl_layer_dx_apart),
   * both are used in turn. Forward calls use the other memory as working memory. */
  bool apart;
  sl_rows gradient[2];
  sl_rows scratch; /* working memory of all layers */
  bool kept_input; /* layer 0 has kept its results for x without dropout */
  sl_row_blocks blocks;
  sl_loss loss;
  bool timed;     /* steps are timed; the watch has the times of the last one */
  bool has_times; /* there has been a timed step */
  sl_stopwatch watch;
};

/* Values in a row of layer `number`'s output; for layer -1, of the features. */
int64_t sl_network_width(const sley_gnn_options *options, int number);

/* Returns whether no layer has 2^31 values per row or more, and sl_network_width does not overflow. Sizes
 * that are used are at least 1. */
bool sl_network_widths_fit(const sley_gnn_options *options);

/* Creates a network. options: checked, the same on all ranks. of: NULL, or a network with the same options
 * whose parameters are shared, and which must outlive the new one. Collective, agreed. */
sley_status sl_network_create(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const sley_gnn_options *options, const sley_gnn *of, sley_gnn **out);

/* Resets the network to its initial state with another seed; it must own its parameters. Collective,
 * agreed. */
sley_status sl_network_restart(sley_gnn *gnn, uint64_t seed);

/* Runs all layers. x: the rank's rows of features. training: with dropout, with the masks of step `step`. The
 * last layer's output stays in the network until the next call. Collective. */
sley_status sl_network_forward(sley_gnn *gnn, sl_rows x, bool training, int64_t step);
sl_rows sl_network_logits(const sley_gnn *gnn);

/* Computes the mean loss of the rows of all ranks whose label is not -1, and, if `gradient` is set, its
 * gradient with respect to the logits, for the backward call. label: in device memory. Collective; waits. */
sley_status sl_network_loss(sley_gnn *gnn, const int32_t *label, bool gradient, double *loss,
                            int64_t *counted);

/* Computes the gradients of all parameters, summed over ranks. Must follow a forward call with training and a
 * loss with gradient. Collective. */
sley_status sl_network_backward(sley_gnn *gnn, sl_rows x, int64_t step);

/* One step of the optimizer. */
sley_status sl_network_step(sley_gnn *gnn, sley_gnn_optimizer optimizer, double rate, double decay);

/* In train.c: runs all of the calls above in turn, and measures the step's times if gnn is timed. batch:
 * checked. Collective; waits for the loss, and if timed for all work that it enqueues. */
sley_status sl_network_train(sley_gnn *gnn, const sley_gnn_batch *batch, sl_rows x, double *loss,
                             int64_t *counted);

/* Memory of this rank's part. */
sley_gnn_bytes sl_network_bytes(const sley_gnn *gnn);

/* Times of the parts of the last step. Errors: SLEY_ERR_ARG (no step was timed). */
sley_status sl_network_times(const sley_gnn *gnn, sley_gnn_times *out);

/* Accepts NULL. Collective. */
void sl_network_destroy(sley_gnn *gnn);

#endif
