/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of Tensor cores on 16 rows and 8 columns of the sums: with pairs of 16-bit values, and with f64;
 * those with tf32 are in tf32.cuh. Lane 4 g + q has sums (g, 2 q), (g, 2 q + 1), (g + 8, 2 q) and (g + 8, 2 q
 * + 1). */
#ifndef SLEY_DEVICE_CUDA_TENSOR_CORES_CUH
#define SLEY_DEVICE_CUDA_TENSOR_CORES_CUH

#include "device/cuda/values.cuh"

namespace sley {

/* 16 terms. a: terms 2 q, 2 q + 1 of rows g and g + 8, then terms 8 further; b: the same terms of column g.
 */
template <typename T>
static __device__ __forceinline__ void multiply_pairs(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                      unsigned b1);

template <>
__device__ __forceinline__ void multiply_pairs<f16>(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                    unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void multiply_pairs<bf16>(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                     unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 8 terms. a: term q of rows g and g + 8, then term q + 4; b: the same terms of column g. */
static __device__ __forceinline__ void multiply_f64(double (&c)[4], const double (&a)[4], double b0,
                                                    double b1) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
  for (int term = 0; term < 2; term++)
    for (int half = 0; half < 2; half++)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
          : "d"(a[2 * term + half]), "d"(term ? b1 : b0));
#endif
}

/* Loads COUNT matrices of 8 x 8 values of 16 bits from shared memory and transposes them: lanes 8 i to 8 i +
 * 7 pass the addresses of the 8 rows of matrix i, and lane 4 g + q receives rows 2 q and 2 q + 1 of column g.
 */
template <int COUNT> static __device__ __forceinline__ void load_transposed(unsigned *to, const void *row) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(row);
  static_assert(COUNT == 2 || COUNT == 4, "two or four matrices");
  if constexpr (COUNT == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(at)
                 : "memory");
}

} // namespace sley

#endif
