/* SPDX-License-Identifier: Apache-2.0 */
/* Graph networks, trained on whole graphs by one or more ranks: forward, backward and Adam in a few calls;
 * or, to compare, on neighbourhoods that are drawn.
 *
 *   sley_gnn_models     the kinds of layers
 *   sley_gnn_create     layers of one model, with first weights that seed alone decides
 *   sley_gnn_train      one step over all rows that have a label
 *   sley_gnn_restart    the network anew, with first weights of another seed
 *   sley_gnn_times_get  what a step's time went to
 *   sley_gnn_bytes_get  what the network takes of memory
 *   sley_gnn_infer      the logits of the rank's rows
 *   sley_gnn_parameter  weights and gradients, where they lie
 *   sley_gnn_save       the state as a file, from which sley_gnn_load goes on
 *   sley_gnn_sampler_draw, sley_gnn_create_shared   a batch of rows and what it reaches; a network over that
 *
 * What sley.h says of errors, of structs that begin with their size and of memory holds here too: x, label
 * and logits lie in the memory of the rank's device (sley_buffer_alloc), rows are divided among ranks as
 * those of A. */
#ifndef SLEY_GNN_H
#define SLEY_GNN_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With N(i) the entries of row i of A, layers are, before the activation:
 *
 *   GCN       sum over N(i) and i itself of x[j] / sqrt(d_i d_j), d_i = |N(i)| + 1; times W, + b
 *   GIN       relu((x[i] + sum of x[j]) W1 + b1) W2 + b2
 *   SAGE      mean of x[j] times Wn + x[i] Wr + b;  SAGE_MAX: the maximum instead of the mean
 *   GAT       sum of softmax(leaky(a_dst . W x[i] + a_src . W x[j])) W x[j] over N(i) and i itself, + b
 *
 * Repeated entries count as often as they are there; values of A are not looked at, unless options.weights
 * says so. Entries (i, i) of A are, for GCN, GIN and GAT, the row itself. Between layers: relu; of GAT elu.
 * Hidden layers of GAT have `heads` heads of `hidden` values side by side, the last has one. Sources: Kipf
 * and Welling, ICLR 2017; Xu and others, ICLR 2019; Hamilton and others, NIPS 2017; Velickovic and others,
 * ICLR 2018. */
typedef enum sley_gnn_model {
  SLEY_GNN_GCN = 0,
  SLEY_GNN_GIN = 1,
  SLEY_GNN_SAGE = 2,
  SLEY_GNN_SAGE_MAX = 3,
  SLEY_GNN_GAT = 4
} sley_gnn_model;

/* The names of the models, by sley_gnn_model; NULL-terminated, static. */
const char *const *sley_gnn_models(void);

typedef struct sley_gnn_model_info {
  const char *name;    /* as in sley_gnn_models(). Static, as: */
  const char *summary; /* one line: what row i becomes, before the activation */
  int hops;            /* of each layer: how far along entries the rows lie that a row is made of */
  bool sums;           /* over entries, by sparse products: options.algo, wire, kernel and weights hold */
  bool heads;          /* hidden layers have options.heads of them */
  bool sparse_x;       /* options.x is taken */
} sley_gnn_model_info;

/* What a model is. Not collective. Errors: SLEY_ERR_ARG (no such model, out is NULL). */
sley_status sley_gnn_model_get(sley_gnn_model model, sley_gnn_model_info *out);

/* What becomes of the rows that layers give and keep, from the forward to the backward half of a step:
 *
 *   KEEP       they stay
 *   RECOMPUTE  what some layers gave stays, the rest is made again: the same bits, in more time
 *   BF16       what would be overwritten stays in bf16, rounded to nearest, ties to even: F32 only
 *
 * With BF16 logits and the loss of a first step have the same bits as with KEEP. Of GCN, GIN, SAGE and
 * SAGE_MAX so have the gradients of biases. Those of weights are X^T D, where D has the same bits and each
 * normal number in X is off by at most 2^-9 of itself: they are off by at most 2^-9 |X|^T |D|, beside the
 * rounding of f32. GAT's scores are of rounded values; for its gradients there is no such bound. */
typedef enum sley_gnn_memory { SLEY_GNN_KEEP = 0, SLEY_GNN_RECOMPUTE = 1, SLEY_GNN_BF16 = 2 } sley_gnn_memory;

typedef struct sley_gnn sley_gnn;

