/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f32 for AVX-512. */
#include "device/cpu/lanes_avx512.h"
#include "device/cpu/spmm_same.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F32, SL_CPU_AVX512);
}

const sl_kernel sl_cpu_spmm_f32_avx512 = {.name = "spmm-f32-avx512",
                                          .op = SL_OP_SPMM,
                                          .ok = ok,
                                          .cost = cost,
                                          .prepare = sl_cpu_spmm_prepare,
                                          .refill = sl_refill_nothing,
                                          .release = sl_cpu_spmm_release,
                                          .run = run};
