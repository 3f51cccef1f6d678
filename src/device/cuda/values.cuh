/* SPDX-License-Identifier: Apache-2.0 */
/* Values in a kernel: how each dtype is loaded, stored, and widened to its type of sums. */
#ifndef SLEY_DEVICE_CUDA_VALUES_CUH
#define SLEY_DEVICE_CUDA_VALUES_CUH

#include <type_traits>

#include <cuda_runtime.h>

namespace sley {

/* The 16-bit types, as bits. */
struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

template <typename T> struct value;

template <> struct value<float> {
  using sum = float;
  static __device__ __forceinline__ float widen(float v) {
    return v;
  }
  static __device__ __forceinline__ float narrow(float v) {
    return v;
  }
  /* alpha v, a product in double rounded once. */
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

/* Rounds a double to a float so that rounding the float to a 16-bit type equals rounding the double: towards
 * zero, with the last bit set if inexact (round to odd: Boldo and Melquiond 2008). */
static __device__ __forceinline__ float odd(double v) {
  const float near = __double2float_rz(v);
  return (double)near == v || v != v ? near : __uint_as_float(__float_as_uint(near) | 1);
}

template <> struct value<f16> {
  using sum = float;
  static __device__ __forceinline__ float widen(f16 v) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(v.bits));
    return wide;
  }
  static __device__ __forceinline__ f16 narrow(float v) {
    f16 rounded;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(v));
    return rounded;
  }
  static __device__ __forceinline__ float weight(double alpha, f16 v) {
    return value<float>::weight(alpha, widen(v));
  }
};

template <> struct value<bf16> {
  using sum = float;
  static __device__ __forceinline__ float widen(bf16 v) {
    return __uint_as_float((unsigned)v.bits << 16);
  }
  static __device__ __forceinline__ bf16 narrow(float v) {
    bf16 rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(v));
    return rounded;
  }
  static __device__ __forceinline__ float weight(double alpha, bf16 v) {
    return value<float>::weight(alpha, widen(v));
  }
};

/* Types of a product: A and X have input<T>, Y has output<T>. Both types are T, except that for wide<T> Y has
 * T's type of sums. */
template <typename T> struct wide;
template <typename T> struct operand_types {
  using in = T;
  using out = T;
};
template <typename T> struct operand_types<wide<T>> {
  using in = T;
  using out = typename value<T>::sum;
};
template <typename T> using input = typename operand_types<T>::in;
template <typename T> using output = typename operand_types<T>::out;
template <typename T> using accumulator = typename value<input<T>>::sum;

static __device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return fmaf(a, b, c);
}
static __device__ __forceinline__ double multiply_add(double a, double b, double c) {
  return fma(a, b, c);
}

/* N neighbouring values, aligned to the largest power of two that divides N, in values. */
template <typename T, int N> struct alignas(sizeof(T) * (N & -N)) vector { T item[N]; };

template <int BYTES> struct word;
template <> struct word<2> { using type = unsigned short; };
template <> struct word<4> { using type = unsigned int; };
template <> struct word<8> { using type = uint2; };
template <> struct word<16> { using type = uint4; };

/* A vector of up to 16 bytes, moved as one word. */
template <typename T, int N> union packed {
  vector<T, N> values;
  typename word<sizeof(T) * N>::type bits;
  __device__ packed() {
  }
};

/* Loads from memory that does not change while the kernel runs and that other lanes read too. */
template <typename T, int N> __device__ __forceinline__ vector<T, N> load_shared(const T *p) {
  packed<T, N> v;
  v.bits = __ldg((const typename word<sizeof(T) * N>::type *)p);
  return v.values;
}

/* Value i, widened. */
template <typename T, int N>
__device__ __forceinline__ accumulator<T> widened(const vector<T, N> &from, int i) {
  return value<T>::widen(from.item[i]);
}

/* Two bf16 values are processed as the register in which they were loaded: one instruction for both instead
 * of two. */
