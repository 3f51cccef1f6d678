/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of dense tiles to which all ranks send numbered terms: sley_sums of sley_remote.h. */
#ifndef SLEY_TILE_PRODUCTS_TERM_SUMS_H
#define SLEY_TILE_PRODUCTS_TERM_SUMS_H

#include "sley_remote.h"
#include "tile/products/product_stream.h"
#include "tile/tiled.h"

/* The terms of one of this rank's tiles. */
typedef struct sl_tile_terms {
  int64_t i, j, count, added; /* number of terms, and of those that are in the sum */
  int64_t **early;            /* for each term, its message if it came before its turn; or NULL */
  double *sum;                /* rows x cols */
} sl_tile_terms;

typedef struct sley_sums sl_term_sums;
struct sley_sums {
  sl_tiled *y;
  int64_t *terms; /* for each tile of y */
  sl_tile_terms *tiles;
  int64_t own, missing; /* this rank's tiles, and terms that they wait for */
  sl_product_stream *stream;
};

/* The same as the calls of sley_remote.h, with checked arguments. */
sley_status sl_term_sums_create(sl_tiled *y, const int64_t *terms, int buffers, sl_term_sums **out);
sley_status sl_term_sums_add(sl_term_sums *sums, int64_t i, int64_t j, int64_t number, const void *values);
sley_status sl_term_sums_finish(sl_term_sums *sums);
void sl_term_sums_destroy(sl_term_sums *sums);

#endif
