/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of values as doubles, for operations that compute in double. Each value is rounded once, when it is
 * stored. */
#ifndef SLEY_DEVICE_CPU_DENSE_DOUBLES_H
#define SLEY_DEVICE_CPU_DENSE_DOUBLES_H

#include "base/value.h"

/* Number of values processed at a time. */
enum { SL_DOUBLES = 256 };

/* Load and store `count` values, at most SL_DOUBLES, from value i of an array on. */
void sl_doubles_load(const void *array, sley_dtype dtype, int64_t i, int64_t count, double *to);
void sl_doubles_store(void *array, sley_dtype dtype, int64_t i, int64_t count, const double *from);

/* Rows that a thread of a team claims at a time: about 64 KiB of values, at least one row. */
static inline int64_t sl_rows_grain(int64_t cols) {
  return cols >= 1 << 14 ? 1 : (1 << 14) / (cols + 1) + 1;
}

#endif
