/* SPDX-License-Identifier: Apache-2.0 */
/* The defaults of the slots of sl_product_traits. */
#include "device/product.h"

const sl_product_traits sl_product_plain = {SL_PRODUCT_DEFAULTS};

bool sl_pays_always(const sl_device_figures *figures, int64_t rows, int64_t entries, int64_t k) {
  (void)figures, (void)rows, (void)entries, (void)k;
  return true;
}

bool sl_waits_never(const sl_kernel_args *args) {
  (void)args;
  return false;
}

int64_t sl_copies_nothing(const sl_kernel_args *args, const void *prepared) {
  (void)args, (void)prepared;
  return 0;
}

sl_accuracy sl_sums_in_order(const sl_kernel_args *args, const void *prepared) {
  (void)args, (void)prepared;
  return SL_ACCURACY_IN_ORDER;
}

const sl_kernel *sl_stands_for_itself(const sl_kernel *kernel, const void *prepared) {
  (void)prepared;
  return kernel;
}

sley_status sl_tunes_nothing(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue, (void)args;
  return SLEY_OK;
}

const struct sl_neighbour_table *sl_tuned_nothing(const void *prepared) {
  (void)prepared;
  return NULL;
}
