/* SPDX-License-Identifier: Apache-2.0 */
/* The function that watches progress. Only one thread at a time calls it. */
#include "base/watch.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_flag busy = ATOMIC_FLAG_INIT;
static atomic_bool watched;
static sley_watch_fn watcher;
static void *watcher_context;

void sley_watch(sley_watch_fn fn, void *context) {
  while (atomic_flag_test_and_set(&busy))
    sched_yield();
  watcher = fn;
  watcher_context = context;
  atomic_store(&watched, fn != NULL);
  atomic_flag_clear(&busy);
}

bool sl_watched(void) {
  return atomic_load_explicit(&watched, memory_order_relaxed);
}

void sl_watch_tell(const char *name, double share) {
  if (!sl_watched() || atomic_flag_test_and_set(&busy))
    return;
  if (watcher)
    watcher(watcher_context, name, share);
  atomic_flag_clear(&busy);
}
