/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of operations on rows on every device: the arguments that they support, and the bytes
 * that they process, from which their costs are estimated. */
#ifndef SLEY_DEVICE_OP_OP_COMMON_H
#define SLEY_DEVICE_OP_OP_COMMON_H

#include "device/kernel.h"

/* Predicates for sl_kernel's ok: return whether the operation is defined for the arguments. */
bool sl_rows_ok(const sl_kernel_args *args);
bool sl_convert_ok(const sl_kernel_args *args);
bool sl_pull_ok(const sl_kernel_args *args);
bool sl_scale_ok(const sl_kernel_args *args);
bool sl_round_ok(const sl_kernel_args *args);
bool sl_always_ok(const sl_kernel_args *args); /* for ARRIVE and AWAIT */

/* Bytes of the longest row of a pull. */
int64_t sl_pull_row_bytes(const sl_pull_args *args);

/* Bytes of the rows that ROWS, CONVERT, PULL, SCALE or ROUND processes, counted as bandwidth is measured: a
 * copied row counts once, a converted row with both of its types. 0 for other operations. */
double sl_op_bytes(const sl_kernel_args *args);

#endif
