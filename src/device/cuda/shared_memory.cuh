/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory of a block of threads: how much a kernel may use, and asynchronous copies to it. */
#ifndef SLEY_DEVICE_CUDA_SHARED_MEMORY_CUH
#define SLEY_DEVICE_CUDA_SHARED_MEMORY_CUH

#include <atomic>

#include "device/cuda/cuda.h"

namespace sley {

/* Devices for which the granted sizes are remembered, because asking the runtime costs as much as a
 * launch. */
enum { GRANT_DEVICES = 64 };

/* Allows a kernel `bytes` of shared memory; if that needs a call, it allows the most that a block may have.
 * Ranks that are threads launch a kernel on one device with different sizes at the same time, and must not
 * lower each other's limit. */
template <auto KERNEL> sley_status grant(int64_t bytes) {
  static std::atomic<int> granted[GRANT_DEVICES];
  cudaFuncAttributes had;
  int device, most;
  SL_TRY(sl_cuda_check(cudaGetDevice(&device), "shared memory"));
  if (device < GRANT_DEVICES && granted[device].load() >= bytes)
    return SLEY_OK;
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                       "shared memory"));
  SL_TRY(sl_cuda_check(cudaFuncGetAttributes(&had, KERNEL), "shared memory"));
  const int all = most - static_cast<int>(had.sharedSizeBytes), asked = static_cast<int>(bytes);
  SL_TRY(sl_cuda_check(cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            asked > all ? asked /* an error */ : all),
                       "shared memory"));
  if (device < GRANT_DEVICES)
    granted[device].store(all);
  return SLEY_OK;
}

/* Starts to copy BYTES, 4, 8 or 16, from device memory to shared memory; the thread continues. */
template <int BYTES> static __device__ __forceinline__ void copy_ahead(void *to, const void *from) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(BYTES) : "memory");
}

/* The same, but only the first `there` bytes are copied; the rest become 0. */
template <int BYTES>
static __device__ __forceinline__ void copy_ahead(void *to, const void *from, int there) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES), "r"(there)
                 : "memory");
}

/* Closes a group: all copies started since the previous call. */
static __device__ __forceinline__ void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all groups except the last LEFT have arrived. */
template <int LEFT> static __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* Waits for all copies of the thread, committed or not. */
static __device__ __forceinline__ void copies_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

} // namespace sley

#endif
