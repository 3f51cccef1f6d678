/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for any processor. */
#include "base/half.h"
#include "device/cpu/lanes_portable.h"

typedef uint16_t value;
enum { NARROW = 1 };

static inline sum widen(value v) {
  return sl_f32_of_f16(v);
}
static inline vec load_values(const value *p) {
  return widen(*p);
}
static inline vec load_values_part(const value *p, mask m) {
  return m ? widen(*p) : 0;
}
static inline void store_values(value *p, vec v) {
  *p = sl_f16_of_f32(v);
}
static inline void store_values_part(value *p, mask m, vec v) {
  if (m)
    store_values(p, v);
}
static inline void stream_values(value *p, vec v) {
  store_values(p, v);
}

#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F16, SL_CPU_PORTABLE);
}

const sl_kernel sl_cpu_spmm_f16_portable = {.name = "spmm-f16-portable",
                                            .op = SL_OP_SPMM,
                                            .ok = ok,
                                            .cost = cost,
                                            .prepare = sl_cpu_spmm_prepare,
                                            .release = sl_cpu_spmm_release,
                                            .run = run};
