/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a network: matrices in one array of values, one of gradients and two of moments, so that
 * one collective sums the gradients of all ranks, and one call of Adam makes the step. */
#ifndef SLEY_GNN_PARAMETERS_H
#define SLEY_GNN_PARAMETERS_H

#include "gnn/dense.h"
#include "transport/dense_collective.h"

/* A parameter: rows x cols values from number `at` on of each array. */
typedef struct sl_parameter {
  char name[32]; /* "layer.what", layers counted from 0 */
  int64_t rows, cols, at;
  double limit; /* of the first values, which are drawn from [-limit, limit) */
} sl_parameter;

enum { SL_MOST_PARAMETERS = 512 };

typedef struct sl_parameters {
  sl_comm *comm;
  sley_dtype dtype;
  int count;
  int64_t values; /* of all */
  sl_parameter one[SL_MOST_PARAMETERS];
  void *value, *grad, *first, *second; /* in the device's memory; moments in the type of sums */
  sl_dense *sum;                       /* of the ranks' gradients */
  int64_t *step;                       /* of Adam, made so far */
  void *unit;                          /* a value 1 in the device's memory */
  const struct sl_parameters *of;      /* NULL, or the parameters that these are, of another network */
} sl_parameters;

/* Adds one, until sl_parameters_open. Matrices begin at multiples of 64 bytes. Its number, or -1: there are
 * too many. */
int sl_parameters_add(sl_parameters *p, int layer, const char *what, int64_t rows, int64_t cols,
                      double limit);

/* Memory for all, first values drawn by seed: the same on all ranks, whatever their number; or, with `of`,
 * the memory of those, to which the same was added. Collective, agreed. */
sley_status sl_parameters_open(sl_parameters *p, uint64_t seed);

/* Values, gradients, moments and steps become what they were at first, by another seed. Not of those with
 * `of`. Waits. Collective, agreed. */
sley_status sl_parameters_restart(sl_parameters *p, uint64_t seed);

sl_rows sl_parameter_value(const sl_parameters *p, int number);
sl_rows sl_parameter_grad(const sl_parameters *p, int number);

/* What they take of the device's memory; 0 of those that are another network's. */
int64_t sl_parameters_bytes(const sl_parameters *p);

/* Where a parameter is in another array of `values` values. */
sl_rows sl_parameter_in(const sl_parameters *p, void *array, int number);

/* Gradients become the sums of all ranks' gradients, in the order of ranks. Collective. */
sley_status sl_parameters_sum(sl_parameters *p);

/* value -= rate (grad + decay value), rounded once. */
sley_status sl_parameters_descend(sl_parameters *p, const sl_dense_work *work, double rate, double decay);

/* Accepts one that is zeroed. Collective. */
void sl_parameters_close(sl_parameters *p);

#endif
