/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the marked columns of a dense accumulator by AVX-512, with the contracts of take_portable.h.
 * Also overwrites up to 16 entries after those returned. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_TAKE_AVX512_H
#define SLEY_DEVICE_CPU_SPGEMM_TAKE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "device/cpu/spgemm/spgemm_rows.h"

enum { FEW = 8 }; /* maximum number of bits that are taken one by one */

static inline uint64_t marked(const uint8_t *marks) {
  const __m512i all = _mm512_loadu_si512(marks);
  return _mm512_test_epi8_mask(all, all);
}

/* Stores the sums whose bits are set in mask contiguously, out of 16, and sets them to empty. */
static inline __attribute__((always_inline)) void take_sums(__mmask16 mask, sum empty, sum *sums, sum *val) {
  if (sizeof(sum) == sizeof(float)) {
    float *from = (float *)sums;
    _mm512_storeu_ps((float *)val, _mm512_maskz_compress_ps(mask, _mm512_loadu_ps(from)));
    _mm512_storeu_ps(from, _mm512_set1_ps((float)empty));
  } else {
    double *from = (double *)sums, *to = (double *)val;
    const __mmask8 low = (__mmask8)mask, high = (__mmask8)(mask >> 8);
    const __m512d none = _mm512_set1_pd((double)empty);
    _mm512_storeu_pd(to, _mm512_maskz_compress_pd(low, _mm512_loadu_pd(from)));
    _mm512_storeu_pd(to + __builtin_popcount(low), _mm512_maskz_compress_pd(high, _mm512_loadu_pd(from + 8)));
    _mm512_storeu_pd(from, none);
    _mm512_storeu_pd(from + 8, none);
  }
}

static inline __attribute__((always_inline)) int64_t take_group(uint64_t bits, int64_t first, sum empty,
                                                                sum *sums, int32_t *col, sum *val) {
  int64_t count = 0;
  if (__builtin_popcountll(bits) <= FEW) {
    for (; bits != 0; bits &= bits - 1, count++) {
      const int i = __builtin_ctzll(bits);
      col[count] = (int32_t)(first + i);
      val[count] = sums[i];
      sums[i] = empty;
    }
    return count;
  }
  const __m512i step = _mm512_set1_epi32(16);
  __m512i columns = _mm512_add_epi32(_mm512_set1_epi32((int32_t)first),
                                     _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  for (int part = 0; part < 4; part++) {
    const __mmask16 mask = (__mmask16)(bits >> 16 * part);
    _mm512_storeu_si512(col + count, _mm512_maskz_compress_epi32(mask, columns));
    take_sums(mask, empty, sums + 16 * part, val + count);
    count += __builtin_popcount(mask);
    columns = _mm512_add_epi32(columns, step);
  }
  return count;
}

#endif
