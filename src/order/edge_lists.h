/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of weighted edges, one for each community, in memory that is used again as communities merge. */
#ifndef SLEY_ORDER_EDGE_LISTS_H
#define SLEY_ORDER_EDGE_LISTS_H

#include "base/team.h"

typedef struct sl_arc {
  int32_t to;
  int32_t weight; /* saturates */
} sl_arc;

typedef struct sl_arc_list {
  sl_arc *items;
  int32_t count;
} sl_arc_list;

/* A thread's sum under construction: items in the order in which their ends were first added, and a hash
 * table that finds them; and the thread's part of the store. */
typedef struct sl_arc_sum {
  sl_arc *items;
  int32_t count, capacity;
  int32_t *table;              /* item + 1, 0: empty; zero between sums */
  int64_t slots, table_size;   /* used now, allocated */
  struct sl_arc_chunk *chunks; /* newest first */
  int64_t held;                /* links in the chunks */
  int64_t live; /* links kept less links dropped: may be negative, the sum over threads counts */
} sl_arc_sum;

typedef struct sl_adjacency {
  sl_arc_list *list; /* one a vertex */
  int32_t vertices;
  sl_arc_sum *sums; /* one a thread */
  int threads;
} sl_adjacency;

sley_status sl_adjacency_create(int32_t vertices, int threads, sl_adjacency *out);
void sl_adjacency_free(sl_adjacency *links);

/* Adds an edge to the sum. */
sley_status sl_arc_sum_add(sl_arc_sum *sum, int32_t to, int32_t weight);

/* Empties the sum. */
void sl_arc_sum_clear(sl_arc_sum *sum);

/* Stores the sum as the list of vertex, and empties it. */
sley_status sl_adjacency_keep(sl_adjacency *links, sl_arc_sum *sum, int32_t vertex);

/* Forgets the list of vertex. */
void sl_adjacency_drop(sl_adjacency *links, sl_arc_sum *sum, int32_t vertex);

/* Between rounds: gives back memory if most of it holds forgotten lists. */
sley_status sl_adjacency_tidy(sl_adjacency *links, sl_team *team);

#endif
