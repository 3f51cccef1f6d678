/* SPDX-License-Identifier: Apache-2.0 */
/* The conversion of one row, for the kernel in convert.c, by instruction set. */
#ifndef SLEY_DEVICE_CPU_CONVERT_H
#define SLEY_DEVICE_CPU_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"
#include "base/types.h"

/* k values of type from become, or are added to, k of type to; from and to are as sl_convert_args allows. */
typedef void sl_cpu_convert_row(char *dst, sley_dtype to, const char *src, sley_dtype from, int64_t k,
                                bool add);

sl_cpu_convert_row sl_cpu_convert_row_portable, sl_cpu_convert_row_avx2, sl_cpu_convert_row_neon;

/* The fastest that this machine runs. */
sl_cpu_convert_row *sl_cpu_convert_row_find(void);

#endif
