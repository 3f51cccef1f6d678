/* SPDX-License-Identifier: Apache-2.0 */
/* Words in the device's memory by which blocks of threads of one launch tell each other numbers. A word holds
 * all that is told: nothing else that was stored before is promised to be seen. */
#ifndef SLEY_DEVICE_CUDA_COLLECTIVE_PUBLISHED_CUH
#define SLEY_DEVICE_CUDA_COLLECTIVE_PUBLISHED_CUH

namespace sley {

__device__ __forceinline__ void publish(unsigned long long *word, unsigned long long value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ __forceinline__ unsigned long long published(const unsigned long long *word) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

} // namespace sley

#endif
