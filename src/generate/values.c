/* SPDX-License-Identifier: Apache-2.0 */
/* Dense random values. */
#include "base/random.h"
#include "generate/generate.h"

void sl_generate_values(uint64_t seed, int64_t first, int64_t rows, int64_t cols, const int64_t *row_names,
                        sley_dtype dtype, void *data, int64_t ld) {
  const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
  for (int64_t i = 0; i < rows; i++) {
    uint64_t name = (uint64_t)(row_names ? row_names[i] : first + i);
    uint64_t row_seed = sl_random(seed, name, 0);
    if (dtype == SLEY_F32) {
      /* 24 bits, so that rounding cannot reach 1. */
      float *row = (float *)data + i * ld;
      for (int64_t j = 0; j < cols; j++)
        row[j] = (float)(int32_t)(sl_mix(row_seed + (uint64_t)j * golden) >> 40) * 0x1p-23f - 1.0f;
    } else {
      double *row = (double *)data + i * ld;
      for (int64_t j = 0; j < cols; j++)
        row[j] = 2.0 * sl_unit(sl_mix(row_seed + (uint64_t)j * golden)) - 1.0;
    }
  }
}
