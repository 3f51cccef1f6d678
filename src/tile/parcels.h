/* SPDX-License-Identifier: Apache-2.0 */
/* Moves entries from the ranks that have the rows of a sparse matrix to the owners of its tiles. A parcel is
 * the part of one rank's rows that lies in one tile. A rank sends its parcels to their owners in the order of
 * the tiles, and the entries of a parcel in the order of rows, so that both sides know the position of each
 * entry. */
#ifndef SLEY_TILE_PARCELS_H
#define SLEY_TILE_PARCELS_H

#include "tile/tiled.h"

/* The data that this rank has received, grouped by source and, within a source, by tile. If every rank has
 * the whole matrix, the only source of a rank is the rank itself. */
typedef struct sl_parcels {
  int sources;
  const int64_t *row_begin; /* sources + 1 elements */
  int64_t whole[2];         /* memory for row_begin if there is only one source */
  uint32_t *lengths;        /* number of entries of each row of each parcel */
  void *col, *val;
  int64_t *lengths_from, *entries_from; /* number of lengths, and of entries, received from each source */
} sl_parcels;

/* Exchanges lengths, columns within tiles, and values. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW,
 * SLEY_ERR_PEER (received data does not fit the tiling). After an error there is nothing to free. Collective,
 * agreed. */
sley_status sl_parcels_exchange(const sl_tiled *tiled, const sl_tile_source *source, sl_parcels *out);

/* Exchanges only values. */
sley_status sl_parcels_exchange_values(const sl_tiled *tiled, const sl_tile_source *source, sl_parcels *out);

void sl_parcels_free(sl_parcels *parcels);

/* The rows common to a source and row i of tiles: [*first, *last), empty if there are none. */
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
