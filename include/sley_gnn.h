/* SPDX-License-Identifier: Apache-2.0 */
/* Graph networks, trained on whole graphs by one or more ranks: forward, backward and Adam in a few calls;
 * or, for comparison, on sampled neighbourhoods.
 *
 *   sley_gnn_models     the kinds of layers
 *   sley_gnn_create     layers of one model, with initial weights that depend only on the seed
 *   sley_gnn_train      one step over all rows that have a label
 *   sley_gnn_restart    the same network, with initial weights of another seed
 *   sley_gnn_times_get  the parts of a step's time
 *   sley_gnn_bytes_get  the memory that the network takes
 *   sley_gnn_infer      the logits of the rank's rows
 *   sley_gnn_parameter  weights and gradients, in place
 *   sley_gnn_save       the state as a file, from which sley_gnn_load continues
 *   sley_gnn_sampler_draw, sley_gnn_create_shared   a batch of rows and its neighbourhood; a network over it
 *
 * The rules of sley.h on errors, on structs that begin with their size and on memory hold here too: x, label
 * and logits lie in memory of the rank's device (sley_buffer_alloc), and rows are divided among ranks as the
 * rows of A. */
#ifndef SLEY_GNN_H
#define SLEY_GNN_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Formulas of the layers before the activation, where N(i) are the entries of row i of A:
 *
 *   GCN       sum over N(i) and i itself of x[j] / sqrt(d_i d_j), d_i = |N(i)| + 1; times W, + b
 *   GIN       relu((x[i] + sum of x[j]) W1 + b1) W2 + b2
 *   SAGE      mean of x[j] times Wn + x[i] Wr + b;  SAGE_MAX: the maximum instead of the mean
 *   GAT       sum of softmax(leaky(a_dst . W x[i] + a_src . W x[j])) W x[j] over N(i) and i itself, + b
 *
 * Repeated entries count as often as they are stored; values of A are ignored, unless options.weights says
 * otherwise. For GCN, GIN and GAT, entries (i, i) of A stand for the row itself. The activation between
 * layers is relu, for GAT elu. Hidden layers of GAT have `heads` heads of `hidden` values side by side, the
 * last has one head. Sources: Kipf and Welling, ICLR 2017; Xu and others, ICLR 2019; Hamilton and others,
 * NIPS 2017; Velickovic and others, ICLR 2018. */
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
  const char *name;    /* as in sley_gnn_models(). Static */
  const char *summary; /* one line: the formula of row i, before the activation. Static */
  int hops;            /* number of steps along entries that row i of one layer's output depends on */
  bool sums;           /* it sums by sparse products: options.algo, wire, kernel and weights apply */
  bool heads;          /* hidden layers have options.heads heads */
  bool sparse_x;       /* options.x is supported */
} sley_gnn_model_info;

/* Describes a model in *out. Not collective. Errors: SLEY_ERR_ARG (no such model, out is NULL). */
sley_status sley_gnn_model_get(sley_gnn_model model, sley_gnn_model_info *out);

/* How rows that layers compute are kept from the forward to the backward half of a step:
 *
 *   KEEP       they are kept as they are
 *   RECOMPUTE  outputs of some layers are kept, the rest is computed again: the same bits, in more time
 *   BF16       rows that would be overwritten are kept in bf16, rounded to nearest, ties to even: F32 only
 *
 * With BF16, logits and the loss of a first step have the same bits as with KEEP. So have the gradients of
 * biases of GCN, GIN, SAGE and SAGE_MAX. Gradients of weights are X^T D, where D has the same bits and each
 * normal number in X is off by at most 2^-9 of itself: they are off by at most 2^-9 |X|^T |D|, beside the
 * rounding of f32. GAT computes its scores from rounded values; for its gradients there is no such bound. */
typedef enum sley_gnn_memory { SLEY_GNN_KEEP = 0, SLEY_GNN_RECOMPUTE = 1, SLEY_GNN_BF16 = 2 } sley_gnn_memory;

typedef struct sley_gnn sley_gnn;

