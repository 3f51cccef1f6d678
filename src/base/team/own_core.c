/* SPDX-License-Identifier: Apache-2.0 */
/* The core on which a thread runs, by Linux's calls, which take less than a microsecond. */
#define _GNU_SOURCE /* for sched_getcpu and sets of processors */
#include "base/team/own_core.h"

#include <sched.h>
#include <string.h>

#ifdef __linux__
int sl_core_now(void) {
  return sched_getcpu();
}

bool sl_leave_core(sl_cores_kept *kept, int core) {
  cpu_set_t set, before;
  _Static_assert(sizeof set == sizeof kept->before, "sets of processors");
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof set, &set) != 0)
    return true;
  before = set;
  if (kept->left && memcmp(&set, kept->since, sizeof set) == 0)
    memcpy(&before, kept->before, sizeof before);
  set = before;
  CPU_CLR(core, &set);
  if (CPU_COUNT(&set) == 0)
    return false;
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return true;
  memcpy(kept->before, &before, sizeof before);
  memcpy(kept->since, &set, sizeof set);
  kept->left = true;
  return true;
}
#else
int sl_core_now(void) {
  return -1;
}

bool sl_leave_core(sl_cores_kept *kept, int core) {
  (void)kept, (void)core;
  return true;
}
#endif
