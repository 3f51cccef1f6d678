/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations of a device's queue on one word, which the host and other devices may use as well. */
#ifndef SLEY_DEVICE_ATOMIC_H
#define SLEY_DEVICE_ATOMIC_H

#include <stdint.h>

typedef enum sl_atomic_op {
  SL_ATOMIC_ADD,         /* word += value */
  SL_ATOMIC_COMPARE_SWAP /* word = value if word is the expected value */
} sl_atomic_op;

/* word: at a multiple of 8, in memory that the queue's device can access. old: receives the word's former
 * value; memory of the device's host_alloc. Both are accessed when the queue reaches the operation. */
typedef struct sl_atomic {
  sl_atomic_op op;
  int64_t *word;
  int64_t value, expected;
  int64_t *old;
} sl_atomic;

/* The same operation on host memory, as the reference. Returns the word's former value. */
static inline int64_t sl_atomic_on_host(sl_atomic_op op, int64_t *word, int64_t value, int64_t expected) {
  if (op == SL_ATOMIC_ADD)
    return (int64_t)__atomic_fetch_add((uint64_t *)word, (uint64_t)value, __ATOMIC_SEQ_CST);
  __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

#endif