typedef struct sley_gnn_options {
  size_t struct_size;
  sley_gnn_model model;
  int layers;                        /* default 2 */
  int64_t features, hidden, classes; /* values of a row of X; default 16; of a row of logits */
  int64_t heads;                     /* of GAT's hidden layers; default 8 */
  sley_dtype dtype;                  /* of X, weights and all between; default SLEY_F32 */
  double dropout;                    /* of what each layer is given, in training; default 0.5 */
  double slope;                      /* of leaky; default 0.2 */
  uint64_t seed;                     /* of first weights and of dropout: the same for every number of ranks */
  /* Losses, gradients, weights and logits have the same bits for every number of ranks, division of the rows
   * and transport, on one kind of device. All dense products are summed in order, and the gradients of
   * parameters are kept for up to 64 blocks of rows. Not with precision "tf32" nor a wire. */
  bool reproducible;
  /* How sums over entries go (GCN, GIN, SAGE): an algorithm as in sley_plan_options, NULL or "auto" for the
   * one predicted fastest; and the type in which rows travel, as there. Both outlive the network.
   */
  const char *algo, *wire;
  bool same_x; /* x has the same values in all calls: what the first layer sums of them is made once, where it
                * sums first and nothing is dropped */
  const char *kernel; /* the device's kernel that sums over entries (GCN, GIN, SAGE), one of sley_kernels(),
                       * as in sley_plan_options; default NULL, "auto". It outlives the network */
  /* NULL or "full"; "tf32": products of dense matrices, and of these sums where kernels on Tensor cores make
   * them, may round values of f32 to tf32, as in sley_plan_options and sley_gemm_spec. It outlives the
   * network. */
  const char *precision;
  sley_gnn_memory memory; /* default SLEY_GNN_KEEP */
  /* GCN, GIN and SAGE: x[j] is multiplied by the value of the entry (i, j), d_i is the sum of the values of
   * row i and of the row itself, and a mean is divided by the sum of the values of its row. The row itself
   * counts by the value of (i, i), or 1 where A has no such entry. The sums that GCN and SAGE divide by must
   * be above 0. Default false: all values count as 1. */
  int64_t weights;
  /* NULL, or this rank's rows of X as a sparse matrix of dtype, rows x features: then batch.x is not looked
   * at. The first layer multiplies X by its weights before it sums over entries, and nothing of X but its
   * entries is stored; dropout is of these, by the masks of a dense X. It is read by sley_gnn_create alone.
   * Not with SAGE_MAX, whose maxima are of dense rows. */
  const sley_matrix *x;
} sley_gnn_options;
#define SLEY_GNN_OPTIONS_INIT                                                                                \
  {                                                                                                          \
    sizeof(sley_gnn_options), SLEY_GNN_GCN, 2, 0, 16, 0, 8, SLEY_F32, 0.5, 0.2, 1, false, NULL, NULL, false, \
        NULL, NULL, SLEY_GNN_KEEP, 0, NULL                                                                   \
  }

/* Makes a network. block: this rank's rows of A, which is square, columns numbered globally; it is read
 * during the call only. row_begin: size + 1 numbers, as for sley_plan_create. Ended by sley_gnn_destroy,
 * before the comm ends. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW,
 * SLEY_ERR_UNSUPPORTED (the device has no kernel, or too many layers), SLEY_ERR_INPUT (weights that add up to
 * 0 or less), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_gnn_create(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                            const sley_gnn_options *options, sley_gnn **out);

/* A network of the same options over another graph, with dense features, with the same parameters: weights,
 * gradients, moments and step are those of `of`, in the same memory, and a step of either is one of both.
 * Ended before `of`. block and row_begin: as above, on the same comm. Collective. Errors: as sley_gnn_create.
 */
sley_status sley_gnn_create_shared(const sley_gnn *of, const sley_matrix *block, const int64_t *row_begin,
                                   sley_gnn **out);

typedef struct sley_gnn_parameter {
  const char *name; /* layer and what, as in "0.weight"; valid as long as the network */
  int64_t rows, cols;
  void *value, *grad; /* rows x cols values each, in the device's memory, the network's */
} sley_gnn_parameter;

/* How many parameters there are, and one of them. Not collective. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_parameters(const sley_gnn *gnn, int *count);
sley_status sley_gnn_parameter_get(const sley_gnn *gnn, int number, sley_gnn_parameter *out);

/* With g the gradient and decay times the weights added: Adam (betas 0.9 and 0.999, eps 1e-8; Kingma and Ba,
 * ICLR 2015), or weights -= rate g, stochastic gradient descent, here over all rows. */
