/* SPDX-License-Identifier: Apache-2.0 */
/* Types of `sley collective`, which times compressed and dense collectives on the same arrays, and the
 * function that runs its ranks. */
#ifndef SLEY_CLI_COLLECTIVE_COLLECTIVE_H
#define SLEY_CLI_COLLECTIVE_COLLECTIVE_H

#include <stdbool.h>

#include "output/times.h"
#include "sley.h"

enum { CLI_COLLECTIVE_CASES = 512, CLI_COLLECTIVE_TEXT = 160 };

/* The measurements of one size and one share of zeros. Size and count have the meaning of nccl-tests. count:
 * the call's count, which is the values of the array in an all-reduce, else the values of one rank's part.
 * size: the bytes of the larger of src and dst. */
typedef struct cli_collective_case {
  int64_t size, count;
  double zeros;                   /* requested probability that a block is zero */
  double density_in, density_out; /* shares of nonzero values in all ranks' src and dst */
  cli_times time, dense;          /* ms per run of the slowest rank, compressed and dense */
  int64_t wrong;            /* values of all ranks' dst that differ from the dense result; -1: not checked */
  int64_t wire, dense_wire; /* bytes that all ranks together send per run */
  double copy, link;        /* bytes/s per rank, see cli_collective_speeds */
  double least;             /* least ms that the bytes of a compressed run allow; 0: the run was dense */
  int64_t arrays;           /* compressed arrays that all ranks create per run */
  int64_t dense_arrays, pici_arrays, coo_arrays;     /* how many of these travel in each format */
  int64_t inter, intra, allgather;                   /* these arrays by the kind of their messages, as in */
  int64_t inter_dense, intra_dense, allgather_dense; /* sley_collective_info; how many travel dense */
  char path[CLI_COLLECTIVE_TEXT], reason[CLI_COLLECTIVE_TEXT]; /* path and reason of rank 0's last run */
} cli_collective_case;

/* The results that rank 0 reports. They are in shared memory, because rank 0 may be another process. */
typedef struct cli_collective_result {
  char found[256]; /* name of the device in use */
  char transport[32];
  char note[SLEY_ERROR_BYTES]; /* how the device differs from the requested one; "": it does not */
  bool told;                   /* true: the error has already been printed */
  cli_collective_case at[CLI_COLLECTIVE_CASES]; /* the caller sets size, count and zeros */
} cli_collective_result;

typedef struct cli_collective_bench {
  sley_rank_options ranks;
  sley_collective_options options; /* options of all cases; count is set for each case */
  sley_collective_kind_info kind;  /* of options.kind */
  sley_collective_way_info way;    /* of options.way */
  int64_t block;                   /* number of consecutive values that are either all zero or all nonzero */
  int64_t seed, repeat, warmup;    /* repeat and warmup: timed and untimed batches of each collective */
  int64_t iters;                   /* runs per batch, started without waiting between them */
  bool check, tells;               /* tells: this process reports progress */
  int cases;
  cli_collective_result *result; /* from cli_share */
} cli_collective_bench;

/* Runs the ranks and fills the result. Errors: the library's errors; SLEY_ERR_ARG, already printed, if ranks
 * under a launcher were started with different options. */
sley_status cli_collective_run(cli_collective_bench *bench);

#endif
