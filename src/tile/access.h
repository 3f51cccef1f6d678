/* SPDX-License-Identifier: Apache-2.0 */
/* Access to one tile of a matrix outside of products: a copy of it, as a future, and new values for it. No
 * other rank takes part. */
#ifndef SLEY_TILE_ACCESS_H
#define SLEY_TILE_ACCESS_H

#include "tile/fetch.h"

typedef struct sley_tile_future sl_tile_future;
struct sley_tile_future {
  sl_tile_fetch fetch;
};

/* The same as sley_tile_get_begin, sley_tile_get_matrix, sley_tile_get_values, sley_tile_future_destroy and
 * sley_tile_put, for a tile that exists and has the kind (sparse or dense) that the call needs. Not
 * collective. */
sley_status sl_tile_future_begin(const sl_tiled *tiled, int64_t i, int64_t j, sl_tile_future **out);
sley_status sl_tile_future_matrix(sl_tile_future *future, sley_matrix **out);
sley_status sl_tile_future_values(sl_tile_future *future, void *data, int64_t ld);
void sl_tile_future_destroy(sl_tile_future *future);
sley_status sl_tile_put(sl_tiled *tiled, int64_t i, int64_t j, const void *values);

#endif
