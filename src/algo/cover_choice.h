/* SPDX-License-Identifier: Apache-2.0 */
/* Decides, for every remote block, which entries are served by rows of X and which by partial rows of Y. */
#ifndef SLEY_ALGO_COVER_CHOICE_H
#define SLEY_ALGO_COVER_CHOICE_H

#include "plan/inspect.h"

/* Fills ins->cover_use and ins->cover_rows with minimum vertex covers, one for each block between two ranks
 * of a workgroup and one for each block between two workgroups (where rows cross once per workgroup). A row
 * of X weighs 1; a partial row of Y weighs 1, or 2 if sums are twice as wide as values. The covers never
 * weigh more than all needed rows of X, which are also a cover. If an entry's column is in the cover, the row
 * of X serves the entry; otherwise its row of Y is in the cover. A second call does nothing. *chosen is
 * false, and nothing is filled, if on every rank with a halo the covers certainly weigh at least most_share
 * of the halo; if most_share is 1, *chosen is always true. Source: SHIRO (arXiv 2512.20178); Konig's theorem.
 * Collective, agreed. */
sley_status sl_cover_choose(sl_inspection *ins, double most_share, bool *chosen);

#endif
