/* SPDX-License-Identifier: Apache-2.0 */
/* Warps of a block that do something one after the other: each waits for its turn at a named barrier of the
 * hardware, where the warp before arrives without waiting (PTX, bar.sync and bar.arrive of 64 threads). What
 * the warp before has written is seen. Barrier 0 is __syncthreads'. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_WARP_TURNS_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_WARP_TURNS_CUH

namespace sley {

/* Both by all lanes of the warp, which are together; warp: the one whose turn it is, below 15. */
static __device__ __forceinline__ void turn_await(int warp) {
  __syncwarp();
  asm volatile("bar.sync %0, 64;" ::"r"(warp + 1) : "memory");
}

static __device__ __forceinline__ void turn_give(int warp) {
  __syncwarp();
  asm volatile("bar.arrive %0, 64;" ::"r"(warp + 1) : "memory");
}

} // namespace sley

#endif
