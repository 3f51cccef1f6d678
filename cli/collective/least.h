/* SPDX-License-Identifier: Apache-2.0 */
/* The least time that the bytes of a compressed collective allow, at bandwidths measured on the same ranks.
 * docs/COLLECTIVES.md has the formula. */
#ifndef SLEY_CLI_COLLECTIVE_LEAST_H
#define SLEY_CLI_COLLECTIVE_LEAST_H

#include "sley.h"

/* Bandwidths per rank while all ranks do the same. */
typedef struct cli_collective_speeds {
  double copy; /* bytes/s read and written by a copy in the memory of the rank's device */
  double link; /* bytes/s received in a dense all-gather; 0: there is only one rank */
} cli_collective_speeds;

/* Measures the bandwidths. src: `bytes` bytes of device memory, at least 1 per rank. Allocates `bytes` more
 * bytes while it runs. Collective. Errors: the library's errors. */
sley_status cli_collective_speeds_of(sley_comm *comm, const void *src, int64_t bytes,
                                     cli_collective_speeds *out);

/* Returns the least ms. bytes: bytes of the larger of a rank's two arrays; wire: compressed bytes that a rank
   sends. */
double cli_collective_least_ms(const sley_collective_kind_info *kind, int ranks, int64_t bytes, double wire,
                               const cli_collective_speeds *speeds);

#endif
