/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of weighted edges, one for each community, in memory that is reused as communities merge. */
#ifndef SLEY_ORDER_EDGE_LISTS_H
#define SLEY_ORDER_EDGE_LISTS_H

#include "base/team.h"

typedef struct sl_arc {
  int32_t to;
  int32_t weight; /* weight of the edge; larger weights become the largest number */
} sl_arc;

typedef struct sl_arc_list {
  sl_arc *items;
  int32_t count;
} sl_arc_list;

/* A thread's current sum: items in the order in which their ends were first added, and a hash table that
 * finds them; and the thread's part of the store. */
typedef struct sl_arc_sum {
  sl_arc *items;
  int32_t count, capacity;
  int32_t *table;              /* number of an item + 1; 0: empty; all zero between sums */
  int64_t slots, table_size;   /* slots in use, and allocated */
  struct sl_arc_chunk *chunks; /* chunks, newest first */
  int64_t held;                /* number of links for which the chunks have memory */
  int64_t live; /* links kept minus links dropped by this thread; may be negative, because only the sum over
                   the threads matters */
} sl_arc_sum;

typedef struct sl_adjacency {
  sl_arc_list *list; /* one list per vertex */
  int32_t vertices;
  sl_arc_sum *sums; /* one sum per thread */
  int threads;
} sl_adjacency;

sley_status sl_adjacency_create(int32_t vertices, int threads, sl_adjacency *out);
void sl_adjacency_free(sl_adjacency *links);

/* Adds an edge to the sum. */
sley_status sl_arc_sum_add(sl_arc_sum *sum, int32_t to, int32_t weight);

/* Empties the sum. */
void sl_arc_sum_clear(sl_arc_sum *sum);

/* Stores the sum as the list of `vertex`, and empties the sum. */
sley_status sl_adjacency_keep(sl_adjacency *links, sl_arc_sum *sum, int32_t vertex);

/* Drops the list of `vertex`. */
void sl_adjacency_drop(sl_adjacency *links, sl_arc_sum *sum, int32_t vertex);

/* Called between rounds: frees memory if most of it holds dropped lists. */
sley_status sl_adjacency_tidy(sl_adjacency *links, sl_team *team);

#endif
