/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of operations on rows have in common on every device: the arguments they serve, and the bytes
 * they process, from which their costs are estimated. */
#ifndef SLEY_DEVICE_OP_OP_COMMON_H
#define SLEY_DEVICE_OP_OP_COMMON_H

#include "device/kernel.h"

/* Predicates for sl_kernel's ok: whether the arguments are among those that the operation is defined for. */
bool sl_rows_ok(const sl_kernel_args *args);
bool sl_convert_ok(const sl_kernel_args *args);
bool sl_pull_ok(const sl_kernel_args *args);
bool sl_scale_ok(const sl_kernel_args *args);
bool sl_round_ok(const sl_kernel_args *args);
bool sl_always_ok(const sl_kernel_args *args); /* ARRIVE and AWAIT */

/* Bytes of the longest row of a pull. */
int64_t sl_pull_row_bytes(const sl_pull_args *args);

/* Bytes of the rows that ROWS, CONVERT, PULL, SCALE or ROUND processes, counted as its bandwidth is measured:
 * a row that is copied counts once, one that is converted with both types. 0 for other operations. */
double sl_op_bytes(const sl_kernel_args *args);

#endif
