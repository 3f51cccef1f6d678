/* SPDX-License-Identifier: Apache-2.0 */
/* For every remote block, which entries are served by rows of X and which by partial rows of Y. */
#ifndef SLEY_ALGO_COVER_CHOICE_H
#define SLEY_ALGO_COVER_CHOICE_H

#include "plan/inspect.h"

/* Fills ins->cover_use and ins->cover_rows with minimum vertex covers: of each block between two ranks of a
 * workgroup, and of each block between two workgroups (where rows cross once a workgroup). Their weight is
 * least: a row of X weighs 1, a partial row of Y 1 or, where sums are twice as wide as values, 2. So they
 * never weigh more than all rows of X that are needed, which are a cover too. An entry whose
 * column is in the cover is served by the row of X; every other one's row is in it. Does nothing the second
 * time. *chosen becomes false, and nothing is filled, where the covers of every rank that has a halo surely
 * weigh most_share of it, or more; with a share of 1 it is always true. Source: SHIRO (arXiv 2512.20178);
 * Konig's theorem. Collective, agreed. */
sley_status sl_cover_choose(sl_inspection *ins, double most_share, bool *chosen);

#endif
