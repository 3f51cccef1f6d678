/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks' shared world. Ranks wait for 64-bit words that only grow: polling for a while, then asleep on
 * the waiting rank's own condition variable. A rank that raises a word then checks whether the waiter sleeps;
 * both sides use sequentially consistent atomics, so that at least one of the two sees the other. Sleep is
 * interrupted every 50 ms to check for an interrupt.
 *
 * A rank's own memory (its X, its row lists) may only be read by a peer between enter and leave. After an
 * abort no rank enters any more, and a rank does not return from a failed wait before all have left: so its
 * caller may free that memory. */
#include "transport/threads/world.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "transport/threads/threads.h"
#include "transport/threads/turns.h"

/* A waiting rank checks a few times, then yields, possibly to the rank it waits for, and sleeps only after a
 * number of such polls, because waking takes tens of microseconds. If other programs use the cores, each
 * yield gives one of them a whole time slice, some milliseconds, whereas a rank that is woken runs before it:
 * then the rank sleeps at once, also in the next UNPOLLED waits. This is assumed if a yield took LONG_YIELD,
 * and the process has had less than SHARE of a core since the previous one. */
enum { LOOKS = 8, POLLS = 50, POLLS_CROWDED = 8, UNPOLLED = 64, SLEEP_NANOSECONDS = 50 * 1000 * 1000 };
static const double LONG_YIELD = 500e-6, SHARE = 0.5;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static sley_status comm_init(sl_threads_comm *comm, sl_world *world, int rank, int ranks, int workgroup) {
  comm->base = (sl_comm){.ops = &sl_threads_ops,
                         .transport = "threads",
                         .rank = rank,
                         .size = ranks,
                         .workgroup = workgroup,
                         .zero_copy = true,
                         .note = world->note};
  comm->world = world;
  SL_TRY(SL_NEW(comm->inside, 2 * (int64_t)ranks, "the ranks' world"));
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) {
    sl_free(comm->inside);
    return sl_fail(SLEY_ERR_MEMORY, "cannot prepare rank %d's condition variable", rank);
  }
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&comm->wake, &attributes);
  sem_init(&comm->turn.go, 0, 0);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&comm->lock, NULL);
  return SLEY_OK;
}

sley_status sl_world_create(int ranks, int workgroup, int threads, int turns, sl_world **out) {
  *out = NULL;
  sl_world *world;
  SL_TRY(SL_NEW_ZERO(world, 1, "the ranks' world"));
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(world->ranks, ranks, "the ranks' world"), fail);
  world->polls = (int64_t)ranks * threads <= sl_cores() ? POLLS : POLLS_CROWDED;
  atomic_init(&world->left_rank, -1);
  world->failure.rank = -1;
  pthread_mutex_init(&world->lock, NULL);
  pthread_mutex_init(&world->turns_lock, NULL);
  world->turns = world->turns_now = world->turns_free = turns;
  sem_init(&world->turns_over, 0, 0);
  for (; world->size < ranks; world->size++)
    SL_TRY_GOTO(status, comm_init(&world->ranks[world->size], world, world->size, ranks, workgroup),
                fail_ranks);
  *out = world;
  return SLEY_OK;
fail_ranks:
  sl_world_destroy(world);
  return status;
fail:
  sl_free(world);
  return status;
}

void sl_world_destroy(sl_world *world) {
  if (!world)
    return;
  for (int r = 0; r < world->size; r++) {
    pthread_mutex_destroy(&world->ranks[r].lock);
    pthread_cond_destroy(&world->ranks[r].wake);
    sem_destroy(&world->ranks[r].turn.go);
    sl_free(world->ranks[r].inside);
  }
  pthread_mutex_destroy(&world->lock);
  pthread_mutex_destroy(&world->turns_lock);
  sem_destroy(&world->turns_over);
  sl_free(world->ranks);
  sl_free(world);
}

void sl_world_wake(sl_world *world, int rank) {
  sl_threads_comm *peer = &world->ranks[rank];
  if (world->turns > 0) {
    sl_turns_offer(world, rank);
    return;
  }
  if (atomic_load(&peer->sleepers) == 0)
    return;
  pthread_mutex_lock(&peer->lock);
  pthread_cond_broadcast(&peer->wake);
  pthread_mutex_unlock(&peer->lock);
}

