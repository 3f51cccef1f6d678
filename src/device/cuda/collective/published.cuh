/* SPDX-License-Identifier: Apache-2.0 */
/* Words in device memory by which blocks of threads of one launch exchange numbers. A word contains the whole
 * message: other stores before it are not guaranteed to be visible. */
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
