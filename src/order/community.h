/* SPDX-License-Identifier: Apache-2.0 */
/* Communities of a graph, merged as long as modularity gains; the record of the merges is a dendrogram. */
#ifndef SLEY_ORDER_COMMUNITY_H
#define SLEY_ORDER_COMMUNITY_H

#include "order/edge_lists.h"
#include "order/undirected.h"

/* The record of merges. A vertex represents the community that has gathered around it, until it merges into
 * another vertex, its parent. */
typedef struct sl_dendrogram {
  int32_t count;
  int32_t *parent;  /* -1: a root */
  int32_t *child;   /* the last vertex that merged into this one; -1: none */
  int32_t *sibling; /* the vertex that merged into the same parent just before this vertex; -1: none */
  int32_t *label;   /* community of each vertex, 0 .. labels - 1 in the order of their roots */
  int32_t labels;
} sl_dendrogram;

/* The graph whose communities are merged: count vertices. The edges of v are links->list[v], or the graph's
 * if that list was never kept; lists are replaced as communities merge, so links is consumed. strength[v]:
 * weight of the edges at v. */
typedef struct sl_community_input {
  int32_t count;
  const sl_undirected *graph; /* NULL if every vertex has a list */
  sl_adjacency *links;
  const int64_t *strength;
  int64_t most; /* largest strength of a community; 0: no limit */
  bool join; /* afterwards join connected communities into one tree, the weakest community first, each along
                its strongest link; label keeps the communities from before */
} sl_community_input;

/* Merges communities as long as modularity gains. The result depends only on the input, not on the team.
 * Freed by sl_dendrogram_free. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_merge_communities(const sl_community_input *input, sl_team *team, sl_dendrogram *out);
void sl_dendrogram_free(sl_dendrogram *dendrogram);

/* Numbers the vertices: place receives each vertex's number in a depth-first walk, parents before children,
 * children in the order in which they merged; so every subtree has consecutive numbers. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_dendrogram_number(const sl_dendrogram *dendrogram, int32_t *place);

#endif
