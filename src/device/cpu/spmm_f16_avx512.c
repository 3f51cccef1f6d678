/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for AVX-512. */
#include "base/half.h"
#include "device/cpu/lanes_avx512.h"

typedef uint16_t value;
enum { NARROW = 1 };

static inline sum widen(value v) {
  return sl_f32_of_f16(v);
}
static inline vec widened(__m256i v) {
  return _mm512_cvtph_ps(v);
}
static inline __m256i rounded(vec v) {
  return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
static inline vec load_values(const value *p) {
  return widened(_mm256_loadu_si256((const __m256i *)p));
}
static inline vec load_values_part(const value *p, mask m) {
  return widened(_mm256_maskz_loadu_epi16(m, p));
}
static inline void store_values(value *p, vec v) {
  _mm256_storeu_si256((__m256i *)p, rounded(v));
}
static inline void store_values_part(value *p, mask m, vec v) {
  _mm256_mask_storeu_epi16(p, m, rounded(v));
}
static inline void stream_values(value *p, vec v) {
  _mm256_stream_si256((__m256i *)p, rounded(v));
}

#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F16, SL_CPU_AVX512);
}

const sl_kernel sl_cpu_spmm_f16_avx512 = {.name = "spmm-f16-avx512",
                                          .op = SL_OP_SPMM,
                                          .ok = ok,
                                          .cost = cost,
                                          .prepare = sl_cpu_spmm_prepare,
                                          .release = sl_cpu_spmm_release,
                                          .run = run};
