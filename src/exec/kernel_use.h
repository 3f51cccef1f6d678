/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels sum how many of a plan's entries, by the kind of part, and how accurately. */
#ifndef SLEY_EXEC_KERNEL_USE_H
#define SLEY_EXEC_KERNEL_USE_H

#include "device/product.h"
#include "exec/exec.h"

enum { SL_PART_KINDS = SLEY_PART_STAGE + 1, SL_KERNELS_MOST = 64 };

/* Entries by the kind of part and by the kernel, which is numbered among the device's kernels of SpMM; and
 * how many of them are in the kernel's layout. */
typedef struct sl_kernel_use {
  int64_t entries[SL_PART_KINDS][SL_KERNELS_MOST];
  int64_t copied[SL_PART_KINDS][SL_KERNELS_MOST];
} sl_kernel_use;

/* What the least accurate of two promises. */
sl_accuracy sl_accuracy_least(sl_accuracy a, sl_accuracy b);

/* Of all its parts, by the kernels that sum them and those that make its updates. */
sl_accuracy sl_exec_accuracy(const sl_exec *exec);

/* Of a bound plan. */
void sl_kernel_use_of_exec(const sl_exec *exec, sl_kernel_use *out);

/* About what a plan would use that is dry: the entries that its parts tell, and the kernels that would serve
 * them. Nothing where entries travel. Calls the kernels' predicates and costs. */
void sl_kernel_use_of_dry(const sl_plan *plan, const sl_inspection *ins, sl_kernel_use *out);

/* The kernel of that number; NULL: there is none. */
const sl_kernel *sl_kernel_numbered(const sl_device *device, int number);

#endif
