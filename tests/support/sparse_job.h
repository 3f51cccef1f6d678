/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of a sparse collective with the dense one on the same operands. */
#ifndef SLEY_TESTS_SPARSE_JOB_H
#define SLEY_TESTS_SPARSE_JOB_H

#include "collective/sparse.h"
#include "mirror.h"

enum { SPARSE_JOB_RANKS = 64 };

/* A collective, the same on all ranks, and this rank's operands: src, and a sparse and a dense result, with
 * margins that must not change. */
typedef struct sparse_job {
  /* The caller sets these fields. counts: values of each rank, even if the spec has none. */
  sl_sparse_spec spec;
  uint64_t seed;
  int64_t counts[SPARSE_JOB_RANKS];
  bool in_place, signs; /* signs: all values are zeros of either sign */
  bool whole_numbers;   /* values are small whole numbers, whose sums are exact in any order */
  bool blocks;          /* zeros and nonzeros come in blocks */

  int64_t begin[SPARSE_JOB_RANKS + 1]; /* begins of the ranks' parts */
  int64_t each, src_values, dst_values, values;
  char *sparse, *dense; /* src_values + dst_values and three margins */
  int64_t src_at, dst_at;
  mirror there[2];
  sl_sparse *one;
  sl_dense *other;
} sparse_job;

/* Creates both collectives, and operands of zeros. Call sparse_job_close even after an error. Collective. */
sley_status sparse_job_open(sl_comm *comm, sparse_job *j);
void sparse_job_close(sparse_job *j);

/* Copies the operands of a round, the same for both collectives, to the device. The share of zeros differs
 * between ranks and rounds; zeros are at independent positions or in blocks. */
sley_status sparse_job_fill(sparse_job *j, int rank, int round);

/* Run the sparse, or the dense collective. Collective. */
sley_status sparse_job_run_sparse(sl_comm *comm, sparse_job *j);
sley_status sparse_job_run_dense(sl_comm *comm, sparse_job *j);

/* Returns an error unless both collectives have written the same bits. Waits for the comm's queue. */
sley_status sparse_job_compare(sparse_job *j, int round);

#endif
