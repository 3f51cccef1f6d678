/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the work and the transfers of each rank in a product of matrices in tiles, task by task; a task is
 * the product of two tiles. */
#ifndef SLEY_ROOFLINE_ROOFLINE_COUNT_H
#define SLEY_ROOFLINE_ROOFLINE_COUNT_H

#include "machine/machine.h"
#include "roofline/intensity.h"
#include "roofline/roofline_tiles.h"

/* Within a node, and between nodes. */
typedef enum sl_reach { SL_REACH_INSIDE, SL_REACH_BETWEEN, SL_REACHES } sl_reach;

typedef struct sl_rank_tally {
  int64_t tasks;
  double flops, local_bytes;
  double sums; /* seconds of one thread, by the machine's measured rates; 0 with a sparse B */
  double in[SL_REACHES], out[SL_REACHES], messages[SL_REACHES]; /* bytes received and sent; messages
                                                                 * received */
} sl_rank_tally;

/* A product in tiles, and the sizes of its tiles. */
typedef struct sl_tiled_product {
  sl_tile_cut cut;
  sl_stays stays;
  int ranks, ranks_per_node;
  sley_dtype dtype;
  double crowd; /* threads per core, at least 1, which share its caches */
  const sl_machine *machine;
  sl_tile_sizes a;
  /* Sizes for a sparse B: */
  sl_tile_sizes b, c;      /* c: has no entries if a compression is given */
  const int64_t *products; /* as from sl_tile_products_count; NULL: B is dense */
  double compression;      /* products per entry of C */
} sl_tiled_product;

/* Adds to the tallies of all ranks, which start at zero. Errors: SLEY_ERR_INTERRUPTED. */
sley_status sl_roofline_count(const sl_tiled_product *p, sl_rank_tally *tally);

/* Adds bytes sent from one rank to another; nothing if they are the same. */
void sl_tally_move(sl_rank_tally *tally, int ranks_per_node, int from, int to, double bytes);

/* Seconds of one thread for entries, for the rows of X that they name (`distinct` different ones), and for
 * `stored` rows of Y, at the machine's measured rates. */
double sl_tally_sums(const sl_machine *machine, double crowd, double entry_bytes, double row_bytes,
                     double entries, double distinct, double stored);

#endif
