/* SPDX-License-Identifier: Apache-2.0 */
/* What the SpMM kernels of all instruction sets share: cutting the product into parts and running them on a
 * team. */
#ifndef SLEY_DEVICE_CPU_SPMM_PARTS_H
#define SLEY_DEVICE_CPU_SPMM_PARTS_H

#include "device/cpu/cpu.h"
#include "device/cpu/bundles.h"

/* Stored rows [row, row_end), features [feature, feature_end). No two parts of a product share an element of
 * Y. */
typedef struct sl_spmm_part {
  int64_t row, row_end;
  int64_t feature, feature_end;
  bool near;   /* a panel of the rows of X that it reads is in a near cache most of the time */
  bool panels; /* it is summed panel after panel, not block after block of rows */
  /* Its rows in bundles, [bundle, bundle_end) of them; or NULL. */
  const sl_bundles *bundles;
  int64_t bundle, bundle_end;
} sl_spmm_part;

/* Rows of sums in bundles have at most so many bytes. */
enum { SL_SPMM_BUNDLED_BYTES = 256 };

/* Rows of a bundle: for k = 1, whose rows share vectors; for wider products, whose rows have their own. */
enum { SL_SPMM_HEIGHT_ONE = 16, SL_SPMM_HEIGHT = 8 };

typedef void (*sl_spmm_part_body)(const sl_spmm_run *args, const sl_spmm_part *part);

/* Parts of about equal work, counted in entries and rows; those of narrow products are in bundles. A row
 * longer than a part is cut over its features where k allows, never over its entries: that would change the
 * order of summation. The result depends on the team's size, the bits of the product do not. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_cpu_spmm_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                void **prepared);
/* The same for a problem; whole_rows: no row is cut. */
sley_status sl_cpu_spmm_parts(sl_queue *queue, const sl_spmm_problem *problem, bool whole_rows,
                              void **prepared);
sley_status sl_cpu_spmm_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               const void *val, sl_values_in where, void *prepared);
int64_t sl_cpu_spmm_memory(const sl_kernel_args *args, int64_t *passing);

void sl_cpu_spmm_release(sl_device *device, void *prepared);

/* Entries may be copied to bundles. */
extern const struct sl_product_traits sl_cpu_spmm_product;

/* Runs body over the parts that args->prepared holds, or over equal row ranges if it holds none. more:
 * seconds that one thread takes besides the product. */
sley_status sl_cpu_spmm_run(sl_queue *queue, const sl_spmm_run *args, double more, sl_spmm_part_body body);

/* Seconds with vectors of so many lanes; 1: no vectors, and a call for each multiply-add. by_value: a vector
 * that is not whole is loaded value by value. Narrow products are faster with narrow vectors. */
double sl_cpu_spmm_cost(const sl_spmm_problem *problem, int lanes, bool by_value);

/* For SL_OP_UPDATE (cpu_update.c). A block of rows of T has at most SL_UPDATE_BYTES, on the thread's stack.
 */
enum { SL_UPDATE_BYTES = 64 << 10 };

/* Rows of a block, of so many bytes each in T; 0: they are too long for blocks to pay. */
int64_t sl_cpu_update_rows(int64_t row_bytes);

/* As those of a product, with whole rows in every part; of rows that are given there is nothing to prepare.
 */
sley_status sl_cpu_update_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  void **prepared);
sley_status sl_cpu_update_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 const void *val, sl_values_in where, void *prepared);
int64_t sl_cpu_update_memory(const sl_kernel_args *args, int64_t *passing);

/* Runs part over a product's parts, which gets args as the product that they begin with; or, of rows that are
 * given, range over these with args for its context. */
sley_status sl_cpu_update_run(sl_queue *queue, const sl_update_args *args, sl_spmm_part_body part,
                              sl_range_body range);

#endif
