/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f64 for NEON: the operations that spmm_body.h is made of. */
#include <arm_neon.h>
#include <string.h>

#include "device/cpu/spmm_parts.h"

typedef double sum;
typedef float64x2_t vec;
typedef int64_t mask; /* number of lanes */
enum { LANES = 2 };

static inline mask mask_of(int64_t lanes) {
  return lanes;
}
static inline vec vec_zero(void) {
  return vdupq_n_f64(0);
}
static inline vec vec_all(sum s) {
  return vdupq_n_f64(s);
}
static inline vec vec_load(const sum *p) {
  return vld1q_f64(p);
}
static inline vec vec_load_part(const sum *p, mask m) {
  sum part[LANES] = {0};
  memcpy(part, p, (size_t)m * sizeof *p);
  return vld1q_f64(part);
}
static inline void vec_store(sum *p, vec v) {
  vst1q_f64(p, v);
}
static inline void vec_store_part(sum *p, mask m, vec v) {
  sum part[LANES];
  vst1q_f64(part, v);
  memcpy(p, part, (size_t)m * sizeof *p);
}
/* There are no such stores here. */
static inline void vec_stream(sum *p, vec v) {
  vec_store(p, v);
}
static inline void stream_end(void) {
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return vfmaq_f64(acc, s, x);
}

#include "device/cpu/spmm_same.h"
#include "device/cpu/spmm_body.h"

static bool ok(const sl_kernel_args *args) {
  return sl_cpu_spmm_ok(args, SLEY_F64, SL_CPU_NEON);
}

const sl_kernel sl_cpu_spmm_f64_neon = {.name = "spmm-f64-neon",
                                        .op = SL_OP_SPMM,
                                        .ok = ok,
                                        .cost = cost,
                                        .prepare = sl_cpu_spmm_prepare,
                                        .refill = sl_refill_nothing,
                                        .release = sl_cpu_spmm_release,
                                        .run = run};