template <int N>
__device__ __forceinline__ std::enable_if_t<N % 2 == 0, float> widened(const vector<bf16, N> &from, int i) {
  unsigned pair;
  asm("mov.b32 %0, {%1, %2};" : "=r"(pair) : "h"(from.item[i & ~1].bits), "h"(from.item[i | 1].bits));
  return __uint_as_float(i % 2 == 0 ? pair << 16 : pair & 0xffff0000);
}

/* Number of values, of N neighbouring values of type T, that are moved as one word. */
template <typename T, int N>
constexpr int per_word = sizeof(T) * N > 16 ? 16 / static_cast<int>(sizeof(T)) : N;

/* Loads from memory that the kernel may write. */
template <typename T, int N> __device__ __forceinline__ vector<T, N> load_plain(const T *p) {
  constexpr int M = per_word<T, N>;
  vector<T, N> all;
#pragma unroll
  for (int w = 0; w < N; w += M) {
    packed<T, M> v;
    v.bits = *(const typename word<sizeof(T) * M>::type *)(p + w);
#pragma unroll
    for (int i = 0; i < M; i++)
      all.item[w + i] = v.values.item[i];
  }
  return all;
}

/* Loads from memory that is read only once, without displacing other data in the caches. */
template <typename T, int N> __device__ __forceinline__ vector<T, N> load_stream(const T *p) {
  constexpr int M = per_word<T, N>;
  vector<T, N> all;
#pragma unroll
  for (int w = 0; w < N; w += M) {
    packed<T, M> v;
    v.bits = __ldcs((const typename word<sizeof(T) * M>::type *)(p + w));
#pragma unroll
    for (int i = 0; i < M; i++)
      all.item[w + i] = v.values.item[i];
  }
  return all;
}

template <typename T> __device__ __forceinline__ T load_once(const T *p) {
  packed<T, 1> v;
  v.bits = __ldcs((const typename word<sizeof(T)>::type *)p);
  return v.values.item[0];
}

/* Converts M sums to values, as one word. */
template <typename T, int M> __device__ __forceinline__ packed<T, M> narrowed(const accumulator<T> *sum) {
  packed<T, M> v;
#pragma unroll
  for (int i = 0; i < M; i++)
    v.values.item[i] = value<T>::narrow(sum[i]);
  return v;
}

template <typename T, int N>
__device__ __forceinline__ void store_plain(T *p, const accumulator<T> (&sum)[N]) {
  constexpr int M = per_word<T, N>;
#pragma unroll
  for (int w = 0; w < N; w += M)
    *(typename word<sizeof(T) * M>::type *)(p + w) = narrowed<T, M>(sum + w).bits;
}

/* Stores values unchanged, because converting them again would change the bits of NaN. */
template <typename T, int N> __device__ __forceinline__ void store_values(T *p, const vector<T, N> &from) {
  constexpr int M = per_word<T, N>;
#pragma unroll
  for (int w = 0; w < N; w += M) {
    packed<T, M> v;
#pragma unroll
    for (int i = 0; i < M; i++)
      v.values.item[i] = from.item[w + i];
    *(typename word<sizeof(T) * M>::type *)(p + w) = v.bits;
  }
}

/* Stores to memory that the kernel does not access again. */
template <typename T, int N>
__device__ __forceinline__ void store_once(T *p, const accumulator<T> (&sum)[N]) {
  constexpr int M = per_word<T, N>;
#pragma unroll
  for (int w = 0; w < N; w += M)
    __stcs((typename word<sizeof(T) * M>::type *)(p + w), narrowed<T, M>(sum + w).bits);
}

/* Makes the compiler keep a number, or a pointer to device memory, in registers, instead of computing it at
 * every use. */
template <typename T> __device__ __forceinline__ T *keep(T *p) {
  asm("" : "+l"(p));
  __builtin_assume(__isGlobal(p));
  return p;
}
__device__ __forceinline__ int keep(int i) {
  asm("" : "+r"(i));
  return i;
}

} // namespace sley

#endif
