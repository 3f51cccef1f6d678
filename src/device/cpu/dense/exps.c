/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/dense/exps.h"

#include "device/cpu/cpu.h"

void sl_exps(double *v, int64_t count) {
#if defined(__x86_64__)
  if (sl_cpu_has(SL_CPU_AVX512)) {
    sl_exps_avx512(v, count);
    return;
  }
  if (sl_cpu_has(SL_CPU_AVX2)) {
    sl_exps_avx2(v, count);
    return;
  }
#endif
  sl_exps_portable(v, count);
}
