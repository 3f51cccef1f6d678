/* SPDX-License-Identifier: Apache-2.0 */
/* Loops on all cores. */
#ifndef SLEY_CLI_RANKS_LOOP_H
#define SLEY_CLI_RANKS_LOOP_H

#include <stdint.h>

#include "sley.h"

/* Processes [begin, end). Its results must not depend on which thread calls it, or in which order. */
typedef sley_status (*cli_loop_body)(void *context, int64_t begin, int64_t end);

/* Runs body over [0, count) in pieces of grain, which free threads claim, and waits. The threads are ranks of
 * this process (sley_run_ranks); threads 0: all cores. Errors: those of body and of sley_run_ranks. */
sley_status cli_loop(int64_t threads, int64_t count, int64_t grain, cli_loop_body body, void *context);

#endif
