/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces philox_random123.c in a build without Random123. */
#include "device/cpu/dense/philox.h"

bool sl_philox_is_there(void) {
  return false;
}

void sl_philox(const uint32_t key[2], const uint32_t counter[4], int64_t count, uint32_t *words) {
  (void)key;
  (void)counter;
  (void)count;
  (void)words;
}
