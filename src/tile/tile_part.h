/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a tile of any rank: some of its rows, and some of their columns. Only the rows travel, and of a
 * sparse tile their row pointers. */
#ifndef SLEY_TILE_TILE_PART_H
#define SLEY_TILE_TILE_PART_H

#include "tile/tiled.h"

/* The same as sley_tile_part_values and sley_tile_part_matrix, for a part that lies in its tile. Not
 * collective. */
sley_status sl_tile_part_values(const sl_tiled *tiled, int64_t i, int64_t j, const sley_tile_part *part,
                                void *data, int64_t ld);
sley_status sl_tile_part_matrix(const sl_tiled *tiled, int64_t i, int64_t j, const sley_tile_part *part,
                                sley_matrix **out);

#endif
