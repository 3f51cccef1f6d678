/* SPDX-License-Identifier: Apache-2.0 */
/* The least time that the bytes of a compressed collective allow, at bandwidths that are measured on the same
 * ranks: docs/COLLECTIVES.md has the formula. */
#ifndef SLEY_CLI_COLLECTIVE_LEAST_H
#define SLEY_CLI_COLLECTIVE_LEAST_H

#include "sley.h"

/* Of each rank while all do the same. */
typedef struct cli_collective_speeds {
  double copy; /* bytes/s read and written by a copy in the memory of the rank's device */
  double link; /* bytes/s received in a dense all-gather; 0: one rank */
} cli_collective_speeds;

/* By src, memory of the device of so many bytes, which hold a part of at least 1 byte for each rank. Takes as
 * many bytes of memory meanwhile. Collective. Errors: the library's. */
sley_status cli_collective_speeds_of(sley_comm *comm, const void *src, int64_t bytes,
                                     cli_collective_speeds *out);

/* ms of a rank: bytes is the larger of its two arrays, wire the compressed bytes that it sends. */
double cli_collective_least_ms(const sley_collective_kind_info *kind, int ranks, int64_t bytes, double wire,
                               const cli_collective_speeds *speeds);

#endif
