/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank sums and fetches in a product of matrices in tiles, counted task by task, a task being the
 * product of two tiles. */
#ifndef SLEY_ROOFLINE_ROOFLINE_COUNT_H
#define SLEY_ROOFLINE_ROOFLINE_COUNT_H

#include "machine/machine.h"
#include "roofline/intensity.h"
#include "roofline/roofline_tiles.h"

typedef enum sl_reach { SL_REACH_INSIDE, SL_REACH_BETWEEN, SL_REACHES } sl_reach; /* within, between nodes */

typedef struct sl_rank_tally {
  int64_t tasks;
  double flops, local_bytes;
  double sums; /* s of one thread, by the machine's measured rates; 0 with a sparse B */
  double in[SL_REACHES], out[SL_REACHES], messages[SL_REACHES]; /* bytes; messages that bring `in` */
} sl_rank_tally;

/* A product in tiles, and what is known of them. */
typedef struct sl_tiled_product {
  sl_tile_cut cut;
  sl_stays stays;
  int ranks, ranks_per_node;
  sley_dtype dtype;
  double crowd; /* threads for each core, at least 1: they share its caches */
  const sl_machine *machine;
  sl_tile_sizes a;
  /* Of a sparse B: */
  sl_tile_sizes b, c;      /* c: without entries where a compression was given */
  const int64_t *products; /* as of sl_tile_products_count; NULL: B is dense */
  double compression;      /* products for each entry of C */
} sl_tiled_product;

/* Adds to the tallies of all ranks, which are zeros. Errors: SLEY_ERR_INTERRUPTED. */
sley_status sl_roofline_count(const sl_tiled_product *p, sl_rank_tally *tally);

/* Bytes go from one rank to another; none, where they are one. */
void sl_tally_move(sl_rank_tally *tally, int ranks_per_node, int from, int to, double bytes);

/* Seconds of one thread for entries and the rows of X that they name, of `distinct` ones, and for `stored`
 * rows of Y, at the machine's measured rates. */
double sl_tally_sums(const sl_machine *machine, double crowd, double entry_bytes, double row_bytes,
                     double entries, double distinct, double stored);

#endif
