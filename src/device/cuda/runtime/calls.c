/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of CUDA runtime calls: errors, the current GPU, and the count of launches. */
#include "device/cuda/cuda.h"

sley_status sl_cuda_check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return SLEY_OK;
  (void)cudaGetLastError();
  return sl_fail(error == cudaErrorMemoryAllocation ? SLEY_ERR_MEMORY : SLEY_ERR_INTERNAL,
                 "cuda: %s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

sley_status sl_cuda_use(const sl_device *device) {
  return sl_cuda_check(cudaSetDevice(((const sl_cuda_device *)device)->ordinal), "choosing the GPU");
}

sley_status sl_cuda_launched(sl_queue *queue, const char *kernel) {
  __atomic_fetch_add(&((sl_cuda_device *)queue->device)->counted.launches, 1, __ATOMIC_RELAXED);
  return sl_cuda_check(cudaGetLastError(), kernel);
}
