/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10, the counter-based random generator of dropout masks, from Random123. */
#ifndef SLEY_DEVICE_CPU_DENSE_PHILOX_H
#define SLEY_DEVICE_CPU_DENSE_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether this build has Random123. Without it there are no random numbers. */
bool sl_philox_is_there(void);

/* For i < count, writes to words[4 i .. 4 i + 3] the Philox4x32-10 of the key and the counter (counter[0] +
 * i, counter[1], counter[2], counter[3]). */
void sl_philox(const uint32_t key[2], const uint32_t counter[4], int64_t count, uint32_t *words);

#endif
