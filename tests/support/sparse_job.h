/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse collective beside the dense one on the same operands. */
#ifndef SLEY_TESTS_SPARSE_JOB_H
#define SLEY_TESTS_SPARSE_JOB_H

#include "collective/sparse.h"
#include "mirror.h"

enum { SPARSE_JOB_RANKS = 64 };

/* A collective, the same on all ranks, and this rank's operands: src, and a result of each way, with margins
 * that must not change. */
typedef struct sparse_job {
  /* Set by the caller. counts: of each rank, also where the spec has none. */
  sl_sparse_spec spec;
  uint64_t seed;
  int64_t counts[SPARSE_JOB_RANKS];
  bool in_place, signs; /* signs: zeros of either sign, and nothing else */
  bool whole_numbers;   /* small ones, whose sums are exact in any order */
  bool blocks;          /* of values that are zero or not together */

  int64_t begin[SPARSE_JOB_RANKS + 1]; /* of the ranks' parts */
  int64_t each, src_values, dst_values, values;
  char *sparse, *dense; /* src_values + dst_values and three margins */
  int64_t src_at, dst_at;
  mirror there[2];
  sl_sparse *one;
  sl_dense *other;
} sparse_job;

/* Makes both collectives, and operands of zeros. j is closed on an error, too. Collective. */
sley_status sparse_job_open(sl_comm *comm, sparse_job *j);
void sparse_job_close(sparse_job *j);

/* The operands of a round, the same for both, to the device: zeros by a share that differs from rank to rank
 * and round to round, at places of their own or in blocks. */
sley_status sparse_job_fill(sparse_job *j, int rank, int round);

/* Runs one of the two. Collective. */
sley_status sparse_job_run_sparse(sl_comm *comm, sparse_job *j);
sley_status sparse_job_run_dense(sl_comm *comm, sparse_job *j);

/* Whether both have left the same bits in all places. Waits for the comm's queue. */
sley_status sparse_job_compare(sparse_job *j, int round);

#endif
