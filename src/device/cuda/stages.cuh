/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a pull. Each warp counts itself when it has done its share of one, and goes on; the last tells
 * who waits for the stage. */
#ifndef SLEY_DEVICE_CUDA_STAGES_CUH
#define SLEY_DEVICE_CUDA_STAGES_CUH

#include "device/cuda/rows.cuh"

namespace sley {

struct pull_stages {
  int count;
  int64_t end[SL_PULL_STAGES];
  sl_stage_words *words;
};

inline pull_stages stages_of(const sl_pull_args *a) {
  pull_stages s = {a->stages, {}, a->arrived};
  for (int i = 0; i < a->stages; i++)
    s.end[i] = i < a->stages - 1 ? a->stage_end[i] : a->count;
  return s;
}

/* All lanes of a warp: what they have stored by then is seen by who waits for the stage. */
__device__ inline void tell(sl_stage_word *word) {
  static_assert(SL_STAGE_COPIES == 32, "a copy a lane");
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

/* Tells of the stages that a warp has passed. */
struct stage_watch {
  const pull_stages &stages;
  int next = 0;
  __device__ explicit stage_watch(const pull_stages &s) : stages(s) {
  }
  __device__ void passed(int64_t entry) {
    for (; next < stages.count && entry >= stages.end[next]; next++)
      tell(&stages.words->stage[next]);
  }
};

/* Until a stage has arrived in the round under way. Not an acquire, which would empty the cache of the
 * multiprocessor each time: nothing may have loaded from the sectors of the stage's rows before. */
__device__ __forceinline__ void wait_for_stage(const sl_stage_words *words, int stage, uint32_t round) {
  const uint32_t *here = &words->stage[stage].here[blockIdx.x % SL_STAGE_COPIES].value;
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
