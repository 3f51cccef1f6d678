/* SPDX-License-Identifier: Apache-2.0 */
/* Serial oracle of reductions: it reduces single values in the order of the parts, and shares no code with
 * the library's kernels. */
#ifndef SLEY_TESTS_DENSE_ORACLE_H
#define SLEY_TESTS_DENSE_ORACLE_H

#include "support.h"

/* Returns the number of kinds of collectives. */
static inline int oracle_kinds(void) {
  int count = 0;
  while (sley_collective_kinds()[count])
    count++;
  return count;
}

/* Sets value i of an array to a value that `bits` determines: ordinary, or sometimes a zero of either sign,
 * subnormal, the largest, infinite or NaN. */
void oracle_draw(void *array, sley_type type, int64_t i, uint64_t bits);

/* Sets value i to `value`, rounded. Not for i64. */
void oracle_set(void *array, sley_type type, int64_t i, double value);

/* Returns a value, exactly. Not for whole-number types. */
double oracle_get(const void *value, sley_type type);

/* Sets *out to values[0] op values[1] op ..., from left to right. */
void oracle_reduce(sley_reduce op, sley_type type, int count, const void *const *values, void *out);

#endif
