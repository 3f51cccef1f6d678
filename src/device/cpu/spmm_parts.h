/* SPDX-License-Identifier: Apache-2.0 */
/* What the SpMM kernels of all instruction sets share: cutting the product into parts and running them on a
 * team. */
#ifndef SLEY_DEVICE_CPU_SPMM_PARTS_H
#define SLEY_DEVICE_CPU_SPMM_PARTS_H

#include "device/cpu/cpu.h"

/* Stored rows [row, row_end), features [feature, feature_end). No two parts of a product share an element of
 * Y. */
typedef struct sl_spmm_part {
  int64_t row, row_end;
  int64_t feature, feature_end;
} sl_spmm_part;

typedef void (*sl_spmm_part_body)(const sl_spmm_run *args, const sl_spmm_part *part);

/* Parts of about equal work, counted in entries and rows. A row longer than a part is cut over its features
 * where k allows, never over its entries: that would change the order of summation. The result depends on the
 * team's size, the bits of the product do not. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cpu_spmm_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                void **prepared);
void sl_cpu_spmm_release(sl_device *device, void *prepared);

/* Runs body over the parts that args->prepared holds, or over equal row ranges if it holds none. */
sley_status sl_cpu_spmm_run(sl_queue *queue, const sl_spmm_run *args, sl_spmm_part_body body);

/* Seconds with vectors of so many lanes; 1: no vectors, and a call for each multiply-add. by_value: a vector
 * that is not whole is loaded value by value. Narrow products are faster with narrow vectors. */
double sl_cpu_spmm_cost(const sl_spmm_problem *problem, int lanes, bool by_value);

#endif
