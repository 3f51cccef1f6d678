/* SPDX-License-Identifier: Apache-2.0 */
/* Moving vertices to better communities, and contracting communities to the vertices of a smaller graph. */
#ifndef SLEY_ORDER_REFINE_H
#define SLEY_ORDER_REFINE_H

#include "order/edge_lists.h"
#include "order/undirected.h"

typedef struct sl_refine_rule {
  int sweeps;            /* maximum number of sweeps over all vertices; refinement stops early if a sweep
                            moves almost no vertex */
  int64_t most;          /* a community of this strength receives no more vertices; 0: no limit */
  const int32_t *within; /* NULL, or a group for every vertex: the vertex may only have labels of its group,
                            and is moved to one of them if necessary */
  const int32_t *home;   /* with within: the group of every label */
  int32_t groups;        /* with within: number of groups; each has at least one label */
} sl_refine_rule;

/* Changes label, whose entries are 0 .. labels - 1. strength[v]: the edges at v without loops. The result
 * does not depend on the team. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_refine(const sl_undirected *graph, const int64_t *strength, const sl_refine_rule *rule,
                      int32_t *label, int32_t labels, sl_team *team);

/* Makes the graph whose vertices are the labels: links (created for that many vertices) receives its edges,
 * and strength_of the sums of their members' strengths. Errors: SLEY_ERR_MEMORY. */
sley_status sl_contract(const sl_undirected *graph, const int64_t *strength, const int32_t *label,
                        int32_t labels, sl_team *team, sl_adjacency *links, int64_t *strength_of);

#endif
