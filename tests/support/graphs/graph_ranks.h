/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of graph network operations over ranks: a random graph, and operands that every rank knows as a
 * whole, with the rank's own part in the memory of its device. */
#ifndef SLEY_TESTS_GRAPH_RANKS_H
#define SLEY_TESTS_GRAPH_RANKS_H

#include "graph_oracle.h"
#include "mirror.h"
#include "ranks.h"

enum { RANKED_GRAPH_MOST = 8 };

typedef struct ranked_graph {
  uint64_t seed;
  int ranks;
  sley_matrix *a;
  int64_t heads, width, pad; /* pad: added to leading dimensions */
  sley_dtype dtype;
  bool reproducible;
  int64_t row_begin[RANKED_GRAPH_MOST + 1], col_begin[RANKED_GRAPH_MOST + 1];
} ranked_graph;

/* A random rectangular graph with empty rows, columns and ranks, and random heads, width and dtype. Sometimes
 * most rows need no rows of other ranks. Freed by ranked_graph_free. */
ranked_graph ranked_graph_draw(uint64_t seed, int ranks);
void ranked_graph_free(ranked_graph *c);

/* The division of an operand among the ranks: by rows, columns or entries of the graph. */
typedef enum graph_side { GRAPH_ROWS, GRAPH_COLS, GRAPH_ENTRIES } graph_side;

/* An operand of `features` values per row, column or entry. whole: the operand of all ranks, in float64,
 * contiguous. */
typedef struct graph_array {
  const ranked_graph *c;
  graph_side side;
  sley_dtype dtype;
  int64_t first, count, features, ld; /* this rank's part */
  double *whole;
  void *host;
  mirror m;
} graph_array;

/* Creates the graph of this rank's rows; block: these rows of c's matrix. Collective. */
sley_status ranked_graph_make(sley_comm *comm, const ranked_graph *c, const sley_matrix *block,
                              sley_graph **out);

/* Opens an operand with random values, which differ for each `number`. After an error it may still be
 * closed. */
sley_status graph_array_open(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                             int number, graph_array *out);
/* Opens an operand of zeros in the given type: a type of sums, or int32_t (with dtype f32). */
sley_status graph_array_open_as(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                                sley_dtype dtype, graph_array *out);
void graph_array_close(graph_array *a);

/* Fetches the rank's part of a result and compares it with the oracle. The error may be `terms` rounding
 * units of the type of sums, relative to the magnitude, plus one rounding to the dtype. what: for the
 * message. */
sley_status graph_array_check(const graph_array *a, const oracle_result *expected, double terms,
                              const char *what);

/* Computes a hash of the bits of all ranks' parts, which does not depend on the number of ranks.
 * Collective. */
sley_status graph_array_bits(sley_comm *comm, const graph_array *a, int64_t *bits);

/* The argument of a main for one sample. One rank runs first, and its bits are stored; then all ranks run. */
typedef struct ranked_run {
  const ranked_graph *c;
  uint64_t sample;
  int64_t bits[8];
  bool compares;
} ranked_run;

/* Runs main with a ranked_run for several graphs: first on one rank, unless a launcher has started the ranks,
 * and then on the ranks of the case. */
void ranked_graph_samples(const rank_case *c, sl_rank_main main);

/* Stores the bits of an array under a number in the first run, and on the CPU compares them in the second
 * run. Collective. */
sley_status ranked_run_bits(sley_comm *comm, ranked_run *run, int number, const graph_array *a,
                            const char *what);

#endif
