/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches of single rows of the peers' X, one a remote nonzero. Over addresses a kernel can load, a fetch's
 * rows are pulled in one launch where the device's memory is not the host's; on the host each row is a get,
 * and a fetch asks each owner for all of its rows at once. */
#ifndef SLEY_EXEC_FETCH_ROWS_H
#define SLEY_EXEC_FETCH_ROWS_H

#include "plan/plan.h"

typedef struct sl_fetches sl_fetches;

/* Published memory for the plan's rows of X, and the lists of its fetches. Collective, agreed. */
sley_status sl_fetches_create(const sl_plan *plan, sl_fetches **out);

/* Own rows of X become readable for all; peers' are when it has returned (in the queue's order). Collective.
 */
sley_status sl_fetches_publish(sl_fetches *fetches, const void *x, int64_t stride);

/* The rows of one fetch into dst, one after the other. */
sley_status sl_fetches_run(sl_fetches *fetches, int index, void *dst);

/* Nobody reads this rank's rows any more (in the queue's order). Collective. */
sley_status sl_fetches_retire(sl_fetches *fetches);

/* Collective. Accepts NULL. */
void sl_fetches_destroy(sl_fetches *fetches);

#endif
