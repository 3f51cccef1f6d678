/* SPDX-License-Identifier: Apache-2.0 */
/* The semirings of op_spgemm.h on sums of type S. Each product and each sum is rounded separately: the
 * intrinsics used here are never contracted. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SEMIRING_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SEMIRING_CUH

#include "device/cuda/values.cuh"
#include "sley.h"

namespace sley {

static __device__ __forceinline__ float rounded_product(float a, float b) {
  return __fmul_rn(a, b);
}
static __device__ __forceinline__ double rounded_product(double a, double b) {
  return __dmul_rn(a, b);
}
static __device__ __forceinline__ float rounded_sum(float a, float b) {
  return __fadd_rn(a, b);
}
static __device__ __forceinline__ double rounded_sum(double a, double b) {
  return __dadd_rn(a, b);
}

/* TIMES: plus-times, known at compile time; otherwise `kind` selects the semiring. */
template <class S, bool TIMES> struct semiring {
  sley_semiring kind;

  __device__ __forceinline__ bool reads_values() const {
    return TIMES || kind != SLEY_PLUS_PAIR;
  }

  /* The first sum of a row: adding the first product to it leaves that product unchanged. */
  __device__ __forceinline__ S first() const {
    if (TIMES || kind == SLEY_PLUS_PAIR)
      return S(-0.0);
    return kind == SLEY_MIN_PLUS ? static_cast<S>(INFINITY) : S(0);
  }

  __device__ __forceinline__ S product(S a, S b) const {
    if (TIMES)
      return rounded_product(a, b);
    if (kind == SLEY_PLUS_PAIR)
      return 1;
    if (kind == SLEY_MIN_PLUS)
      return rounded_sum(a, b);
    return a != 0 && b != 0 ? S(1) : S(0);
  }

  __device__ __forceinline__ S add(S sum, S p) const {
    if (TIMES || kind == SLEY_PLUS_PAIR)
      return rounded_sum(sum, p);
    if (kind == SLEY_MIN_PLUS)
      return p < sum || p != p ? p : sum;
    return p > sum ? p : sum;
  }
};

} // namespace sley

#endif
