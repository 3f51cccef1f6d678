/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f64 for any processor. */
typedef double sum;
#include "device/cpu/lanes_portable.h"
#include "device/cpu/spmm_same.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F64, SL_CPU_PORTABLE);
}

const sl_kernel sl_cpu_spmm_f64_portable = {.name = "spmm-f64-portable",
                                            .op = SL_OP_SPMM,
                                            .ok = ok,
                                            .cost = cost,
                                            .prepare = sl_cpu_spmm_prepare,
                                            .refill = sl_refill_nothing,
                                            .release = sl_cpu_spmm_release,
                                            .run = run};
