/* SPDX-License-Identifier: Apache-2.0 */
/* For SpMM kernels of bf16 values that are summed in f32. The including file has included a halves_*.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_VALUES_BF16_H
#define SLEY_DEVICE_CPU_VECTORS_VALUES_BF16_H

enum { DTYPE = SLEY_BF16 };

static inline sum widen(value v) {
  return sl_f32_of_bf16(v);
}
static inline vec widened(halves v) {
  return widened_bf16(v);
}
static inline halves rounded(vec v) {
  return rounded_bf16(v);
}

#include "device/cpu/vectors/values_16.h"

#endif
