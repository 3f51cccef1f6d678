/* SPDX-License-Identifier: Apache-2.0 */
/* Moving messages while their rank computes: a thread of its own looks at the sockets from time to time, as
 * long as the rank lets it. */
#ifndef SLEY_BOOTSTRAP_PROGRESS_H
#define SLEY_BOOTSTRAP_PROGRESS_H

#include "base/status.h"

typedef struct sl_progress sl_progress;

/* A thread that calls turn(arg) every millisecond between an allow and the next forbid, and ten times as
 * often where it returns true, for there is much to do. It takes no signals. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_IO. */
sley_status sl_progress_start(bool (*turn)(void *arg), void *arg, sl_progress **out);

/* From here on turn may be called. */
void sl_progress_allow(sl_progress *progress);

/* When it returns, turn is not being called, and will not be. */
void sl_progress_forbid(sl_progress *progress);

/* Ends the thread. NULL: nothing. */
void sl_progress_stop(sl_progress *progress);

#endif
