/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of f32 in AVX-512: the operations that spmm_body.h is made of, for kernels that sum in f32. */
#ifndef SLEY_DEVICE_CPU_LANES_F32_AVX512_H
#define SLEY_DEVICE_CPU_LANES_F32_AVX512_H

#include <immintrin.h>

#include "device/cpu/spmm_parts.h"

typedef float sum;
typedef __m512 vec;
typedef __mmask16 mask;
enum { LANES = 16, ISA = SL_CPU_AVX512 };

static inline mask mask_of(int64_t lanes) {
  return (mask)((1u << lanes) - 1);
}
static inline vec vec_zero(void) {
  return _mm512_setzero_ps();
}
static inline vec vec_all(sum s) {
  return _mm512_set1_ps(s);
}
static inline vec vec_load(const sum *p) {
  return _mm512_loadu_ps(p);
}
static inline vec vec_load_part(const sum *p, mask m) {
  return _mm512_maskz_loadu_ps(m, p);
}
static inline void vec_store(sum *p, vec v) {
  _mm512_storeu_ps(p, v);
}
static inline void vec_store_part(sum *p, mask m, vec v) {
  _mm512_mask_storeu_ps(p, m, v);
}
static inline void vec_stream(sum *p, vec v) {
  _mm512_stream_ps(p, v);
}
static inline void stream_end(void) {
  _mm_sfence();
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return _mm512_fmadd_ps(s, x, acc);
}

#endif
