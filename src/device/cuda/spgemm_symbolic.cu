/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass of a sparse product: entries of each row of C, bin by bin. */
#include "device/cuda/spgemm_launch.cuh"

namespace {

using namespace sley;

sley_status count_dense(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p, bin_rows rows) {
  const int64_t bytes = dense_count_bytes(dense_range(p.cols), p.mask_rowptr != nullptr);
  SL_TRY(grant(count_dense_rows, bytes));
  count_dense_rows<<<rows.count, DENSE_ROW_THREADS, bytes, stream>>>(p, rows.list);
  return sl_cuda_launched(queue, "counting long rows");
}

sley_status count_hash(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p, bin_rows rows,
                       unsigned slots) {
  const int64_t bytes = HASH_WARPS * hash_bytes(slots, 0);
  SL_TRY(grant(count_hash_rows, bytes));
  count_hash_rows<<<blocks_for(rows.count, SPGEMM_WARP, HASH_THREADS), HASH_THREADS, bytes, stream>>>(
      p, rows.list, rows.count, slots);
  return sl_cuda_launched(queue, "counting rows");
}

struct count_short {
  sl_queue *queue;
  cudaStream_t stream;
  const sl_cuda_spgemm &p;
  bin_rows rows;

  template <int WIDTH> sley_status run() const {
    count_short_rows<WIDTH><<<blocks_for(rows.count, WIDTH, SHORT_THREADS), SHORT_THREADS, 0, stream>>>(
        p, rows.list, rows.count);
    return sl_cuda_launched(queue, "counting short rows");
  }
};

struct count_span {
  sl_queue *queue;
  cudaStream_t stream;
  const sl_cuda_spgemm &p;
  bin_rows rows;
  int64_t widest;

  template <int WIDTH> sley_status run() const {
    const int64_t room = span_room(widest, WIDTH), bytes = span_bytes(room, WIDTH, 0);
    SL_TRY(grant(count_span_rows<WIDTH>, bytes));
    count_span_rows<WIDTH><<<blocks_for(rows.count, WIDTH, SPAN_THREADS), SPAN_THREADS, bytes, stream>>>(
        p, rows.list, rows.count, room);
    return sl_cuda_launched(queue, "counting rows of close columns");
  }
};

sley_status count_bin(sl_queue *queue, cudaStream_t stream, const sl_cuda_spgemm &p,
                      const sl_spgemm_state &state, int bin) {
  const bin_rows rows = rows_of_bin(p, state, bin);
  if (rows.count == 0)
    return SLEY_OK;
  if (bin >= SL_SPGEMM_DENSE)
    return count_dense(queue, stream, p, rows);
  if (bin >= SL_SPGEMM_HASH)
    return count_hash(queue, stream, p, rows, slots_of_bin(bin));
  if (bin >= SL_SPGEMM_SPAN)
    return with_width(bin - SL_SPGEMM_SPAN,
                      count_span{queue, stream, p, rows, state.widest[bin - SL_SPGEMM_SPAN]});
  return with_width(bin - SL_SPGEMM_SHORT, count_short{queue, stream, p, rows});
}

} // namespace

sley_status sl_spgemm_launch_symbolic(sl_queue *queue, const sl_spgemm_side *side, const sl_cuda_spgemm *p,
                                      const sl_spgemm_state *state) {
  SL_TRY(side_begin(queue, side));
  for (int bin = SL_SPGEMM_BINS - 1; bin > SL_SPGEMM_EMPTY; bin--)
    SL_TRY(count_bin(queue, bin >= SL_SPGEMM_DENSE ? long_rows_stream(queue, side) : sl_cuda_stream(queue),
                     *p, *state, bin));
  return side_end(queue, side);
}
