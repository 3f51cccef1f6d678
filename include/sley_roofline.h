/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline between nodes: what bounds a product of matrices in tiles, and how long it takes. Nothing is
 * multiplied by ranks; what tiles hold and who fetches them is counted.
 *
 * A rank makes flops at the local roof at most, which its memory and arithmetic set, and at the network roof
 * at most, which is the network's bandwidth times the flops for each byte that travels:
 *
 *   attainable = min(local roof, network bandwidth * network intensity)
 *
 * What sley.h says of errors and of structs that begin with their size holds here too. No call is collective.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * section 4. */
#ifndef SLEY_ROOFLINE_H
#define SLEY_ROOFLINE_H

#include "sley_spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The algorithms, NULL-terminated: tile-c, tile-a and tile-b, which are named by the matrix whose tiles stay
 * (C, A, or the matrix that A is multiplied by), and summa-2d, of Y = A X alone. Static. */
const char *const *sley_roofline_algorithms(void);

typedef struct sley_roofline_options {
  size_t struct_size;
  const char *algo;         /* NULL: tile-c */
  int ranks;                /* at least 1 */
  int grid_rows, grid_cols; /* of ranks; 0: the shape nearest to a square, rows >= columns. summa-2d: 0, it
                               has its own: rows <= columns */
  /* Tiles of A (down x between), of B or X (between x across) and of C or Y (down x across); 0: the rows of
   * the grid, the least common multiple of its rows and columns, its columns. Tile (i, j) is of the rank at
   * (i mod grid_rows, j mod grid_cols). summa-2d: 0. */
  int64_t tiles_down, tiles_between, tiles_across;
  int ranks_per_node;          /* ranks that follow each other; 0: as the machine says, which may be all */
  int threads;                 /* of a rank; 0: as the machine says, else 1 */
  const sley_machine *machine; /* NULL: as sley_machine_find for "cpu" */
  /* In place of the machine's figures, where above 0. */
  double
      memory_bandwidth; /* bytes/s of a rank. The machine's measured rates of sums are then not looked at */
  double network_bandwidth; /* bytes/s into, and out of, a node; on a single node, a rank */
  double latency;           /* s for each message over the network; with network_bandwidth 0: none */
  double peak;              /* flop/s of a rank's arithmetic; 0: not known, no bound */
  double compression;       /* products for each entry of C = A B; 0: C is made to count them */
} sley_roofline_options;
#define SLEY_ROOFLINE_OPTIONS_INIT                                                                           \
  { sizeof(sley_roofline_options), NULL, 1, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0 }

typedef enum sley_bound {
  SLEY_BOUND_MEMORY = 0,     /* the local roof, by memory */
  SLEY_BOUND_SUMS = 1,       /* the local roof, by the machine's measured rates of sums */
  SLEY_BOUND_ARITHMETIC = 2, /* the local roof, by peak */
  SLEY_BOUND_NETWORK = 3
} sley_bound;

/* "memory" and so on; NULL: there is none. Static. */
const char *sley_bound_name(sley_bound bound);

/* Of all ranks, unless said otherwise. Rates are of one rank. */
typedef struct sley_roofline {
  int grid_rows, grid_cols, nodes, ranks_per_node;
  int64_t tiles_down, tiles_between, tiles_across;
  int64_t tasks;               /* products of two tiles */
  double flops;                /* 2 for each product of two numbers */
  double compression;          /* of C = A B: products for each entry of C; else 0 */
  double local_bytes;          /* that the tasks take from memory at least */
  double network_bytes;        /* between nodes; on a single node, between ranks */
  double inside_bytes;         /* between ranks of a node, where there are several nodes; else 0 */
  double messages;             /* that bring network_bytes */
  double memory_bandwidth;     /* bytes/s that the roofs are made of: of a rank's memory, and */
  double network_bandwidth;    /* its share of its node's link */
  double peak;                 /* 0: not known */
  double local_intensity;      /* flops / local_bytes */
  double network_intensity;    /* flops / network_bytes; infinite where nothing travels */
  double memory_roof;          /* flop/s: memory_bandwidth * local_intensity */
  double local_roof;           /* the least of memory_roof, peak, and measured rates of sums */
  double network_roof;         /* network_bandwidth * network_intensity */
  double attainable;           /* min(local_roof, network_roof) */
  sley_bound bound;            /* what that is set by */
  double flops_imbalance;      /* of the rank that has most, by the average; 0 where there are none */
  double attainable_ms;        /* flops / (ranks * attainable): were all ranks equal and latency 0 */
  double local_ms, network_ms; /* of the rank for which each is longest */
  double predicted_ms;         /* of the run: of the slowest rank, with messages' latency */
} sley_roofline;

/* Of one rank. */
typedef struct sley_roofline_rank {
  int64_t tasks;
  double flops, local_bytes;
  double network_in, network_out, inside_in, inside_out; /* bytes; as in sley_roofline */
  double messages;                                       /* that bring network_in */
  double local_ms, network_ms, predicted_ms;
} sley_roofline_rank;

/* Y = A X with k columns of X, of A's dtype. Tiles hold what sley_tile.h says: in CSR with 64-bit row
 * pointers and the narrowest column numbers that fit, or only their rows with entries; empty ones do not
 * travel. The prediction: a rank's transfers go on beside its sums where the machine says so (and, by a
 * network_bandwidth that is given, always), so it takes the longer of the two, and a task's share of the
 * shorter one; of summa-2d both in turn, stage by stage, each as long as on its slowest rank.
 *
 * ranks: NULL, or options->ranks structs. a is read until the call returns. Errors: SLEY_ERR_ARG (a grid that
 * is not of that many ranks, no such algorithm, negative numbers, more than 2^24 products of tiles),
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW, SLEY_ERR_INTERRUPTED, those of sley_machine_find. */
sley_status sley_roofline_spmm(const sley_matrix *a, int64_t k, const sley_roofline_options *options,
                               sley_roofline *out, sley_roofline_rank *ranks);

/* C = A B, both sparse and of one dtype, b NULL: A A. Products are counted tile by tile. Entries of C are
 * counted by making its pattern, in this process, with all cores, unless a compression is given; what
 * products of two tiles have of them is estimated. Errors also: SLEY_ERR_ARG (sizes or dtypes that do not
 * fit, summa-2d). */
sley_status sley_roofline_spgemm(const sley_matrix *a, const sley_matrix *b,
                                 const sley_roofline_options *options, sley_roofline *out,
                                 sley_roofline_rank *ranks);

#ifdef __cplusplus
}
#endif

#endif
