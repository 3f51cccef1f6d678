/* SPDX-License-Identifier: Apache-2.0 */
/* The counter-based generator of masks: Random123's Philox4x32-10. */
#ifndef SLEY_DEVICE_CPU_DENSE_PHILOX_H
#define SLEY_DEVICE_CPU_DENSE_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this build has Random123. Without it nothing is drawn. */
bool sl_philox_is_there(void);

/* words[4 i .. 4 i + 3], for i < count: Philox4x32-10 of the key and the counter (counter[0] + i, counter[1],
 * counter[2], counter[3]). */
void sl_philox(const uint32_t key[2], const uint32_t counter[4], int64_t count, uint32_t *words);

#endif
