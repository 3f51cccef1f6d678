/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a pull: each block does its share of one after the other, and the last to finish one tells the
 * arrival that waits for it. */
#ifndef SLEY_DEVICE_CUDA_STAGES_CUH
#define SLEY_DEVICE_CUDA_STAGES_CUH

#include "device/cuda/rows.cuh"

namespace sley {

/* A pull without stages is one of a single stage that nobody is told of. */
struct pull_stages {
  int count;
  int64_t end[SL_PULL_STAGES];
  sl_stage_word *word; /* NULL: nobody */
};

inline pull_stages stages_of(const sl_pull_args *a, int64_t longest) {
  pull_stages s = {a->stages > 0 ? a->stages : 1, {}, a->stages > 0 ? a->arrived : nullptr};
  const int64_t entries = longest > 0 ? a->count : 0;
  for (int i = 0; i < s.count - 1; i++)
    s.end[i] = a->stage_end[i] < entries ? a->stage_end[i] : entries;
  s.end[s.count - 1] = entries;
  return s;
}

/* All threads of a block, when it has done its share of a stage. */
__device__ inline void tell(sl_stage_word *word) {
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  __threadfence();
  if (atomicAdd(&word->done, 1u) != gridDim.x * gridDim.y - 1)
    return;
  word->done = 0;
  __threadfence();
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(&word->here) : "memory");
}

/* All threads of the grid together, as move_rows. */
template <class V, class Join>
__device__ void move_stages(const pulled &rows, const pull_stages &stages, int64_t pieces, int group_log) {
  for (int s = 0; s < stages.count; s++) {
    move_rows<V, Join>(rows, s > 0 ? stages.end[s - 1] : 0, stages.end[s], pieces, group_log);
    if (stages.word)
      tell(&stages.word[s]);
  }
}

/* In place of that, where nothing is to be moved. */
__device__ inline void tell_all(const pull_stages &stages) {
  for (int s = 0; s < stages.count && stages.word; s++)
    tell(&stages.word[s]);
}

} // namespace sley

#endif
