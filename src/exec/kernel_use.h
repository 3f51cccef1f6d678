/* SPDX-License-Identifier: Apache-2.0 */
/* How many of a plan's entries each kernel sums, by the kind of part, and how accurate the sums are. */
#ifndef SLEY_EXEC_KERNEL_USE_H
#define SLEY_EXEC_KERNEL_USE_H

#include "device/product.h"
#include "exec/exec.h"

enum { SL_PART_KINDS = SLEY_PART_STAGE + 1, SL_KERNELS_MOST = 64 };

/* Entries by the kind of part and by the kernel's number among the device's kernels of SpMM; copied: number
 * of these entries that are stored in the kernel's own layout. */
typedef struct sl_kernel_use {
  int64_t entries[SL_PART_KINDS][SL_KERNELS_MOST];
  int64_t copied[SL_PART_KINDS][SL_KERNELS_MOST];
} sl_kernel_use;

/* Returns the accuracy that both a and b guarantee. */
sl_accuracy sl_accuracy_least(sl_accuracy a, sl_accuracy b);

/* Returns the accuracy that all kernels guarantee that sum its parts or compute its updates. */
sl_accuracy sl_exec_accuracy(const sl_exec *exec);

/* The use of a bound plan. */
void sl_kernel_use_of_exec(const sl_exec *exec, sl_kernel_use *out);

/* Estimates the use of a dry plan, from the approximate entries of its parts and the kernels that would be
 * chosen. All numbers are 0 if entries travel. Calls the kernels' predicates and costs. */
void sl_kernel_use_of_dry(const sl_plan *plan, const sl_inspection *ins, sl_kernel_use *out);

/* The kernel with that number, or NULL. */
const sl_kernel *sl_kernel_numbered(const sl_device *device, int number);

#endif
