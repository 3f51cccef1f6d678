/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in bf16, summed in f32, for AVX2. */
#include "base/half.h"
#include "device/cpu/halves_avx2.h"

static inline sum widen(value v) {
  return sl_f32_of_bf16(v);
}
static inline vec widened(halves v) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}
/* Half the last bit kept, less one, plus that bit carries as ties to even ask; NaN could carry into the sign.
 */
static inline halves rounded(vec v) {
  __m256i bits = _mm256_castps_si256(v);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  __m256i kept = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1));
}

#include "device/cpu/spmm_16.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_BF16, SL_CPU_AVX2);
}

const sl_kernel sl_cpu_spmm_bf16_avx2 = {.name = "spmm-bf16-avx2",
                                         .op = SL_OP_SPMM,
                                         .ok = ok,
                                         .cost = cost,
                                         .prepare = sl_cpu_spmm_prepare,
                                         .refill = sl_refill_nothing,
                                         .release = sl_cpu_spmm_release,
                                         .run = run};
