/* SPDX-License-Identifier: Apache-2.0 */
/* For SpMM kernels of f16 values that are summed in f32. The including file has included a halves_*.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_VALUES_F16_H
#define SLEY_DEVICE_CPU_VECTORS_VALUES_F16_H

enum { DTYPE = SLEY_F16 };

static inline sum widen(value v) {
  return sl_f32_of_f16(v);
}
static inline vec widened(halves v) {
  return widened_f16(v);
}
static inline halves rounded(vec v) {
  return rounded_f16(v);
}

#include "device/cpu/vectors/values_16.h"

#endif
