/* SPDX-License-Identifier: Apache-2.0 */
/* How often a product finds a row of X at hand. */
#ifndef SLEY_PREDICT_LOCALITY_H
#define SLEY_PREDICT_LOCALITY_H

#include "plan/inspect.h"

/* Bytes of distinct rows of X, ascending: the first is about what a core's own cache holds. */
extern const double sl_window_bytes[SL_WINDOWS];

/* Shares of this rank's local and remote entries whose row of X was named not long before, within about so
 * many bytes of distinct rows. From a few samples of the entries in their order; 1 where all rows fit. Of
 * very narrow rows a window holds less, for a sample names 131072 at most. Errors: SLEY_ERR_MEMORY. */
sley_status sl_locality(sl_inspection *ins);

#endif
