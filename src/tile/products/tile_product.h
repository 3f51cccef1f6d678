/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two sparse tiles by the local kernels. */
#ifndef SLEY_TILE_PRODUCTS_TILE_PRODUCT_H
#define SLEY_TILE_PRODUCTS_TILE_PRODUCT_H

#include "device/device.h"
#include "tile/sparse_tile.h"

/* A tile, and the types of its columns and values. */
typedef struct sl_tile_factor {
  const sl_tile *tile;
  sley_index index;
  sley_dtype dtype;
} sl_tile_factor;

typedef struct sl_tile_product {
  sley_semiring semiring;
  sley_dtype dtype; /* dtype of the result: the dtype of the factors, or f32 if they have 16 bits */
  /* limit: bytes of the result, of working memory, and of copies of the factors, which are needed if a tile
   * stores only some of its rows, or 16-bit values; 0: no limit. */
  int64_t limit;
  sl_tile_factor a, b;
  sl_tile_factor mask; /* mask, whose values are not read; if its tile is NULL, there is no mask */
} sl_tile_product;

/* Multiplies on the queue's device, whose memory contains the factors; waits for the queue. *out: arrays as
 * in tile_arrays.h, NULL after an error, and col and val if a factor has no entries; *products: number of
 * products of two entries, before the mask. Errors: SLEY_ERR_MEMORY (also: the limit is too low; the message
 * says what is needed), SLEY_ERR_INTERRUPTED, the device's. */
sley_status sl_tile_product_make(sl_queue *queue, const sl_tile_product *product, sl_csr_arrays *out,
                                 int64_t *products);

#endif
