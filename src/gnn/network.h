/* SPDX-License-Identifier: Apache-2.0 */
/* A network: layers one after the other, with dropout before each and an activation between them; its
 * parameters; and the loss over rows that have a label. */
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
  sley_graph *graph;    /* of kinds of layers that do not sum */
  sl_products products; /* of those that do */
  int64_t rows;         /* this rank's */
  int64_t first_row;    /* of all ranks' rows, this rank's first */
  sl_layer *layer;      /* options.layers of them */
  sl_sparse_input *sparse; /* the features; NULL: each call is given them */
  sl_activations activations;
  sl_rows *given, *gave; /* of each layer, in the activations' memory; see there */
  /* The gradient of what layers give, or of two layers in turn where a kind wants them apart; forward calls
   * take the memory that has none for what they need meanwhile. */
  sl_rows gradient[2];
  sl_rows scratch; /* of all layers */
  bool kept_input; /* layer 0 has what it makes of x without dropout */
  sl_row_blocks blocks;
  sl_loss loss;
  bool timed;     /* steps are; the watch has the last one's times, */
  bool has_times; /* if there was one */
  sl_stopwatch watch;
};

/* Values of a row that layer `number` gives; of layer -1, the features. */
int64_t sl_network_width(const sley_gnn_options *options, int number);

/* Whether no layer has 2^31 values a row or more, and sl_network_width does not overflow. Sizes that count have
 * at least 1. */
bool sl_network_widths_fit(const sley_gnn_options *options);

/* options: checked, the same on all ranks. of: NULL, or a network of the same options whose parameters it has
 * too, and which outlives it. Collective, agreed. */
sley_status sl_network_create(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const sley_gnn_options *options, const sley_gnn *of, sley_gnn **out);

/* The network as it was made, but of another seed; its parameters are its own. Collective, agreed. */
sley_status sl_network_restart(sley_gnn *gnn, uint64_t seed);

/* x: the rank's rows of features. training: with dropout, whose masks are those of step `step`. What the last
 * layer gives stays in the network until the next call. Collective. */
sley_status sl_network_forward(sley_gnn *gnn, sl_rows x, bool training, int64_t step);
sl_rows sl_network_logits(const sley_gnn *gnn);

/* The mean loss of rows whose label is not -1, over all ranks, and its gradient with respect to the logits,
 * which the backward call takes. label: in the device's memory. Collective; waits. */
sley_status sl_network_loss(sley_gnn *gnn, const int32_t *label, bool gradient, double *loss,
                            int64_t *counted);

/* After a forward call with training and a loss with gradient: the gradients of all parameters, summed over
 * ranks. Collective. */
sley_status sl_network_backward(sley_gnn *gnn, sl_rows x, int64_t step);

/* A step of the optimizer. */
sley_status sl_network_step(sley_gnn *gnn, sley_gnn_optimizer optimizer, double rate, double decay);

/* train.c: the above, one after the other, and the step's times where gnn is timed. batch: checked.
 * Collective; waits for the loss, and where it is timed for all that it enqueues. */
sley_status sl_network_train(sley_gnn *gnn, const sley_gnn_batch *batch, sl_rows x, double *loss,
                             int64_t *counted);

/* What this rank's part takes of memory. */
sley_gnn_bytes sl_network_bytes(const sley_gnn *gnn);

/* What the last step's time went to. Errors: SLEY_ERR_ARG (no step was timed). */
sley_status sl_network_times(const sley_gnn *gnn, sley_gnn_times *out);

/* Accepts NULL. Collective. */
void sl_network_destroy(sley_gnn *gnn);

#endif
