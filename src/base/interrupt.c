/* SPDX-License-Identifier: Apache-2.0 */
/* The flag that sley_interrupt sets and sley_interrupt_clear clears. */
#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool asked;

void sley_interrupt(void) {
  atomic_store_explicit(&asked, true, memory_order_relaxed);
}

bool sley_interrupt_clear(void) {
  return atomic_exchange_explicit(&asked, false, memory_order_relaxed);
}

sley_status sl_interrupted(void) {
  if (!atomic_load_explicit(&asked, memory_order_relaxed))
    return SLEY_OK;
  return sl_fail(SLEY_ERR_INTERRUPTED, "interrupted");
}
