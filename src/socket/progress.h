/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that moves messages while its rank computes: it looks at the sockets from time to time, as long as
 * the rank allows it. */
#ifndef SLEY_SOCKET_PROGRESS_H
#define SLEY_SOCKET_PROGRESS_H

#include "base/status.h"

typedef struct sl_progress sl_progress;

/* Starts a thread that calls turn(arg) every millisecond between an allow and the next forbid, and ten times
 * as often while it returns true, which means that more work is likely to follow. The thread receives no
 * signals. Errors: SLEY_ERR_MEMORY, SLEY_ERR_IO. */
sley_status sl_progress_start(bool (*turn)(void *arg), void *arg, sl_progress **out);

/* Allows calls of turn from here on. */
void sl_progress_allow(sl_progress *progress);

/* Forbids calls of turn: when it returns, turn is not running, and will not run. */
void sl_progress_forbid(sl_progress *progress);

/* Ends the thread. NULL: does nothing. */
void sl_progress_stop(sl_progress *progress);

#endif
