/* SPDX-License-Identifier: Apache-2.0 */
/* One product Y = alpha A X + beta Y over ranks, run through the public interface, and what is to be true of
 * it. */
#ifndef SLEY_TESTS_SPMM_CASE_H
#define SLEY_TESTS_SPMM_CASE_H

#include "support.h"

typedef struct spmm_case {
  const char *algo;
  int ranks, workgroup, threads;
  int64_t k;
  bool reproducible, transpose;
  const char *partition; /* of the rows: "rows" or "nnz" */
  double alpha, beta;
  int64_t pad; /* added to k for both leading dimensions */
  /* 0: no memory limit; else one this far, from 0 to 1, from what one column needs, X and Y included, to what
   * all need. */
  double room;
} spmm_case;

typedef struct spmm_outcome {
  sley_plan_info info; /* its strings are static or empty */
  sley_traffic counted;
  uint64_t bits;    /* hash of Y */
  bool bits_repeat; /* the second execute, of a plan of its own, gave the same */
  bool tuned;       /* by timing on rank 0, so that the next plan may sum in another order */
  bool pads_intact; /* nothing was written beyond column k */
  sley_check check; /* of the last execute */
} spmm_outcome;

/* The matrix that a generator makes, which the caller frees; a failure fails the test. */
sley_matrix *spmm_case_matrix(const char *generator, sley_dtype dtype);

/* Runs the case on the matrix; a failing status fails the test. */
void spmm_case_run(const sley_matrix *matrix, const spmm_case *c, spmm_outcome *out);

/* Runs it and asserts: within the rounding bound, the same bits twice, pads intact, counted bytes and
 * messages equal to the predicted ones, and what the algorithm's volume must be. */
void spmm_case_check(const sley_matrix *matrix, const spmm_case *c, spmm_outcome *out);

#endif
