/* SPDX-License-Identifier: Apache-2.0 */
/* Times work that all ranks do together. */
#ifndef SLEY_CLI_COLLECTIVE_TIME_H
#define SLEY_CLI_COLLECTIVE_TIME_H

#include "sley.h"

/* Work that a call on every rank does or enqueues. */
typedef struct cli_timed {
  sley_status (*run)(sley_comm *comm, void *arg);
  void *arg;
} cli_timed;

/* Runs the work once. *ms: the slowest rank's time from a barrier until the device has finished. Collective.
 * Errors: the library's errors. */
sley_status cli_collective_time(sley_comm *comm, const cli_timed *work, double *ms);

#endif
