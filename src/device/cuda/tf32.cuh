/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 on Tensor cores: the operation for tf32, whose operands have 11 significant bits, and
 * values split into two tf32 parts. */
#ifndef SLEY_DEVICE_CUDA_TF32_CUH
#define SLEY_DEVICE_CUDA_TF32_CUH

#include <cuda_runtime.h>

namespace sley {

static __device__ __forceinline__ void multiply_tf32(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                     unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Rounds to tf32. The Tensor core ignores the lower bits, so half a unit of the last bit kept is added: this
 * rounds to nearest, ties away from zero. Values near the largest become infinite, and a NaN whose upper bits
 * are all set becomes 0; so if an operand may contain such a NaN, at least one operand of each product must
 * be converted by another function. */
static __device__ __forceinline__ unsigned to_tf32(float v) {
  return __float_as_uint(v) + 0x1000;
}

/* The same for all values: a NaN stays NaN. */
static __device__ __forceinline__ unsigned to_tf32_or_nan(float v) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return bits;
}

struct split_value {
  unsigned high, low;
};

/* low is the rest of v after high, not rounded: the Tensor core truncates it. For a NaN, low is NaN. */
static __device__ __forceinline__ split_value split(float v, unsigned high) {
  return {high, __float_as_uint(v - __uint_as_float(high & 0xffffe000))};
}

static __device__ __forceinline__ split_value split(float v) {
  return split(v, to_tf32(v));
}

} // namespace sley

#endif
