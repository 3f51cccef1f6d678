/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the instruction sets that this processor has and the library was built for. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "device/cpu/rows/convert.h"
#include "device/cpu/cpu.h"

static const char *const isa_names[] = {[SL_CPU_PORTABLE] = "portable",
                                        [SL_CPU_AVX2] = "avx2",
                                        [SL_CPU_AVX512] = "avx512",
                                        [SL_CPU_NEON] = "neon"};

#if defined(__x86_64__)
/* Returns whether the processor converts f16, bit 29 of CPUID's leaf 1, which clang's __builtin_cpu_supports
 * does not know. The system saves the registers involved if AVX2 works. Asked once, because virtual machines
 * trap CPUID and kernels are chosen at every prepare. */
static bool has_f16c(void) {
  enum { UNKNOWN, NO, YES };
  static _Atomic int known = UNKNOWN;
  int answer = atomic_load_explicit(&known, memory_order_relaxed);
  if (answer == UNKNOWN) {
    unsigned eax, ebx, ecx, edx;
    answer = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) ? YES : NO;
    atomic_store_explicit(&known, answer, memory_order_relaxed);
  }
  return answer == YES;
}
#endif

static bool machine_has(sl_cpu_isa isa) {
  switch (isa) {
  case SL_CPU_PORTABLE:
    return true;
#if defined(__x86_64__)
  case SL_CPU_AVX2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  case SL_CPU_AVX512:
    return machine_has(SL_CPU_AVX2) && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
#elif defined(__aarch64__)
  case SL_CPU_NEON:
    return true;
#endif
  default:
    return false;
  }
}

/* Every build has convert_avx2.c. */
sl_cpu_convert_row *sl_cpu_convert_row_find(void) {
#if defined(__x86_64__)
  if (sl_cpu_has(SL_CPU_AVX2) || sl_cpu_has(SL_CPU_AVX512))
    return sl_cpu_convert_row_avx2;
#elif defined(__aarch64__)
  if (sl_cpu_has(SL_CPU_NEON))
    return sl_cpu_convert_row_neon;
#endif
  return sl_cpu_convert_row_portable;
}

bool sl_cpu_has(sl_cpu_isa isa) {
  const char *limit = getenv("SLEY_CPU");
  for (int i = 0; limit && i < (int)isa; i++)
    if (strcmp(limit, isa_names[i]) == 0)
      return false;
  return sl_cpu_built[isa] && machine_has(isa);
}

const char *sl_cpu_isa_name(void) {
  sl_cpu_isa best = SL_CPU_NEON;
  while (best != SL_CPU_PORTABLE && !sl_cpu_has(best))
    best--;
  return isa_names[best];
}
