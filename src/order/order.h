/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings: perm[i] is the new place of row i. The input's pattern is taken as undirected where it matters.
 */
#ifndef SLEY_ORDER_ORDER_H
#define SLEY_ORDER_ORDER_H

#include "matrix/matrix.h"

typedef struct sl_ordering {
  const char *name, *summary;
  sley_status (*run)(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm);
} sl_ordering;

/* Errors: SLEY_ERR_ARG listing the names there are. */
sley_status sl_ordering_find(const char *name, const sl_ordering **out);
extern const sl_ordering *const sl_orderings[]; /* NULL-terminated */

/* NULL: there is none of that name. */
const sl_ordering *sl_ordering_named(const char *name);

/* Their names, NULL-terminated; static. */
const char *const *sl_ordering_names(void);

#endif
