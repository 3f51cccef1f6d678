/* SPDX-License-Identifier: Apache-2.0 */
/* The second pass of a sparse product: columns and values of C, bin by bin. A file for each type includes
 * this. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_NUMERIC_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_NUMERIC_CUH

#include "device/cuda/spgemm_launch.cuh"

namespace sley {

/* How many sums of so many bytes a block has room for beside `own` bytes: as many as let two blocks share a
 * multiprocessor, or, where these are few, as many as a block may have. */
inline sley_status window_room(int64_t own, int64_t sum_bytes, int64_t *out) {
  int device, block, all, reserved;
  SL_TRY(sl_cuda_check(cudaGetDevice(&device), "shared memory"));
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                       "shared memory"));
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
                       "shared memory"));
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device),
                       "shared memory"));
  *out = (all / 2 - reserved - own) / sum_bytes;
  if (*out < SL_SPGEMM_WINDOW_LEAST)
    *out = (block - own) / sum_bytes;
  return SLEY_OK;
}

/* Rows of the bin are made in windows of as many entries as the bin is for, or as shared memory has room for.
 */
template <class T, bool TIMES>
sley_status make_dense(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p,
                       const sl_spgemm_state &state, int bin) {
  constexpr int64_t sum_bytes = sizeof(typename value<T>::sum);
  const bin_rows rows = rows_of_bin(p, state, bin);
  const int64_t own = dense_bytes(dense_range(p.cols), p.mask_rowptr != nullptr);
  const int64_t wanted = static_cast<int64_t>(SL_SPGEMM_WINDOW_LEAST) << 2 * (bin - SL_SPGEMM_DENSE);
  const int64_t most = bin == SL_SPGEMM_BINS - 1 ? static_cast<int64_t>(state.longest) : wanted;
  int64_t room;
  SL_TRY(window_room(own, sum_bytes, &room));
  const int64_t window = wanted < room ? wanted : room, shared = own + window * sum_bytes;
  const int64_t parts = (most + window - 1) / window, blocks = parts * rows.count;
  if (blocks > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW, "sley_spgemm: the rows of the product are too long for this GPU");
  const auto kernel = make_dense_rows<T, TIMES>;
  SL_TRY(grant(kernel, shared));
  kernel<<<static_cast<unsigned>(blocks), DENSE_ROW_THREADS, shared, stream>>>(
      p, rows.list, static_cast<unsigned>(parts), window);
  return sl_cuda_launched(queue, "making long rows");
}

template <class T, bool TIMES, int EACH>
sley_status make_hash(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p, bin_rows rows,
                      unsigned slots) {
  const int64_t bytes = HASH_WARPS * hash_bytes(slots, sizeof(typename value<T>::sum));
  const auto kernel = make_hash_rows<T, TIMES, EACH>;
  SL_TRY(grant(kernel, bytes));
  kernel<<<blocks_for(rows.count, SPGEMM_WARP, HASH_THREADS), HASH_THREADS, bytes, stream>>>(
      p, rows.list, rows.count, slots);
  return sl_cuda_launched(queue, "making rows");
}

template <class T, bool TIMES>
sley_status make_hash_bin(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p, bin_rows rows,
                          unsigned slots) {
  switch (is_small_table(p.cols, slots) ? slots / SPGEMM_WARP : 0) {
  case 2:
    return make_hash<T, TIMES, 2>(queue, stream, p, rows, slots);
  case 4:
    return make_hash<T, TIMES, 4>(queue, stream, p, rows, slots);
  case 8:
    return make_hash<T, TIMES, 8>(queue, stream, p, rows, slots);
  case 16:
    return make_hash<T, TIMES, 16>(queue, stream, p, rows, slots);
  default:
    return make_hash<T, TIMES, 0>(queue, stream, p, rows, slots);
  }
}

template <class T, bool TIMES> struct make_short {
  sl_queue *queue;
  cudaStream_t stream;
  const sl_cuda_spgemm &p;
  bin_rows rows;

  template <int WIDTH> sley_status run() const {
    make_short_rows<T, WIDTH, TIMES>
        <<<blocks_for(rows.count, WIDTH, SHORT_THREADS), SHORT_THREADS, 0, stream>>>(p, rows.list,
                                                                                     rows.count);
    return sl_cuda_launched(queue, "making short rows");
  }
};

template <class T, bool TIMES> struct make_span {
  sl_queue *queue;
  cudaStream_t stream;
  const sl_cuda_spgemm &p;
  bin_rows rows;
  int64_t widest;

  template <int WIDTH> sley_status run() const {
    const int64_t room = span_room(widest, WIDTH),
                  bytes = span_bytes(room, WIDTH, sizeof(typename value<T>::sum));
    const auto kernel = make_span_rows<T, WIDTH, TIMES>;
    SL_TRY(grant(kernel, bytes));
    kernel<<<blocks_for(rows.count, WIDTH, SPAN_THREADS), SPAN_THREADS, bytes, stream>>>(p, rows.list,
                                                                                         rows.count, room);
    return sl_cuda_launched(queue, "making rows of close columns");
  }
};

template <class T, bool TIMES>
sley_status make_bin(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p,
                     const sl_spgemm_state &state, int bin) {
  const bin_rows rows = rows_of_bin(p, state, bin);
  if (rows.count == 0)
    return SLEY_OK;
  if (bin >= SL_SPGEMM_DENSE)
    return make_dense<T, TIMES>(queue, stream, p, state, bin);
  if (bin >= SL_SPGEMM_HASH)
    return make_hash_bin<T, TIMES>(queue, stream, p, rows, slots_of_bin(bin));
  if (bin >= SL_SPGEMM_SPAN)
    return with_width(bin - SL_SPGEMM_SPAN,
                      make_span<T, TIMES>{queue, stream, p, rows, state.widest[bin - SL_SPGEMM_SPAN]});
  return with_width(bin - SL_SPGEMM_SHORT, make_short<T, TIMES>{queue, stream, p, rows});
}

template <class T, bool TIMES>
sley_status make_rows_of(sl_queue *queue, const sl_spgemm_side *side, const sl_cuda_spgemm &p,
                         const sl_spgemm_state &state) {
  SL_TRY(side_begin(queue, side));
  for (int bin = SL_SPGEMM_BINS - 1; bin > SL_SPGEMM_EMPTY; bin--) {
    cudaStream_t stream = bin == SL_SPGEMM_BINS - 1 ? long_rows_stream(queue, side) : sl_cuda_stream(queue);
    const sley_status status = make_bin<T, TIMES>(queue, stream, p, state, bin);
    SL_TRY(status);
  }
  return side_end(queue, side);
}

template <class T>
sley_status launch_numeric(sl_queue *queue, const sl_spgemm_side *side, const sl_cuda_spgemm *p,
                           const sl_spgemm_state *state) {
  return p->semiring == SLEY_PLUS_TIMES ? make_rows_of<T, true>(queue, side, *p, *state)
                                        : make_rows_of<T, false>(queue, side, *p, *state);
}

} // namespace sley

#endif
