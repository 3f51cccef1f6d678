/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a team, for the files of this folder. In a run each thread has a part, which it begins by
 * lowering its flag in a gate. A thread whose part the caller has taken, or that comes after the caller has
 * closed the gates, finds nothing to do. So the caller never waits for a thread that is asleep or has no
 * core: it waits only for parts that have been begun. */
#ifndef SLEY_BASE_TEAM_TEAM_INSIDE_H
#define SLEY_BASE_TEAM_TEAM_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/team/own_core.h"
#include "base/team/sleeper.h"
#include "base/team.h"

/* The indices of a loop that one thread processes first. */
typedef struct sl_team_share {
  _Alignas(64) _Atomic int64_t next;
  int64_t end;
} sl_team_share;

/* Threads whose flags are in one word. */
enum { SL_GATE_THREADS = 16 };

typedef struct sl_team_gate {
  _Alignas(64) _Atomic uint32_t open; /* a bit for each thread whose part nobody has begun */
} sl_team_gate;

typedef struct sl_team_worker {
  _Alignas(64) sl_sleeper sleeper;
  struct sl_team *team;
  int index;
  pthread_t thread;
  sl_cores_kept kept; /* the cores that it has left to the caller */
} sl_team_worker;

enum { SL_TEAM_LOOPS = 64 };

/* What the caller remembers of a loop. */
typedef struct sl_team_memory {
  uint64_t loop;  /* its body, count and grain, in one number; 0: none */
  double seconds; /* time that one thread would have needed when it ran last */
} sl_team_memory;

struct sl_team {
  int threads;
  int helpful;             /* threads that have a core of their own, at most; the caller counts */
  sl_team_worker *workers; /* threads - 1 entries: the caller is thread 0 */
  sl_team_share *shares;   /* one share per thread */
  sl_team_gate *gates;
  int started;
  pthread_mutex_t lock; /* lock of the failure */
  sl_error failure;     /* error of the lowest failing thread */
  int failed_thread;    /* lowest failing thread, or -1 */
  int taken;            /* parts of workers that the caller has taken in this run */
  const char *doing;    /* name of the work that loops do; NULL: it has none */
  int loops_of_work, loops_done;
  sl_team_memory remembered[SL_TEAM_LOOPS];
  double wake_call; /* seconds that the caller spends on waking a thread */
  double last_end;  /* when the caller finished its pieces of the last loop */
  double missed;    /* seconds of loops, each soon after the other, that workers slept through */
  sl_sleeper caller;
  /* The fields that threads exchange in a run without a failure. */
  _Alignas(64) sl_team_body body;
  void *context;
  _Alignas(64) _Atomic int finished; /* workers that have finished the part that they began */
  _Atomic int awaited;               /* workers that have begun one, once the gates are closed */
  _Atomic bool stop;
  /* Sleep. */
  _Alignas(64) _Atomic int sleepers; /* workers that sleep or are about to */
  _Atomic int next_to_wake, to_wake; /* the next worker to look at, and how many are still to be woken */
  _Atomic double woken_at;           /* time of the last wake-up */
  _Atomic double latency;            /* seconds from a wake-up to the beginning of work */
  _Atomic int caller_core;           /* where the caller opened the gates; -1: unknown */
  _Atomic double crowded_for;        /* how long the workers' cores were last taken to be in use by others */
  _Atomic double crowded_until;      /* until then other threads seem to use the workers' cores */
  _Atomic double alone_until, too_short; /* until then the caller runs loops of fewer seconds alone */
};

/* Seconds for which a waiting worker polls before it sleeps. */
extern const double sl_team_poll_seconds;

static inline bool sl_team_is_crowded(const sl_team *team, double now) {
  return now < atomic_load_explicit(&team->crowded_until, memory_order_relaxed);
}

/* Opens the gates: from here on workers may begin their parts of body. */
void sl_team_open(sl_team *team, sl_team_body body, void *context);

/* Closes the gates, and waits for the parts that have been begun. patience: seconds that this may take.
 * Returns their number. */
int sl_team_close(sl_team *team, double patience);

/* Wakes up to `most` workers that sleep. */
void sl_team_wake(sl_team *team, int most);

/* Notes that a worker that was woken did not come for so long. */
void sl_team_note_absence(sl_team *team, double now, double seconds);

/* Keeps a part's failure, if it is the one of the lowest thread. */
void sl_team_note(sl_team *team, int thread, sley_status status);

#endif
