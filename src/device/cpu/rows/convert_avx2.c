/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of rows on processors that convert eight f16 values at once. */
#include "device/cpu/rows/convert.h"

#include <immintrin.h>

static void narrow_f16(uint16_t *to, const float *from, int64_t count) {
  int64_t j = 0;
  for (; j + 8 <= count; j += 8)
    _mm_storeu_si128(
        (__m128i *)(void *)(to + j),
        _mm256_cvtps_ph(_mm256_loadu_ps(from + j), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  for (; j < count; j++)
    to[j] = sl_f16_of_f32(from[j]);
}

static void widen_f16(float *to, const uint16_t *from, int64_t count) {
  int64_t j = 0;
  for (; j + 8 <= count; j += 8)
    _mm256_storeu_ps(to + j, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + j))));
  for (; j < count; j++)
    to[j] = sl_f32_of_f16(from[j]);
}

#include "device/cpu/rows/convert_body.h"

void sl_cpu_convert_row_avx2(char *dst, sley_dtype to, const char *src, sley_dtype from, int64_t k,
                             bool add) {
  convert_row(dst, to, src, from, k, add);
}
