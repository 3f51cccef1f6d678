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

/* Bytes of the panels of tile-summa: of A for each column of tiles and row of the grid, of B for each row of
 * tiles and column of the grid; and which tiles they include so far. */
typedef struct sl_panel_sizes {
  double *a, *b;
  bool *has_a, *has_b;
} sl_panel_sizes;

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
  bool broadcasts;         /* tiles are broadcast, not fetched (tile/products/summa.c) */
  sl_panel_sizes *panels;  /* set by sl_roofline_count if tiles are broadcast */
  double *stage_flops;     /* set by sl_roofline_count: flops of each rank in each stage, stages x ranks */
  double staged_flops;     /* written by sl_roofline_count: the sum over the stages of the most flops of a
                              rank */
} sl_tiled_product;

/* Adds to the tallies of all ranks, which start at zero. Errors: SLEY_ERR_INTERRUPTED, SLEY_ERR_MEMORY. */
sley_status sl_roofline_count(sl_tiled_product *p, sl_rank_tally *tally);

/* open allocates empty panels; add includes the tiles of one task, of a and b bytes; move adds the broadcasts
 * of all panels to the tallies of the ranks; close accepts panels that were not opened completely. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_panel_sizes_open(const sl_tile_cut *cut, sl_panel_sizes *out);
void sl_panel_sizes_add(const sl_tile_cut *cut, sl_panel_sizes *panels, int64_t i, int64_t l, int64_t j,
                        double a, double b);
void sl_panel_sizes_move(const sl_tiled_product *p, const sl_panel_sizes *panels, sl_rank_tally *tally);
void sl_panel_sizes_close(sl_panel_sizes *panels);

/* Adds bytes sent from one rank to another; nothing if they are the same. */
void sl_tally_move(sl_rank_tally *tally, int ranks_per_node, int from, int to, double bytes);

/* Seconds of one thread for entries, for the rows of X that they name (`distinct` different ones), and for
 * `stored` rows of Y, at the machine's measured rates. */
double sl_tally_sums(const sl_machine *machine, double crowd, double entry_bytes, double row_bytes,
                     double entries, double distinct, double stored);

#endif
