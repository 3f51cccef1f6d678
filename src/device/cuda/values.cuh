/* SPDX-License-Identifier: Apache-2.0 */
/* Values in a kernel: how each dtype is loaded, stored, and widened to the type it is summed in. */
#ifndef SLEY_DEVICE_CUDA_VALUES_CUH
#define SLEY_DEVICE_CUDA_VALUES_CUH

#include <cuda_runtime.h>

namespace sley {

template <typename T> struct value;

template <> struct value<float> {
  using sum = float;
  static __device__ __forceinline__ float widen(float v) {
    return v;
  }
  static __device__ __forceinline__ float narrow(float v) {
    return v;
  }
  /* alpha v, a product of doubles rounded once. */
  static __device__ __forceinline__ float weight(double alpha, float v) {
    return alpha == 1 ? v : (float)(alpha * (double)v);
  }
};

template <> struct value<double> {
  using sum = double;
  static __device__ __forceinline__ double widen(double v) {
    return v;
  }
  static __device__ __forceinline__ double narrow(double v) {
    return v;
  }
  static __device__ __forceinline__ double weight(double alpha, double v) {
    return alpha * v;
  }
};

template <typename T> using accumulator = typename value<T>::sum;

static __device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return fmaf(a, b, c);
}
static __device__ __forceinline__ double multiply_add(double a, double b, double c) {
  return fma(a, b, c);
}

/* N neighbouring values, moved as one word of up to 16 bytes. */
template <typename T, int N> struct alignas(sizeof(T) * N) vector { T item[N]; };

template <int BYTES> struct word;
template <> struct word<2> { using type = unsigned short; };
template <> struct word<4> { using type = unsigned int; };
template <> struct word<8> { using type = uint2; };
template <> struct word<16> { using type = uint4; };

template <typename T, int N> union packed {
  vector<T, N> values;
  typename word<sizeof(T) * N>::type bits;
  __device__ packed() {
  }
};

/* Memory that does not change while the kernel runs and that others read too. */
template <typename T, int N> __device__ __forceinline__ vector<T, N> load_shared(const T *p) {
  packed<T, N> v;
  v.bits = __ldg((const typename word<sizeof(T) * N>::type *)p);
  return v.values;
}

/* Memory that the kernel may write. */
template <typename T, int N> __device__ __forceinline__ vector<T, N> load_plain(const T *p) {
  packed<T, N> v;
  v.bits = *(const typename word<sizeof(T) * N>::type *)p;
  return v.values;
}

/* Memory that is read once: it should not push other things out of the caches. */
template <typename T> __device__ __forceinline__ T load_once(const T *p) {
  packed<T, 1> v;
  v.bits = __ldcs((const typename word<sizeof(T)>::type *)p);
  return v.values.item[0];
}

template <typename T, int N>
__device__ __forceinline__ void store_once(T *p, const accumulator<T> (&sum)[N]) {
  packed<T, N> v;
#pragma unroll
  for (int i = 0; i < N; i++)
    v.values.item[i] = value<T>::narrow(sum[i]);
  __stcs((typename word<sizeof(T) * N>::type *)p, v.bits);
}

} // namespace sley

#endif
