/* SPDX-License-Identifier: Apache-2.0 */
/* Lets warps of a block act one after the other. Each warp waits for its turn at a named hardware barrier,
 * where the previous warp arrives without waiting (PTX, bar.sync and bar.arrive of 64 threads). A warp sees
 * what the warp before it has written. Barrier 0 is used by __syncthreads. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_WARP_TURNS_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_WARP_TURNS_CUH

namespace sley {

/* Wait for the turn, and pass the turn on. Both are called by all lanes of a warp together. warp: the warp
   whose turn it is, below 15. */
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
