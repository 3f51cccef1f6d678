/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/dense/philox.h"

#include <string.h>

#include <Random123/philox.h>

bool sl_philox_is_there(void) {
  return true;
}

void sl_philox(const uint32_t key[2], const uint32_t counter[4], int64_t count, uint32_t *words) {
  const philox4x32_key_t k = {{key[0], key[1]}};
  for (int64_t i = 0; i < count; i++) {
    const philox4x32_ctr_t c = {{counter[0] + (uint32_t)i, counter[1], counter[2], counter[3]}};
    const philox4x32_ctr_t drawn = philox4x32_R(10, c, k);
    memcpy(words + 4 * i, drawn.v, sizeof drawn.v);
  }
}