typedef struct sley_gnn_options {
  size_t struct_size;
  sley_gnn_model model;
  int layers;                        /* number of layers; default 2 */
  int64_t features, hidden, classes; /* values of a row of X; values of a hidden row, default 16; values of a
                                        row of logits */
  int64_t heads;                     /* heads of GAT's hidden layers; default 8 */
  sley_dtype dtype;                  /* type of X, weights and all intermediate values; default SLEY_F32 */
  double dropout;                    /* dropout of each layer's input, in training; default 0.5 */
  double slope;                      /* slope of leaky; default 0.2 */
  uint64_t seed;                     /* seed of initial weights and of dropout: the same result for every
                                        number of ranks */
  /* Losses, gradients, weights and logits have the same bits for every number of ranks, division of the rows
   * and transport, on one kind of device. All dense products are summed in order, and gradients of parameters
   * are kept for up to 64 blocks of rows. Not with precision "tf32" nor a wire type. */
  bool reproducible;
  /* algo: how sums over entries are distributed (GCN, GIN, SAGE): an algorithm as in sley_plan_options, with
   * or without parameters; NULL or "auto": the one predicted fastest. wire: the type in which rows travel, as
   * in sley_plan_options. Both outlive the network. */
  const char *algo, *wire;
  bool same_x; /* x has the same values in all calls: the first layer's sums over x are computed once, if that
                  layer sums before it multiplies and has no dropout */
  const char *kernel; /* the device's kernel that sums over entries (GCN, GIN, SAGE), one of sley_kernels(),
                         as in sley_plan_options; default NULL, "auto". It outlives the network */
  /* NULL or "full"; "tf32": dense products, and sums over entries by kernels on Tensor cores, may round f32
   * values to tf32, as in sley_plan_options and sley_gemm_spec. It outlives the network. */
  const char *precision;
  sley_gnn_memory memory; /* default SLEY_GNN_KEEP */
  /* GCN, GIN and SAGE: true: x[j] is multiplied by the value of the entry (i, j), d_i is the sum of the
   * values of row i and of the row itself, and a mean is divided by the sum of the values of its row. The row
   * itself counts with the value of (i, i), or 1 if A has no such entry. The sums that GCN and SAGE divide by
   * must be above 0. Default false: all values count as 1. */
  int64_t weights;
  /* NULL, or this rank's rows of X as a sparse matrix of dtype, rows x features: batch.x is then ignored. The
   * first layer multiplies X by its weights before it sums over entries, and stores only the entries of X;
   * dropout applies to the entries, with the masks of a dense X. Read by sley_gnn_create only. Not with
   * SAGE_MAX, whose maxima need dense rows. */
  const sley_matrix *x;
  /* NULL, or a function that sley_gnn_create calls on each rank when it has copied the entries of block: the
   * caller may then free block, whose memory planning can use. Called once, also if sley_gnn_create fails
   * later; not called if it fails before. */
  void (*copied)(void *context);
  void *copied_context;
  /* NULL, or a number for each of this rank's rows, in host memory: dropout draws the masks of row i from
   * row_number[i] instead of from the row's place among all ranks' rows. A graph that was renumbered by
   * sley_order then drops the same values as before, if these are the numbers that its rows had. Read by
   * sley_gnn_create only. */
  const int64_t *row_number;
} sley_gnn_options;
#define SLEY_GNN_OPTIONS_INIT                                                                                \
  {                                                                                                          \
    sizeof(sley_gnn_options), SLEY_GNN_GCN, 2, 0, 16, 0, 8, SLEY_F32, 0.5, 0.2, 1, false, NULL, NULL, false, \
        NULL, NULL, SLEY_GNN_KEEP, 0, NULL, NULL, NULL, NULL                                                 \
  }

/* Makes a network. block: this rank's rows of A, which is square, columns numbered globally; it is read
 * during the call only, until options.copied. row_begin: size + 1 numbers, as for sley_plan_create. Ended by
 * sley_gnn_destroy, before the comm ends. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW,
 * SLEY_ERR_UNSUPPORTED (the device has no kernel, or too many layers), SLEY_ERR_INPUT (weights that add up to
 * 0 or less), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_gnn_create(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                            const sley_gnn_options *options, sley_gnn **out);

/* Makes a network over another graph that shares the parameters of `of`: it has the same options, with dense
 * features, and weights, gradients, moments and step are in the same memory, so a step of either network is a
 * step of both. Destroyed before `of`. block and row_begin: as for sley_gnn_create, on the same comm.
 * Collective. Errors: as sley_gnn_create. */
sley_status sley_gnn_create_shared(const sley_gnn *of, const sley_matrix *block, const int64_t *row_begin,
                                   sley_gnn **out);

typedef struct sley_gnn_parameter {
  const char *name; /* number of the layer and name of the parameter, as in "0.weight"; valid as long as the
                       network */
  int64_t rows, cols;
  void *value, *grad; /* rows x cols values each, in device memory; they belong to the network */
} sley_gnn_parameter;

/* Return the number of parameters, and one of them. Not collective. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_parameters(const sley_gnn *gnn, int *count);
sley_status sley_gnn_parameter_get(const sley_gnn *gnn, int number, sley_gnn_parameter *out);

/* The optimizer. g is the gradient plus decay times the weights. ADAM: betas 0.9 and 0.999, eps 1e-8; Kingma
 * and Ba, ICLR 2015. SGD: weights -= rate g, gradient descent, here over all rows. */
