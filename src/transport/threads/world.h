/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks that are threads of one process share: waiting, waking, abort, and the meeting every collective
 * is made of. A rank's comm is only used by that rank's thread, except for the fields that are atomic. */
#ifndef SLEY_TRANSPORT_THREADS_WORLD_H
#define SLEY_TRANSPORT_THREADS_WORLD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "transport/rma_queue.h"
#include "transport/transport.h"

enum { SL_POST_NUMBERS = 2, SL_POST_DATA = 5 };

/* What a rank brings to a meeting. */
typedef struct sl_post {
  const char *call;                /* name of the collective; the same on all ranks */
  int64_t number[SL_POST_NUMBERS]; /* arguments that must be the same on all ranks */
  const void *data[SL_POST_DATA];  /* what the others may look at until the next meeting */
  bool reduces;       /* data[0] is reduced by the meeting: number[1] values, SL_SMALL_COUNT at most */
  sley_status status; /* the rank's own failure, with the thread's error */
  sl_error error;     /* filled by the meeting */
} sl_post;

typedef struct sl_world sl_world;

enum { SL_SMALL_COUNT = 64 };

/* What the last rank to come found. */
typedef struct sl_verdict {
  bool alike;    /* all make the same call, and none has failed; else each looks for itself */
  bool complete; /* a small reduction is done */
  bool overflow;
  int64_t sum[SL_SMALL_COUNT]; /* of it */
} sl_verdict;

/* The top bit of a world's arrivals. */
#define SL_WORLD_BROKEN (UINT64_C(1) << 63)

/* A rank of a world whose ranks take turns (turns.h): whether it has a turn, and what it waits for. Guarded
 * by the world's turns_lock. */
typedef struct sl_turn {
  sem_t go;
  bool has, waits, granted;
  _Atomic uint64_t *word; /* NULL: nothing but its turn */
  uint64_t least;
  int peer;
  /* Of its thread, for who looks whether it is blocked: see sl_turns_watch. */
  pid_t thread;
  bool timed; /* there is a clock of what it has run */
  clockid_t clock;
  int64_t ran;       /* ns, at the last look */
  int idle;          /* looks in a row at which it slept */
  _Atomic bool busy; /* it takes turns_lock, and may wait for that */
} sl_turn;

/* What a rank's device has been given, from then on until peers' devices are done with this rank's memory and
 * its own with theirs. An abort calls both functions; after settle the list is empty, and both of the rank's
 * queues have done their work. */
typedef struct sl_device_work {
  struct sl_device_work *next;
  void *owner;
  void (*retreat)(void *owner); /* before the abort takes the rank out of its peers' memory */
  /* After it: queue waits for the peers' devices that still touch this rank's memory. */
  void (*settle)(void *owner, sl_queue *queue);
} sl_device_work;

/* A device whose memory this rank's device does not use atomics on. */
typedef struct sl_threads_away {
  bool needed;
  sl_device *device; /* opened by this rank, for its operations */
  sl_rma_queue *queue;
} sl_threads_away;

typedef struct sl_threads_comm {
  sl_comm base;
  sl_world *world;
  uint64_t epoch; /* meetings this rank has come to */
  sl_counters counters;
  uint32_t *stop; /* a word that the device reads: raised by an abort; NULL where nobody waits for signals */
  sl_queue *urgent; /* for receiving beside the rank's queue, on devices without host addresses; else NULL */
  sl_device_work *work; /* on such devices */
  sl_post post[2];      /* of the last two meetings, by epoch's parity */
  /* One-sided access to devices' memory; NULL on the host, and before the first symmetric memory. */
  sl_rma_queue *rma;
  sl_threads_away *away; /* by device */
  uint32_t words;        /* one-sided accesses to single words */

  /* Waits to come in which it sleeps at once; when it last let others run for long, and how long the process
   * had run then. */
  int unpolled;
  double long_yield, long_yield_had;

  /* The rank sleeps here. */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  _Atomic int sleepers;
  sl_turn turn;

  _Atomic int readers; /* peers that are inside this rank's memory now */
  int *inside;         /* peers whose memory this rank stays inside between calls; room for all, twice */
  int inside_count;
  _Atomic bool left; /* its main has returned */

  sl_error error; /* of its main; SLEY_OK: none */
} sl_threads_comm;

