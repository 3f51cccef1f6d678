/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows of X lie, if it lies in one memory or in two; and who of several groups of lanes is last. */
#ifndef SLEY_DEVICE_CUDA_PLACES_CUH
#define SLEY_DEVICE_CUDA_PLACES_CUH

#include <cstdint>

#include "device/cuda/values.cuh"

namespace sley {

/* Where rows of X lie, in units of what a lane loads: column c at base + c near_stride; from column near on
 * at base + c far_stride + far_at, modulo the range of a PLACE. near_at likewise. */
struct x_places {
  const void *base;
  uint64_t near_at, far_at;
  uint32_t near_stride, far_stride;
  uint32_t near;
};

template <typename PLACE> __device__ __forceinline__ PLACE place_of(const x_places &x, uint32_t col) {
  const bool far = col >= x.near;
  const uint32_t stride = far ? x.far_stride : x.near_stride;
  return (PLACE)col * stride + (PLACE)(far ? x.far_at : x.near_at);
}

/* The places of X's rows in units of VEC values; whether 32 bits reach them. */
template <typename T, int VEC, class RUN> bool find_places(const RUN &run, x_places *out) {
  constexpr uint64_t UNIT = sizeof(input<T>) * VEC;
  const uintptr_t x = (uintptr_t)run.x, far = run.far ? (uintptr_t)run.far : x, base = x < far ? x : far;
  const uint64_t ldx = (uint64_t)run.ldx / VEC, ldfar = (uint64_t)run.ldfar / VEC,
                 near = (uint64_t)run.x_rows;
  const uint64_t x_end = (x - base) / UNIT + near * ldx;
  const uint64_t far_end = (far - base) / UNIT + (uint64_t)run.far_rows * ldfar;
  *out = {(const void *)base, (x - base) / UNIT, (far - base) / UNIT - near * ldfar,
          (uint32_t)ldx,      (uint32_t)ldfar,   run.far_rows > 0 ? (uint32_t)near : UINT32_MAX};
  return x_end <= UINT32_MAX && far_end <= UINT32_MAX;
}

/* A group of lanes has written sums. Whether it is the last of `groups` that count themselves by a counter,
 * which is 0 again then: it sees what the others have written. */
template <int LANES> __device__ bool last_of(unsigned *counter, int groups, int lane, unsigned mask) {
  unsigned finished = 0;
  __threadfence();
  __syncwarp(mask);
  if (lane == 0)
    finished = atomicAdd(counter, 1u) + 1;
  if (__shfl_sync(mask, finished, 0, LANES) != (unsigned)groups)
    return false;
  __threadfence();
  if (lane == 0)
    *counter = 0;
  return true;
}

} // namespace sley

#endif
