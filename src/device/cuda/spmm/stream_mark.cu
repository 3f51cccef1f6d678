/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares columns for the stream kernels: 32 bits wide, the last of each row marked; and numbers the rows
 * that have entries. */
#include "device/cuda/spmm/stream.h"

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

/* Numbers the rows that have entries (sl_chunks.row). */
static __global__ void number(int64_t count, int64_t empties, const int32_t *empty, int32_t *row) {
  int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count)
    return;
  int64_t low = 0, high = empties;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (empty[middle] - middle <= i)
      low = middle + 1;
    else
      high = middle;
  }
  row[i] = (int32_t)(i + low);
}

static unsigned blocks(int64_t work) {
  return (unsigned)((work + BLOCK - 1) / BLOCK);
}

sley_status sl_cuda_stream_narrow(sl_queue *queue, int64_t entries, const int64_t *col, int32_t *col32) {
  SL_TRY(sl_cuda_use(queue->device));
  if (entries > 0)
    narrow<<<blocks(entries), BLOCK, 0, sl_cuda_stream(queue)>>>(entries, col, col32);
  return sl_cuda_launched(queue, "narrow");
}

sley_status sl_cuda_stream_number(sl_queue *queue, int64_t count, int64_t empties, const int32_t *empty,
                                  int32_t *row) {
  SL_TRY(sl_cuda_use(queue->device));
  number<<<blocks(count), BLOCK, 0, sl_cuda_stream(queue)>>>(count, empties, empty, row);
  return sl_cuda_launched(queue, "number");
}

sley_status sl_cuda_stream_mark(sl_queue *queue, int64_t rows, const int64_t *rowptr, int64_t longest,
                                int32_t *col) {
  SL_TRY(sl_cuda_use(queue->device));
  if (rows > 0)
    mark<<<blocks(rows), BLOCK, 0, sl_cuda_stream(queue)>>>(rows, rowptr, longest, col);
  return sl_cuda_launched(queue, "mark");
}
