/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a pull. Each warp counts itself when it has done its share of one, and goes on; the last tells
 * the arrival that waits for the stage. */
#ifndef SLEY_DEVICE_CUDA_STAGES_CUH
#define SLEY_DEVICE_CUDA_STAGES_CUH

#include "device/cuda/rows.cuh"

namespace sley {

struct pull_stages {
  int count;
  int64_t end[SL_PULL_STAGES];
  sl_stage_word *word;
};

inline pull_stages stages_of(const sl_pull_args *a) {
  pull_stages s = {a->stages, {}, a->arrived};
  for (int i = 0; i < a->stages; i++)
    s.end[i] = i < a->stages - 1 ? a->stage_end[i] : a->count;
  return s;
}

/* All lanes of a warp: what they have stored by then is seen by who waits for the stage. */
__device__ inline void tell(sl_stage_word *word) {
  __syncwarp();
  if (threadIdx.x % 32 != 0)
    return;
  __threadfence();
  if (atomicAdd(&word->done, 1u) != gridDim.x * gridDim.y * (THREADS / 32) - 1)
    return;
  word->done = 0;
  __threadfence();
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(&word->here) : "memory");
}

/* Tells of the stages that a warp has passed. */
struct stage_watch {
  const pull_stages &stages;
  int next = 0;
  __device__ explicit stage_watch(const pull_stages &s) : stages(s) {
  }
  __device__ void passed(int64_t entry) {
    for (; next < stages.count && entry >= stages.end[next]; next++)
      tell(&stages.word[next]);
  }
};

} // namespace sley

#endif
