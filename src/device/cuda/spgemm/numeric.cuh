/* SPDX-License-Identifier: Apache-2.0 */
/* The second pass of a sparse product: columns and values of C, bin by bin. One file for each type includes
 * this. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_NUMERIC_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_NUMERIC_CUH

#include "device/cuda/spgemm/spgemm_launch.cuh"

namespace sley {

/* How many sums of sum_bytes bytes fit in a block beside `own` bytes: as many as allow two blocks per
 * multiprocessor, or if these are few, as many as a block may have. */
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

template <class T, bool TIMES> struct make_pass {
  using S = typename value<T>::sum;
  sl_queue *queue;
  const sl_cuda_spgemm &p;
  const sl_spgemm_state &state;

  template <int WIDTH> sley_status brief(cudaStream_t stream, const bin_rows &rows) const {
    make_short_rows<T, WIDTH, TIMES>
        <<<blocks_for(rows.count, WIDTH, SHORT_THREADS), SHORT_THREADS, 0, stream>>>(p, rows.list,
                                                                                     rows.count);
    return sl_cuda_launched(queue, "making short rows");
  }

  template <int WIDTH> sley_status span(cudaStream_t stream, const bin_rows &rows, int64_t widest) const {
    const int64_t room = span_room(widest, WIDTH), bytes = span_bytes(room, WIDTH, sizeof(S));
    constexpr auto kernel = make_span_rows<T, WIDTH, TIMES>;
    SL_TRY(grant<kernel>(bytes));
    kernel<<<blocks_for(rows.count, WIDTH, SPAN_THREADS), SPAN_THREADS, bytes, stream>>>(p, rows.list,
                                                                                         rows.count, room);
    return sl_cuda_launched(queue, "making rows of close columns");
  }

  /* EACH: slots of a table per lane, which sorts them in registers; 0: sorted in shared memory. */
  template <int EACH> sley_status tables(cudaStream_t stream, const bin_rows &rows, unsigned slots) const {
    const int64_t bytes = HASH_WARPS * hash_bytes(slots, sizeof(S));
    constexpr auto kernel = make_hash_rows<T, TIMES, EACH>;
    SL_TRY(grant<kernel>(bytes));
    kernel<<<blocks_for(rows.count, SPGEMM_WARP, HASH_THREADS), HASH_THREADS, bytes, stream>>>(
        p, rows.list, rows.count, slots);
    return sl_cuda_launched(queue, "making rows");
  }

  sley_status hash(cudaStream_t stream, const bin_rows &rows, unsigned slots) const {
    switch (is_small_table(p.cols, slots) ? slots / SPGEMM_WARP : 0) {
    case 2:
      return tables<2>(stream, rows, slots);
    case 4:
      return tables<4>(stream, rows, slots);
    case 8:
      return tables<8>(stream, rows, slots);
    case 16:
      return tables<16>(stream, rows, slots);
    default:
      return tables<0>(stream, rows, slots);
    }
  }

  /* Computes the rows of the bin in windows of as many entries as the bin is for, or as fit in shared
   * memory. */
  sley_status dense(cudaStream_t stream, const bin_rows &rows, int bin) const {
    const int64_t own = dense_bytes(dense_range(p.cols), p.mask_rowptr != nullptr);
    const int64_t wanted = static_cast<int64_t>(SL_SPGEMM_WINDOW_LEAST) << 2 * (bin - SL_SPGEMM_DENSE);
    const int64_t most = bin == SL_SPGEMM_BINS - 1 ? static_cast<int64_t>(state.longest) : wanted;
    int64_t room;
    SL_TRY(window_room(own, sizeof(S), &room));
    const int64_t window = wanted < room ? wanted : room,
                  shared = own + window * static_cast<int64_t>(sizeof(S));
    const int64_t parts = (most + window - 1) / window, blocks = parts * rows.count;
    if (blocks > INT32_MAX)
      return sl_fail(SLEY_ERR_OVERFLOW, "sley_spgemm: the rows of the product are too long for this GPU");
    constexpr auto kernel = make_dense_rows<T, TIMES>;
    SL_TRY(grant<kernel>(shared));
    kernel<<<static_cast<unsigned>(blocks), DENSE_ROW_THREADS, shared, stream>>>(
        p, rows.list, static_cast<unsigned>(parts), window);
    return sl_cuda_launched(queue, "making long rows");
  }
};

template <class T>
sley_status launch_numeric(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm *p,
                           const sl_spgemm_state *state) {
  return p->semiring == SLEY_PLUS_TIMES
             ? visit_bins(queue, sides, *p, *state, make_pass<T, true>{queue, *p, *state})
             : visit_bins(queue, sides, *p, *state, make_pass<T, false>{queue, *p, *state});
}

} // namespace sley

#endif
