/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in bf16, summed in f32, for any processor. */
#include "base/half.h"
typedef float sum;
#include "device/cpu/halves_portable.h"

static inline sum widen(value v) {
  return sl_f32_of_bf16(v);
}
static inline vec widened(halves v) {
  return widen(v);
}
static inline halves rounded(vec v) {
  return sl_bf16_of_f32(v);
}

#include "device/cpu/spmm_16.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_BF16, SL_CPU_PORTABLE);
}

const sl_kernel sl_cpu_spmm_bf16_portable = {.name = "spmm-bf16-portable",
                                             .op = SL_OP_SPMM,
                                             .ok = ok,
                                             .cost = cost,
                                             .prepare = sl_cpu_spmm_prepare,
                                             .refill = sl_refill_nothing,
                                             .release = sl_cpu_spmm_release,
                                             .run = run};
