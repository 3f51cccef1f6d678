/* SPDX-License-Identifier: Apache-2.0 */
/* Test data of `sley collective`: arrays with many zeros, and the comparison of results. Arrays are in device
 * memory, and are written and read in pieces. Not collective. Errors: the library's errors. */
#ifndef SLEY_CLI_COLLECTIVE_DATA_H
#define SLEY_CLI_COLLECTIVE_DATA_H

#include "sley.h"

/* The random contents of arrays: each block of `block` values is zero with probability `zeros`. Other values
 * are nonzero: real values in [-1, 1), whole numbers from 1 to 127. Values depend only on seed, rank and
 * position. */
typedef struct cli_collective_draw {
  uint64_t seed;
  sley_type type;
  double zeros;
  int64_t block;
} cli_collective_draw;

sley_status cli_collective_fill(sley_comm *comm, const cli_collective_draw *draw, void *array, int64_t count,
                                int64_t *nonzeros);

/* Counts the nonzero values (any bit set) among count values, and the values that differ from other's by more
 * than bound; bound 0: in any bit. other NULL: *wrong is 0. */
sley_status cli_collective_compare(sley_comm *comm, sley_type type, const void *array, const void *other,
                                   int64_t count, double bound, int64_t *nonzeros, int64_t *wrong);

/* The largest difference of two sums of `ranks` values in [-1, 1) that are added in different orders with
 * rounding to the type after each addition; 0 for whole numbers. */
double cli_collective_bound(sley_type type, int ranks);

#endif
