/* SPDX-License-Identifier: Apache-2.0 */
/* The core on which a thread runs, and how it leaves it. A thread that is woken while all cores are busy
 * often gets the core of the thread that woke it. */
#ifndef SLEY_BASE_TEAM_OWN_CORE_H
#define SLEY_BASE_TEAM_OWN_CORE_H

#include <stdbool.h>

/* Processors of a thread, as bits: before it left one, and since. The thread has left one if `left`. */
typedef struct sl_cores_kept {
  bool left;
  unsigned char before[128], since[128];
} sl_cores_kept;

/* Returns the number of the processor on which the calling thread runs; -1 if the system does not tell. */
int sl_core_now(void);

/* Binds the calling thread to its processors without this one; a processor that it left before is its own
 * again, unless somebody has bound the thread since. Returns false, with the binding unchanged, if it has no
 * other. If the system does not bind threads, nothing changes either, and the result is true. */
bool sl_leave_core(sl_cores_kept *kept, int core);

#endif
