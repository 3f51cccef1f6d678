/* SPDX-License-Identifier: Apache-2.0 */
/* A team: the threads of one rank. Bodies return statuses; the message of the lowest failing thread reaches
 * the caller. */
#ifndef SLEY_BASE_TEAM_H
#define SLEY_BASE_TEAM_H

#include "base/status.h"

typedef struct sl_team sl_team;

/* Makes a team of threads >= 1 threads, the caller included; 0: all cores this process may use. */
sley_status sl_team_create(int threads, sl_team **out);
void sl_team_destroy(sl_team *team);

/* Number of threads. Here and below, NULL stands for the calling thread alone. */
int sl_team_size(const sl_team *team);

/* Cores this process may use at once (base/cores.h), at least 1. */
int sl_cores(void);

typedef sley_status (*sl_team_body)(void *context, int thread, int threads);

/* Runs body once for each number of a thread, at the same time on as many threads as are free, and waits. A
 * thread runs the body of its own number. The caller runs number 0, then those that their threads have not
 * begun, for example because they are asleep or other threads use their cores; so no body may wait for
 * another to begin. Not reentrant: body must not run the same team. */
sley_status sl_team_run(sl_team *team, sl_team_body body, void *context);

typedef sley_status (*sl_range_body)(void *context, int64_t begin, int64_t end, int thread);

/* Runs body over [0, count) in pieces of grain, which free threads claim. The caller claims from the
 * beginning, and waits only for pieces that other threads have begun. Threads that are asleep are woken if
 * the loop takes longer than that, as the last such loop or its first pieces tell. Each thread begins with
 * the same share in every loop of the same count and grain, which may still be in its caches. Which thread
 * gets a piece varies from run to run, so the result of a body must not depend on it. */
sley_status sl_team_for(sl_team *team, int64_t count, int64_t grain, sl_range_body body, void *context);

/* The same with pieces of one, for loops of less than a millisecond. */
sley_status sl_team_for_brief(sl_team *team, int64_t count, sl_range_body body, void *context);

/* Names the work that the next `loops` calls of sl_team_for on this team do, for those who watch (watch.h).
 * work is static; NULL ends the work. */
void sl_team_begin_work(sl_team *team, const char *work, int loops);

/* Copies bytes >= 0 from src to dst, which do not overlap. A long block is copied by all threads. */
void sl_team_copy(sl_team *team, void *dst, const void *src, int64_t bytes);

/* Replaces sum[0 .. count - 1] by the sums of its elements up to each place. Long arrays take all threads. */
void sl_team_sum_up(sl_team *team, int64_t *sum, int64_t count);

#endif
