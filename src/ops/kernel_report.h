/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels sum the entries of a plan: over all ranks, and in words of one. */
#ifndef SLEY_OPS_KERNEL_REPORT_H
#define SLEY_OPS_KERNEL_REPORT_H

#include "exec/kernel_use.h"

enum { SL_KERNEL_LINE = 128, SL_KERNEL_LINES = 32 };

/* What sley_plan_kernels tells of a plan of which this rank uses so much. Collective. */
sley_status sl_kernel_use_of_all(sl_comm *comm, const sl_kernel_use *own, sley_kernel_use *out, int room,
                                 int *count);

/* A line for each kernel and kind of part of one rank, SL_KERNEL_LINES at most of SL_KERNEL_LINE bytes.
 * Returns the length. */
size_t sl_kernel_use_describe(const sl_device *device, const sl_kernel_use *own, char *text, size_t bytes);

#endif