static void wake_all(sl_world *world) {
  if (world->turns > 0) {
    sl_turns_offer_all(world);
    return;
  }
  for (int r = 0; r < world->size; r++)
    sl_world_wake(world, r);
}

static bool is_broken(sl_world *world) {
  return (atomic_load(&world->arrivals) & SL_WORLD_BROKEN) != 0;
}

bool sl_world_enter(sl_threads_comm *comm, int peer) {
  atomic_fetch_add(&comm->world->ranks[peer].readers, 1);
  if (!is_broken(comm->world))
    return true;
  sl_world_leave(comm, peer);
  return false;
}

void sl_world_leave(sl_threads_comm *comm, int peer) {
  atomic_fetch_sub(&comm->world->ranks[peer].readers, 1);
}

bool sl_world_stay(sl_threads_comm *comm, int peer) {
  if (!sl_world_enter(comm, peer))
    return false;
  comm->inside[comm->inside_count++] = peer;
  return true;
}

void sl_world_leave_all(sl_threads_comm *comm) {
  while (comm->inside_count > 0)
    sl_world_leave(comm, comm->inside[--comm->inside_count]);
}

void sl_world_quiesce(sl_threads_comm *comm) {
  while (atomic_load(&comm->readers) > 0)
    if (comm->world->turns > 0)
      sl_turns_wait(comm, NULL, 0, -1); /* a reader may wait for its turn */
    else
      sched_yield();
}

sley_status sl_world_check(sl_threads_comm *comm) {
  sl_world *world = comm->world;
  if (!is_broken(world))
    return sl_interrupted();
  pthread_mutex_lock(&world->lock);
  sley_status status = sl_error_of_peer(world->failure.rank, &world->failure);
  pthread_mutex_unlock(&world->lock);
  return status;
}

static void raise_stop(uint32_t *stop) {
  if (stop)
    __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
}

void sl_world_stop_at(sl_threads_comm *comm, uint32_t *stop) {
  pthread_mutex_lock(&comm->world->lock);
  comm->stop = stop;
  if (comm->world->failure.rank >= 0)
    raise_stop(stop);
  pthread_mutex_unlock(&comm->world->lock);
}

void sl_world_track(sl_threads_comm *comm, sl_device_work *work) {
  work->next = comm->work;
  comm->work = work;
}

void sl_world_untrack(sl_threads_comm *comm, sl_device_work *work) {
  sl_device_work **at = &comm->work;
  while (*at && *at != work)
    at = &(*at)->next;
  if (*at)
    *at = work->next;
}

static void retreat(const sl_threads_comm *comm) {
  for (const sl_device_work *work = comm->work; work; work = work->next)
    work->retreat(work->owner);
}

static void settle(sl_threads_comm *comm) {
  sl_queue *queue = comm->base.queue, *urgent = comm->urgent;
  if (!comm->work)
    return;
  for (; comm->work; comm->work = comm->work->next)
    comm->work->settle(comm->work->owner, queue);
  (void)urgent->ops->queue_wait(urgent);
  (void)queue->ops->queue_wait(queue);
}

void sl_world_abort(sl_threads_comm *comm, sley_status status) {
  sl_world *world = comm->world;
  sl_error failure;
  sl_error_take(status, &failure);
  if (failure.status != SLEY_ERR_PEER || failure.rank < 0 || failure.rank >= world->size)
    failure.rank = comm->base.rank;
  retreat(comm);
  sl_world_leave_all(comm);
  pthread_mutex_lock(&world->lock);
  if (world->failure.rank < 0) {
    world->failure = failure;
    atomic_fetch_or(&world->arrivals, SL_WORLD_BROKEN);
    for (int r = 0; r < world->size; r++)
      raise_stop(world->ranks[r].stop);
  }
  pthread_mutex_unlock(&world->lock);
  wake_all(world);
  sl_world_quiesce(comm);
  settle(comm);
}

void sl_world_left(sl_threads_comm *comm) {
  sl_world_leave_all(comm);
  atomic_store(&comm->left, true);
  atomic_store(&comm->world->left_rank, comm->base.rank);
  wake_all(comm->world);
}

