/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline between nodes: the bound on a product of matrices in tiles, and its time. No rank multiplies
 * anything; the contents and transfers of tiles are counted.
 *
 * A rank's flop rate is at most the local roof, which its memory and arithmetic set, and at most the network
 * roof, which is the network's bandwidth times the flops for each byte that travels:
 *
 *   attainable = min(local roof, network bandwidth * network intensity)
 *
 * The rules of sley.h on errors and on structs that begin with their size hold here too. No call is
 * collective.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * section 4. */
#ifndef SLEY_ROOFLINE_H
#define SLEY_ROOFLINE_H

#include "sley_spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The names of the algorithms, NULL-terminated: tile-c, tile-a and tile-b, named after the matrix whose tiles
 * stay in place (C, A, or the matrix that A is multiplied by); tile-summa, by broadcasts; and summa-2d, for
 * Y = A X only. Static. */
const char *const *sley_roofline_algorithms(void);

typedef struct sley_roofline_options {
  size_t struct_size;
  const char *algo;         /* NULL: tile-c */
  int ranks;                /* at least 1 */
  int grid_rows, grid_cols; /* grid of ranks; 0: the shape nearest to a square, rows >= columns. Must be 0 for
                               summa-2d, whose grid has rows <= columns */
  /* Tiles of A (down x between), of B or X (between x across) and of C or Y (down x across); 0: the rows of
   * the grid, the least common multiple of its rows and columns, the columns of the grid. Tile (i, j) belongs
   * to the rank at (i mod grid_rows, j mod grid_cols). summa-2d: must be 0. */
  int64_t tiles_down, tiles_between, tiles_across;
  int ranks_per_node;          /* consecutive ranks of a node; 0: as the machine states, which may be all
                                  ranks */
  int threads;                 /* threads of a rank; 0: as the machine states, else 1 */
  const sley_machine *machine; /* NULL: the machine of sley_machine_find for "cpu" */
  /* Figures that replace the machine's, if above 0. */
  double
      memory_bandwidth; /* bytes/s of a rank. If above 0, the machine's measured rates of sums are ignored */
  double network_bandwidth; /* bytes/s into, and out of, a node; on a single node, of a rank */
  double latency;           /* seconds for each message over the network; ignored if network_bandwidth is 0 */
  double peak;              /* flop/s of a rank's arithmetic; 0: not known, no bound */
  double compression;       /* products for each entry of C = A B; 0: C's pattern is computed to count them */
} sley_roofline_options;
#define SLEY_ROOFLINE_OPTIONS_INIT                                                                           \
  { sizeof(sley_roofline_options), NULL, 1, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0 }

typedef enum sley_bound {
  SLEY_BOUND_MEMORY = 0,     /* local roof, set by memory */
  SLEY_BOUND_SUMS = 1,       /* local roof, set by the machine's measured rates of sums */
  SLEY_BOUND_ARITHMETIC = 2, /* local roof, set by peak */
  SLEY_BOUND_NETWORK = 3
} sley_bound;

/* The bound's name: "memory" and so on; NULL if there is no such bound. Static. */
const char *sley_bound_name(sley_bound bound);

/* Figures of all ranks together, unless said otherwise. Rates are per rank. */
typedef struct sley_roofline {
  int grid_rows, grid_cols, nodes, ranks_per_node;
  int64_t tiles_down, tiles_between, tiles_across;
  int64_t tasks;               /* products of two tiles */
  double flops;                /* 2 for each product of two numbers */
  double compression;          /* C = A B: products for each entry of C; else 0 */
  double local_bytes;          /* least bytes that the tasks read and write in memory */
  double network_bytes;        /* bytes between nodes; on a single node, between ranks */
  double inside_bytes;         /* bytes between ranks of a node, if there are several nodes; else 0 */
  double messages;             /* messages that carry network_bytes */
  double memory_bandwidth;     /* bytes/s of a rank's memory, used for the roofs */
  double network_bandwidth;    /* bytes/s of a rank's share of its node's link, used for the roofs */
  double peak;                 /* flop/s of a rank's arithmetic; 0: not known */
  double local_intensity;      /* flops / local_bytes */
  double network_intensity;    /* flops / network_bytes; infinite if nothing travels */
  double memory_roof;          /* flop/s: memory_bandwidth * local_intensity */
  double local_roof;           /* least of memory_roof, peak, and measured rates of sums */
  double network_roof;         /* network_bandwidth * network_intensity */
  double attainable;           /* min(local_roof, network_roof) */
  sley_bound bound;            /* the roof that sets attainable */
  double flops_imbalance;      /* most flops of a rank, relative to the average; 0 if there are none */
  double stage_imbalance;      /* the same if all ranks wait for each other after each stage: the sum over the
                                  stages of the most flops of a rank, relative to the average flops of a rank. A
                                  stage is one task of each rank, in the order of sley_tile.h; of the algorithms
                                  that broadcast tiles, all tasks with one column of tiles of A */
  double attainable_ms;        /* flops / (ranks * attainable): the time if all ranks were equal and latency
                                  0 */
  double local_ms, network_ms; /* the longest local time and the longest network time of any rank */
  double predicted_ms;         /* time of the run, which is the time of the slowest rank, with the latency of
                                  messages */
} sley_roofline;

/* Figures of one rank. */
typedef struct sley_roofline_rank {
  int64_t tasks;
  double flops, local_bytes;
  double network_in, network_out, inside_in,
      inside_out;  /* bytes into and out of the rank, as in sley_roofline */
  double messages; /* messages that carry network_in */
  double local_ms, network_ms, predicted_ms;
} sley_roofline_rank;

/* Computes the roofline of Y = A X with k columns of X, in A's dtype. Tiles are stored as sley_tile.h says:
 * in CSR with 64-bit row pointers and the narrowest column numbers that fit, or only their rows with entries;
 * empty tiles do not travel. The prediction: a rank's transfers overlap with its sums if the machine says so
 * (always if network_bandwidth is given), so the rank takes the longer of the two times, and one task's share
 * of the shorter time. For summa-2d the two times are added, stage by stage, each as long as on its slowest
 * rank.
 *
 * ranks: NULL, or options->ranks structs. a is read until the call returns. Errors: SLEY_ERR_ARG (a grid of
 * another number of ranks, no such algorithm, negative numbers, more than 2^24 products of tiles),
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW, SLEY_ERR_INTERRUPTED, errors of sley_machine_find. */
sley_status sley_roofline_spmm(const sley_matrix *a, int64_t k, const sley_roofline_options *options,
                               sley_roofline *out, sley_roofline_rank *ranks);

/* Computes the roofline of C = A B, both sparse and of one dtype; b NULL: A A. Products are counted tile by
 * tile. Entries of C are counted by computing its pattern, in this process, with all cores, unless a
 * compression is given; the number of entries that each product of two tiles contributes is estimated. Errors
 * also: SLEY_ERR_ARG (sizes or dtypes that do not fit, summa-2d). */
sley_status sley_roofline_spgemm(const sley_matrix *a, const sley_matrix *b,
                                 const sley_roofline_options *options, sley_roofline *out,
                                 sley_roofline_rank *ranks);

#ifdef __cplusplus
}
#endif

#endif
