/* SPDX-License-Identifier: Apache-2.0 */
/* The conversion of one row, for the kernel in convert.c, by instruction set. */
#ifndef SLEY_DEVICE_CPU_ROWS_CONVERT_H
#define SLEY_DEVICE_CPU_ROWS_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"
#include "base/types.h"

/* Converts k values of type from to type to, and stores them or adds them. from and to are types that
 * sl_convert_args allows. */
typedef void sl_cpu_convert_row(char *dst, sley_dtype to, const char *src, sley_dtype from, int64_t k,
                                bool add);

sl_cpu_convert_row sl_cpu_convert_row_portable, sl_cpu_convert_row_avx2, sl_cpu_convert_row_neon;

/* Returns the fastest conversion that this machine supports. */
sl_cpu_convert_row *sl_cpu_convert_row_find(void);

#endif
