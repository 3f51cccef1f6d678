/* SPDX-License-Identifier: Apache-2.0 */
/* Running a rank's main on every transport, wrapped in a trace or not, with every number of ranks and
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

/* Runs main on the ranks of a case and returns what the transport's run does. Traced: the events are
 * discarded. */
sley_status run_case(const rank_case *c, sl_rank_main main, void *arg);

/* body once for: the transport (environment SLEY_TEST_TRANSPORT, else threads), bare and traced x ranks 1, 2,
 * 3, 4, 7, 8 (where a launcher has started the test: as many as that) x workgroup 1, 2, 4, all; or for one in
 * test_share() of these, drawn, one at least. A case that the body has not run, by run_case, does not count.
 * Ends the program with a message, and so fails, if a body does not return within WATCHDOG_SECONDS: a rank
 * hangs. */
void each_case(void (*body)(const rank_case *c));

/* The same again, with other cases drawn, until *found, which the body counts up, is above 0; 20 times at
 * most. Once where all cases are run, and of ranks that a launcher has started, each of which finds its own.
 */
void each_case_until(const int *found, void (*body)(const rank_case *c));

/* How many algorithms sley_algorithms() lists. */
int count_algorithms(void);

/* Whether the ranks are processes that a launcher has started, each of which runs the whole test: then
 * run_case returns the same on all, but what a main writes to is seen by its own rank alone, unless it is
 * shared: */
bool test_launched(void);

/* An element of so many bytes from each rank, written by its own, becomes known to all. */
void share_seen(void *seen, size_t bytes);

/* The largest on any rank. */
int64_t most_seen(int64_t mine);

/* As assert_sley_ok, and says which case failed. */
void assert_case_ok(const rank_case *c, sley_status status);

/* For mains, which must not use cmocka's asserts: they run in threads. */
#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return sl_fail(SLEY_ERR_INTERNAL, "%s:%d: %s does not hold", __FILE__, __LINE__, #condition);          \
  } while (0)

/* Compares what all ranks together have counted since the last reset with the sum of what each has expected;
 * the rank that hands rows over counts them, which may be either end. Collective. */
sley_status check_counted(sl_comm *comm, const sl_counters *expected);

/* For mains that must free what they have: status becomes the error, and they go on at done. */
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
