/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a rank's main on every transport, with and without a trace, with every number of ranks and size of
 * workgroup. */
#ifndef SLEY_TESTS_RANKS_H
#define SLEY_TESTS_RANKS_H

#include "support.h"
#include "transport/transport_registry.h"

typedef struct rank_case {
  const char *transport;
  bool traced;
  int ranks, workgroup, threads;
  uint64_t seed;      /* differs from case to case */
  const char *device; /* NULL: the environment's */
} rank_case;

/* Runs main on the ranks of a case and returns the status of the transport's run. If traced, the events are
 * discarded. */
sley_status run_case(const rank_case *c, sl_rank_main main, void *arg);

/* Calls body for every case: the transport (environment variable SLEY_TEST_TRANSPORT, default threads), with
 * and without a trace x ranks 1, 2, 3, 4, 7, 8 (under a launcher: the number of launched ranks) x workgroup
 * 1, 2, 4, all; or for a random one in test_share() of these cases, at least one. A case counts only if body
 * calls run_case. If body does not return within WATCHDOG_SECONDS, because a rank hangs, the program ends
 * with a message and fails. */
void each_case(void (*body)(const rank_case *c));

/* Repeats each_case with other random cases until *found, which body increments, is above 0, at most 20
 * times. It runs once if all cases run, and under a launcher, where each rank has its own *found. */
void each_case_until(const int *found, void (*body)(const rank_case *c));

/* The number of algorithms that sley_algorithms() lists. */
int count_algorithms(void);

/* Whether the ranks are processes that a launcher has started, each of which runs the whole test. Then
 * run_case returns the same on all ranks, but only the rank itself sees memory that its main writes, unless
 * share_seen shares it. */
bool test_launched(void);

/* Shares an array with one element of `bytes` bytes per rank, each written by its own rank, with all
 * ranks. */
void share_seen(void *seen, size_t bytes);

/* The largest `mine` on any rank. */
int64_t most_seen(int64_t mine);

/* As assert_sley_ok, and the message names the case. */
void assert_case_ok(const rank_case *c, sley_status status);

/* For mains, which must not use cmocka's asserts: they run in threads. */
#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return sl_fail(SLEY_ERR_INTERNAL, "%s:%d: %s does not hold", __FILE__, __LINE__, #condition);          \
  } while (0)

/* Compares the counts of all ranks together since the last reset with the sum of the ranks' expectations; the
 * rank that hands rows over counts them, which may be either end. Collective. */
sley_status check_counted(sl_comm *comm, const sl_counters *expected);

/* For mains that must free memory after an error: sets status to the error and jumps to done. */
#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      status = sl_fail(SLEY_ERR_INTERNAL, "%s:%d: %s does not hold", __FILE__, __LINE__, #condition);        \
      goto done;                                                                                             \
    }                                                                                                        \
  } while (0)
#define TRY(call) SL_TRY_GOTO(status, call, done)

/* Whether a plan of the algorithm hands entries of A to other ranks, so that it takes no new values by
 * itself. */
bool entries_travel(const char *algo, bool reproducible, int ranks);

#endif
