/* SPDX-License-Identifier: Apache-2.0 */
/* The shared data of ranks that are threads of one process: waiting, waking, abort, and the meeting that
 * every collective consists of. A rank's comm is only used by that rank's thread, except for the fields that
 * are atomic. */
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

/* A rank's contribution to a meeting. */
typedef struct sl_post {
  const char *call;                /* name of the collective; the same on all ranks */
  int64_t number[SL_POST_NUMBERS]; /* arguments that must be the same on all ranks */
  const void *data[SL_POST_DATA];  /* data that the others may read until the next meeting */
  bool reduces;                    /* the meeting reduces data[0]: number[1] values, SL_SMALL_COUNT at most */
  sley_status status;              /* the rank's own failure, with the thread's error */
  sl_error error;                  /* set by the meeting */
} sl_post;

typedef struct sl_world sl_world;

enum { SL_SMALL_COUNT = 64 };

/* Results of a meeting, which the last rank to arrive computes. */
typedef struct sl_verdict {
  bool alike;    /* all ranks make the same call, and none has failed; if false, each rank compares the posts
                    itself */
  bool complete; /* a small reduction is complete */
  bool overflow;
  int64_t sum[SL_SMALL_COUNT]; /* result of the reduction */
} sl_verdict;

/* The top bit of a world's arrivals: an abort has happened. */
#define SL_WORLD_BROKEN (UINT64_C(1) << 63)

/* The turn of a rank in a world whose ranks take turns (turns.h): whether it has a turn, and what it waits
 * for. Guarded by the world's turns_lock. */
typedef struct sl_turn {
  sem_t go;
  bool has, waits, granted;
  _Atomic uint64_t *word; /* word for which it waits; NULL: it waits only for a turn */
  uint64_t least;
  int peer;
  /* Data about its thread, to detect whether it is blocked: see sl_turns_watch. */
  pid_t thread;
  bool timed; /* clock measures its run time */
  clockid_t clock;
  int64_t ran;       /* run time in ns at the last check */
  int idle;          /* number of checks in succession at which it was asleep */
  _Atomic bool busy; /* the rank is locking turns_lock, and may be waiting for that lock */
} sl_turn;

/* Enqueued work of a rank's device. It is in the comm's list until the peers' devices have finished with this
 * rank's memory, and this rank's device with theirs. An abort calls both functions; after settle the list is
 * empty, and the work of both of the rank's queues is complete. */
typedef struct sl_device_work {
  struct sl_device_work *next;
  void *owner;
  void (*retreat)(void *owner); /* called before the abort takes the rank out of its peers' memory */
  /* called after retreat: makes queue wait for the peers' devices that still access this rank's memory */
  void (*settle)(void *owner, sl_queue *queue);
} sl_device_work;

/* Another device, with which this rank makes atomics on memory that its own device cannot change atomically.
 */
typedef struct sl_threads_away {
  bool needed;
  sl_device *device; /* opened by this rank, for its atomics */
  sl_rma_queue *queue;
} sl_threads_away;

typedef struct sl_threads_comm {
  sl_comm base;
  sl_world *world;
  uint64_t epoch; /* number of meetings to which this rank has come */
  sl_counters counters;
  uint32_t *stop;   /* word that the device reads and an abort sets; NULL if no kernel waits for signals */
  sl_queue *urgent; /* queue for receiving concurrently with the rank's queue, on devices without host
                       addresses; else NULL */
  sl_device_work *work; /* list of work on such devices */
  sl_post post[2];      /* posts of the last two meetings, by epoch's parity */
  /* queue of one-sided access to device memory; NULL on the host, and before the first symmetric memory */
  sl_rma_queue *rma;
  sl_threads_away *away; /* one entry per device */
  uint32_t words;        /* number of one-sided accesses to single words */

  /* unpolled: number of the following waits in which the rank sleeps at once. long_yield: time when it last
   * let others run for long; long_yield_had: run time of the process at that time. */
  int unpolled;
  double long_yield, long_yield_had;

  /* Lock and condition variable with which the rank sleeps. */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  _Atomic int sleepers;
  sl_turn turn;

  _Atomic int readers; /* number of peers that are currently inside this rank's memory */
  int *inside;         /* peers inside whose memory this rank stays between calls; memory for twice the number
                          of ranks */
  int inside_count;
  _Atomic bool left; /* its main has returned */

  sl_error error; /* error of the rank's main; SLEY_OK: none */
} sl_threads_comm;

