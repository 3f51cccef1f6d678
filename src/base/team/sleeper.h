/* SPDX-License-Identifier: Apache-2.0 */
/* One thread's sleep until another thread has changed something. No wake-up is lost: the sleeper raises its
 * flag and then reads what it waits for; the other thread changes that and then reads the flag. */
#ifndef SLEY_BASE_TEAM_SLEEPER_H
#define SLEY_BASE_TEAM_SLEEPER_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct sl_sleeper {
  _Atomic bool asleep; /* the thread sleeps or is about to; whoever lowers it ends or prevents the sleep */
  sem_t wake;
} sl_sleeper;

static inline void sl_sleeper_open(sl_sleeper *s) {
  atomic_init(&s->asleep, false);
  sem_init(&s->wake, 0, 0); /* of one process and from 0, it cannot fail */
}

static inline void sl_sleeper_close(sl_sleeper *s) {
  sem_destroy(&s->wake);
}

/* Sleeps until sl_wake, unless holds(context). Returns whether it slept; a wake-up can be meant for an
 * earlier sleep. The flag is raised by an exchange instead of a store, because in QEMU on x86 a load of
 * aarch64 can be executed before an earlier store. */
static inline bool sl_sleep(sl_sleeper *s, bool (*holds)(const void *), const void *context) {
  atomic_exchange(&s->asleep, true);
  if (holds(context) && atomic_exchange(&s->asleep, false))
    return false;
  while (sem_wait(&s->wake) != 0) /* a signal interrupted it */
    ;
  return true;
}

/* Ends the sleep. Whatever the sleeper waits for must have been changed by an atomic exchange or addition.
 * Returns whether the thread slept. */
static inline bool sl_wake(sl_sleeper *s) {
  if (!atomic_load(&s->asleep) || !atomic_exchange(&s->asleep, false))
    return false;
  sem_post(&s->wake);
  return true;
}

#endif
