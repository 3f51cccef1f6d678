/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline between nodes of a product in tiles, from counts and a machine's figures. */
#ifndef SLEY_ROOFLINE_ROOFLINE_H
#define SLEY_ROOFLINE_ROOFLINE_H

#include "roofline/roofline_count.h"
#include "sley_roofline.h"

/* As sley_roofline_spmm with checked options, of which grid and tiles are chosen, and a machine. */
sley_status sl_roofline_spmm(const sley_matrix *a, int64_t k, const sley_roofline_options *options,
                             sley_roofline *out, sley_roofline_rank *ranks);

/* As sley_roofline_spgemm likewise. */
sley_status sl_roofline_spgemm(const sley_matrix *a, const sley_matrix *b,
                               const sley_roofline_options *options, sley_roofline *out,
                               sley_roofline_rank *ranks);

/* What seconds are made of. */
typedef struct sl_roofline_speeds {
  const sl_machine *machine;
  int ranks, ranks_per_node, nodes;
  double threads;  /* of a rank */
  double crowd;    /* threads of a node for each of its cores, at least 1 */
  double memory;   /* bytes/s of a rank */
  double peak;     /* flop/s of a rank; 0: not known */
  double node;     /* bytes/s into or out of a node; 0: no limit but the ranks' own links */
  double share;    /* bytes/s of a rank between nodes, or, on a single node, between ranks */
  double given;    /* the network's bandwidth, in place of the machine's; 0: none */
  double latency;  /* likewise, s for each message */
  bool sums_known; /* the machine's rates of sums count, too */
  bool inside_overlaps, between_overlaps; /* transfers go on beside sums */
} sl_roofline_speeds;

sl_roofline_speeds sl_roofline_speeds_of(const sley_roofline_options *options);

/* Of a rank, in seconds. */
typedef struct sl_rank_seconds {
  double memory, sums, arithmetic; /* the local part takes the longest of them */
  double local, network;
  double predicted; /* the tasks following each other, without waiting for other ranks */
} sl_rank_seconds;

/* Those of all ranks from their tallies. in_turn: nothing goes on beside sums. */
void sl_roofline_seconds(const sl_roofline_speeds *speeds, const sl_rank_tally *tally, bool in_turn,
                         sl_rank_seconds *out);

/* summa-2d: adds the tallies, and what the stages take one after the other on each rank; *seconds: the
 * whole, each stage as long as on its slowest rank. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_roofline_summa(const sley_matrix *a, int64_t k, const sl_roofline_speeds *speeds,
                              const sl_tile_cut *cut, sl_rank_tally *tally, double *seconds);

/* The grid and the tiles of A of summa-2d (algo/algo_summa_2d.c). */
void sl_roofline_summa_cut(int ranks, sl_tile_cut *cut);

#endif
