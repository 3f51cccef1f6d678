/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the SpMM kernels of all instruction sets: cuts a product into parts and runs them on a team. */
#ifndef SLEY_DEVICE_CPU_SPMM_SPMM_PARTS_H
#define SLEY_DEVICE_CPU_SPMM_SPMM_PARTS_H

#include "device/cpu/cpu.h"
#include "device/cpu/spmm/bundles.h"

/* Stored rows [row, row_end), features [feature, feature_end). Parts of a product have no element of Y in
 * common. */
typedef struct sl_spmm_part {
  int64_t row, row_end;
  int64_t feature, feature_end;
  bool near;   /* a panel of the rows of X that it reads stays in a near cache most of the time */
  bool panels; /* summed panel after panel, not block after block of rows */
  /* Its rows as bundles [bundle, bundle_end); NULL: not in bundles. */
  const sl_bundles *bundles;
  int64_t bundle, bundle_end;
} sl_spmm_part;

/* Most bytes of a row of sums in a bundle. */
enum { SL_SPMM_BUNDLED_BYTES = 256 };

/* Rows of a bundle. SL_SPMM_HEIGHT_ONE: for k = 1, where each lane is a row. SL_SPMM_HEIGHT: for wider
 * products, where each row has its own vectors. */
enum { SL_SPMM_HEIGHT_ONE = 16, SL_SPMM_HEIGHT = 8 };

typedef void (*sl_spmm_part_body)(const sl_spmm_run *args, const sl_spmm_part *part);

/* Cuts a product into parts of about equal work, counted in entries and rows; parts of narrow products are in
 * bundles. A row longer than a part is cut by features if k allows, never by entries, which would change the
 * order of summation. The parts depend on the team's size; the bits of the product do not. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_cpu_spmm_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                void **prepared);
/* The same for a problem without kernel arguments; whole_rows: no row is divided. */
sley_status sl_cpu_spmm_parts(sl_queue *queue, const sl_spmm_problem *problem, bool whole_rows,
                              void **prepared);
sley_status sl_cpu_spmm_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               const void *val, sl_values_in where, void *prepared);
int64_t sl_cpu_spmm_memory(const sl_kernel_args *args, int64_t *passing);

void sl_cpu_spmm_release(sl_device *device, void *prepared);

/* Traits of these products: prepare may copy entries to bundles. */
extern const struct sl_product_traits sl_cpu_spmm_product;

/* Runs body over the parts in args->prepared, or over equal ranges of rows if it is NULL. more: seconds of
 * one thread in addition to the product. */
sley_status sl_cpu_spmm_run(sl_queue *queue, const sl_spmm_run *args, double more, sl_spmm_part_body body);

/* Estimated seconds with vectors of `lanes` lanes. lanes = 1: no vectors, and a function call for each
 * multiply-add. by_value: an incomplete vector is loaded value by value. Narrow products are faster with
 * narrow vectors. */
double sl_cpu_spmm_cost(const sl_device_figures *figures, const sl_spmm_problem *problem, int lanes,
                        bool by_value);

/* For SL_OP_UPDATE (update.c): most bytes of a block of rows of T, which is on the thread's stack. */
enum { SL_UPDATE_BYTES = 64 << 10 };

/* Rows of a block, if a row of T has row_bytes bytes; 0: rows are too long for blocks to pay. */
int64_t sl_cpu_update_rows(int64_t row_bytes);

/* Prepares the product with whole rows in every part. If T is given by the caller, there is nothing to
 * prepare. */
sley_status sl_cpu_update_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  void **prepared);
sley_status sl_cpu_update_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 const void *val, sl_values_in where, void *prepared);
int64_t sl_cpu_update_memory(const sl_kernel_args *args, int64_t *passing);

/* An update whose T is given. */
typedef struct sl_update_given {
  const sl_update_args *args;
  const sl_core_figures *figures;
} sl_update_given;

/* Runs `part` over the product's parts, with the address of args, whose first member is the product; or, if T
 * is given, runs `range` over its rows with an sl_update_given as context. */
sley_status sl_cpu_update_run(sl_queue *queue, const sl_update_args *args, sl_spmm_part_body part,
                              sl_range_body range);

#endif