typedef enum sley_gnn_optimizer { SLEY_GNN_ADAM = 0, SLEY_GNN_SGD = 1 } sley_gnn_optimizer;

typedef struct sley_gnn_batch {
  size_t struct_size;
  const void *x;                /* this rank's rows x features values; NULL if options.x holds the features */
  int64_t ldx;                  /* elements between rows, at least features */
  const int32_t *label;         /* label of each row: 0 .. classes - 1; -1: the row is not counted */
  int64_t step;                 /* number from which the masks of dropout are drawn; each call needs another
                                   number; default 0 */
  double rate;                  /* learning rate; default 0.01. 0: only gradients are computed, weights stay
                                   as they are */
  double decay;                 /* weight decay, added to the gradient; default 5e-4 */
  sley_gnn_optimizer optimizer; /* default SLEY_GNN_ADAM */
} sley_gnn_batch;
#define SLEY_GNN_BATCH_INIT                                                                                  \
  { sizeof(sley_gnn_batch), NULL, 0, NULL, 0, 0.01, 5e-4, SLEY_GNN_ADAM }

/* Makes one training step: logits with dropout; the mean negative log-likelihood of the counted rows of all
 * ranks; its gradients with respect to the parameters, summed over ranks in their order (reproducible: over
 * blocks of rows in their order); and a step of the optimizer. *loss, *counted (either may be NULL): the loss
 * before the step, and the counted rows of all ranks. Waits for the loss. Collective. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED; an error ends the comm. */
sley_status sley_gnn_train(sley_gnn *gnn, const sley_gnn_batch *batch, double *loss, int64_t *counted);

/* Resets the network to what sley_gnn_create makes with options.seed = seed, reusing its memory and plans:
 * initial weights and dropout's masks of that seed, gradients and moments 0, no step of Adam made. The steps
 * that follow have the bits of a new network's steps, whatever the earlier steps left. Whether steps are
 * timed stays. Networks that share its parameters keep their own seed of dropout: make them again. After an
 * error the values of parameters are undefined. Copies the weights to the device and waits for the copy.
 * Collective. Errors, on all ranks: SLEY_ERR_ARG (gnn has the parameters of another network, or ranks pass
 * different seeds), SLEY_ERR_MEMORY; SLEY_ERR_PEER. */
sley_status sley_gnn_restart(sley_gnn *gnn, uint64_t seed);

/* Milliseconds of a rank in the forward and in the backward half of a step; the forward half ends with the
 * loss. */
typedef struct sley_gnn_time {
  double forward_ms, backward_ms;
} sley_gnn_time;

/* The parts of a step's time on this rank. They add up to the whole step. */
typedef struct sley_gnn_times {
  sley_gnn_time exchange; /* moving rows between ranks, waiting for them, and summing gradients of weights and
                             the loss over ranks. Rows that a kernel reads in place at other ranks, or that
                             arrive while it sums, are not counted here */
  sley_gnn_time spmm;     /* sums and maxima over entries */
  sley_gnn_time attention; /* scores, softmax and weighted sums of entries, and their gradients */
  sley_gnn_time gemm;      /* dense products, with bias and activation where one operation does both */
  sley_gnn_time loss;      /* the loss, with its gradient with respect to the logits: forward */
  sley_gnn_time optimizer; /* the optimizer's step: backward */
  sley_gnn_time other;     /* activations, sums of columns, dropout, copies, and the host's own time */
} sley_gnn_times;

/* Turns timing on or off from the next sley_gnn_train. A timed step waits for the device after each
 * operation, so operations do not overlap, and returns when all is done: it takes longer than other steps,
 * with the same results. All ranks should do the same: a rank that waits for a timed rank counts this to its
 * exchange. Not collective. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_time_steps(sley_gnn *gnn, bool on);

/* Returns the times of the last sley_gnn_train. Not collective. Errors: SLEY_ERR_ARG (it was not timed, or
 * there was none). */
sley_status sley_gnn_times_get(const sley_gnn *gnn, sley_gnn_times *out);

/* Bytes of memory on this rank's device, for as long as the network exists. Memory that operations on graphs
 * (GAT, SAGE_MAX) take beside the rows is not counted. */
typedef struct sley_gnn_bytes {
  int64_t rows;       /* inputs, outputs and kept rows of layers, their gradients, and intermediate rows */
  int64_t parameters; /* parameters with gradients and moments, without those shared from another network; in
                         reproducible networks also the gradients of blocks of rows */
  int64_t plans;      /* plans for the sums of GCN, GIN and SAGE, as in sley_plan_info, on this rank */
} sley_gnn_bytes;
/* Returns the bytes in *out. Not collective. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_bytes_get(const sley_gnn *gnn, sley_gnn_bytes *out);

/* Computes logits, without dropout. logits: this rank's rows x classes values, ld elements between rows, in
 * device memory; NULL: not wanted. With labels also the mean loss; rate and decay are ignored. Collective.
 * Errors: as sley_gnn_train. */
