/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass of a sparse product: the number of entries of each row of C, bin by bin. */
#include "device/cuda/spgemm/spgemm_launch.cuh"

namespace {

using namespace sley;

struct count_pass {
  sl_queue *queue;
  const sl_cuda_spgemm &p;

  template <int WIDTH> sley_status brief(cudaStream_t stream, const bin_rows &rows) const {
    count_short_rows<WIDTH><<<blocks_for(rows.count, WIDTH, SHORT_THREADS), SHORT_THREADS, 0, stream>>>(
        p, rows.list, rows.count);
    return sl_cuda_launched(queue, "counting short rows");
  }

  template <int WIDTH> sley_status span(cudaStream_t stream, const bin_rows &rows, int64_t widest) const {
    const int64_t room = span_room(widest, WIDTH), bytes = span_bytes(room, WIDTH, 0);
    SL_TRY(grant<count_span_rows<WIDTH>>(bytes));
    count_span_rows<WIDTH><<<blocks_for(rows.count, WIDTH, SPAN_THREADS), SPAN_THREADS, bytes, stream>>>(
        p, rows.list, rows.count, room);
    return sl_cuda_launched(queue, "counting rows of close columns");
  }

  sley_status hash(cudaStream_t stream, const bin_rows &rows, unsigned slots) const {
    const int64_t bytes = HASH_WARPS * hash_bytes(slots, 0);
    SL_TRY(grant<count_hash_rows>(bytes));
    count_hash_rows<<<blocks_for(rows.count, SPGEMM_WARP, HASH_THREADS), HASH_THREADS, bytes, stream>>>(
        p, rows.list, rows.count, slots);
    return sl_cuda_launched(queue, "counting rows");
  }

  sley_status dense(cudaStream_t stream, const bin_rows &rows, int) const {
    const int64_t bytes = dense_count_bytes(dense_range(p.cols), p.mask_rowptr != nullptr);
    SL_TRY(grant<count_dense_rows>(bytes));
    count_dense_rows<<<rows.count, DENSE_ROW_THREADS, bytes, stream>>>(p, rows.list);
    return sl_cuda_launched(queue, "counting long rows");
  }
};

} // namespace

sley_status sl_spgemm_launch_symbolic(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm *p,
                                      const sl_spgemm_state *state) {
  return visit_bins(queue, sides, *p, *state, count_pass{queue, *p});
}
