/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of graph networks: values on the edges of a graph, aggregation and attention. */
#ifndef SLEY_GRAPH_H
#define SLEY_GRAPH_H

#include "sley_spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph: where one or several matrices of the same sizes, its relations, have entries, prepared for the
 * operations below, with the halo of rows of X that the rank's rows of all relations name. Values of entries
 * are arrays of their own: `heads` values for each entry, entry after entry in the order of the rank's block.
 * Dense rows have heads x width features: value c of head h is feature h width + c.
 *
 * All arrays of values and rows lie in memory of the rank's device, and stay the caller's. Operations are
 * enqueued as sley_spmm is, after all that the rank's calls have enqueued so far: on the cpu they are done on
 * return, on cuda what is enqueued later may read their results (over tcp and mpi rows travel through the
 * host's memory, for which a call may wait). They allocate nothing, but for attention on the cpu, which takes
 * some memory for each thread while it runs. Values of f16 and bf16 are summed in f32 and rounded once.
 * Results have the same bits on every run; those of rows (not the gradients of columns) also for every number
 * of ranks. No two results, and no result and operand, may overlap unless said. */
typedef struct sley_graph sley_graph;

typedef struct sley_graph_options {
  size_t struct_size;
  int relations; /* matrices; default 1 */
  bool forward;  /* only forward operations: nothing is prepared for gradients, 8 bytes for each entry */
  /* All results, gradients of columns too, have the same bits for every number of ranks and every transport:
   * what these are made of (rows of gradients, values of entries) travels to the owners of the columns,
   * instead of sums of each rank. Takes 16 bytes more for each entry; long rows are summed in order on every
   * device. */
  bool reproducible;
} sley_graph_options;
#define SLEY_GRAPH_OPTIONS_INIT                                                                              \
  { sizeof(sley_graph_options), 1, false, false }

typedef struct sley_graph_info {
  int64_t rows;      /* that this rank owns: of results */
  int64_t cols;      /* rows of X that it owns */
  int64_t halo_rows; /* rows of X that it needs of other ranks */
  int relations;
} sley_graph_info;

/* Makes a graph. blocks: this rank's row blocks of the relations, all of the sizes that the partitions say,
 * columns numbered globally; their values are not looked at, and blocks are read during the call only.
 * Partitions as for sley_plan_create. options may be NULL. A rank's own and halo rows of X together, and a
 * row's entries, are at most 2^31 - 1. Ended by sley_graph_destroy, after the operations made from it and
 * before the comm ends. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER. */
sley_status sley_graph_create(sley_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                              const int64_t *col_begin, const sley_graph_options *options, sley_graph **out);

sley_status sley_graph_info_get(const sley_graph *graph, sley_graph_info *out);

/* The halo of the graph, for exchanges of a caller's own: rows of k values of dtype. Entry h of its buffer is
 * the row that the graph's halo row h stands for. Collective. Errors: as sley_halo_create. */
sley_status sley_graph_halo(const sley_graph *graph, int64_t k, sley_dtype dtype, sley_halo **out);

void sley_graph_destroy(sley_graph *graph); /* accepts NULL, then on all ranks. Collective */

/* Aggregation: Y[i] = the sum, mean, minimum or maximum over the entries (i, j) of val(i, j) X[j]. */
typedef enum sley_aggregate {
  SLEY_AGGREGATE_SUM = 0,
  SLEY_AGGREGATE_MEAN = 1, /* the sum divided by the number of entries; of none 0 */
  SLEY_AGGREGATE_MIN = 2,  /* of no entry 0; of equal terms the first, and NaN where there is one */
  SLEY_AGGREGATE_MAX = 3
} sley_aggregate;

typedef struct sley_aggregation sley_aggregation;

typedef struct sley_aggregation_options {
  size_t struct_size;
  sley_aggregate kind;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;     /* of val, X, Y and gradients; default SLEY_F32 */
  int relation;         /* default 0 */
} sley_aggregation_options;
#define SLEY_AGGREGATION_OPTIONS_INIT                                                                        \
  { sizeof(sley_aggregation_options), SLEY_AGGREGATE_SUM, 1, 0, SLEY_F32, 0 }

/* Prepares aggregations of one shape: the exchange of the rows of X, and a buffer for them. The graph must
 * outlive it. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (the
 * device has no kernel), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                    sley_aggregation **out);

/* Rows of other ranks that an operation has fetched, which its gradient, and other operations on the same
 * rows, need again: memory of the caller, so that nothing is remembered between calls. Rows of the same
 * graph, number of features and dtype have the same size and order, whatever the operation. */
typedef struct sley_fetched {
  void *rows; /* halo_rows x features values, without gaps; NULL: none is kept */
  bool there; /* they are in it already, for the same X on all ranks: none travels */
} sley_fetched;

typedef struct sley_aggregation_operands {
  size_t struct_size;
  const void *val; /* heads values for each entry; NULL: 1 */
  const void *x;   /* this rank's rows of X */
  int64_t ldx;     /* elements, as all leading dimensions; at least heads x width */
  sley_fetched fetched;
  void *y; /* this rank's rows */
  int64_t ldy;
  bool add; /* SUM: Y += instead of Y =, for sums over relations */
  /* MIN, MAX: rows x features: which entry of the row, counted from 0, the value is of; -1: none. May be NULL
   * in a forward call. */
  int32_t *arg;
} sley_aggregation_operands;
#define SLEY_AGGREGATION_OPERANDS_INIT                                                                       \
  { sizeof(sley_aggregation_operands), NULL, NULL, 0, {NULL, false}, NULL, 0, false, NULL }

/* Order of summation: for each value of Y the terms val x are added by fma in the order of the row's entries,
 * beginning with 0 (or Y); on devices other than the cpu long rows in fragments. Collective. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED; an error ends the comm. Source: Hamilton and others,
 * GraphSAGE, NIPS 2017. */
sley_status sley_aggregate_forward(sley_aggregation *aggregation, const sley_aggregation_operands *operands);

typedef struct sley_aggregation_gradients {
  size_t struct_size;
  const void *dy; /* the gradient with respect to Y */
  int64_t lddy;
  void *dx; /* this rank's rows of X; NULL: not wanted, on all ranks alike */
  int64_t lddx;
  void *dval; /* heads values for each entry; NULL: not wanted, on all ranks alike */
} sley_aggregation_gradients;
#define SLEY_AGGREGATION_GRADIENTS_INIT                                                                      \
  { sizeof(sley_aggregation_gradients), NULL, 0, NULL, 0, NULL }

/* dX = the transpose's sum of val dY (MEAN: divided by the row's entries; MIN, MAX: of the entries that arg
 * names, which is read), dval(i, j) = dY[i] . X[j], head by head. Of operands, val is read for dx, x and
 * fetched for dval; y is not looked at, nor add. Rows of dX that other ranks hold the gradients of are
 * summed: first the rank's own, then those of rank 0, 1, ... Collective. Errors: as sley_aggregate_forward;
 * SLEY_ERR_ARG (a graph made for forward operations only). */
sley_status sley_aggregate_backward(sley_aggregation *aggregation, const sley_aggregation_operands *operands,
                                    const sley_aggregation_gradients *gradients);

void sley_aggregation_destroy(sley_aggregation *aggregation); /* accepts NULL. Collective */

/* SDDMM: a value for each entry (i, j) and head, of row i of U and row j of V. */
typedef enum sley_sddmm_form {
  SLEY_SDDMM_DOT = 0, /* val U[i] . V[j], head by head */
  SLEY_SDDMM_ADD = 1  /* val (U[i] + V[j]); width is 1 */
} sley_sddmm_form;

typedef struct sley_sddmm sley_sddmm;

typedef struct sley_sddmm_options {
  size_t struct_size;
  sley_sddmm_form form;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;
  int relation;
} sley_sddmm_options;
#define SLEY_SDDMM_OPTIONS_INIT                                                                              \
  { sizeof(sley_sddmm_options), SLEY_SDDMM_DOT, 1, 0, SLEY_F32, 0 }

/* As sley_aggregation_create. Collective. */
sley_status sley_sddmm_create(sley_graph *graph, const sley_sddmm_options *options, sley_sddmm **out);

typedef struct sley_sddmm_operands {
  size_t struct_size;
  const void *val; /* heads values for each entry; NULL: 1 */
  const void *u;   /* this rank's rows, divided as results are */
  int64_t ldu;
  const void *v; /* this rank's rows, divided as X is */
  int64_t ldv;
  sley_fetched fetched; /* rows of V */
  void *s;              /* heads values for each entry */
} sley_sddmm_operands;
#define SLEY_SDDMM_OPERANDS_INIT                                                                             \
  { sizeof(sley_sddmm_operands), NULL, NULL, 0, NULL, 0, {NULL, false}, NULL }

/* Sums are made in sixteen parts of every sixteenth product each, added in a fixed order. val may be s.
 * Collective. Errors: as sley_aggregate_forward. */
sley_status sley_sddmm_forward(sley_sddmm *sddmm, const sley_sddmm_operands *operands);

typedef struct sley_sddmm_gradients {
  size_t struct_size;
  const void *ds; /* heads values for each entry */
  void *du;       /* each NULL: not wanted, on all ranks alike */
  int64_t lddu;
  void *dv;
  int64_t lddv;
  void *dval;
} sley_sddmm_gradients;
#define SLEY_SDDMM_GRADIENTS_INIT                                                                            \
  { sizeof(sley_sddmm_gradients), NULL, NULL, 0, NULL, 0, NULL }

/* dU[i] = sum_j ds val V[j], dV[j] = sum_i ds val U[i], dval = ds (U[i] . V[j]) (ADD: without V, U and with
 * the sum in place of the product). Of operands s is not looked at. Collective. Errors: as
 * sley_aggregate_backward. */
sley_status sley_sddmm_backward(sley_sddmm *sddmm, const sley_sddmm_operands *operands,
                                const sley_sddmm_gradients *gradients);

void sley_sddmm_destroy(sley_sddmm *sddmm); /* accepts NULL. Collective */

/* P = the softmax of S over the entries of each row, head by head: exp(s - greatest) / sum. s, p: heads
 * values for each entry of the relation; p may be s. Not collective. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_UNSUPPORTED. */
sley_status sley_edge_softmax(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype, const void *s,
                              void *p);

/* dS = P (dP - sum P dP over the row). ds may be p or dp. Not collective. */
sley_status sley_edge_softmax_backward(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype,
                                       const void *p, const void *dp, void *ds);

/* Attention: for each row and head the softmax of scores over the row's entries, and the sum of the values of
 * columns weighted by it, in one pass; nothing of the size of the entries is stored. leaky(t) is t, or slope
 * t where t < 0. For entry (i, j), with q a row of queries, and k and v parts of a row of sources:
 *
 *   kind   score                           a row of queries   a row of sources
 *   GAT    leaky(q[i] + k[j])              heads values       v: heads x width, then k: heads values
 *   GATV2  a . leaky(q[i] + v[j])          heads x width      v: heads x width
 *   DOT    slope q[i] . k[j]               heads x width      v: heads x width, then k: heads x width
 *
 *   Y[i] = sum_j softmax_j(score) v[j]; of a row without entries 0.
 *
 * Sources: GAT, Velickovic and others, ICLR 2018; GATV2, Brody and others, ICLR 2022; DOT, Vaswani and
 * others, NIPS 2017. */
typedef enum sley_attention_kind {
  SLEY_ATTENTION_GAT = 0,
  SLEY_ATTENTION_GATV2 = 1,
  SLEY_ATTENTION_DOT = 2
} sley_attention_kind;

typedef struct sley_attention sley_attention;

typedef struct sley_attention_options {
  size_t struct_size;
  sley_attention_kind kind;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;     /* of all rows */
  double slope;         /* default 0.2; of DOT usually 1 / sqrt(width) */
  int relation;
  /* Rows of sources and of dsource have room up to the next multiple of 16 bytes, the last too, where
   * anything may be read and written: lds and ldds are no less. GPUs then exchange rows of heads x width
   * values and keys behind them as fast as others. */
  bool padded;
} sley_attention_options;
#define SLEY_ATTENTION_OPTIONS_INIT                                                                          \
  { sizeof(sley_attention_options), SLEY_ATTENTION_GAT, 1, 0, SLEY_F32, 0.2, 0, false }

/* As sley_aggregation_create. Collective. */
sley_status sley_attention_create(sley_graph *graph, const sley_attention_options *options,
                                  sley_attention **out);

typedef struct sley_attention_info {
  int64_t query_width, source_width; /* values of a row of queries, and of sources */
  int64_t saved_bytes;               /* of this rank */
} sley_attention_info;

sley_status sley_attention_info_get(const sley_attention *attention, sley_attention_info *out);

typedef struct sley_attention_operands {
  size_t struct_size;
  const void *query; /* this rank's rows, divided as results are */
  int64_t ldq;
  const void *source; /* this rank's rows, divided as X is */
  int64_t lds;        /* GPUs are fastest where rows begin at multiples of 16 bytes, here and in dsource */
  const void *a;      /* GATV2: heads x width values; else not looked at */
  void *y;
  int64_t ldy;
  /* saved_bytes, aligned to 64 bytes, written by the forward call for the backward call: the rows' greatest
   * scores and sums, and the rows of sources that were fetched. NULL: there is no backward call. */
  void *saved;
} sley_attention_operands;
#define SLEY_ATTENTION_OPERANDS_INIT                                                                         \
  { sizeof(sley_attention_operands), NULL, 0, NULL, 0, NULL, NULL, 0, NULL }

/* Scores, softmax and sums are made in the type of sums. Collective. Errors: as sley_aggregate_forward. */
sley_status sley_attention_forward(sley_attention *attention, const sley_attention_operands *operands);

typedef struct sley_attention_gradients {
  size_t struct_size;
  const void *dy;
  int64_t lddy;
  void *dquery; /* as query; these three are all written */
  int64_t lddq;
  void *dsource; /* as source */
  int64_t ldds;
  void *da; /* GATV2: heads x width values in the type of sums, of this rank's rows: the caller adds the
               ranks' */
} sley_attention_gradients;
#define SLEY_ATTENTION_GRADIENTS_INIT                                                                        \
  { sizeof(sley_attention_gradients), NULL, 0, NULL, 0, NULL, 0, NULL }

/* operands: as in the forward call, whose y and saved are read. Scores are computed anew. No row of sources
 * travels; gradients of the halo's rows are added to their owners', as by sley_aggregate_backward.
 * Collective. Errors: as sley_aggregate_backward. */
sley_status sley_attention_backward(sley_attention *attention, const sley_attention_operands *operands,
                                    const sley_attention_gradients *gradients);

void sley_attention_destroy(sley_attention *attention); /* accepts NULL. Collective */

#ifdef __cplusplus
}
#endif
#endif
