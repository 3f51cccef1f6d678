/* SPDX-License-Identifier: Apache-2.0 */
/* One product Y = alpha A X + beta Y over ranks, run through the public interface, and the checks of its
 * result. */
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
  /* 0: no memory limit. Otherwise the limit is interpolated, with 0 to 1, between the memory for one column,
   * X and Y included, and the memory for all columns. */
  double room;
} spmm_case;

typedef struct spmm_outcome {
  sley_plan_info info; /* its strings are static or empty */
  sley_traffic counted;
  uint64_t bits;    /* hash of Y */
  bool bits_repeat; /* the second execute, of another plan, produced the same bits */
  bool tuned;       /* the plan was tuned by timing on rank 0, so the next plan may sum in another order */
  bool pads_intact; /* no bytes were written beyond column k */
  sley_check check; /* check of the last execute */
} spmm_outcome;

/* The matrix that a generator makes, which the caller frees; a failure fails the test. */
sley_matrix *spmm_case_matrix(const char *generator, sley_dtype dtype);

/* Runs the case on the matrix; a failing status fails the test. */
void spmm_case_run(const sley_matrix *matrix, const spmm_case *c, spmm_outcome *out);

/* Runs the case and asserts that the result is within the rounding bound, has the same bits twice, that pads
 * are intact, that counted bytes and messages equal the predicted ones, and that the algorithm has its
 * expected volume. */
void spmm_case_check(const sley_matrix *matrix, const spmm_case *c, spmm_outcome *out);

#endif
