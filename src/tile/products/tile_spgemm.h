/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B of sparse matrices in tiles, by one-sided access. */
#ifndef SLEY_TILE_PRODUCTS_TILE_SPGEMM_H
#define SLEY_TILE_PRODUCTS_TILE_SPGEMM_H

#include "tile/products/walk.h"

/* The same as sley_tile_spgemm, with checked operands. factors: A, B as x, the mask, and which rank computes
 * products of tiles; no y. buffers: at least 1. Collective. */
sley_status sl_tile_spgemm(const sl_tile_operands *factors, sley_semiring semiring, int buffers,
                           sl_tiled **out, sley_tile_report *report);

#endif
