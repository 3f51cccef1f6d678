/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives are measured on: arrays of many zeros, and the comparison of results. Arrays are memory of
 * the rank's device, which is written and read by pieces. Not collective; errors: the library's. */
#ifndef SLEY_CLI_COLLECTIVE_DATA_H
#define SLEY_CLI_COLLECTIVE_DATA_H

#include "sley.h"

/* count values: a block of so many is zero with the chance zeros, else its values are random ones that are
 * not 0, of [-1, 1) or, of whole numbers, 1 to 127. They depend on seed, rank and place alone. *nonzeros: how
 * many are not zero. */
typedef struct cli_collective_draw {
  uint64_t seed;
  sley_type type;
  double zeros;
  int64_t block;
} cli_collective_draw;

sley_status cli_collective_fill(sley_comm *comm, const cli_collective_draw *draw, void *array, int64_t count,
                                int64_t *nonzeros);

/* How many of count values are not zero (all bits count), and how many are further than bound from the other
 * array's; bound 0: differ in a bit. other NULL: none do. */
sley_status cli_collective_compare(sley_comm *comm, sley_type type, const void *array, const void *other,
                                   int64_t count, double bound, int64_t *nonzeros, int64_t *wrong);

/* How far two sums of `ranks` values of [-1, 1) may be apart if they are added in different orders and
 * rounded to the type each time; of whole numbers 0. */
double cli_collective_bound(sley_type type, int ranks);

#endif
