/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of long work, for the function that sley_watch has named. */
#ifndef SLEY_BASE_WATCH_H
#define SLEY_BASE_WATCH_H

#include "sley_base.h"

/* Returns whether anyone watches. */
bool sl_watched(void);

/* Reports the share of the work `name` (a static text) that is done, within [0, 1]. Does nothing while nobody
 * watches, or while another thread reports. */
void sl_watch_tell(const char *name, double share);

#endif
