/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of SpMM that a plan asks for by name: finding it, what it takes, and why it does not serve a part.
 */
#ifndef SLEY_DEVICE_ASKED_KERNEL_H
#define SLEY_DEVICE_ASKED_KERNEL_H

#include "device/kernel.h"

/* The name that users give: without that of the operation, "stream" for "spmm-stream". Points into the name.
 */
const char *sl_kernel_short_name(const sl_kernel *kernel);

/* The kernel of SpMM with that short name in a device's table (NULL-terminated). Errors: SLEY_ERR_ARG, with
 * all names. */
sley_status sl_kernel_named(const char *device, const sl_kernel *const *kernels, const char *name,
                            const sl_kernel **out);

/* Whether there is one of that name. */
bool sl_kernel_is_there(const sl_kernel *const *kernels, const char *name);

/* Whether the kernel takes an X in two memories, and columns and values that lie in the device's memory when
 * it prepares: plans that ask for it are made so that it serves, where there is a choice. NULL, any kernel:
 * true. */
bool sl_kernel_takes_far(const sl_kernel *kernel, sley_dtype dtype, int64_t k);
bool sl_kernel_takes_resident(const sl_kernel *kernel, sley_dtype dtype, int64_t k);

/* For a kernel whose predicate does not hold of the problem: SLEY_ERR_UNSUPPORTED with the reason, as far as
 * other problems tell that differ in one thing. Only predicates are called. */
sley_status sl_kernel_refuse(const char *device, const sl_kernel *kernel, const sl_spmm_problem *problem);

#endif
