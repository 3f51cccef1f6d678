/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of graph networks: values on the edges of a graph, aggregation and attention. */
#ifndef SLEY_GRAPH_H
#define SLEY_GRAPH_H

#include "sley_spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph: the entries of one or several matrices of the same sizes, its relations, prepared for the
 * operations below, with the halo of the rows of X that the rank's rows of all relations need. Values of
 * entries are separate arrays: `heads` values for each entry, entry after entry in the order of the rank's
 * block. Dense rows have heads x width features: value c of head h is feature h width + c.
 *
 * All arrays of values and rows lie in memory of the rank's device, and stay the caller's. Operations are
 * enqueued as by sley_spmm, after all work that the rank's calls have enqueued so far: on the cpu they are
 * done on return, on cuda work enqueued later may read their results (over tcp and mpi rows travel through
 * host memory, for which a call may wait). They allocate nothing, except for attention on the cpu, which
 * takes some memory for each thread while it runs. Values of f16 and bf16 are summed in f32 and rounded once.
 * Results have the same bits on every run; results by rows (not gradients of columns) have the same bits for
 * every number of ranks too. No result may overlap another result or an operand unless said otherwise. */
typedef struct sley_graph sley_graph;

typedef struct sley_graph_options {
  size_t struct_size;
  int relations; /* number of matrices; default 1 */
  bool forward;  /* only forward operations will run: nothing is prepared for gradients, which saves 8 bytes
                    for each entry */
  /* All results, gradients of columns too, have the same bits for every number of ranks and every transport:
   * instead of each rank's sums, their terms (rows of gradients, values of entries) travel to the owners of
   * the columns. Takes 16 more bytes for each entry; long rows are summed in order on every device. */
  bool reproducible;
} sley_graph_options;
#define SLEY_GRAPH_OPTIONS_INIT                                                                              \
  { sizeof(sley_graph_options), 1, false, false }

typedef struct sley_graph_info {
  int64_t rows;      /* rows of results that this rank owns */
  int64_t cols;      /* rows of X that this rank owns */
  int64_t halo_rows; /* rows of X that this rank needs from other ranks */
  int relations;
} sley_graph_info;

/* Makes a graph. blocks: this rank's row blocks of the relations, all of the sizes that the partitions
 * define, columns numbered globally; their values are ignored, and blocks are read during the call only.
 * Partitions as for sley_plan_create. options may be NULL. A rank's own and halo rows of X together, and the
 * entries of a row, are at most 2^31 - 1. Ended by sley_graph_destroy, after the operations made from it and
 * before the comm ends. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER. */
sley_status sley_graph_create(sley_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                              const int64_t *col_begin, const sley_graph_options *options, sley_graph **out);

sley_status sley_graph_info_get(const sley_graph *graph, sley_graph_info *out);

/* Makes a halo with the rows of the graph's halo, for the caller's own exchanges of rows of k values of
 * dtype. Row h of its buffer is halo row h of the graph. Collective. Errors: as sley_halo_create. */
sley_status sley_graph_halo(const sley_graph *graph, int64_t k, sley_dtype dtype, sley_halo **out);

void sley_graph_destroy(sley_graph *graph); /* Frees the graph. NULL is accepted if all ranks pass NULL.
                                               Collective. */

/* Aggregation: Y[i] = the sum, mean, minimum or maximum over the entries (i, j) of val(i, j) X[j]. */
typedef enum sley_aggregate {
  SLEY_AGGREGATE_SUM = 0,
  SLEY_AGGREGATE_MEAN = 1, /* the sum divided by the number of entries; 0 for a row without entries */
  SLEY_AGGREGATE_MIN = 2,  /* 0 for a row without entries; the first of equal terms; NaN if a term is NaN */
  SLEY_AGGREGATE_MAX = 3
} sley_aggregate;

typedef struct sley_aggregation sley_aggregation;

typedef struct sley_aggregation_options {
  size_t struct_size;
  sley_aggregate kind;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;     /* type of val, X, Y and gradients; default SLEY_F32 */
  int relation;         /* default 0 */
} sley_aggregation_options;
#define SLEY_AGGREGATION_OPTIONS_INIT                                                                        \
  { sizeof(sley_aggregation_options), SLEY_AGGREGATE_SUM, 1, 0, SLEY_F32, 0 }

/* Prepares aggregations of one shape: the exchange of the rows of X, and a buffer for them. The graph must
 * outlive it. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (the
 * device has no kernel), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                    sley_aggregation **out);

/* Rows of other ranks that an operation has fetched, and that its gradient, or another operation on the same
 * rows, needs again. The memory is the caller's, so nothing is kept between calls. Rows of the same graph,
 * number of features and dtype have the same size and order, whatever the operation. */
typedef struct sley_fetched {
  void *rows; /* halo_rows x features values, without gaps; NULL: fetched rows are not kept */
  bool there; /* rows already holds the fetched rows, for the same X on all ranks, so no row travels */
} sley_fetched;

