/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes with the widths of rows that follow from the number of columns. */
#include "plan/wishes.h"

#include "base/value.h"

enum { WIDEST_VALUE = 64 }; /* more than any dtype's bytes, as sl_inspect limits k */

sl_plan_wishes sl_plan_wishes_for(int64_t k, sley_dtype dtype) {
  int64_t width = k < 0 || k > INT64_MAX / WIDEST_VALUE ? 0 : k;
  return (sl_plan_wishes){.k = k,
                          .row_bytes = width * (int64_t)sley_dtype_bytes(dtype),
                          .sum_bytes = width * (int64_t)sley_dtype_bytes(sl_sum_dtype(dtype)),
                          .wire = dtype};
}
