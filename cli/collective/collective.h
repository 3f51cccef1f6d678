/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of `sley collective`: compressed and dense collectives on the same arrays, timed in turn. */
#ifndef SLEY_CLI_COLLECTIVE_COLLECTIVE_H
#define SLEY_CLI_COLLECTIVE_COLLECTIVE_H

#include <stdbool.h>

#include "output/times.h"
#include "sley.h"

enum { CLI_COLLECTIVE_CASES = 512, CLI_COLLECTIVE_TEXT = 160 };

/* What is measured of one size and one share of zeros. Size and count are those of nccl-tests: count is that
 * of the call, values of the array of an all-reduce and of a rank's part else; size is the bytes of the
 * larger of src and dst. */
typedef struct cli_collective_case {
  int64_t size, count;
  double zeros;                   /* asked for: the chance of a block to be zero */
  double density_in, density_out; /* shares of values that are not zero, of all ranks' src and dst */
  cli_times time, dense;          /* ms of a run, of the slowest rank: compressed, and dense */
  int64_t wrong;            /* values of all ranks' dst that are not as the dense ones; -1: not checked */
  int64_t wire, dense_wire; /* bytes that all ranks together send in a run */
  double copy, link;        /* bytes/s of a rank: see cli_collective_speeds */
  double least;             /* ms that the bytes of a compressed run allow; 0: it was dense */
  int64_t arrays;           /* compressed arrays that all ranks make in a run */
  int64_t dense_arrays, pici_arrays, coo_arrays; /* of them, by the format that they travel in */
  char path[CLI_COLLECTIVE_TEXT], reason[CLI_COLLECTIVE_TEXT]; /* of rank 0's last run */
} cli_collective_case;

/* What rank 0 tells, from a process of its own where ranks are processes. */
typedef struct cli_collective_result {
  char found[256]; /* the device */
  char transport[32];
  char note[SLEY_ERROR_BYTES];                  /* what the device was not as asked for; "" */
  bool told;                                    /* why the run failed is told already */
  cli_collective_case at[CLI_COLLECTIVE_CASES]; /* size, count and zeros are filled in before */
} cli_collective_result;

typedef struct cli_collective_bench {
  sley_rank_options ranks;
  sley_collective_options options; /* count is each case's */
  sley_collective_kind_info kind;  /* of options.kind */
  int64_t block;                   /* so many values in a row are zero or not together */
  int64_t seed, repeat, warmup;    /* batches of runs of each: timed, and before */
  int64_t iters;                   /* runs of a batch, started without waiting between them */
  bool check, tells;               /* tells: progress */
  int cases;
  cli_collective_result *result; /* from cli_share */
} cli_collective_bench;

/* Whether the compressed result has the dense one's bits: the order of summation is the same. */
bool cli_collective_is_exact(const cli_collective_bench *bench);

/* Fills the result. Errors: the library's; SLEY_ERR_ARG where the ranks of a launcher were given different
 * words (told). */
sley_status cli_collective_run(cli_collective_bench *bench);

#endif
