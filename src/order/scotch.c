/* SPDX-License-Identifier: Apache-2.0 */
/* An ordering by SCOTCH (Pellegrini and Roman 1996): recursive bisection, part by part. SCOTCH's own threads
 * are not used, so that the order depends only on the graph and the seed. */
#include <stdint.h>
#include <stdio.h>
#include <scotch.h>

#include "order/builtin.h"
#include "order/divided.h"

static const double IMBALANCE = 0.01;

/* Fills part by SCOTCH, in a context of one thread with separate random numbers; returns whether it
 * succeeded. SCOTCH's functions return nonzero on failure, after printing the reason. */
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

static sley_status divide(int64_t count, void *begin_, void *neighbour, void *weight, int64_t parts,
                          uint64_t seed, void *part) {
  SCOTCH_Graph graph;
  SCOTCH_Context context;
  SCOTCH_Num *begin = begin_;
  if (SCOTCH_graphInit(&graph) != 0 || SCOTCH_contextInit(&context) != 0)
    return sl_fail(SLEY_ERR_INTERNAL,
                   "SCOTCH could not start: its header and its library may differ in version");
  bool done = SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)count, begin, NULL, NULL, NULL, begin[count],
                                neighbour, weight) == 0 &&
              divide_in(&context, &graph, (SCOTCH_Num)parts, seed, part);
  SCOTCH_contextExit(&context);
  SCOTCH_graphExit(&graph);
  if (!done)
    return sl_fail(SLEY_ERR_MEMORY,
                   "SCOTCH could not divide a graph of %lld vertices: it is likely out of memory",
                   (long long)count);
  return SLEY_OK;
}

static sley_status order_scotch(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  static const sl_divider scotch = {.name = "SCOTCH", .number_bytes = sizeof(SCOTCH_Num), .divide = divide};
  return sl_order_divided(matrix, &scotch, false, seed, team, perm);
}

const sl_ordering sl_order_scotch = {"scotch", "SCOTCH's graph partitioning, part by part", order_scotch};
