/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of kernels that sum products (SL_OP_SPMM and SL_OP_UPDATE). Only plans need these properties. */
#ifndef SLEY_DEVICE_PRODUCT_H
#define SLEY_DEVICE_PRODUCT_H

#include "device/figures.h"
#include "device/kernel.h"

struct sl_neighbour_table; /* device/neighbour_search.h */

/* Bound of the error of a sum of n terms: `each` times n + 3 roundings plus `more` roundings, in the type of
 * sums. */
typedef struct sl_accuracy {
  int each, more;
  bool tf32; /* operands are rounded to tf32 */
} sl_accuracy;
#define SL_ACCURACY_IN_ORDER ((sl_accuracy){1, 0, false})

/* No slot is NULL: a row begins with SL_PRODUCT_DEFAULTS and then names the slots in which the kernel differs. */
typedef struct sl_product_traits {
  /* For SL_OP_UPDATE kernels that sum the rows of T themselves: returns whether that is expected to be faster
   * than a product followed by an update, for `rows` rows with `entries` entries and k columns. If not, plans
   * do not fuse. Default: always. */
  bool (*pays)(const sl_device_figures *figures, int64_t rows, int64_t entries, int64_t k);
  /* Returns whether a run of this problem waits for pieces itself. All workers of the pull are running once
   * the first piece has arrived, so the kernel may fill the device with blocks that wait. Default: never. */
  bool (*waits)(const sl_kernel_args *args);
  /* Name of the layout to which prepare copies entries for run, such as "bundles". */
  const char *layout;
  /* Number of the problem's entries that prepare has copied to the layout, or if prepared is NULL, an
   * estimate; run reads the other entries from the rows of the matrix. Default: 0. */
  int64_t (*copied)(const sl_kernel_args *args, const void *prepared);
  /* Accuracy of sums with the data that prepare has created; if prepared is NULL, with any data that prepare
   * may create. Default: the accuracy of the documented order. */
  sl_accuracy (*accuracy)(const sl_kernel_args *args, const void *prepared);
  /* Returns the kernel that reports should name if prepare has left all work to another kernel. If prepared
   * is NULL, returns the kernel to which prepare may leave the work. Default: the kernel itself. */
  const sl_kernel *(*stands_for)(const sl_kernel *kernel, const void *prepared);
  bool serves_fewer_columns; /* the data that prepare creates for k columns also works for fewer */
  /* For products with X in several memories: makes by timing the choices that prepare has left open. Called
   * once per plan, by all ranks at once, with arguments that could run (their values are zeros). Default:
   * nothing. */
  sley_status (*tune)(sl_queue *queue, const sl_kernel_args *args);
  /* Returns the shapes that tune has timed, valid until release. NULL, the default, or an empty table: no
     shapes. */
  const struct sl_neighbour_table *(*tuned)(const void *prepared);
} sl_product_traits;

bool sl_pays_always(const sl_device_figures *figures, int64_t rows, int64_t entries, int64_t k);
bool sl_waits_never(const sl_kernel_args *args);
int64_t sl_copies_nothing(const sl_kernel_args *args, const void *prepared);
sl_accuracy sl_sums_in_order(const sl_kernel_args *args, const void *prepared);
const sl_kernel *sl_stands_for_itself(const sl_kernel *kernel, const void *prepared);
sley_status sl_tunes_nothing(sl_queue *queue, const sl_kernel_args *args);
const struct sl_neighbour_table *sl_tuned_nothing(const void *prepared);

/* Slots of a kernel that reads the rows of the matrix in place. A row may name a slot again after it, which
 * replaces the default; the compiler would warn about this. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define SL_PRODUCT_DEFAULTS                                                                                  \
  .pays = sl_pays_always, .waits = sl_waits_never, .layout = "rows", .copied = sl_copies_nothing,            \
  .accuracy = sl_sums_in_order, .stands_for = sl_stands_for_itself, .tune = sl_tunes_nothing,                \
  .tuned = sl_tuned_nothing

#endif
