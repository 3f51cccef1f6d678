/* SPDX-License-Identifier: Apache-2.0 */
/* Distance of rows that devices load as vectors. */
#ifndef SLEY_GRAPH_ROW_PITCH_H
#define SLEY_GRAPH_ROW_PITCH_H

#include "base/types.h"

/* Values from one row to the next, if rows of cols values of dtype begin at multiples of 16 bytes. */
static inline int64_t sl_row_pitch(int64_t cols, sley_dtype dtype) {
  const int64_t step = 16 / (int64_t)sley_dtype_bytes(dtype);
  return (cols + step - 1) / step * step;
}

#endif
