/* SPDX-License-Identifier: Apache-2.0 */
/* A turn is passed from rank to rank: a rank that waits or ends finds the next rank, in the order of ranks,
 * that could continue, and wakes only that one. If there is none the turn is free, until an offer takes it.
 *
 * A rank that has a turn may wait outside the library, unnoticed: for a lock or a barrier of the caller's,
 * for input, for Python. The thread that has started the ranks watches them (sl_turns_watch): a rank that
 * sleeps loses its turn to another, and continues without one until it waits in the library. */
#define _GNU_SOURCE
#include "transport/threads/turns.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/task_state.h"

/* A world with at most this many ranks has no turns. A waiting rank checks for an interrupt once a second. */
enum { MANY_RANKS = 64 };

/* LOOK_NANOSECONDS: interval of the checks of ranks that have a turn. RUN_NANOSECONDS: the time that a rank
 * may run in an interval and still count as asleep, because it may be polling. LOOKS: number of checks in
 * succession at which a rank must be asleep to lose its turn. */
enum { LOOK_NANOSECONDS = 10 * 1000 * 1000, RUN_NANOSECONDS = LOOK_NANOSECONDS / 10, LOOKS = 2 };
/* Seconds without a change of turns, while other ranks could continue, after which the running ranks are
 * assumed to poll for these others. */
static const double STANDSTILL = 1;

static _Thread_local sl_turn *own; /* turn of the rank whose thread this is; NULL: none */

/* Locks turns_lock. */
static void enter(sl_world *world) {
  if (own)
    atomic_store(&own->busy, true);
  pthread_mutex_lock(&world->turns_lock);
  if (own)
    atomic_store(&own->busy, false);
}

static void leave(sl_world *world) {
  pthread_mutex_unlock(&world->turns_lock);
}

int sl_turns_of(int ranks, int threads) {
  int turns = sl_cores() / threads;
  if (turns < 1)
    turns = 1;
  return ranks > MANY_RANKS && ranks > turns ? turns : 0;
}

/* Returns whether a rank that waits for a turn could continue. */
static bool could_go_on(const sl_world *world, const sl_threads_comm *comm) {
  const sl_turn *turn = &comm->turn;
  if (!turn->waits || turn->granted)
    return false;
  int left =
      turn->peer >= 0 ? atomic_load(&world->ranks[turn->peer].left) : atomic_load(&world->left_rank) >= 0;
  return !turn->word || atomic_load(turn->word) >= turn->least || left ||
         (atomic_load(&world->arrivals) & SL_WORLD_BROKEN) != 0;
}

/* This function and the functions below are called with the lock held. */
static void take_turn(sl_turn *turn) {
  turn->has = true;
  turn->idle = 0;
  turn->ran = 0;
}

static void grant(sl_threads_comm *comm) {
  take_turn(&comm->turn);
  comm->turn.granted = true;
}

/* Returns the next rank that could continue, or NULL. */
static sl_threads_comm *find_next(sl_world *world) {
  for (int i = 0, r = world->turns_next; i < world->size; i++, r = r + 1 < world->size ? r + 1 : 0)
    if (could_go_on(world, &world->ranks[r]))
      return &world->ranks[r];
  return NULL;
}

/* Grants a turn to the next rank that could continue and returns that rank, which the caller wakes after
 * unlocking. Returns NULL if there is no such rank; the turn is then free. */
static sl_threads_comm *pass_on(sl_world *world) {
  sl_threads_comm *next = find_next(world);
  if (next) {
    world->turns_next = next->base.rank + 1 < world->size ? next->base.rank + 1 : 0;
    grant(next);
  } else {
    world->turns_free++;
  }
  return next;
}

/* Ends the rank's turn, if it has one, and passes it on as pass_on does. */
static sl_threads_comm *pass_own(sl_threads_comm *comm) {
  if (!comm->turn.has)
    return NULL;
  comm->turn.has = false;
  comm->world->turns_passed++;
  return pass_on(comm->world);
}

static void wake(sl_threads_comm *comm) {
  if (comm)
    sem_post(&comm->turn.go);
}

/* Sleeps until the semaphore is raised, or for that time. */
static void sleep_a_while(sem_t *semaphore, int seconds, long nanoseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds;
  until.tv_nsec += nanoseconds;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  (void)sem_timedwait(semaphore, &until);
}

