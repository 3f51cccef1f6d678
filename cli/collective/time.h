/* SPDX-License-Identifier: Apache-2.0 */
/* The time of what all ranks do together. */
#ifndef SLEY_CLI_COLLECTIVE_TIME_H
#define SLEY_CLI_COLLECTIVE_TIME_H

#include "sley.h"

/* Work that is enqueued, or done, by a call on every rank. */
typedef struct cli_timed {
  sley_status (*run)(sley_comm *comm, void *arg);
  void *arg;
} cli_timed;

/* Runs it once. *ms: the slowest rank's time, from a barrier until the device is done. Collective. Errors:
 * the library's. */
sley_status cli_collective_time(sley_comm *comm, const cli_timed *work, double *ms);

#endif
