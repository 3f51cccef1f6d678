/* SPDX-License-Identifier: Apache-2.0 */
/* Launches over the rows of a bin. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_LAUNCH_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_LAUNCH_CUH

#include "device/cuda/shared_memory.cuh"
#include "device/cuda/spgemm/hash.cuh"
#include "device/cuda/spgemm/short.cuh"
#include "device/cuda/spgemm/span.cuh"
#include "device/cuda/spgemm/spgemm_dense.cuh"

namespace sley {

/* The rows of a bin, from the host's copy of the state. */
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

/* Number of blocks of `threads` threads for `rows` rows with `each` threads per row. */
inline unsigned blocks_for(int64_t rows, int64_t each, int64_t threads) {
  return static_cast<unsigned>((rows * each + threads - 1) / threads);
}

/* Slots of a hash bin's tables. */
inline unsigned slots_of_bin(int bin) {
  return static_cast<unsigned>(SL_SPGEMM_TABLE_LEAST) << (bin - SL_SPGEMM_HASH);
}

/* Stream for the n-th non-empty bin that is visited. The side streams and the queue's stream are used in
 * turn, the queue's stream last in each round. */
inline cudaStream_t stream_of_visit(sl_queue *queue, const sl_spgemm_sides *sides, int n) {
  const int side = n % (sides->used + 1);
  return side < sides->used ? sides->stream[side] : sl_cuda_stream(queue);
}

/* sides_begin: side streams wait for the queue's earlier work. sides_end: the queue waits for the side
 * streams. */
inline sley_status sides_begin(sl_queue *queue, const sl_spgemm_sides *sides) {
  if (sides->used == 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_check(cudaEventRecord(sides->begun, sl_cuda_stream(queue)), "beginning side streams"));
  for (int i = 0; i < sides->used; i++)
    SL_TRY(sl_cuda_check(cudaStreamWaitEvent(sides->stream[i], sides->begun, 0), "beginning side streams"));
  return SLEY_OK;
}

inline sley_status sides_end(sl_queue *queue, const sl_spgemm_sides *sides) {
  for (int i = 0; i < sides->used; i++) {
    SL_TRY(sl_cuda_check(cudaEventRecord(sides->ended[i], sides->stream[i]), "ending side streams"));
    SL_TRY(
        sl_cuda_check(cudaStreamWaitEvent(sl_cuda_stream(queue), sides->ended[i], 0), "ending side streams"));
  }
  return SLEY_OK;
}

/* Launches the pass for the rows of one bin, by the pass's member for the bin's kind; WIDTH: lanes that
 * compute a row. */
template <class PASS>
sley_status visit_bin(const PASS &pass, cudaStream_t stream, const bin_rows &rows,
                      const sl_spgemm_state &state, int bin) {
  static_assert(SL_SPGEMM_WIDTHS == 3 && SL_SPGEMM_WIDTH_LEAST == 8, "the widths that follow");
  switch (bin) {
  case SL_SPGEMM_SHORT:
    return pass.template brief<8>(stream, rows);
  case SL_SPGEMM_SHORT + 1:
    return pass.template brief<16>(stream, rows);
  case SL_SPGEMM_SHORT + 2:
    return pass.template brief<32>(stream, rows);
  case SL_SPGEMM_SPAN:
    return pass.template span<8>(stream, rows, state.widest[0]);
  case SL_SPGEMM_SPAN + 1:
    return pass.template span<16>(stream, rows, state.widest[1]);
  case SL_SPGEMM_SPAN + 2:
    return pass.template span<32>(stream, rows, state.widest[2]);
  default:
    return bin < SL_SPGEMM_DENSE ? pass.hash(stream, rows, slots_of_bin(bin)) : pass.dense(stream, rows, bin);
  }
}

/* Launches the pass for every bin, longest rows first. Different bins run concurrently, because a single bin
 * of a small product seldom fills the GPU. */
template <class PASS>
sley_status visit_bins(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm &p,
                       const sl_spgemm_state &state, const PASS &pass) {
  int n = 0;
  sley_status status = sides_begin(queue, sides);
  for (int bin = SL_SPGEMM_BINS - 1; status == SLEY_OK && bin > SL_SPGEMM_EMPTY; bin--)
    if (state.rows[bin] > 0) {
      cudaStream_t stream = stream_of_visit(queue, sides, n++);
      status = visit_bin(pass, stream, rows_of_bin(p, state, bin), state, bin);
    }
  const sley_status joined = sides_end(queue, sides); /* also after an error, because the memory is reused */
  return status == SLEY_OK ? joined : status;
}

} // namespace sley

#endif