/* Waits until this rank gets a turn; the rank has recorded the word for which it waits. */
static void await_turn(sl_threads_comm *comm) {
  sl_world *world = comm->world;
  enter(world);
  for (bool slept = false; !comm->turn.granted; slept = true) {
    /* A rank that has slept takes a free turn to check for an interrupt, because no running rank may notice
     * it. */
    if (world->turns_free > 0 && (slept || could_go_on(world, comm))) {
      world->turns_free--;
      take_turn(&comm->turn);
      break;
    }
    leave(world);
    sleep_a_while(&comm->turn.go, 1, 0);
    enter(world);
  }
  comm->turn.granted = comm->turn.waits = false;
  leave(world);
}

void sl_turns_begin(sl_threads_comm *comm) {
  sl_turn *turn = &comm->turn;
  if (comm->world->turns == 0)
    return;
  own = turn;
  enter(comm->world);
  turn->thread = gettid();
  turn->timed = pthread_getcpuclockid(pthread_self(), &turn->clock) == 0;
  turn->word = NULL;
  turn->peer = -1;
  turn->waits = true;
  leave(comm->world);
  await_turn(comm);
}

void sl_turns_end(sl_threads_comm *comm) {
  sl_world *world = comm->world;
  if (world->turns == 0)
    return;
  enter(world);
  sl_threads_comm *next = pass_own(comm);
  world->turns_ended++;
  leave(world);
  wake(next);
  own = NULL;
  sem_post(&world->turns_over);
}

void sl_turns_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer) {
  enter(comm->world);
  comm->turn.word = word;
  comm->turn.least = least;
  comm->turn.peer = peer;
  comm->turn.waits = true;
  sl_threads_comm *next = pass_own(comm);
  leave(comm->world);
  if (next != comm)
    wake(next);
  await_turn(comm);
}

void sl_turns_offer(sl_world *world, int rank) {
  sl_threads_comm *woken = NULL;
  enter(world);
  if (world->turns_free > 0 && could_go_on(world, &world->ranks[rank])) {
    world->turns_free--;
    woken = &world->ranks[rank];
    grant(woken);
  }
  leave(world);
  wake(woken);
}

void sl_turns_offer_all(sl_world *world) {
  for (bool found = true; found;) {
    enter(world);
    sl_threads_comm *next = NULL;
    if (world->turns_free > 0) {
      world->turns_free--;
      next = pass_on(world);
    }
    found = next != NULL;
    leave(world);
    wake(next);
  }
}

/* ---- ranks that wait outside the library */

/* Returns whether a rank that has a turn has been asleep for LOOKS checks. */
static bool sleeps(sl_turn *turn) {
  struct timespec time;
  if (!turn->timed || clock_gettime(turn->clock, &time) != 0)
    return false;
  int64_t ran = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec, before = turn->ran;
  turn->ran = ran;
  if (ran - before > RUN_NANOSECONDS || atomic_load(&turn->busy) ||
      sl_task_state(getpid(), turn->thread) == 'R')
    turn->idle = 0;
  else
    turn->idle++;
  return turn->idle >= LOOKS;
}

/* Frees turns for ranks that could continue, if ranks that have one do not use it. Returns whether there are
 * free turns. since: the last time when a turn was passed on, or when no other rank could continue. */
static bool look_after(sl_world *world, int64_t *passed, double *since) {
  int running = 0;
  double now = sl_now();
  bool passes = world->turns_passed != *passed;
  *passed = world->turns_passed;
  if (world->turns_free > 0 || !find_next(world)) {
    *since = now;
    return false;
  }
  for (int r = 0; r < world->size; r++) {
    sl_turn *turn = &world->ranks[r].turn;
    if (!turn->has || turn->granted)
      running += turn->granted;
    else if (!sleeps(turn))
      running++;
    else {
      turn->has = false;
      world->turns_free++;
    }
  }
  if (passes)
    *since = now;
  /* Turns do not help if all ranks that have one sleep, or run endlessly, for example in a barrier of all
   * ranks. */
  if ((running == 0 || now - *since >= STANDSTILL) && world->turns_now < world->size) {
    world->turns_free += world->turns_now;
    world->turns_now *= 2;
    *since = now;
  }
  return world->turns_free > 0;
}

void sl_turns_watch(sl_world *world, int started) {
  int64_t passed = 0;
  double since = sl_now();
  for (bool over = world->turns == 0; !over;) {
    enter(world);
    over = world->turns_ended == started;
    bool more = !over && look_after(world, &passed, &since);
    leave(world);
    if (more)
      sl_turns_offer_all(world);
    if (!over)
      sleep_a_while(&world->turns_over, 0, LOOK_NANOSECONDS);
  }
}
