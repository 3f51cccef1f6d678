/* SPDX-License-Identifier: Apache-2.0 */
/* Launches over the rows of a bin. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_LAUNCH_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_LAUNCH_CUH

#include "device/cuda/shared_memory.cuh"
#include "device/cuda/spgemm_dense.cuh"
#include "device/cuda/spgemm_hash.cuh"
#include "device/cuda/spgemm_short.cuh"
#include "device/cuda/spgemm_span.cuh"

namespace sley {

/* The rows of a bin, of the host's copy of the state. */
struct bin_rows {
  const uint32_t *list;
  unsigned count;
};

inline bin_rows rows_of_bin(const sl_cuda_spgemm &p, const sl_spgemm_state &state, int bin) {
  int64_t before = 0;
  for (int b = SL_SPGEMM_EMPTY + 1; b < bin; b++)
    before += state.rows[b];
  return {p.list + before, state.rows[bin]};
}

/* Blocks of `threads` for so many rows of `each` threads. */
inline unsigned blocks_for(int64_t rows, int64_t each, int64_t threads) {
  return static_cast<unsigned>((rows * each + threads - 1) / threads);
}

/* The slots of a hash bin's tables. */
inline unsigned slots_of_bin(int bin) {
  return static_cast<unsigned>(SL_SPGEMM_TABLE_LEAST) << (bin - SL_SPGEMM_HASH);
}

/* Calls f.run<WIDTH>() with the lanes that make a row of a short or span bin, `number` in its group of bins.
 */
template <class F> sley_status with_width(int number, const F &f) {
  static_assert(SL_SPGEMM_WIDTHS == 3 && SL_SPGEMM_WIDTH_LEAST == 8, "the widths that follow");
  return number == 0 ? f.template run<8>() : number == 1 ? f.template run<16>() : f.template run<32>();
}

/* The side stream begins after what the queue has been given; the queue goes on after what the side has.
 * Without one nothing happens. */
inline sley_status side_begin(sl_queue *queue, const sl_spgemm_side *side) {
  if (!side->stream)
    return SLEY_OK;
  SL_TRY(sl_cuda_check(cudaEventRecord(side->begun, sl_cuda_stream(queue)), "beginning a side stream"));
  return sl_cuda_check(cudaStreamWaitEvent(side->stream, side->begun, 0), "beginning a side stream");
}

inline sley_status side_end(sl_queue *queue, const sl_spgemm_side *side) {
  if (!side->stream)
    return SLEY_OK;
  SL_TRY(sl_cuda_check(cudaEventRecord(side->ended, side->stream), "ending a side stream"));
  return sl_cuda_check(cudaStreamWaitEvent(sl_cuda_stream(queue), side->ended, 0), "ending a side stream");
}

/* Where the rows of long bins go. */
inline cudaStream_t long_rows_stream(sl_queue *queue, const sl_spgemm_side *side) {
  return side->stream ? side->stream : sl_cuda_stream(queue);
}

} // namespace sley

#endif
