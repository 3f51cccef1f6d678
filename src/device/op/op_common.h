/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of an operation on every device: the arguments that operations on rows support, and
 * costs estimated from the bytes that an operation moves. */
#ifndef SLEY_DEVICE_OP_OP_COMMON_H
#define SLEY_DEVICE_OP_OP_COMMON_H

#include "device/figures.h"
#include "device/kernel.h"

/* Predicates for sl_kernel's ok: return whether the operation is defined for the arguments. */
bool sl_rows_ok(const sl_kernel_args *args);
bool sl_convert_ok(const sl_kernel_args *args);
bool sl_pull_ok(const sl_kernel_args *args);
bool sl_scale_ok(const sl_kernel_args *args);
bool sl_round_ok(const sl_kernel_args *args);
bool sl_always_ok(
    const sl_kernel_args *args); /* Predicate for ARRIVE and AWAIT, which support all arguments. */

/* Bytes of the longest row of a pull. */
int64_t sl_pull_row_bytes(const sl_pull_args *args);

/* For sl_kernel's cost, if the time is a launch and the bytes that the operation moves: a copied row counts
 * once, a converted row with both of its types. Operations whose bytes are not known cost a launch; each has
 * one kernel on a device. */
double sl_cost_of_bytes(const sl_device_figures *figures, const sl_kernel_args *args);

#endif
