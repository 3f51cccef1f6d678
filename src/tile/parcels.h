/* SPDX-License-Identifier: Apache-2.0 */
/* Entries on their way from who has the rows of a sparse matrix to who owns its tiles. A parcel is what one
 * rank's rows have in one tile. A rank's parcels go to their owners in the order of the tiles, and within a
 * parcel by rows, so that both sides know which entry is which. */
#ifndef SLEY_TILE_PARCELS_H
#define SLEY_TILE_PARCELS_H

#include "tile/tiled.h"

/* What this rank has received, grouped by source and, within a source, by tile. Where every rank has the
 * whole matrix it is the only source. */
typedef struct sl_parcels {
  int sources;
  const int64_t *row_begin; /* sources + 1 */
  int64_t whole[2];         /* what row_begin points to where there is one source */
  uint32_t *lengths;        /* of each row of each parcel */
  void *col, *val;
  int64_t *lengths_from, *entries_from; /* of each source: how many have come */
} sl_parcels;

/* Lengths, columns within tiles, and values. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW, SLEY_ERR_PEER (what
 * has come does not fit the tiling). On an error there is nothing to free. Collective, agreed. */
sley_status sl_parcels_exchange(const sl_tiled *tiled, const sl_tile_source *source, sl_parcels *out);

/* Values alone. */
sley_status sl_parcels_exchange_values(const sl_tiled *tiled, const sl_tile_source *source, sl_parcels *out);

void sl_parcels_free(sl_parcels *parcels);

/* The rows that a source and a row of tiles have in common: [*first, *last), or none of the tiles' rows. */
static inline void sl_parcels_rows(const sl_parcels *p, const sl_tiling *t, int source, int64_t i,
                                   int64_t *first, int64_t *last) {
  const int64_t begin = sl_tile_row(t, i), end = sl_tile_row(t, i + 1);
  const int64_t from = p->row_begin[source], to = p->row_begin[source + 1];
  *first = from > begin ? from : begin;
  *last = to < end ? to : end;
  if (*last < *first)
    *first = *last = begin;
}

#endif
