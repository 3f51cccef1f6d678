/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE's products: Y = A X (+ Y), row-major, by each of its algorithms for CSR with its preprocessing,
 * for k = 1 also its products by a vector, and by its algorithms for matrices in blocks, BSR and
 * Blocked-ELL. */
#ifndef SLEY_BENCH_GPU_RIVAL_H
#define SLEY_BENCH_GPU_RIVAL_H

#include "blocks.h"
#include "common.h"

enum {
  RIVAL_MATRIX = 4,
  RIVAL_VECTOR = 2,
  RIVAL_CSR = RIVAL_MATRIX + RIVAL_VECTOR,
  RIVAL_BLOCKS = 7,
  RIVALS = RIVAL_CSR + RIVAL_BLOCKS
};
extern const char *const rival_name[RIVALS];

/* Makes A in the blocks of each algorithm RIVAL_CSR + i, for products of any width. Blocks that are not made
 * have a reason. */
void rival_blocks_make(const gpu_csr *a, gpu_blocks blocks[RIVAL_BLOCKS]);

/* One matrix and width, prepared for every algorithm that supports it. */
struct rival {
  cusparseHandle_t handle;
  cudaStream_t stream;
  cudaDataType compute;
  const gpu_blocks *blocks;       /* or NULL */
  cusparseSpMatDescr_t a[RIVALS]; /* one each, because preprocessing stores its results there */
  cusparseDnMatDescr_t x[RIVALS], y[RIVALS];
  cusparseDnVecDescr_t x_vector, y_vector; /* for k = 1 */
  void *buffer[RIVALS];
  bool ok[RIVALS];
  std::string why_not[RIVALS];  /* for algorithms that are not ok; empty: it is for another k, or not asked
                                 * for */
  double preprocess_ms[RIVALS]; /* including the query of the buffer's size, without its allocation; for
                                 * blocks the time to convert from CSR */
  size_t buffer_bytes[RIVALS];
};

/* The caller owns x, y and blocks. blocks: NULL, or as filled by rival_blocks_make; then x and y have
 * gpu_block_padded rows, and rows of x beyond A's columns are zeros. */
rival rival_create(const gpu_csr *a, const gpu_blocks *blocks, const void *x, void *y, int64_t k,
                   cudaStream_t stream);
/* Y = A X, or Y = A X + Y if add. Ends the program on an error. */
void rival_run(const rival *r, int algorithm, bool add);
void rival_destroy(rival *r);

#endif
