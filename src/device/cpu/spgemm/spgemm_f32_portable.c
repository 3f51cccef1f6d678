/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of sparse products in f32 for any processor. */
typedef float sum;

#include "device/cpu/spgemm/short_portable.h"
#include "device/cpu/spgemm/take_portable.h"

#include "device/cpu/spgemm/spgemm_body.h"

int64_t sl_spgemm_rows_f32_portable(const sl_spgemm_problem *problem, sl_spgemm_space *space, int64_t begin,
                                    int64_t end, void *col, void *val, int64_t *count) {
  return spgemm_rows(problem, space, begin, end, col, val, count);
}
