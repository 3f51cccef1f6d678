/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in bf16, summed in f32, for AVX-512. */
#include "base/half.h"
#include "device/cpu/halves_avx512.h"

static inline sum widen(value v) {
  return sl_f32_of_bf16(v);
}
static inline vec widened(halves v) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}
/* Half the last bit kept, less one, plus that bit carries as ties to even ask; NaN could carry into the sign.
 */
static inline halves rounded(vec v) {
  __m512i bits = _mm512_castps_si512(v);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_srli_epi32(_mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000)), 16));
}

#include "device/cpu/spmm_16.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_BF16, SL_CPU_AVX512);
}

const sl_kernel sl_cpu_spmm_bf16_avx512 = {.name = "spmm-bf16-avx512",
                                           .op = SL_OP_SPMM,
                                           .ok = ok,
                                           .cost = cost,
                                           .prepare = sl_cpu_spmm_prepare,
                                           .refill = sl_refill_nothing,
                                           .release = sl_cpu_spmm_release,
                                           .run = run};
