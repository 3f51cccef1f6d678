/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches of single rows of the peers' X, one for each remote nonzero. If a kernel can load from the peers'
 * memory, it pulls the rows of a fetch in one launch. On the host each row is a get, and a fetch requests
 * from each owner all of its rows at once. */
#ifndef SLEY_EXEC_FETCH_ROWS_H
#define SLEY_EXEC_FETCH_ROWS_H

#include "plan/plan.h"

typedef struct sl_fetches sl_fetches;

/* Allocates symmetric memory for the plan's rows of X, and makes the lists of its fetches. Collective,
 * agreed. */
sley_status sl_fetches_create(const sl_plan *plan, sl_fetches **out);

/* Makes the rank's rows of X readable for all ranks. When it returns (in the queue's order), the rows of all
 * peers are readable. Collective. */
sley_status sl_fetches_publish(sl_fetches *fetches, const void *x, int64_t stride);

/* Fetches the rows of one fetch to dst, one after the other. */
sley_status sl_fetches_run(sl_fetches *fetches, int index, void *dst);

/* Waits (in the queue's order) until no rank reads this rank's rows. Collective. */
sley_status sl_fetches_retire(sl_fetches *fetches);

/* Frees the fetches. fetches may be NULL. Collective. */
void sl_fetches_destroy(sl_fetches *fetches);

#endif
