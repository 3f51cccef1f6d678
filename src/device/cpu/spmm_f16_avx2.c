/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for AVX2 and F16C. */
#include "base/half.h"
#include "device/cpu/lanes_avx2.h"
#include "device/cpu/part_16_avx2.h"

typedef uint16_t value;
enum { NARROW = 1 };

static inline sum widen(value v) {
  return sl_f32_of_f16(v);
}
static inline vec widened(__m128i v) {
  return _mm256_cvtph_ps(v);
}
static inline __m128i rounded(vec v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
static inline vec load_values(const value *p) {
  return widened(_mm_loadu_si128((const __m128i *)p));
}
static inline vec load_values_part(const value *p, mask m) {
  return widened(load_part_16(p, m));
}
static inline void store_values(value *p, vec v) {
  _mm_storeu_si128((__m128i *)p, rounded(v));
}
static inline void store_values_part(value *p, mask m, vec v) {
  store_part_16(p, m, rounded(v));
}
static inline void stream_values(value *p, vec v) {
  _mm_stream_si128((__m128i *)p, rounded(v));
}

#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F16, SL_CPU_AVX2);
}

const sl_kernel sl_cpu_spmm_f16_avx2 = {.name = "spmm-f16-avx2",
                                        .op = SL_OP_SPMM,
                                        .ok = ok,
                                        .cost = cost,
                                        .prepare = sl_cpu_spmm_prepare,
                                        .release = sl_cpu_spmm_release,
                                        .run = run};
