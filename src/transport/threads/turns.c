/* SPDX-License-Identifier: Apache-2.0 */
/* A turn is handed from rank to rank: who waits or ends looks for the next one, in the order of ranks, that
 * could go on, and wakes it alone. Where there is none the turn is free, until an offer takes it. */
#include "transport/threads/turns.h"

#include <time.h>

/* Worlds of fewer ranks do without. Who waits looks after an interrupt once a second. */
enum { MANY_RANKS = 64 };

int sl_turns_of(int ranks, int threads) {
  int turns = sl_cores() / threads;
  if (turns < 1)
    turns = 1;
  return ranks > MANY_RANKS && ranks > turns ? turns : 0;
}

/* Whether a rank that waits for a turn has something to do. */
static bool could_go_on(const sl_world *world, const sl_threads_comm *comm) {
  const sl_turn *turn = &comm->turn;
  if (!turn->waits || turn->granted)
    return false;
  int left =
      turn->peer >= 0 ? atomic_load(&world->ranks[turn->peer].left) : atomic_load(&world->left_rank) >= 0;
  return !turn->word || atomic_load(turn->word) >= turn->least || left ||
         (atomic_load(&world->arrivals) & SL_WORLD_BROKEN) != 0;
}

/* The next rank that could go on gets this turn, and is to be woken once the lock is left; NULL: there is
 * none, and the turn is free. Under the lock. */
static sl_threads_comm *pass_on(sl_world *world) {
  for (int i = 0; i < world->size; i++) {
    sl_threads_comm *comm = &world->ranks[world->turns_next];
    world->turns_next = world->turns_next + 1 < world->size ? world->turns_next + 1 : 0;
    if (could_go_on(world, comm)) {
      comm->turn.granted = true;
      return comm;
    }
  }
  world->turns_free++;
  return NULL;
}

static void wake(sl_threads_comm *comm) {
  if (comm)
    sem_post(&comm->turn.go);
}

/* Sleeps until it is woken, or for a second. */
static void sleep_a_while(sl_turn *turn) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  (void)sem_timedwait(&turn->go, &until);
}

/* Waits until there is a turn for this rank, which has told what it waits for. */
static void await_turn(sl_threads_comm *comm) {
  sl_world *world = comm->world;
  pthread_mutex_lock(&world->turns_lock);
  for (bool slept = false; !comm->turn.granted; slept = true) {
    /* Who has slept looks for an interrupt where nobody runs who would see it. */
    if (world->turns_free > 0 && (slept || could_go_on(world, comm))) {
      world->turns_free--;
      break;
    }
    pthread_mutex_unlock(&world->turns_lock);
    sleep_a_while(&comm->turn);
    pthread_mutex_lock(&world->turns_lock);
  }
  comm->turn.granted = comm->turn.waits = false;
  pthread_mutex_unlock(&world->turns_lock);
}

static void give_turn(sl_world *world) {
  pthread_mutex_lock(&world->turns_lock);
  sl_threads_comm *next = pass_on(world);
  pthread_mutex_unlock(&world->turns_lock);
  wake(next);
}

void sl_turns_begin(sl_threads_comm *comm) {
  if (comm->world->turns == 0)
    return;
  pthread_mutex_lock(&comm->world->turns_lock);
  comm->turn.word = NULL;
  comm->turn.waits = true;
  pthread_mutex_unlock(&comm->world->turns_lock);
  await_turn(comm);
}

void sl_turns_end(sl_threads_comm *comm) {
  if (comm->world->turns > 0)
    give_turn(comm->world);
}

void sl_turns_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer) {
  pthread_mutex_lock(&comm->world->turns_lock);
  comm->turn.word = word;
  comm->turn.least = least;
  comm->turn.peer = peer;
  comm->turn.waits = true;
  sl_threads_comm *next = pass_on(comm->world);
  pthread_mutex_unlock(&comm->world->turns_lock);
  if (next != comm)
    wake(next);
  await_turn(comm);
}

void sl_turns_offer(sl_world *world, int rank) {
  sl_threads_comm *woken = NULL;
  pthread_mutex_lock(&world->turns_lock);
  if (world->turns_free > 0 && could_go_on(world, &world->ranks[rank])) {
    world->turns_free--;
    woken = &world->ranks[rank];
    woken->turn.granted = true;
  }
  pthread_mutex_unlock(&world->turns_lock);
  wake(woken);
}

void sl_turns_offer_all(sl_world *world) {
  for (bool found = true; found;) {
    pthread_mutex_lock(&world->turns_lock);
    sl_threads_comm *next = NULL;
    if (world->turns_free > 0) {
      world->turns_free--;
      next = pass_on(world);
    }
    found = next != NULL;
    pthread_mutex_unlock(&world->turns_lock);
    wake(next);
  }
}
