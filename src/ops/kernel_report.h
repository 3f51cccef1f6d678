/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that sum the entries of a plan: over all ranks, and as text for one rank. */
#ifndef SLEY_OPS_KERNEL_REPORT_H
#define SLEY_OPS_KERNEL_REPORT_H

#include "exec/kernel_use.h"

enum { SL_KERNEL_LINE = 128, SL_KERNEL_LINES = 32 };

/* Computes the result of sley_plan_kernels for a plan, from this rank's part `own`. Collective. */
sley_status sl_kernel_use_of_all(sl_comm *comm, const sl_kernel_use *own, sley_kernel_use *out, int room,
                                 int *count);

/* Writes a line for each kernel and kind of part of one rank, at most SL_KERNEL_LINES of at most
 * SL_KERNEL_LINE bytes. Returns the length. */
size_t sl_kernel_use_describe(const sl_device *device, const sl_kernel_use *own, char *text, size_t bytes);

#endif