typedef struct sley_aggregation_operands {
  size_t struct_size;
  const void *val; /* heads values for each entry; NULL: 1 */
  const void *x;   /* this rank's rows of X */
  int64_t ldx;     /* elements between rows, as all leading dimensions; at least heads x width */
  sley_fetched fetched;
  void *y; /* this rank's rows of Y */
  int64_t ldy;
  bool add; /* for SUM: Y += instead of Y =, to sum over relations */
  /* for MIN and MAX: rows x features positions, counted from 0, of the row's entry that supplied the value;
   * -1: none. May be NULL in a forward call. */
  int32_t *arg;
} sley_aggregation_operands;
#define SLEY_AGGREGATION_OPERANDS_INIT                                                                       \
  { sizeof(sley_aggregation_operands), NULL, NULL, 0, {NULL, false}, NULL, 0, false, NULL }

/* Computes Y. Order of summation: for each value of Y the terms val x are added by fma in the order of the
 * row's entries, starting from 0 (or Y); devices other than the cpu sum long rows in fragments. Collective.
 * Errors: SLEY_ERR_ARG, SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED; an error ends the comm. Source: Hamilton and
 * others, GraphSAGE, NIPS 2017. */
sley_status sley_aggregate_forward(sley_aggregation *aggregation, const sley_aggregation_operands *operands);

typedef struct sley_aggregation_gradients {
  size_t struct_size;
  const void *dy; /* the gradient with respect to Y */
  int64_t lddy;
  void *dx; /* gradient with respect to this rank's rows of X; NULL on all ranks: not computed */
  int64_t lddx;
  void *dval; /* gradient with respect to val, heads values for each entry; NULL on all ranks: not computed */
} sley_aggregation_gradients;
#define SLEY_AGGREGATION_GRADIENTS_INIT                                                                      \
  { sizeof(sley_aggregation_gradients), NULL, 0, NULL, 0, NULL }

/* Computes gradients: dX = the transpose's sum of val dY (MEAN: divided by the row's entries; MIN, MAX: only
 * the entries that arg names, which is read), dval(i, j) = dY[i] . X[j], head by head. Of operands, val is
 * read for dx, and x and fetched for dval; y and add are ignored. A row of dX for which several ranks hold
 * gradients is their sum: first the owner's, then those of rank 0, 1, ... Collective. Errors: as
 * sley_aggregate_forward; SLEY_ERR_ARG (a graph made for forward operations only). */
sley_status sley_aggregate_backward(sley_aggregation *aggregation, const sley_aggregation_operands *operands,
                                    const sley_aggregation_gradients *gradients);

void sley_aggregation_destroy(sley_aggregation *aggregation); /* accepts NULL. Collective */

/* SDDMM: a value for each entry (i, j) and head, computed from row i of U and row j of V. */
typedef enum sley_sddmm_form {
  SLEY_SDDMM_DOT = 0, /* val U[i] . V[j], for each head */
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
  const void *u;   /* this rank's rows of U, divided as the rows of results */
  int64_t ldu;
  const void *v; /* this rank's rows of V, divided as the rows of X */
  int64_t ldv;
  sley_fetched fetched; /* fetched rows of V */
  void *s;              /* heads values for each entry */
} sley_sddmm_operands;
#define SLEY_SDDMM_OPERANDS_INIT                                                                             \
  { sizeof(sley_sddmm_operands), NULL, NULL, 0, NULL, 0, {NULL, false}, NULL }

/* Computes S. Each sum is made in sixteen parts, part p with every sixteenth product from p on, and the parts
 * are added in a fixed order. val may be s. Collective. Errors: as sley_aggregate_forward. */
sley_status sley_sddmm_forward(sley_sddmm *sddmm, const sley_sddmm_operands *operands);

typedef struct sley_sddmm_gradients {
  size_t struct_size;
  const void *ds; /* gradient with respect to S: heads values for each entry */
  void *du;       /* du, dv, dval: the gradients with respect to U, V and val. Each may be NULL on all ranks:
                     not computed */
  int64_t lddu;
  void *dv;
  int64_t lddv;
  void *dval;
} sley_sddmm_gradients;
#define SLEY_SDDMM_GRADIENTS_INIT                                                                            \
  { sizeof(sley_sddmm_gradients), NULL, NULL, 0, NULL, 0, NULL }

/* Computes gradients: dU[i] = sum_j ds val V[j], dV[j] = sum_i ds val U[i], dval = ds (U[i] . V[j]). For ADD:
 * dU and dV without the factors V and U, and dval with the sum in place of the product. Of operands, s is
 * ignored. Collective. Errors: as sley_aggregate_backward. */
sley_status sley_sddmm_backward(sley_sddmm *sddmm, const sley_sddmm_operands *operands,
                                const sley_sddmm_gradients *gradients);

