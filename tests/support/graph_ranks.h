/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of graph networks over ranks: a random graph, and operands that every rank knows whole, of which
 * each has its own part in its device's memory. */
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

/* A random graph, heads, width and dtype; rectangular, with empty rows, columns and ranks; at times most rows
 * need nothing of other ranks. Freed by the second. */
ranked_graph ranked_graph_draw(uint64_t seed, int ranks);
void ranked_graph_free(ranked_graph *c);

/* How an operand is divided among the ranks. */
typedef enum graph_side { GRAPH_ROWS, GRAPH_COLS, GRAPH_ENTRIES } graph_side;

/* An operand of `features` values for each row, column or entry. whole: of all ranks, in float64, without
 * gaps. */
typedef struct graph_array {
  const ranked_graph *c;
  graph_side side;
  sley_dtype dtype;
  int64_t first, count, features, ld; /* this rank's part */
  double *whole;
  void *host;
  mirror m;
} graph_array;

/* The graph of this rank's rows; block: of c's matrix. Collective. */
sley_status ranked_graph_make(sley_comm *comm, const ranked_graph *c, const sley_matrix *block,
                              sley_graph **out);

/* Random values, other ones for each `number`. After an error it may be closed all the same. */
sley_status graph_array_open(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                             int number, graph_array *out);
/* One in the type of sums, or of int32_t (with dtype f32), in zeros. */
sley_status graph_array_open_as(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                                sley_dtype dtype, graph_array *out);
void graph_array_close(graph_array *a);

/* Fetches the rank's part of a result and compares it with the whole: |value - expected| within `terms` units
 * of the type of sums of the magnitude, and one rounding to the dtype; what: for the message. */
sley_status graph_array_check(const graph_array *a, const oracle_result *expected, double terms,
                              const char *what);

/* A number that depends on the bits of all ranks' parts together, whatever the number of ranks. Collective.
 */
sley_status graph_array_bits(sley_comm *comm, const graph_array *a, int64_t *bits);

/* What a main gets of a sample: run by one rank, whose bits are kept, and then by all. */
typedef struct ranked_run {
  const ranked_graph *c;
  uint64_t sample;
  int64_t bits[8];
  bool compares;
} ranked_run;

/* main with a ranked_run, for each of several graphs: by one rank, unless a launcher has started the ranks,
 * and by those of the case. */
void ranked_graph_samples(const rank_case *c, sl_rank_main main);

/* Keeps the bits of an array under a number, or, on the CPU, compares them with those that were kept.
 * Collective. */
sley_status ranked_run_bits(sley_comm *comm, ranked_run *run, int number, const graph_array *a,
                            const char *what);

#endif
