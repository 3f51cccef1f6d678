/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE's CSR products: Y = A X (+ Y), row-major, by each of its algorithms with its preprocessing. */
#ifndef SLEY_BENCH_GPU_RIVAL_H
#define SLEY_BENCH_GPU_RIVAL_H

#include "common.h"

enum { RIVALS = 4 };
extern const char *const rival_name[RIVALS];

/* One matrix and width, prepared for every algorithm that serves it. */
struct rival {
  cusparseHandle_t handle;
  cudaStream_t stream;
  int64_t rows;
  cudaDataType compute;
  cusparseSpMatDescr_t a[RIVALS]; /* one each: preprocessing leaves its results there */
  cusparseDnMatDescr_t x, y;
  void *buffer[RIVALS];
  bool ok[RIVALS];
  double preprocess_ms[RIVALS]; /* with the search for the buffer's size, without its allocation */
  size_t buffer_bytes[RIVALS];
};

/* x and y stay the caller's. */
rival rival_create(const gpu_csr *a, const void *x, void *y, int64_t k, cudaStream_t stream);
/* Y = A X, or Y = A X + Y if add. Ends the program on an error. */
void rival_run(const rival *r, int algorithm, bool add);
void rival_destroy(rival *r);

#endif
