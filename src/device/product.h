/* SPDX-License-Identifier: Apache-2.0 */
/* The questions that plans ask only of kernels that sum products: of SL_OP_SPMM and SL_OP_UPDATE. */
#ifndef SLEY_DEVICE_PRODUCT_H
#define SLEY_DEVICE_PRODUCT_H

#include "device/kernel.h"

struct sl_neighbour_table; /* device/neighbour_search.h */

/* A sum of n terms errs by at most `each` times n + 3 roundings, and `more`, of the type of sums. */
typedef struct sl_accuracy {
  int each, more;
  bool tf32; /* operands are rounded to tf32 */
} sl_accuracy;
#define SL_ACCURACY_IN_ORDER ((sl_accuracy){1, 0, false})

/* No slot is NULL: a row begins with SL_PRODUCT_DEFAULTS and then names what is special about the kernel. */
typedef struct sl_product_traits {
  /* Of SL_OP_UPDATE, where the kernel sums the rows of T itself: whether so many rows with so many entries
   * and k columns are expected to be faster than by a product and an update of its rows; where not, plans do
   * not fuse. Default: they are. */
  bool (*pays)(int64_t rows, int64_t entries, int64_t k);
  /* Whether a run of this problem waits for pieces itself. Once the first has arrived all workers of the pull
   * are running, so the kernel may fill the device with blocks that wait. Default: it does not. */
  bool (*waits)(const sl_kernel_args *args);
  /* The name of the layout that prepare copies entries to, for run to read, such as "bundles". */
  const char *layout;
  /* How many of the problem's entries prepare has copied to the layout, or, with prepared NULL, copies about;
   * run reads the others in the rows of the matrix. Default: none. */
  int64_t (*copied)(const sl_kernel_args *args, const void *prepared);
  /* How accurate sums are by what prepare has made; prepared NULL: by whatever it may make. Default: as in
   * the documented order. */
  sl_accuracy (*accuracy)(const sl_kernel_args *args, const void *prepared);
  /* The kernel that reports name: another where prepare has left all to it; prepared NULL: where it may.
   * Default: the kernel itself. */
  const sl_kernel *(*stands_for)(const sl_kernel *kernel, const void *prepared);
  bool serves_fewer_columns; /* what prepare makes for k columns serves runs of fewer */
  /* For products over X in several memories. Once per plan, with arguments that could run (whose values are
   * zeros): settles by timing what prepare left open. All ranks call it at once. Default: nothing is. */
  sley_status (*tune)(sl_queue *queue, const sl_kernel_args *args);
  /* The shapes that tune has timed, until release. NULL, the default, or a table of no shapes: none. */
  const struct sl_neighbour_table *(*tuned)(const void *prepared);
} sl_product_traits;

bool sl_pays_always(int64_t rows, int64_t entries, int64_t k);
bool sl_waits_never(const sl_kernel_args *args);
int64_t sl_copies_nothing(const sl_kernel_args *args, const void *prepared);
sl_accuracy sl_sums_in_order(const sl_kernel_args *args, const void *prepared);
const sl_kernel *sl_stands_for_itself(const sl_kernel *kernel, const void *prepared);
sley_status sl_tunes_nothing(sl_queue *queue, const sl_kernel_args *args);
const struct sl_neighbour_table *sl_tuned_nothing(const void *prepared);

/* A kernel whose run reads the rows of the matrix as they are. Slots that a row names after it replace them,
 * which the compiler would warn of. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define SL_PRODUCT_DEFAULTS                                                                                  \
  .pays = sl_pays_always, .waits = sl_waits_never, .layout = "rows", .copied = sl_copies_nothing,            \
  .accuracy = sl_sums_in_order, .stands_for = sl_stands_for_itself, .tune = sl_tunes_nothing,                \
  .tuned = sl_tuned_nothing

#endif
