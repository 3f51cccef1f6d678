/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for AVX-512. */
#include "base/half.h"
#include "device/cpu/halves_avx512.h"

static inline sum widen(value v) {
  return sl_f32_of_f16(v);
}
static inline vec widened(halves v) {
  return _mm512_cvtph_ps(v);
}
static inline halves rounded(vec v) {
  return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

#include "device/cpu/spmm_16.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F16, SL_CPU_AVX512);
}

const sl_kernel sl_cpu_spmm_f16_avx512 = {.name = "spmm-f16-avx512",
                                          .op = SL_OP_SPMM,
                                          .ok = ok,
                                          .cost = cost,
                                          .prepare = sl_cpu_spmm_prepare,
                                          .refill = sl_refill_nothing,
                                          .release = sl_cpu_spmm_release,
                                          .run = run};