struct sl_world {
  int size;
  char note[SLEY_ERROR_BYTES]; /* note of all ranks' comms */
  int polls;                   /* number of polls before a waiting rank sleeps */
  int turns;                   /* number of ranks that run at once, initially; 0: all */
  pthread_mutex_t turns_lock;  /* guards the turns_ fields that follow, except the semaphore */
  int turns_now;               /* number of turns now */
  int turns_free, turns_next;  /* number of free turns; the rank that is considered next */
  int64_t turns_passed;        /* number of times that a rank has passed its turn to another */
  int turns_ended;             /* number of ranks that have ended */
  sem_t turns_over;            /* raised by each rank that ends */
  sl_threads_comm *ranks;
  /* Arrivals at all meetings so far. The top bit, set by the first abort, freezes the number: so all ranks
   * agree on whether a meeting took place, whatever the timing. */
  _Alignas(64) _Atomic uint64_t arrivals;
  /* Number of meetings that have taken place. The last rank to arrive compares all posts on behalf of all, so
   * the work of a meeting is proportional to the number of ranks, not to its square. */
  _Alignas(64) _Atomic uint64_t met;
  sl_verdict verdict[2];              /* verdicts of the last two meetings, by epoch's parity */
  _Alignas(64) _Atomic int left_rank; /* a rank whose main has returned, or -1 */
  pthread_mutex_t lock;               /* guards failure */
  sl_error failure;                   /* error of the first abort; rank -1: none */
};

/* Makes a world. turns: number of ranks that run at once, 0: all. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. The
 * caller sets devices and queues. */
sley_status sl_world_create(int ranks, int workgroup, int threads, int turns, sl_world **out);
void sl_world_destroy(sl_world *world);

/* Waits until *word has reached least. peer: the rank that will raise it, -1: all of them. Errors:
 * SLEY_ERR_PEER (a rank aborted, or the peer's main has returned), SLEY_ERR_INTERRUPTED; then no peer is
 * inside this rank's memory. */
sley_status sl_world_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer);

/* Waits until the peer has aborted or returned, and returns that error: the peer will not do what this rank
 * waits for. */
sley_status sl_world_wait_end(sl_threads_comm *comm, int peer);

/* Wakes the rank, which may be waiting for a word that was just raised. */
void sl_world_wake(sl_world *world, int rank);

/* Makes all ranks meet. Errors: SLEY_ERR_ARG on all ranks if they make different calls, a rank's own status,
 * SLEY_ERR_PEER if another rank's status was not SLEY_OK; either every rank gets an error or none. */
sley_status sl_world_meet(sl_threads_comm *comm, const sl_post *post);

/* Returns the verdict of this rank's last meeting, which is valid until the rank comes to the next one. */
const sl_verdict *sl_world_verdict(const sl_threads_comm *comm);

/* Reduces values into sum; returns false if a sum does not fit. */
bool sl_world_reduce_into(sl_reduce op, int64_t *sum, const int64_t *values, int count);

/* Returns the post of a rank at this rank's last meeting. */
const sl_post *sl_world_post(const sl_threads_comm *comm, int rank);

/* Enters a peer's memory for a read that does not wait; returns false once a rank has aborted. */
bool sl_world_enter(sl_threads_comm *comm, int peer);
void sl_world_leave(sl_threads_comm *comm, int peer);

/* Enters a peer's memory for several calls, until sl_world_leave_all, which an abort also calls. */
bool sl_world_stay(sl_threads_comm *comm, int peer);
void sl_world_leave_all(sl_threads_comm *comm);

/* Waits until no peer is inside this rank's memory. */
void sl_world_quiesce(sl_threads_comm *comm);

/* Returns SLEY_OK, or SLEY_ERR_PEER with the first abort's message, or SLEY_ERR_INTERRUPTED. */
sley_status sl_world_check(sl_threads_comm *comm);

void sl_world_abort(sl_threads_comm *comm, sley_status status);

/* Add work to the comm's list, and remove it if it is there. */
void sl_world_track(sl_threads_comm *comm, sl_device_work *work);
void sl_world_untrack(sl_threads_comm *comm, sl_device_work *work);

/* In threads_symmetric.c. Find the devices that need an entry of comm->away, when all ranks' devices are
 * open; and close the queues of these devices. */
void sl_threads_find_away(sl_threads_comm *comm);
void sl_threads_close_queues(sl_threads_comm *comm);

/* Waits until all puts that the rank has begun are complete. */
sley_status sl_threads_flush_puts(sl_threads_comm *comm);

/* Sets the word that an abort raises for this rank's device from now on; NULL: none. */
void sl_world_stop_at(sl_threads_comm *comm, uint32_t *stop);

/* Records that the rank's main has returned. */
void sl_world_left(sl_threads_comm *comm);

#endif