void sley_sddmm_destroy(sley_sddmm *sddmm); /* accepts NULL. Collective */

/* Computes P, the softmax of S over the entries of each row, head by head: exp(s - greatest) / sum. s, p:
 * heads values for each entry of the relation; p may be s. Not collective. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_UNSUPPORTED. */
sley_status sley_edge_softmax(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype, const void *s,
                              void *p);

/* Computes dS = P (dP - sum P dP over the row). ds may be p or dp. Not collective. Errors: as
 * sley_edge_softmax. */
sley_status sley_edge_softmax_backward(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype,
                                       const void *p, const void *dp, void *ds);

/* Attention: for each row and head the softmax of scores over the row's entries, and the sum of the columns'
 * values weighted by it, in one pass; nothing of the size of the entries is stored. leaky(t) is t, or slope t
 * if t < 0. For entry (i, j), q is a row of queries, and k and v are parts of a row of sources:
 *
 *   kind   score                           a row of queries   a row of sources
 *   GAT    leaky(q[i] + k[j])              heads values       v: heads x width, then k: heads values
 *   GATV2  a . leaky(q[i] + v[j])          heads x width      v: heads x width
 *   DOT    slope q[i] . k[j]               heads x width      v: heads x width, then k: heads x width
 *
 *   Y[i] = sum_j softmax_j(score) v[j]; 0 for a row without entries.
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
  sley_dtype dtype;     /* type of all rows */
  double slope;         /* slope of leaky; default 0.2. DOT: the factor of scores, usually 1 / sqrt(width) */
  int relation;
  /* Rows of sources and of dsource, the last one too, have room up to the next multiple of 16 bytes, and this
   * room may be read and written: lds and ldds are at least that large. GPUs can then exchange rows of heads
   * x width values followed by keys as fast as other rows. */
  bool padded;
} sley_attention_options;
#define SLEY_ATTENTION_OPTIONS_INIT                                                                          \
  { sizeof(sley_attention_options), SLEY_ATTENTION_GAT, 1, 0, SLEY_F32, 0.2, 0, false }

/* As sley_aggregation_create. Collective. */
sley_status sley_attention_create(sley_graph *graph, const sley_attention_options *options,
                                  sley_attention **out);

typedef struct sley_attention_info {
  int64_t query_width, source_width; /* number of values in a row of queries, and in a row of sources */
  int64_t saved_bytes;               /* bytes of operands.saved on this rank */
} sley_attention_info;

sley_status sley_attention_info_get(const sley_attention *attention, sley_attention_info *out);

typedef struct sley_attention_operands {
  size_t struct_size;
  const void *query; /* this rank's rows of queries, divided as the rows of results */
  int64_t ldq;
  const void *source; /* this rank's rows of sources, divided as the rows of X */
  int64_t lds;        /* elements between rows; GPUs are fastest if rows begin at multiples of 16 bytes, here
                         and in dsource */
  const void *a;      /* GATV2: heads x width values; else ignored */
  void *y;
  int64_t ldy;
  /* saved_bytes, aligned to 64 bytes, written by the forward call for the backward call: the greatest score
   * and the sum of each row, and the fetched rows of sources. NULL: there is no backward call. */
  void *saved;
} sley_attention_operands;
#define SLEY_ATTENTION_OPERANDS_INIT                                                                         \
  { sizeof(sley_attention_operands), NULL, 0, NULL, 0, NULL, NULL, 0, NULL }

/* Computes Y. Scores, softmax and sums are made in the type of sums. Collective. Errors: as
 * sley_aggregate_forward. */
sley_status sley_attention_forward(sley_attention *attention, const sley_attention_operands *operands);

typedef struct sley_attention_gradients {
  size_t struct_size;
  const void *dy;
  int64_t lddy;
  void *dquery; /* gradient of query; the call writes dquery, dsource and da */
  int64_t lddq;
  void *dsource; /* gradient of source */
  int64_t ldds;
  void *da; /* gradient of a, GATV2 only: heads x width values in the type of sums, over this rank's rows: the
               caller adds them up over ranks */
} sley_attention_gradients;
#define SLEY_ATTENTION_GRADIENTS_INIT                                                                        \
  { sizeof(sley_attention_gradients), NULL, 0, NULL, 0, NULL, 0, NULL }

/* Computes gradients. operands: as in the forward call, whose y and saved are read. Scores are computed
 * again. No row of sources travels; gradients of the halo's rows are added to their owners', as by
 * sley_aggregate_backward. Collective. Errors: as sley_aggregate_backward. */
sley_status sley_attention_backward(sley_attention *attention, const sley_attention_operands *operands,
                                    const sley_attention_gradients *gradients);

void sley_attention_destroy(sley_attention *attention); /* accepts NULL. Collective */

#ifdef __cplusplus
}
#endif
#endif
