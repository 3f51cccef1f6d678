/* SPDX-License-Identifier: Apache-2.0 */
/* A team: the threads of one rank. Bodies return statuses; the first failing thread's message reaches the
 * caller. */
#ifndef SLEY_BASE_TEAM_H
#define SLEY_BASE_TEAM_H

#include "base/status.h"

typedef struct sl_team sl_team;

/* threads >= 1, the caller among them; 0: all cores this process may use. */
sley_status sl_team_create(int threads, sl_team **out);
void sl_team_destroy(sl_team *team);

/* Number of threads; 1 for NULL, which stands for the calling thread alone everywhere below. */
int sl_team_size(const sl_team *team);

/* Cores this process may use at once (base/cores.h), at least 1. */
int sl_cores(void);

typedef sley_status (*sl_team_body)(void *context, int thread, int threads);

/* Runs body on every thread of the team and waits. Not reentrant: body must not run the same team. */
sley_status sl_team_run(sl_team *team, sl_team_body body, void *context);

typedef sley_status (*sl_range_body)(void *context, int64_t begin, int64_t end, int thread);

/* Runs body over [0, count) in pieces of grain, claimed by whichever thread is free: each thread begins with
 * the same share in every loop of the same count and grain, which may still be in its caches. Which thread
 * gets a piece varies from run to run, so a body must not let its result depend on it. */
sley_status sl_team_for(sl_team *team, int64_t count, int64_t grain, sl_range_body body, void *context);

/* The same in pieces of one, for loops that take about as long as a thread takes to wake: none takes of
 * another thread's share, which would only move it to other caches, since the loop ends when all threads have
 * been there. */
sley_status sl_team_for_short(sl_team *team, int64_t count, sl_range_body body, void *context);

/* Copies bytes >= 0 from src to dst, which do not overlap: a long block by all threads. */
void sl_team_copy(sl_team *team, void *dst, const void *src, int64_t bytes);

#endif
