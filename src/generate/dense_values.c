/* SPDX-License-Identifier: Apache-2.0 */
/* Dense random values. */
#include "base/random.h"
#include "base/value.h"
#include "generate/generate.h"

/* Returns a value with 24 bits, so that rounding cannot reach 1. */
static inline float single_value(uint64_t seed) {
  return (float)(int32_t)(sl_mix(seed) >> 40) * 0x1p-23f - 1.0f;
}

void sl_generate_values(uint64_t seed, int64_t first, int64_t rows, int64_t cols, const int64_t *row_names,
                        sley_dtype dtype, void *data, int64_t ld) {
  const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
  for (int64_t i = 0; i < rows; i++) {
    uint64_t name = (uint64_t)(row_names ? row_names[i] : first + i);
    uint64_t row_seed = sl_random(seed, name, 0);
    if (dtype == SLEY_F32) {
      float *row = (float *)data + i * ld;
      for (int64_t j = 0; j < cols; j++)
        row[j] = single_value(row_seed + (uint64_t)j * golden);
    } else if (sl_is_16_bit(dtype)) {
      /* A number that would be rounded to 1 becomes the largest number below 1. */
      const double most = dtype == SLEY_F16 ? 1 - 0x1p-11 : 1 - 0x1p-8;
      for (int64_t j = 0; j < cols; j++) {
        double value = (double)single_value(row_seed + (uint64_t)j * golden);
        sl_value_set(data, dtype, i * ld + j, value < most ? value : most);
      }
    } else {
      double *row = (double *)data + i * ld;
      for (int64_t j = 0; j < cols; j++)
        row[j] = 2.0 * sl_unit(sl_mix(row_seed + (uint64_t)j * golden)) - 1.0;
    }
  }
}
