/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in square blocks of values, as cuSPARSE's BSR and Blocked-ELL products require. Made on the
 * GPU. */
#ifndef SLEY_BENCH_GPU_BLOCKS_H
#define SLEY_BENCH_GPU_BLOCKS_H

#include "common.h"

enum gpu_block_form { GPU_BSR, GPU_BLOCKED_ELL };

/* A block has size x size values, zeros where A has no entry. The last blocks of rows and columns may extend
 * beyond A: then X must have cols x size rows, with finite values beyond A's columns, and Y rows x size
 * rows. */
struct gpu_blocks {
  gpu_block_form form;
  int size;
  int64_t rows, cols; /* in blocks */
  int64_t count;      /* number of blocks, including zero blocks that pad rows of Blocked-ELL */
  int64_t width;      /* Blocked-ELL: blocks per row of blocks */
  int32_t *rowptr;    /* BSR: row pointers of rows of blocks */
  int32_t *col;       /* BSR: column of each block; Blocked-ELL: rows x width, -1 where there is no block */
  void *val;      /* BSR: block after block, row-major; Blocked-ELL: A's rows, row-major, size x width each */
  double made_ms; /* time to convert from CSR, including allocations */
  std::string why_not; /* not empty: why it was not made; it then has no arrays */
};

/* X and Y are padded to multiples of this number of rows, which suits blocks of all sizes. */
enum { GPU_BLOCK_MOST = 32 };
static inline int64_t gpu_block_padded(int64_t rows) {
  return (rows + GPU_BLOCK_MOST - 1) / GPU_BLOCK_MOST * GPU_BLOCK_MOST;
}

/* Not made if the blocks have GPU_BLOCK_PADDING times as many values as there are entries, or more, or are
 * too large. Ends the program on an error of the GPU. */
enum { GPU_BLOCK_PADDING = 8 };
gpu_blocks gpu_blocks_make(const gpu_csr *a, gpu_block_form form, int size);
void gpu_blocks_free(gpu_blocks *blocks);

#endif
