/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a pull. Each warp increments a counter when it has moved its share of a piece, and continues; the
 * last warp signals the kernels that wait for the piece. */
#ifndef SLEY_DEVICE_CUDA_ROWS_PULL_PIECES_CUH
#define SLEY_DEVICE_CUDA_ROWS_PULL_PIECES_CUH

#include "device/cuda/rows/rows.cuh"

namespace sley {

struct pull_pieces {
  int count;
  int64_t end[SL_PIECES_MOST];
  sl_piece_words *words;
};

inline pull_pieces pieces_of(const sl_pull_args *a) {
  pull_pieces s = {a->pieces, {}, a->arrived};
  for (int i = 0; i < a->pieces; i++)
    s.end[i] = i < a->pieces - 1 ? a->piece_end[i] : a->count;
  return s;
}

/* Signals a piece. Earlier stores of the lanes are visible to a kernel that has waited for the piece. Called
 * by all lanes of a warp. */
__device__ inline void tell(sl_piece_word *word) {
  static_assert(SL_PIECE_COPIES == 32, "a copy a lane");
  const unsigned lane = threadIdx.x % 32;
  bool last = false;
  __syncwarp();
  if (lane == 0) {
    __threadfence();
    last = atomicAdd(&word->done.value, 1u) == gridDim.x * gridDim.y * (THREADS / 32) - 1;
  }
  if (!__shfl_sync(~0u, last, 0))
    return;
  if (lane == 0)
    word->done.value = 0;
  __threadfence();
  uint32_t *here = &word->here[lane].value;
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(here), "r"(*here + 1) : "memory");
}

/* Reports the pieces that a warp has completed. */
struct piece_watch {
  const pull_pieces &pieces;
  int next = 0;
  __device__ explicit piece_watch(const pull_pieces &s) : pieces(s) {
  }
  __device__ void passed(int64_t entry) {
    for (; next < pieces.count && entry >= pieces.end[next]; next++)
      tell(&pieces.words->piece[next]);
  }
};

/* Waits until a piece of the current round has arrived. The load is not an acquire, which would invalidate
 * the multiprocessor's cache each time. So no earlier load may have touched the sectors of the piece's rows.
 */
__device__ __forceinline__ void wait_for_piece(const sl_piece_words *words, int piece, uint32_t round) {
  const uint32_t *here = &words->piece[piece].here[blockIdx.x % SL_PIECE_COPIES].value;
  for (;;) {
    uint32_t rounds;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(rounds) : "l"(here) : "memory");
    if (static_cast<int32_t>(rounds - round) >= 0)
      return;
    __nanosleep(300);
  }
}

} // namespace sley

#endif
