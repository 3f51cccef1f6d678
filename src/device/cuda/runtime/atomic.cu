/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic operation on one word, with system scope: other GPUs and the host may access the word at the same
 * time. */
#include "device/cuda/cuda.h"

namespace {

/* Run by one thread. Earlier work of this GPU is visible to a reader of the new value. */
__global__ void atomic_word(const sl_atomic a) {
  auto *word = reinterpret_cast<unsigned long long *>(a.word);
  const auto value = static_cast<unsigned long long>(a.value);
  __threadfence_system();
  const unsigned long long old =
      a.op == SL_ATOMIC_ADD ? atomicAdd_system(word, value)
                            : atomicCAS_system(word, static_cast<unsigned long long>(a.expected), value);
  *static_cast<volatile int64_t *>(a.old) = static_cast<int64_t>(old);
  __threadfence_system();
}

} // namespace

sley_status sl_cuda_launch_atomic(sl_queue *queue, const sl_atomic *args) {
  SL_TRY(sl_cuda_use(queue->device));
  atomic_word<<<1, 1, 0, sl_cuda_stream(queue)>>>(*args);
  return sl_cuda_launched(queue, "atomic");
}