/* Returns the error for which this rank should stop waiting, or SLEY_OK. */
static sley_status trouble(sl_threads_comm *comm, int peer) {
  sl_world *world = comm->world;
  SL_TRY(sl_world_check(comm));
  int left = peer >= 0 ? (atomic_load(&world->ranks[peer].left) ? peer : -1) : atomic_load(&world->left_rank);
  if (left >= 0)
    return sl_fail(
        SLEY_ERR_PEER,
        "rank %d has returned, but rank %d waits for it: all ranks must make the same collective calls", left,
        comm->base.rank);
  return SLEY_OK;
}

static bool reached(_Atomic uint64_t *word, uint64_t least) {
  return word && (atomic_load(word) & ~SL_WORLD_BROKEN) >= least;
}

/* Sleeps until the word is reached or there is an error. */
static sley_status sleep_until(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer) {
  sley_status status = SLEY_OK;
  pthread_mutex_lock(&comm->lock);
  atomic_fetch_add(&comm->sleepers, 1);
  while (!reached(word, least) && (status = trouble(comm, peer)) == SLEY_OK) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += SLEEP_NANOSECONDS;
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      until.tv_sec++;
    }
    pthread_cond_timedwait(&comm->wake, &comm->lock, &until);
  }
  atomic_fetch_sub(&comm->sleepers, 1);
  pthread_mutex_unlock(&comm->lock);
  return status;
}

/* The same in a world with turns: passes this rank's turn on. */
static sley_status wait_in_turn(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer) {
  sley_status status = SLEY_OK;
  while (!reached(word, least) && (status = trouble(comm, peer)) == SLEY_OK)
    sl_turns_wait(comm, word, least, peer);
  return status;
}

/* Run time of all threads of the process, in seconds. */
static double process_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Yields the processor. Returns whether other programs used the time. */
static bool yields_to_strangers(sl_threads_comm *comm) {
  double begin = sl_now();
  sched_yield();
  double now = sl_now();
  if (now - begin < LONG_YIELD)
    return false;
  double had = process_seconds(), last = comm->long_yield, last_had = comm->long_yield_had;
  comm->long_yield = now;
  comm->long_yield_had = had;
  return last > 0 && had - last_had < SHARE * (now - last);
}

/* Polls; returns whether the word was reached. */
static bool poll_until(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least) {
  int polls = comm->unpolled > 0 ? 1 : comm->world->polls;
  comm->unpolled -= comm->unpolled > 0;
  for (int poll = 0; poll < polls; poll++) {
    for (int look = 0; look < LOOKS; look++) {
      if (reached(word, least))
        return true;
      pause_briefly();
    }
    if (polls > 1 && yields_to_strangers(comm)) {
      comm->unpolled = UNPOLLED;
      break;
    }
  }
  return false;
}

sley_status sl_world_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer) {
  bool in_turn = comm->world->turns > 0;
  if (!in_turn && poll_until(comm, word, least))
    return SLEY_OK;
  sley_status status = (in_turn ? wait_in_turn : sleep_until)(comm, word, least, peer);
  if (status == SLEY_OK)
    return SLEY_OK;
  sl_world_abort(comm, status); /* only the first abort counts; this one matters after an interrupt or if a
                                   rank has left */
  return reached(word, least) ? SLEY_OK : status;
}

sley_status sl_world_wait_end(sl_threads_comm *comm, int peer) {
  return sl_world_wait(comm, NULL, 0, peer);
}

const sl_post *sl_world_post(const sl_threads_comm *comm, int rank) {
  return &comm->world->ranks[rank].post[comm->epoch & 1];
}

/* Compares all posts. The result is the same on every rank, because all compare the same posts. */
static sley_status compare_posts(sl_threads_comm *comm) {
  int size = comm->base.size;
  const sl_post *first = sl_world_post(comm, 0);
  for (int r = 1; r < size; r++) {
    const sl_post *post = sl_world_post(comm, r);
    if (strcmp(post->call, first->call) != 0)
      return sl_fail(SLEY_ERR_ARG,
                     "rank 0 calls %s, rank %d calls %s: all ranks must make the same collective calls",
                     first->call, r, post->call);
    for (int i = 0; i < SL_POST_NUMBERS; i++)
      if (post->number[i] != first->number[i])
        return sl_fail(SLEY_ERR_ARG,
                       "%s: rank 0 passes %lld, but rank %d passes %lld: all ranks must pass the same",
                       first->call, (long long)first->number[i], r, (long long)post->number[i]);
  }
  sley_status mine = sl_world_post(comm, comm->base.rank)->status;
  if (mine != SLEY_OK)
    return mine;
  for (int r = 0; r < size; r++)
    if (sl_world_post(comm, r)->status != SLEY_OK)
      return sl_error_of_peer(r, &sl_world_post(comm, r)->error);
  return SLEY_OK;
}