sley_status sley_gnn_infer(sley_gnn *gnn, const sley_gnn_batch *batch, void *logits, int64_t ld,
                           double *loss);

/* Writes the network's state to a .npz, which numpy.load opens: for each parameter an array of its name, and
 * its moments of Adam under that name with .first and .second appended; step, the number of steps that Adam
 * has made; and the options that sley_gnn_options_read reads. Types are the network's, bf16 as float32. more:
 * `count` arrays of rank 0's caller, or NULL. Rank 0 writes; the file appears whole or not at all. Waits for
 * enqueued work. Collective. Errors, on all ranks: SLEY_ERR_IO, SLEY_ERR_ARG, SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED; SLEY_ERR_PEER. */
sley_status sley_gnn_save(sley_gnn *gnn, const char *path, const sley_array *more, int count);

/* Reads the state, on every rank: training continues with the same bits, if ranks and options are the same.
 * prefix: NULL, or the text before the names of parameters in the file; with a prefix, moments and steps stay
 * as they are. After an error some of the parameters may already have the file's values. Collective. Errors,
 * on all ranks: SLEY_ERR_ARG (the file belongs to another network: the message names the difference),
 * SLEY_ERR_INPUT (also: a value that is not finite), SLEY_ERR_IO, SLEY_ERR_MEMORY; SLEY_ERR_PEER. */
sley_status sley_gnn_load(sley_gnn *gnn, const char *path, const char *prefix);

/* Reads the options of the network in such a file: model, layers, features, hidden, classes, heads, dtype,
 * dropout, slope and seed; the others are the defaults. Not collective. Errors: SLEY_ERR_INPUT, SLEY_ERR_IO,
 * SLEY_ERR_UNSUPPORTED (a file of a later version), SLEY_ERR_MEMORY. */
sley_status sley_gnn_options_read(const char *path, sley_gnn_options *out);

/* Frees the network. NULL is accepted if all ranks pass NULL. Collective. */
void sley_gnn_destroy(sley_gnn *gnn);

/* Neighbour sampling, for training by batches of rows on one rank. The rows of a batch are the first
 * frontier. In hop h, counted from 0, fan_out[h] entries of each row of the frontier are drawn, every set of
 * this size with the same probability, or all entries if the row has no more; the rows that are reached for
 * the first time are the next frontier. The rows and entries that were drawn form a graph of their own, over
 * which sley_gnn_create_shared makes a network: norms of GCN and means of SAGE use the drawn entries. Source:
 * Hamilton and others, NIPS 2017. */
#define SLEY_GNN_ALL INT64_MAX /* a fan-out that takes all entries */

typedef struct sley_gnn_sampler_options {
  size_t struct_size;
  const int64_t *row; /* rows to train on, each once */
  int64_t rows;       /* number of entries of row */
  int64_t batch;      /* rows of a batch; the last batch of an epoch has the rest; default 1024 */
  const int64_t *fan_out;
  int hops;
  uint64_t seed;
} sley_gnn_sampler_options;
#define SLEY_GNN_SAMPLER_OPTIONS_INIT                                                                        \
  { sizeof(sley_gnn_sampler_options), NULL, 0, 1024, NULL, 0, 1 }

typedef struct sley_gnn_sampler sley_gnn_sampler;

/* Makes a sampler. a: square, in host memory; it outlives the sampler. Not collective, like the functions
 * below. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_gnn_sampler_create(const sley_matrix *a, const sley_gnn_sampler_options *options,
                                    sley_gnn_sampler **out);

/* Returns the number of batches of an epoch in *count. Errors: SLEY_ERR_ARG. */
sley_status sley_gnn_sampler_batches(const sley_gnn_sampler *sampler, int64_t *count);

typedef struct sley_gnn_drawn {
  int64_t rows, seeds;      /* rows of the drawn graph, and how many of them, the first ones, are the batch's
                               rows */
  const int64_t *row;       /* numbers of these rows in a */
  const sley_matrix *graph; /* rows x rows: the drawn entries, with their values */
} sley_gnn_drawn;

/* Draws batch `batch` of an epoch, both counted from 0; each epoch has all rows in another order. The same
 * seed, epoch and batch draw the same rows, whatever was drawn before. *out points to memory of the sampler,
 * valid until the next call. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_gnn_sampler_draw(sley_gnn_sampler *sampler, int64_t epoch, int64_t batch,
                                  sley_gnn_drawn *out);

void sley_gnn_sampler_destroy(sley_gnn_sampler *sampler); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
