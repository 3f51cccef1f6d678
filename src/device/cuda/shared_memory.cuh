/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory of a block of threads: how much there may be, and copies to it while a thread goes on. */
#ifndef SLEY_DEVICE_CUDA_SHARED_MEMORY_CUH
#define SLEY_DEVICE_CUDA_SHARED_MEMORY_CUH

#include <atomic>

#include "device/cuda/cuda.h"

namespace sley {

/* Which kernels have all the shared memory that a block may have, by device: to ask the runtime costs as much
 * as a launch. Entries are only added. */
struct granted_kernels {
  static constexpr int PLACES = 1024; /* a power of two, more than there are kernels times devices */
  std::atomic<uint64_t> key[PLACES];
  std::atomic<int> bytes[PLACES]; /* 0 until it is known */

  /* Where the key is or may be put; -1: all places are taken. */
  int place_of(uint64_t wanted) {
    const unsigned start = static_cast<unsigned>(wanted * 0x9e3779b97f4a7c15u >> 54);
    for (unsigned i = 0; i < PLACES; i++) {
      const int place = static_cast<int>((start + i) % PLACES);
      uint64_t there = 0;
      if (key[place].compare_exchange_strong(there, wanted) || there == wanted)
        return place;
    }
    return -1;
  }
};
inline granted_kernels granted;

/* Lets a kernel have `bytes` of shared memory, and then all that a block may have: ranks that are threads
 * launch a kernel of one device with different sizes at a time, and none may take from another what it has
 * been given.
 */
template <class KERNEL> sley_status grant(KERNEL kernel, int64_t bytes) {
  cudaFuncAttributes had;
  int device, most;
  SL_TRY(sl_cuda_check(cudaGetDevice(&device), "shared memory"));
  const int place =
      granted.place_of(reinterpret_cast<uint64_t>(kernel) << 8 | static_cast<unsigned>(device & 255));
  if (place >= 0 && granted.bytes[place].load() >= bytes)
    return SLEY_OK;
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                       "shared memory"));
  SL_TRY(sl_cuda_check(cudaFuncGetAttributes(&had, kernel), "shared memory"));
  const int all = most - static_cast<int>(had.sharedSizeBytes), asked = static_cast<int>(bytes);
  SL_TRY(sl_cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            asked > all ? asked /* an error */ : all),
                       "shared memory"));
  if (place >= 0)
    granted.bytes[place].store(all);
  return SLEY_OK;
}

/* BYTES, 4, 8 or 16, from the device's memory into shared memory, while the thread goes on. */
template <int BYTES> static __device__ __forceinline__ void copy_ahead(void *to, const void *from) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(BYTES) : "memory");
}

/* The same; only the first `there` bytes are copied, the rest become 0. */
template <int BYTES>
static __device__ __forceinline__ void copy_ahead(void *to, const void *from, int there) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES), "r"(there)
                 : "memory");
}

/* What was begun to copy since the last such call is a group. */
static __device__ __forceinline__ void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* All groups but the last LEFT have come. */
template <int LEFT> static __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* All copies of the thread have come, committed or not. */
static __device__ __forceinline__ void copies_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

} // namespace sley

#endif
