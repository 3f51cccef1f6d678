/* SPDX-License-Identifier: Apache-2.0 */
/* An ordering by SCOTCH (Pellegrini and Roman 1996). What costs an SpMM is the halo of blocks of consecutive
 * rows, so the rows are divided by SCOTCH's partitioning into PARTS parts of equal size and few cut edges,
 * and numbered part by part. Its parts come from recursive bisection, so that neighbours in number are
 * siblings, and the blocks of 2, 4, 8 or more ranks are unions of whole parts. Nested dissection, SCOTCH's
 * own ordering, serves sparse factorisation: it puts the separators last, where a block of separator rows
 * would need halos from everywhere.
 *
 * Calls take turns, as SCOTCH keeps some global state; its own threads are not used, so that the order
 * depends on nothing but the graph and the seed. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <scotch.h>

#include "base/memory.h"
#include "order/builtin.h"
#include "order/undirected.h"

enum { PARTS = 256, LEAST_ROWS_A_PART = 8 };
static const double IMBALANCE = 0.01;

static pthread_mutex_t scotch_turn = PTHREAD_MUTEX_INITIALIZER;

/* The graph as SCOTCH wants it: no loops, no repeats. */
typedef struct plain_graph {
  SCOTCH_Num *begin, *neighbour;
} plain_graph;

static void plain_graph_free(plain_graph *plain) {
  sl_free(plain->neighbour);
  sl_free(plain->begin);
}

static sley_status plain_graph_create(const sl_undirected *graph, plain_graph *plain) {
  int64_t edges = graph->begin[graph->count] - graph->begin[0];
  if (sizeof(SCOTCH_Num) == sizeof(int32_t) && edges > INT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "SCOTCH with 32-bit numbers takes at most %d entries, not %lld: use rabbit", INT32_MAX,
                   (long long)edges);
  SL_TRY(SL_NEW(plain->begin, (int64_t)graph->count + 1, "a graph for SCOTCH"));
  SL_TRY(SL_NEW(plain->neighbour, edges, "a graph for SCOTCH"));
  SCOTCH_Num placed = 0;
  for (int32_t v = 0; v < graph->count; v++) {
    plain->begin[v] = placed;
    for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++) {
      int32_t w = graph->neighbour[e];
      if (w != v && (e == graph->begin[v] || w != graph->neighbour[e - 1]))
        plain->neighbour[placed++] = w;
    }
  }
  plain->begin[graph->count] = placed;
  return SLEY_OK;
}

/* Whether SCOTCH, in a context of one thread and its own random numbers, filled part. Its functions return
 * nonzero on failure, having printed why. */
static bool divide_in(SCOTCH_Context *context, SCOTCH_Graph *graph, SCOTCH_Num parts, uint64_t seed,
                      SCOTCH_Num *part) {
  SCOTCH_Graph bound;
  SCOTCH_Strat strategy;
  if (SCOTCH_contextOptionSetNum(context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
      SCOTCH_contextThreadSpawn(context, 1, NULL) != 0)
    return false;
  SCOTCH_contextRandomSeed(context, (SCOTCH_Num)(seed & INT32_MAX));
  SCOTCH_contextRandomReset(context);
  if (SCOTCH_graphInit(&bound) != 0 || SCOTCH_contextBindGraph(context, graph, &bound) != 0)
    return false;
  SCOTCH_stratInit(&strategy);
  bool done = SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATRECURSIVE | SCOTCH_STRATBALANCE, parts,
                                        IMBALANCE) == 0 &&
              SCOTCH_graphPart(&bound, parts, &strategy, part) == 0;
  SCOTCH_stratExit(&strategy);
  SCOTCH_graphExit(&bound);
  return done;
}

/* part: the part of each vertex. */
static sley_status divide(const plain_graph *plain, SCOTCH_Num count, SCOTCH_Num parts, uint64_t seed,
                          SCOTCH_Num *part) {
  SCOTCH_Graph graph;
  SCOTCH_Context context;
  if (SCOTCH_graphInit(&graph) != 0 || SCOTCH_contextInit(&context) != 0)
    return sl_fail(SLEY_ERR_INTERNAL,
                   "SCOTCH could not start: its header and its library may differ in version");
  bool done = SCOTCH_graphBuild(&graph, 0, count, plain->begin, NULL, NULL, NULL, plain->begin[count],
                                plain->neighbour, NULL) == 0 &&
              divide_in(&context, &graph, parts, seed, part);
  SCOTCH_contextExit(&context);
  SCOTCH_graphExit(&graph);
  if (!done)
    return sl_fail(SLEY_ERR_MEMORY,
                   "SCOTCH could not divide a graph of %lld vertices: it is likely out of memory",
                   (long long)count);
  return SLEY_OK;
}

static sley_status order_scotch(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  sl_undirected graph;
  plain_graph plain = {0};
  SCOTCH_Num *part = NULL;
  sley_status status;
  SL_TRY(sl_undirected_create(matrix, team, &graph));
  SCOTCH_Num parts = PARTS;
  while (parts > 1 && (int64_t)parts * LEAST_ROWS_A_PART > graph.count)
    parts /= 2;
  SL_TRY_GOTO(status, SL_NEW_ZERO(part, graph.count, "SCOTCH's parts"), done);
  if (parts > 1) {
    SL_TRY_GOTO(status, plain_graph_create(&graph, &plain), done);
    pthread_mutex_lock(&scotch_turn);
    status = divide(&plain, graph.count, parts, seed, part);
    pthread_mutex_unlock(&scotch_turn);
    if (status != SLEY_OK)
      goto done;
  }
  int64_t place[PARTS + 1] = {0};
  for (int32_t v = 0; v < graph.count; v++)
    place[part[v] + 1]++;
  for (int p = 0; p < PARTS; p++)
    place[p + 1] += place[p];
  for (int32_t v = 0; v < graph.count; v++)
    perm[v] = place[part[v]]++;
done:
  sl_free(part);
  plain_graph_free(&plain);
  sl_undirected_free(&graph);
  return status;
}

const sl_ordering sl_order_scotch = {"scotch", "SCOTCH's graph partitioning, part by part", order_scotch};
