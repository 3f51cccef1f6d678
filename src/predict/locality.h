/* SPDX-License-Identifier: Apache-2.0 */
/* How often a product finds a row of X in a cache. */
#ifndef SLEY_PREDICT_LOCALITY_H
#define SLEY_PREDICT_LOCALITY_H

#include "plan/inspect.h"

/* Bytes of distinct rows of X, ascending: the first is about the size of a core's own cache. */
extern const double sl_window_bytes[SL_WINDOWS];

/* Computes, for this rank's local and remote entries, the share whose row of X was used recently, within
 * about that many bytes of distinct rows. Uses a few samples of the entries in their order; the share is 1 if
 * all rows fit. For very narrow rows a window is smaller, because a sample covers at most 131072 rows.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_locality(sl_inspection *ins);

#endif
