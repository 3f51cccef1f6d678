/* SPDX-License-Identifier: Apache-2.0 */
/* The serial oracle of reductions: single values in the order of the parts, written apart from the library's
 * kernels. */
#ifndef SLEY_TESTS_DENSE_ORACLE_H
#define SLEY_TESTS_DENSE_ORACLE_H

#include "support.h"

/* The number of kinds of collectives. */
int oracle_kinds(void);

/* Value i of an array of the type becomes one that bits determine: ordinary, or at times a zero of either
 * sign, subnormal, the largest, infinite or NaN. */
void oracle_draw(void *array, sley_type type, int64_t i, uint64_t bits);

/* Value i becomes value, rounded; not of i64. */
void oracle_set(void *array, sley_type type, int64_t i, double value);

/* *out becomes values[0] op values[1] op ..., from left to right. */
void oracle_reduce(sley_reduce op, sley_type type, int count, const void *const *values, void *out);

#endif
