/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls that signal each other through boards (op_pull.h) for threads of one process, and waits for pieces to
 * arrive: the reference for the GPU kernels. A queue of the CPU runs its work at once, so the rank's thread
 * itself waits for its peers. */
#include <sched.h>

#include "device/cpu/cpu.h"

static uint64_t load(const uint64_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Waits until the word reaches the round. Returns false if all ranks are to stop or the peer has closed its
 * board. */
static bool wait_for(const uint64_t *word, uint64_t round, const uint32_t *stop) {
  for (;;) {
    uint64_t reached = load(word);
    if (reached >= round)
      return reached != SL_BOARD_CLOSED;
    if (__atomic_load_n(stop, __ATOMIC_RELAXED) != 0)
      return false;
    sched_yield();
  }
}

static void lend(const sl_signals *signals, uint64_t round) {
  for (int i = 0; i < signals->lends; i++) {
    sl_board_slot *slot = &signals->lend[i].board->slot[signals->rank];
    slot->src = signals->lend[i].src;
    slot->stride = signals->lend[i].stride;
    store(&slot->ready, round);
  }
}

void sl_cpu_tell_piece(sl_piece_word *word) {
  for (int i = 0; i < SL_PIECE_COPIES; i++)
    __atomic_store_n(&word->here[i].value, word->here[i].value + 1, __ATOMIC_RELEASE);
}

sley_status sl_cpu_pull_signalled(sl_queue *queue, const sl_pull_args *args) {
  const sl_signals *signals = args->signals;
  uint64_t round = signals->own->round + 1;
  sl_pull_source source[SL_PULL_SOURCES];
  bool stopped = false;
  /* Does not offer rows if this rank stopped waiting in an earlier round: peers may still be reading the
   * slots of that round. */
  if (signals->opens && signals->own->stopped == 0 && __atomic_load_n(signals->stop, __ATOMIC_RELAXED) == 0)
    lend(signals, round);
  for (int i = 0; i < args->sources; i++) {
    const sl_board_slot *slot = &signals->own->slot[args->source[i].peer];
    source[i] = args->source[i];
    if (!wait_for(&slot->ready, round, signals->stop)) {
      stopped = true;
      break;
    }
    source[i].src = slot->src;
    source[i].stride = slot->stride;
  }
  sl_kernel_args plain = {.op = SL_OP_PULL, .pull = *args};
  plain.pull.signals = NULL;
  plain.pull.source = source;
  sley_status status = stopped ? SLEY_OK : sl_cpu_pull.run(queue, &plain);
  for (int i = 0; i < args->pieces && stopped; i++)
    sl_cpu_tell_piece(&args->arrived->piece[i]);
  for (int i = 0; i < args->sources && !stopped && !signals->keeps; i++)
    store(&args->source[i].board->slot[signals->rank].taken, round);
  if (stopped)
    signals->own->stopped = 1;
  else if (signals->closes) /* not after a stop, because await would wait for a round that never took place */
    signals->own->round = round;
  return status;
}

static sley_status arrive_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  sl_piece_words *words = args->arrive.words;
  if (args->arrive.piece == 0)
    words->round.value++;
  const uint32_t *here = &words->piece[args->arrive.piece].here[0].value;
  while ((int32_t)(__atomic_load_n(here, __ATOMIC_ACQUIRE) - words->round.value) < 0)
    sched_yield();
  return SLEY_OK;
}

const sl_kernel sl_cpu_arrive = {.name = "arrive",
                                 .op = SL_OP_ARRIVE,
                                 .ok = sl_always_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = arrive_run};

static sley_status await_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  const sl_signals *signals = args->await.signals;
  for (int i = 0; i < signals->lends; i++) /* continues after a peer that has closed its board, because other
                                            * peers may still be reading */
    (void)wait_for(&signals->own->slot[signals->lend[i].peer].taken, signals->own->round, signals->stop);
  return SLEY_OK;
}

const sl_kernel sl_cpu_await = {.name = "await",
                                .op = SL_OP_AWAIT,
                                .ok = sl_always_ok,
                                .cost = sl_cost_of_bytes,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = await_run};
