/* SPDX-License-Identifier: Apache-2.0 */
/* The rivals on several GPUs, with cuSPARSE's products. Row blocks of X are broadcast by NCCL, either all of
 * X first and one product after it (CAGNET 1D), or stage by stage, with each broadcast at the same time as
 * the previous stage's product (MG-GCN). Or X is in unified memory, whose pages move to the GPU that reads
 * them (the baseline of MGG's figure 8). */
#ifndef SLEY_BENCH_GPU_BROADCAST_H
#define SLEY_BENCH_GPU_BROADCAST_H

#include <nccl.h>

#include "rival.h"

enum { BROADCAST_BULK, BROADCAST_PIPELINED, BROADCAST_UNIFIED, BROADCAST_WAYS };
extern const char *const broadcast_name[BROADCAST_WAYS];

struct broadcast {
  ncclComm_t nccl;
  int rank, ranks;
  const int64_t *begin; /* ranks + 1 elements: owners of rows of A and X */
  int64_t k;
  void *x;
  void *unified; /* all of X in unified memory, the same on all ranks */
  float *token;  /* GPU memory for a barrier */
  cudaStream_t stream, transfers;
  std::vector<cudaEvent_t> arrived; /* one per stage */
  cudaEvent_t started;
  gpu_csr block;
  rival whole, paged;
  std::vector<gpu_csr> tile; /* the block's columns by owner */
  std::vector<rival> part;
};

/* Creates one rank's part of the rival on the current GPU. csr: all of A in host memory, with values of
 * dtype. */
broadcast *broadcast_create(ncclComm_t nccl, int rank, int ranks, const int64_t *begin, const sley_csr *csr,
                            bench_dtype dtype, cudaStream_t stream);
/* Prepares for a width, until the next release. x: memory for all of X, in which the rank's own rows are set;
 * y: its rows; unified: unified memory for all of X, the same on all ranks, or NULL to leave out this way. */
void broadcast_prepare(broadcast *b, int64_t k, void *x, void *y, void *unified);
void broadcast_release(broadcast *b);
bool broadcast_serves(const broadcast *b, int way, int algorithm);
/* Enqueues one product. Collective. */
void broadcast_run(broadcast *b, int way, int algorithm);
void broadcast_destroy(broadcast *b);

#endif
