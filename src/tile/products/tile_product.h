/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two sparse tiles, by the local kernels. */
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
  sley_dtype dtype; /* of the result: that of a and b, or f32 where they have 16 bits */
  int64_t limit;    /* bytes of the result, of all that is allocated to make it, and of copies of the factors,
                       which are made where a tile has only some of its rows, or 16-bit values; 0: none */
  sl_tile_factor a, b; /* each with entries */
  sl_tile_factor mask; /* as a product's mask is, values not read; tile NULL: none */
} sl_tile_product;

/* Multiplies on the device that the queue belongs to, in whose memory the factors lie; waits for the queue.
 * *out: see tile_arrays.h, NULLs after an error; *products: of two entries, before the mask. Errors:
 * SLEY_ERR_MEMORY (also: the limit is too low, with what is needed), SLEY_ERR_INTERRUPTED, those of the
 * device. */
sley_status sl_tile_product_make(sl_queue *queue, const sl_tile_product *product, sl_csr_arrays *out,
                                 int64_t *products);

#endif
