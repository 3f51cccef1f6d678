/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings: perm[i] is the new place of row i. The pattern is treated as undirected if the ordering depends
 * on that. */
#ifndef SLEY_ORDER_ORDER_H
#define SLEY_ORDER_ORDER_H

#include "matrix/matrix.h"

typedef struct sl_ordering {
  const char *name, *summary;
  sley_status (*run)(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm);
} sl_ordering;

/* Finds an ordering. Errors: SLEY_ERR_ARG, listing the known names. */
sley_status sl_ordering_find(const char *name, const sl_ordering **out);
extern const sl_ordering *const sl_orderings[]; /* NULL-terminated */

/* Returns the ordering of that name; NULL if there is none. */
const sl_ordering *sl_ordering_named(const char *name);

/* The names of the orderings, NULL-terminated; static. */
const char *const *sl_ordering_names(void);

/* The same as sley_order_candidates. */
const char *const *sl_ordering_candidates(int ranks);

#endif