typedef enum sley_gnn_optimizer { SLEY_GNN_ADAM = 0, SLEY_GNN_SGD = 1 } sley_gnn_optimizer;

typedef struct sley_gnn_batch {
  size_t struct_size;
  const void *x;                /* this rank's rows x features values; NULL where options.x has them */
  int64_t ldx;                  /* elements, at least features */
  const int32_t *label;         /* of each row: 0 .. classes - 1; -1: the row is not counted */
  int64_t step;                 /* of dropout's masks: another number for each call; default 0 */
  double rate;                  /* of learning; default 0.01. 0: gradients only, weights stay as they are */
  double decay;                 /* of weights, added to the gradient; default 5e-4 */
  sley_gnn_optimizer optimizer; /* default SLEY_GNN_ADAM */
} sley_gnn_batch;
#define SLEY_GNN_BATCH_INIT                                                                                  \
  { sizeof(sley_gnn_batch), NULL, 0, NULL, 0, 0.01, 5e-4, SLEY_GNN_ADAM }

/* One step: logits with dropout, the mean negative log-likelihood of all ranks' rows that are counted, its
 * gradients with respect to the parameters, summed over ranks in their order (reproducible: over blocks of
 * rows in theirs), and a step of the optimizer.
 * *loss, *counted (either may be NULL): before the step. Waits for the loss. Collective. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED; an error ends the comm. */
sley_status sley_gnn_train(sley_gnn *gnn, const sley_gnn_batch *batch, double *loss, int64_t *counted);

/* Makes the network what sley_gnn_create would give with options.seed = seed, in the memory and with the
 * plans that it has: first weights and dropout's masks by that seed, gradients and moments 0, no step of Adam
 * made. Steps that follow have the bits of those of a new network, whatever the ones before have left.
 * Whether steps are timed stays. Networks that share its parameters keep their own seed of dropout: they are
 * to be made again. After an error the values of parameters are undefined. Copies the weights to the device
 * and waits for that. Collective. Errors, on all ranks: SLEY_ERR_ARG (gnn has the parameters of another
 * network, or ranks give other seeds), SLEY_ERR_MEMORY; SLEY_ERR_PEER. */
sley_status sley_gnn_restart(sley_gnn *gnn, uint64_t seed);

/* Milliseconds of a rank in the forward and in the backward half of a step; the loss ends the first. */
typedef struct sley_gnn_time {
  double forward_ms, backward_ms;
} sley_gnn_time;

/* What a step's time went to on this rank. All together are the whole step. */
typedef struct sley_gnn_times {
  sley_gnn_time exchange; /* moving rows between ranks, waiting for them, and summing gradients of weights and
                           * the loss over ranks. Rows that a kernel reads in place at other ranks, or that
                           * come while it sums, are not seen apart from it */
  sley_gnn_time spmm;     /* sums and maxima over entries */
  sley_gnn_time attention; /* scores, softmax and weighted sums of entries, and their gradients */
  sley_gnn_time gemm;      /* products of dense matrices, with bias and activation where these go with them */
  sley_gnn_time loss;      /* with its gradient with respect to the logits: forward */
  sley_gnn_time optimizer; /* backward */
  sley_gnn_time other;     /* activations, sums of columns, dropout, copies, and the host's own time */
} sley_gnn_times;

/* From the next sley_gnn_train on steps are timed, or no longer. A timed step waits for the device after each
 * operation, so that nothing overlaps with what comes after it, and returns when all is done: it takes longer
 * than others, with the same results. Ranks should do the same: those that wait for one that is timed count
 * that to their exchange. Not collective. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_time_steps(sley_gnn *gnn, bool on);

/* Of the last sley_gnn_train. Not collective. Errors: SLEY_ERR_ARG (it was not timed, or there was none). */
sley_status sley_gnn_times_get(const sley_gnn *gnn, sley_gnn_times *out);

/* Bytes of the memory of this rank's device, for as long as the network is there. What operations on graphs
 * (GAT, SAGE_MAX) take beside the rows is not counted. */
typedef struct sley_gnn_bytes {
  int64_t rows;       /* what layers give, are given and keep, gradients of these, and what is between */
  int64_t parameters; /* with gradients and moments, those of a network that shares another's left out; of
                       * reproducible networks also the gradients of blocks of rows */
  int64_t plans;      /* of the sums of GCN, GIN and SAGE, as in sley_plan_info, on this rank */
} sley_gnn_bytes;
sley_status sley_gnn_bytes_get(const sley_gnn *gnn, sley_gnn_bytes *out); /* not collective. SLEY_ERR_ARG */

