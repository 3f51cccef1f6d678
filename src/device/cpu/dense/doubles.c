/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/dense/doubles.h"

void sl_doubles_load(const void *array, sley_dtype dtype, int64_t i, int64_t count, double *to) {
  if (dtype == SLEY_F32)
    for (int64_t j = 0; j < count; j++)
      to[j] = sl_value_at(array, SLEY_F32, i + j);
  else if (dtype == SLEY_F64)
    for (int64_t j = 0; j < count; j++)
      to[j] = sl_value_at(array, SLEY_F64, i + j);
  else if (dtype == SLEY_F16)
    for (int64_t j = 0; j < count; j++)
      to[j] = sl_value_at(array, SLEY_F16, i + j);
  else
    for (int64_t j = 0; j < count; j++)
      to[j] = sl_value_at(array, SLEY_BF16, i + j);
}

void sl_doubles_store(void *array, sley_dtype dtype, int64_t i, int64_t count, const double *from) {
  if (dtype == SLEY_F32)
    for (int64_t j = 0; j < count; j++)
      sl_value_set(array, SLEY_F32, i + j, from[j]);
  else if (dtype == SLEY_F64)
    for (int64_t j = 0; j < count; j++)
      sl_value_set(array, SLEY_F64, i + j, from[j]);
  else if (dtype == SLEY_F16)
    for (int64_t j = 0; j < count; j++)
      sl_value_set(array, SLEY_F16, i + j, from[j]);
  else
    for (int64_t j = 0; j < count; j++)
      sl_value_set(array, SLEY_BF16, i + j, from[j]);
}
