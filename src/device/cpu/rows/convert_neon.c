/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of rows on processors that convert four f16 values at once. */
#include "device/cpu/rows/convert.h"

#include <arm_neon.h>

static void narrow_f16(uint16_t *to, const float *from, int64_t count) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4)
    vst1_u16(to + j, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(from + j))));
  for (; j < count; j++)
    to[j] = sl_f16_of_f32(from[j]);
}

static void widen_f16(float *to, const uint16_t *from, int64_t count) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4)
    vst1q_f32(to + j, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + j))));
  for (; j < count; j++)
    to[j] = sl_f32_of_f16(from[j]);
}

#include "device/cpu/rows/convert_body.h"

void sl_cpu_convert_row_neon(char *dst, sley_dtype to, const char *src, sley_dtype from, int64_t k,
                             bool add) {
  convert_row(dst, to, src, from, k, add);
}