/* logits: this rank's rows x classes values, ld apart, in the device's memory; NULL: not wanted. With labels
 * also the mean loss, without dropout; rate and decay are not looked at. Collective. Errors: as
 * sley_gnn_train. */
sley_status sley_gnn_infer(sley_gnn *gnn, const sley_gnn_batch *batch, void *logits, int64_t ld,
                           double *loss);

/* Writes the network's state to a .npz, which numpy.load opens: for each parameter an array of its name, with
 * .first and .second after it Adam's moments; step, how many steps Adam has made; and what
 * sley_gnn_options_read reads. Types are those of the network, bf16 as float32. more: `count` arrays of the
 * caller's, of rank 0, or NULL. Rank 0 writes; the file appears whole or not at all. Waits for what is
 * enqueued. Collective. Errors, on all ranks: SLEY_ERR_IO, SLEY_ERR_ARG, SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED; SLEY_ERR_PEER. */
sley_status sley_gnn_save(sley_gnn *gnn, const char *path, const sley_array *more, int count);

/* Reads the state, on every rank: training goes on with the same bits, if ranks and options are the same.
 * prefix: NULL, or what stands before the names of parameters; then moments and steps stay as they are.
 * After an error some of the parameters may be the file's. Collective. Errors, on all ranks: SLEY_ERR_ARG
 * (the file is of another network: of what), SLEY_ERR_INPUT (a value that is not finite, too), SLEY_ERR_IO,
 * SLEY_ERR_MEMORY; SLEY_ERR_PEER. */
sley_status sley_gnn_load(sley_gnn *gnn, const char *path, const char *prefix);

/* The options of the network that such a file is of: model, layers, features, hidden, classes, heads, dtype,
 * dropout, slope and seed; the others are the defaults. Not collective. Errors: SLEY_ERR_INPUT, SLEY_ERR_IO,
 * SLEY_ERR_UNSUPPORTED (of a later version), SLEY_ERR_MEMORY. */
sley_status sley_gnn_options_read(const char *path, sley_gnn_options *out);

void sley_gnn_destroy(sley_gnn *gnn); /* accepts NULL, then on all ranks. Collective */

/* Neighbour sampling, for training by batches of rows on one rank. The rows of a batch are the first
 * frontier. In hop h, counted from 0, of each row of the frontier fan_out[h] of its entries are drawn, every
 * set of so many with the same chance, or all if it has no more; the rows that are reached for the first time
 * are the next frontier. The rows and entries that were drawn are a graph of their own, over which
 * sley_gnn_create_shared makes a network: norms of GCN and means of SAGE are by the entries that were drawn.
 * Source: Hamilton and others, NIPS 2017. */
#define SLEY_GNN_ALL INT64_MAX /* a fan-out: all entries */

typedef struct sley_gnn_sampler_options {
  size_t struct_size;
  const int64_t *row; /* to train on, each once; */
  int64_t rows;       /* so many */
  int64_t batch;      /* of them in a batch, the last of an epoch has what is left; default 1024 */
  const int64_t *fan_out;
  int hops;
  uint64_t seed;
} sley_gnn_sampler_options;
#define SLEY_GNN_SAMPLER_OPTIONS_INIT                                                                        \
  { sizeof(sley_gnn_sampler_options), NULL, 0, 1024, NULL, 0, 1 }

typedef struct sley_gnn_sampler sley_gnn_sampler;

/* Makes a sampler. a: square, in the host's memory; it outlives the sampler. Not collective, as the
 * following. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_gnn_sampler_create(const sley_matrix *a, const sley_gnn_sampler_options *options,
                                    sley_gnn_sampler **out);

/* How many batches an epoch has. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_sampler_batches(const sley_gnn_sampler *sampler, int64_t *count);

typedef struct sley_gnn_drawn {
  int64_t rows, seeds;      /* of the drawn graph, and how many of them, the first, are the batch's */
  const int64_t *row;       /* their numbers in a */
  const sley_matrix *graph; /* rows x rows: the entries that were drawn, with their values */
} sley_gnn_drawn;

/* Batch `batch` of an epoch, both counted from 0; each epoch has all rows in an order of its own. The same
 * seed, epoch and batch draw the same, whatever was drawn before. What *out points to is the sampler's and
 * valid until the next call. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_gnn_sampler_draw(sley_gnn_sampler *sampler, int64_t epoch, int64_t batch,
                                  sley_gnn_drawn *out);

void sley_gnn_sampler_destroy(sley_gnn_sampler *sampler); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
