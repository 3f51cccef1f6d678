/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of SpMM that a plan asks for by name: finding it, what it accepts, and why it does not support a
 * part. */
#ifndef SLEY_DEVICE_ASKED_KERNEL_H
#define SLEY_DEVICE_ASKED_KERNEL_H

#include "device/kernel.h"

/* The name that users write, without the operation's: "stream" for "spmm-stream". Points into the kernel's
 * name. */
const char *sl_kernel_short_name(const sl_kernel *kernel);

/* Finds the kernel of SpMM with that short name in a device's table (NULL-terminated). Errors: SLEY_ERR_ARG,
 * with a message that lists all names. */
sley_status sl_kernel_named(const char *device, const sl_kernel *const *kernels, const char *name,
                            const sl_kernel **out);

/* Returns whether the table has a kernel of that name. */
bool sl_kernel_is_there(const sl_kernel *const *kernels, const char *name);

/* Returns whether the kernel accepts an X in two memories, and columns and values that are in device memory
 * when it prepares. Plans that ask for the kernel choose their form by it. kernel = NULL, any kernel:
 * true. */
bool sl_kernel_takes_far(const sl_kernel *kernel, sley_dtype dtype, int64_t k);
bool sl_kernel_takes_resident(const sl_kernel *kernel, sley_dtype dtype, int64_t k);

/* Returns SLEY_ERR_UNSUPPORTED for a kernel whose predicate is false for the problem. The message has the
 * reason, if a problem that differs in one property is supported. Calls only predicates. */
sley_status sl_kernel_refuse(const char *device, const sl_kernel *kernel, const sl_spmm_problem *problem);

#endif
