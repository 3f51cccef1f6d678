/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are reduced (op_reduce.h): sums and other results, and their rounding. */
#ifndef SLEY_DEVICE_CUDA_COLLECTIVE_REDUCED_CUH
#define SLEY_DEVICE_CUDA_COLLECTIVE_REDUCED_CUH

#include "device/cuda/values.cuh"

namespace sley {

struct i64 {
  unsigned long long bits;
};

/* The type in which T is held while it is reduced, and the bits of a NaN result. */
template <class T> struct held {
  using type = typename value<T>::sum;
  static __device__ type load(T v) {
    return value<T>::widen(v);
  }
  static __device__ T store(type v) {
    if (v == v)
      return value<T>::narrow(v);
    return nan();
  }
  static __device__ T nan();
};
template <> __device__ inline float held<float>::nan() {
  return __uint_as_float(0x7fc00000u);
}
template <> __device__ inline double held<double>::nan() {
  return __longlong_as_double(0x7ff8000000000000ll);
}
template <> __device__ inline f16 held<f16>::nan() {
  return {0x7e00};
}
template <> __device__ inline bf16 held<bf16>::nan() {
  return {0x7fc0};
}
template <> struct held<i64> {
  using type = unsigned long long;
  static __device__ type load(i64 v) {
    return v.bits;
  }
  static __device__ i64 store(type v) {
    return {v};
  }
};

} // namespace sley

#endif
