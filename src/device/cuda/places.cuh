/* SPDX-License-Identifier: Apache-2.0 */
/* Places of rows of X, in one memory or in two, and how they may be loaded. */
#ifndef SLEY_DEVICE_CUDA_PLACES_CUH
#define SLEY_DEVICE_CUDA_PLACES_CUH

#include <cstdint>

#include "device/cuda/values.cuh"

namespace sley {

/* Places of rows of X, in units of the vector that a lane loads. Column c is at base + c near_stride +
 * near_at; from column `near` on at base + c far_stride + far_at, modulo the range of a PLACE. */
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

/* Finds the places of X's rows in units of VEC values; returns whether 32 bits suffice. */
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

/* Return whether rows of X, and of Y, can be accessed VEC values at a time. */
template <typename T, int VEC, class RUN> bool aligned_x(const RUN &run) {
  return run.ldx % VEC == 0 && run.ldfar % VEC == 0 &&
         ((uintptr_t)run.x | (uintptr_t)run.far) % (VEC * sizeof(input<T>)) == 0;
}
template <typename T, int VEC, class RUN> bool aligned_y(const RUN &run) {
  constexpr int64_t OUT = VEC * sizeof(output<T>);
  return run.ldy % VEC == 0 && (uintptr_t)run.y % (OUT < 16 ? OUT : 16) == 0;
}
template <typename T, int VEC, class RUN> bool aligned_rows(const RUN &run) {
  return aligned_x<T, VEC>(run) && aligned_y<T, VEC>(run);
}

} // namespace sley

#endif
