/* SPDX-License-Identifier: Apache-2.0 */
/* Vertices change to better communities, and communities become the vertices of a smaller graph. */
#ifndef SLEY_ORDER_REFINE_H
#define SLEY_ORDER_REFINE_H

#include "order/edge_lists.h"
#include "order/undirected.h"

typedef struct sl_refine_rule {
  int sweeps;   /* over all vertices; fewer if one moves almost none */
  int64_t most; /* a community this strong receives no more; 0: no limit */
  const int32_t
      *within; /* NULL, or a group for every vertex: it may only be in labels of that group, and is moved */
  const int32_t *home; /* into one of them if it is not. The group of every label; */
  int32_t groups;      /* each group has a label */
} sl_refine_rule;

/* Changes label, entries 0 .. labels - 1. strength[v]: the edges at v but loops. The result does not depend
 * on the team. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_refine(const sl_undirected *graph, const int64_t *strength, const sl_refine_rule *rule,
                      int32_t *label, int32_t labels, sl_team *team);

/* The graph whose vertices are the labels: links (created for that many vertices) receives their edges, and
 * strength_of the sums of their members' strengths. Errors: SLEY_ERR_MEMORY. */
sley_status sl_contract(const sl_undirected *graph, const int64_t *strength, const int32_t *label,
                        int32_t labels, sl_team *team, sl_adjacency *links, int64_t *strength_of);

#endif
