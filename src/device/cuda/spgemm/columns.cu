/* SPDX-License-Identifier: Apache-2.0 */
/* Converts 64-bit columns to 32 bits: narrowed if they fit, else replaced by their rank among the distinct
 * columns, which keeps their order. Sorting is CUB's. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "device/cuda/spgemm/spgemm.h"

namespace {

enum { COLUMN_THREADS = 256 };

unsigned blocks_of(int64_t count) {
  return static_cast<unsigned>((count + COLUMN_THREADS - 1) / COLUMN_THREADS);
}

__device__ int64_t entry_of_thread() {
  return static_cast<int64_t>(blockIdx.x) * COLUMN_THREADS + threadIdx.x;
}

__global__ void __launch_bounds__(COLUMN_THREADS)
    narrow(const int64_t *from, int64_t count, int64_t first, int32_t *out) {
  const int64_t e = entry_of_thread();
  if (e < count)
    out[e] = static_cast<int32_t>(from[e] - first);
}

__global__ void __launch_bounds__(COLUMN_THREADS) widen(const int32_t *from, int64_t count, int64_t *out) {
  const int64_t e = entry_of_thread();
  if (e < count)
    out[e] = from[e];
}

__global__ void __launch_bounds__(COLUMN_THREADS)
    rename_columns(const void *col, sley_index index, int64_t count, const int64_t *names,
                   int64_t names_count, int32_t *out) {
  const int64_t e = entry_of_thread();
  if (e >= count)
    return;
  const int64_t c =
      index == SLEY_I32 ? static_cast<const int32_t *>(col)[e] : static_cast<const int64_t *>(col)[e];
  int64_t low = 0, high = names_count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (names[middle] < c)
      low = middle + 1;
    else
      high = middle;
  }
  out[e] = low < names_count && names[low] == c ? static_cast<int32_t>(low) : INT32_MAX;
}

size_t sort_bytes(int64_t count) {
  size_t bytes = 0;
  const int64_t *from = nullptr;
  int64_t *to = nullptr;
  (void)cub::DeviceRadixSort::SortKeys(nullptr, bytes, from, to, count);
  return bytes;
}

size_t unique_bytes(int64_t count) {
  size_t bytes = 0;
  int64_t *none = nullptr;
  (void)cub::DeviceSelect::Unique(nullptr, bytes, none, none, none, count);
  return bytes;
}

} // namespace

sley_status sl_spgemm_launch_narrow(sl_queue *queue, const int64_t *from, int64_t count, int64_t first,
                                    int32_t *out) {
  if (count == 0)
    return SLEY_OK;
  narrow<<<blocks_of(count), COLUMN_THREADS, 0, sl_cuda_stream(queue)>>>(from, count, first, out);
  return sl_cuda_launched(queue, "narrowing numbers");
}

sley_status sl_spgemm_launch_widen(sl_queue *queue, const int32_t *from, int64_t count, int64_t *out) {
  if (count == 0)
    return SLEY_OK;
  widen<<<blocks_of(count), COLUMN_THREADS, 0, sl_cuda_stream(queue)>>>(from, count, out);
  return sl_cuda_launched(queue, "widening numbers");
}

int64_t sl_spgemm_names_bytes(int64_t count) {
  const size_t sorting = sort_bytes(count), selecting = unique_bytes(count);
  return static_cast<int64_t>(sorting > selecting ? sorting : selecting);
}

sley_status sl_spgemm_launch_names(sl_queue *queue, const int64_t *col, int64_t count, int64_t *key,
                                   void *temporary, int64_t temporary_bytes, int64_t *names,
                                   int64_t *names_count) {
  size_t bytes = static_cast<size_t>(temporary_bytes);
  cudaStream_t stream = sl_cuda_stream(queue);
  if (count == 0)
    return sl_cuda_check(cudaMemsetAsync(names_count, 0, sizeof *names_count, stream), "numbering columns");
  SL_TRY(sl_cuda_check(cub::DeviceRadixSort::SortKeys(temporary, bytes, col, key, count, 0, 63, stream),
                       "sorting columns"));
  bytes = static_cast<size_t>(temporary_bytes);
  return sl_cuda_check(cub::DeviceSelect::Unique(temporary, bytes, key, names, names_count, count, stream),
                       "numbering columns");
}

sley_status sl_spgemm_launch_rename(sl_queue *queue, const void *col, sley_index index, int64_t count,
                                    const int64_t *names, int64_t names_count, int32_t *out) {
  if (count == 0)
    return SLEY_OK;
  rename_columns<<<blocks_of(count), COLUMN_THREADS, 0, sl_cuda_stream(queue)>>>(col, index, count, names,
                                                                                 names_count, out);
  return sl_cuda_launched(queue, "renumbering columns");
}
