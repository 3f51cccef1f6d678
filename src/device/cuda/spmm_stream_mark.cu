/* SPDX-License-Identifier: Apache-2.0 */
/* Columns as the stream kernels want them: 32 bits wide, the last of each row marked. */
#include "device/cuda/spmm_stream.h"

enum { BLOCK = 256 };

static __global__ void narrow(int64_t entries, const int64_t *wide, int32_t *col) {
  int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i < entries)
    col[i] = (int32_t)wide[i];
}

static __global__ void mark(int64_t rows, const int64_t *rowptr, int64_t longest, int32_t *col) {
  int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= rows)
    return;
  int64_t begin = rowptr[i] - rowptr[0], end = rowptr[i + 1] - rowptr[0];
  if (end > begin && end - begin <= longest)
    col[end - 1] |= INT32_MIN;
}

static unsigned blocks(int64_t work) {
  return (unsigned)((work + BLOCK - 1) / BLOCK);
}

cudaError_t sl_stream_mark(int64_t rows, const int64_t *rowptr, int64_t entries, const void *col, int wide,
                           int64_t longest, int32_t *col32, cudaStream_t stream) {
  if (wide && entries > 0)
    narrow<<<blocks(entries), BLOCK, 0, stream>>>(entries, (const int64_t *)col, col32);
  if (rows > 0)
    mark<<<blocks(rows), BLOCK, 0, stream>>>(rows, rowptr, longest, col32);
  return cudaGetLastError();
}