struct sl_world {
  int size;
  char note[SLEY_ERROR_BYTES]; /* the comms' */
  int polls;                   /* before a waiting rank sleeps */
  int turns;                   /* ranks that run at once, at first; 0: all */
  pthread_mutex_t turns_lock;  /* guards all that follows but the semaphore */
  int turns_now;               /* how many turns there are by now */
  int turns_free, turns_next;  /* turns nobody has; the rank that is looked at next */
  int64_t turns_passed;        /* how often a rank has passed its turn on */
  int turns_ended;             /* ranks that have ended */
  sem_t turns_over;            /* raised by each rank that ends */
  sl_threads_comm *ranks;
  /* Arrivals at meetings, all told. The top bit, set by the first abort, freezes the number: so whether a
   * meeting took place is the same for every rank, whatever the timing. */
  _Alignas(64) _Atomic uint64_t arrivals;
  /* Meetings that have taken place: the last rank to come looks at all posts for all of them, so a meeting is
   * as much work as there are ranks, and not its square. */
  _Alignas(64) _Atomic uint64_t met;
  sl_verdict verdict[2];              /* of the last two meetings, by epoch's parity */
  _Alignas(64) _Atomic int left_rank; /* one of those that left, or -1 */
  pthread_mutex_t lock;               /* guards the failure */
  sl_error failure;                   /* of the first abort; rank -1: none */
};

/* turns: ranks that run at once, 0: all. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. Devices and queues are the
 * caller's to set. */
sley_status sl_world_create(int ranks, int workgroup, int threads, int turns, sl_world **out);
void sl_world_destroy(sl_world *world);

/* Returns when *word has reached least. peer: the rank that will raise it, -1: all of them. Errors:
 * SLEY_ERR_PEER (a rank aborted, or the peer's main has returned), SLEY_ERR_INTERRUPTED; then no peer is
 * inside this rank's memory. */
sley_status sl_world_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer);

/* Returns, with an error, when the peer has aborted or returned: it will not do what this rank waits for. */
sley_status sl_world_wait_end(sl_threads_comm *comm, int peer);

/* Wakes the rank, which may be waiting for a word that was just raised. */
void sl_world_wake(sl_world *world, int rank);

/* All ranks meet. Errors: SLEY_ERR_ARG (they make different calls: all ranks get it), a rank's own status,
 * SLEY_ERR_PEER where another's was not SLEY_OK; either every rank gets an error or none. */
sley_status sl_world_meet(sl_threads_comm *comm, const sl_post *post);

/* What was found at the meeting this rank was last at; stays until the rank comes to the next one. */
const sl_verdict *sl_world_verdict(const sl_threads_comm *comm);

/* Takes values into sum by the operator; false where a sum does not fit. */
bool sl_world_reduce_into(sl_reduce op, int64_t *sum, const int64_t *values, int count);

/* What a rank brought to the meeting this rank was last at. */
const sl_post *sl_world_post(const sl_threads_comm *comm, int rank);

/* Enters a peer's memory for a read that does not wait; false once a rank has aborted. */
bool sl_world_enter(sl_threads_comm *comm, int peer);
void sl_world_leave(sl_threads_comm *comm, int peer);

/* Enters a peer's memory to stay there over several calls, until sl_world_leave_all, which an abort implies.
 */
bool sl_world_stay(sl_threads_comm *comm, int peer);
void sl_world_leave_all(sl_threads_comm *comm);

/* Waits until no peer is inside this rank's memory. */
void sl_world_quiesce(sl_threads_comm *comm);

/* SLEY_OK, or SLEY_ERR_PEER with the first abort's message, or SLEY_ERR_INTERRUPTED. */
sley_status sl_world_check(sl_threads_comm *comm);

void sl_world_abort(sl_threads_comm *comm, sley_status status);

/* Adds work to the comm's list, and takes it off if it is there. */
void sl_world_track(sl_threads_comm *comm, sl_device_work *work);
void sl_world_untrack(sl_threads_comm *comm, sl_device_work *work);

/* symmetric.c: which devices need an entry of comm->away; all ranks' devices are open. Ends those queues. */
void sl_threads_find_away(sl_threads_comm *comm);
void sl_threads_close_queues(sl_threads_comm *comm);

/* All puts that the rank has begun are complete. */
sley_status sl_threads_flush_puts(sl_threads_comm *comm);

/* The word that an abort raises for this rank's device from now on; NULL: none. */
void sl_world_stop_at(sl_threads_comm *comm, uint32_t *stop);

/* The rank's main has returned. */
void sl_world_left(sl_threads_comm *comm);

#endif
