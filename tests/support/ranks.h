/* SPDX-License-Identifier: Apache-2.0 */
/* Running a rank's main on every transport, wrapped in a trace or not, with every number of ranks and
 * workgroup. */
#ifndef SLEY_TESTS_RANKS_H
#define SLEY_TESTS_RANKS_H

#include "support.h"
#include "transport/registry.h"

typedef struct rank_case {
  const char *transport;
  bool traced;
  int ranks, workgroup, threads;
  uint64_t seed; /* differs from case to case */
} rank_case;

/* Runs main on the ranks of a case and returns what the transport's run does. Traced: the events are
 * discarded. */
sley_status run_case(const rank_case *c, sl_rank_main main, void *arg);

/* body once for: the transport (environment SLEY_TEST_TRANSPORT, else threads), bare and traced x ranks 1, 2,
 * 3, 4, 7, 8 x workgroup 1, 2, 4, all. Ends the program with a message, and so fails, if a body does not
 * return within 30 s: a rank hangs. */
void each_case(void (*body)(const rank_case *c));

/* As assert_sley_ok, and says which case failed. */
void assert_case_ok(const rank_case *c, sley_status status);

/* For mains, which must not use cmocka's asserts: they run in threads. */
#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return sl_fail(SLEY_ERR_INTERNAL, "%s:%d: %s does not hold", __FILE__, __LINE__, #condition);          \
  } while (0)

#endif
