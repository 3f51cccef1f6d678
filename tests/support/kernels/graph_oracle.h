/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks on a whole matrix, as float64 loops that share no code with the library's
 * kernels. All arrays are contiguous and of double precision: rows x (heads width), or heads values per
 * entry. Each result has an array of magnitudes: the same sums of absolute values, for bounds of errors. */
#ifndef SLEY_TESTS_GRAPH_ORACLE_H
#define SLEY_TESTS_GRAPH_ORACLE_H

#include "matrix/matrix.h"
#include "support.h"

typedef struct oracle_graph {
  const sley_matrix *a; /* the pattern */
  int64_t heads, width;
} oracle_graph;

/* Values and magnitudes. */
typedef struct oracle_result {
  double *value, *size;
  int64_t count;
} oracle_result;

oracle_result oracle_result_of(int64_t count);
void oracle_result_free(oracle_result *r);

/* arg: rows x features, for MIN and MAX only. val NULL: all values are 1. */
void oracle_aggregate(const oracle_graph *g, sley_aggregate kind, const double *val, const double *x,
                      oracle_result *y, int32_t *arg);
void oracle_aggregate_gradients(const oracle_graph *g, sley_aggregate kind, const double *val,
                                const double *x, const int32_t *arg, const double *dy, oracle_result *dx,
                                oracle_result *dval);

void oracle_sddmm(const oracle_graph *g, sley_sddmm_form form, const double *val, const double *u,
                  const double *v, oracle_result *s);
void oracle_sddmm_gradients(const oracle_graph *g, sley_sddmm_form form, const double *val, const double *u,
                            const double *v, const double *ds, oracle_result *du, oracle_result *dv);

void oracle_softmax(const oracle_graph *g, const double *s, oracle_result *p);
void oracle_softmax_gradient(const oracle_graph *g, const double *p, const double *dp, oracle_result *ds);

#endif
