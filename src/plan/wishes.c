/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes with the widths of rows that follow from the number of columns. */
#include "plan/wishes.h"

#include <string.h>

#include "base/value.h"

enum { WIDEST_VALUE = 64 }; /* more than the bytes of any dtype, because sl_inspect limits k */

sl_plan_wishes sl_plan_wishes_for(int64_t k, sley_dtype dtype) {
  int64_t width = k < 0 || k > INT64_MAX / WIDEST_VALUE ? 0 : k;
  return (sl_plan_wishes){.k = k,
                          .row_bytes = width * (int64_t)sley_dtype_bytes(dtype),
                          .sum_bytes = width * (int64_t)sley_dtype_bytes(sl_sum_dtype(dtype)),
                          .wire = dtype};
}

sley_status sl_precision_read(const char *name, sley_dtype dtype, bool reproducible, bool *tf32) {
  *tf32 = false;
  if (!name || strcmp(name, "full") == 0)
    return SLEY_OK;
  if (strcmp(name, "tf32") != 0)
    return sl_fail(SLEY_ERR_ARG, "there is no precision \"%s\": give full or tf32", name);
  if (dtype != SLEY_F32)
    return sl_fail(SLEY_ERR_ARG, "precision tf32 applies to f32 values only: leave it out");
  if (reproducible)
    return sl_fail(SLEY_ERR_ARG, "reproducible bits do not depend on which kernel multiplies, but with "
                                 "precision tf32 some kernels round values: leave one of the two out");
  *tf32 = true;
  return SLEY_OK;
}