/* Returns whether all ranks make the same call and none has failed. */
static bool posts_alike(const sl_threads_comm *comm) {
  const sl_post *first = sl_world_post(comm, 0);
  for (int r = 0; r < comm->base.size; r++) {
    const sl_post *post = sl_world_post(comm, r);
    if ((post->call != first->call && strcmp(post->call, first->call) != 0) || post->status != SLEY_OK)
      return false;
    for (int i = 0; i < SL_POST_NUMBERS; i++)
      if (post->number[i] != first->number[i])
        return false;
  }
  return true;
}

bool sl_world_reduce_into(sl_reduce op, int64_t *sum, const int64_t *values, int count) {
  bool overflow = false;
  for (int i = 0; i < count; i++) {
    if (op == SL_SUM)
      overflow |= __builtin_add_overflow(sum[i], values[i], &sum[i]);
    else if (op == SL_MIN ? values[i] < sum[i] : values[i] > sum[i])
      sum[i] = values[i];
  }
  return !overflow;
}

/* Reduces all ranks' values, while they wait. Stops if a rank has aborted: then no rank uses the sums. */
static void reduce_posts(sl_threads_comm *comm, sl_verdict *verdict) {
  const sl_post *mine = sl_world_post(comm, comm->base.rank);
  int count = (int)mine->number[1];
  for (int r = 0; r < comm->base.size; r++) {
    if (!sl_world_enter(comm, r))
      return;
    const int64_t *theirs = sl_world_post(comm, r)->data[0];
    if (r == 0)
      memcpy(verdict->sum, theirs, (size_t)count * sizeof *theirs);
    else if (!sl_world_reduce_into((sl_reduce)mine->number[0], verdict->sum, theirs, count))
      verdict->overflow = true;
    sl_world_leave(comm, r);
  }
  verdict->complete = true;
}

/* Compares all posts; called by the last rank to arrive. */
static void conclude(sl_threads_comm *comm) {
  sl_verdict *verdict = &comm->world->verdict[comm->epoch & 1];
  verdict->complete = verdict->overflow = false;
  verdict->alike = posts_alike(comm);
  if (verdict->alike && sl_world_post(comm, comm->base.rank)->reduces)
    reduce_posts(comm, verdict);
  atomic_store(&comm->world->met, comm->epoch);
  wake_all(comm->world);
}

const sl_verdict *sl_world_verdict(const sl_threads_comm *comm) {
  return &comm->world->verdict[comm->epoch & 1];
}

/* Ends a meeting that does not take place. A rank that came with its own error keeps that error. */
static sley_status no_meeting(sl_threads_comm *comm, const sl_error *own, sley_status status) {
  sl_world_abort(comm, status);
  return own->status == SLEY_OK ? status : sl_error_restore(own);
}

sley_status sl_world_meet(sl_threads_comm *comm, const sl_post *post) {
  sl_world *world = comm->world;
  sl_error own;
  sl_error_take(post->status, &own);
  sley_status status = sl_world_check(comm);
  if (status != SLEY_OK) /* the posts must not be changed: others may still read them */
    return no_meeting(comm, &own, status);

  uint64_t epoch = ++comm->epoch, least = epoch * (uint64_t)world->size;
  sl_post *slot = &comm->post[epoch & 1];
  *slot = *post;
  slot->error = own;
  uint64_t before = atomic_load(&world->arrivals);
  do {
    if (before & SL_WORLD_BROKEN)
      return no_meeting(comm, &own, sl_world_check(comm));
  } while (!atomic_compare_exchange_weak(&world->arrivals, &before, before + 1));
  if (before + 1 == least)
    conclude(comm);
  else if ((status = sl_world_wait(comm, &world->met, epoch, -1)) != SLEY_OK)
    return no_meeting(comm, &own, status);
  const sl_verdict *verdict = sl_world_verdict(comm);
  if (verdict->alike && (!slot->reduces || verdict->complete))
    return SLEY_OK;
  return verdict->alike ? no_meeting(comm, &own, sl_world_check(comm)) : compare_posts(comm);
}
