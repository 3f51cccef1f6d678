/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a network: matrices in one array of values, one of gradients and two of moments. So one
 * collective sums the gradients of all ranks, and one call of Adam makes the step. */
#ifndef SLEY_GNN_PARAMETERS_H
#define SLEY_GNN_PARAMETERS_H

#include "gnn/dense.h"
#include "transport/dense_collective.h"

/* A parameter: rows x cols values at index `at` of each array. */
typedef struct sl_parameter {
  char name[32]; /* "layer.what", with layers numbered from 0 */
  int64_t rows, cols, at;
  double limit; /* bound of the initial values, which are drawn from [-limit, limit) */
} sl_parameter;

enum { SL_MOST_PARAMETERS = 512 };

typedef struct sl_parameters {
  sl_comm *comm;
  sley_dtype dtype;
  int count;
  int64_t values; /* number of values of all parameters */
  sl_parameter one[SL_MOST_PARAMETERS];
  void *value, *grad, *first, *second; /* in device memory; moments have the type of sums */
  sl_dense *sum;                       /* collective that sums the ranks' gradients */
  int64_t *step;                       /* number of Adam's steps so far */
  void *unit;                          /* the value 1 in device memory */
  const struct sl_parameters *of;      /* NULL, or the parameters of another network, which these parameters
                                          share */
} sl_parameters;

/* Adds a parameter, before sl_parameters_open. Matrices begin at multiples of 64 bytes. Returns its number,
 * or -1 if there are too many. */
int sl_parameters_add(sl_parameters *p, int layer, const char *what, int64_t rows, int64_t cols,
                      double limit);

/* Allocates all arrays and draws initial values by seed: the same on all ranks, and for every number of
 * ranks. With `of`, shares that network's arrays, whose parameters must be the same. Collective, agreed. */
sley_status sl_parameters_open(sl_parameters *p, uint64_t seed);

/* Resets values, gradients, moments and steps to their initial state with another seed. Not with `of`. Waits.
 * Collective, agreed. */
sley_status sl_parameters_restart(sl_parameters *p, uint64_t seed);

sl_rows sl_parameter_value(const sl_parameters *p, int number);
sl_rows sl_parameter_grad(const sl_parameters *p, int number);

/* Bytes of device memory; 0 if the parameters are another network's. */
int64_t sl_parameters_bytes(const sl_parameters *p);

/* Returns the rows of a parameter in another array of `values` values. */
sl_rows sl_parameter_in(const sl_parameters *p, void *array, int number);

/* Replaces gradients by the sums over all ranks, in the order of ranks. Collective. */
sley_status sl_parameters_sum(sl_parameters *p);

/* Makes a step of gradient descent: value -= rate (grad + decay value), rounded once. */
sley_status sl_parameters_descend(sl_parameters *p, const sl_dense_work *work, double rate, double decay);

/* Frees the memory. Accepts a zeroed struct. */
void sl_parameters_close(sl_parameters *p);

#endif
