/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline between nodes of a product in tiles, from counts and a machine's figures. */
#ifndef SLEY_ROOFLINE_ROOFLINE_H
#define SLEY_ROOFLINE_ROOFLINE_H

#include "roofline/roofline_count.h"
#include "sley_roofline.h"

/* The same as sley_roofline_spmm with checked options, in which grid and tiles are set, and a machine. */
sley_status sl_roofline_spmm(const sley_matrix *a, int64_t k, const sley_roofline_options *options,
                             sley_roofline *out, sley_roofline_rank *ranks);

/* The same as sley_roofline_spgemm, likewise. */
sley_status sl_roofline_spgemm(const sley_matrix *a, const sley_matrix *b,
                               const sley_roofline_options *options, sley_roofline *out,
                               sley_roofline_rank *ranks);

/* Rates from which seconds are computed. */
typedef struct sl_roofline_speeds {
  const sl_machine *machine;
  int ranks, ranks_per_node, nodes;
  double threads;  /* threads per rank */
  double crowd;    /* threads of a node per core, at least 1 */
  double memory;   /* memory bandwidth of a rank, bytes/s */
  double peak;     /* flop/s of a rank; 0: not known */
  double node;     /* bandwidth into or out of a node, bytes/s; 0: only limited by the ranks' own links */
  double share;    /* bandwidth of a rank between nodes, or on a single node between ranks, bytes/s */
  double given;    /* bandwidth of the network that replaces the machine's; 0: the machine's is used */
  double latency;  /* latency that replaces the machine's, in seconds per message */
  bool sums_known; /* also uses the machine's measured rates of sums */
  bool inside_overlaps, between_overlaps; /* transfers proceed while sums are computed */
} sl_roofline_speeds;

sl_roofline_speeds sl_roofline_speeds_of(const sley_roofline_options *options);

/* Seconds of one rank. */
typedef struct sl_rank_seconds {
  double memory, sums, arithmetic; /* lower bounds of the time of the local part, which takes the longest of
                                      them */
  double local, network;
  double predicted; /* seconds of the tasks one after the other, without waiting for other ranks */
} sl_rank_seconds;

/* Computes the seconds of all ranks from their tallies. in_turn: nothing runs beside sums. */
void sl_roofline_seconds(const sl_roofline_speeds *speeds, const sl_rank_tally *tally, bool in_turn,
                         sl_rank_seconds *out);

/* For summa-2d: adds the tallies, and the time of the stages one after the other on each rank. *seconds: the
 * total, with each stage as long as on its slowest rank; *staged_flops: likewise the sum over the stages of
 * the most flops of a rank. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_roofline_summa(const sley_matrix *a, int64_t k, const sl_roofline_speeds *speeds,
                              const sl_tile_cut *cut, sl_rank_tally *tally, double *seconds,
                              double *staged_flops);

/* Returns the grid and the tiles of A of summa-2d (algo/algo_summa_2d.c). */
void sl_roofline_summa_cut(int ranks, sl_tile_cut *cut);

#endif
