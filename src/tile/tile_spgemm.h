/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B of sparse matrices in tiles, with stationary C, by one-sided access. */
#ifndef SLEY_TILE_TILE_SPGEMM_H
#define SLEY_TILE_TILE_SPGEMM_H

#include "tile/tiled.h"

/* As sley_tile_spgemm with checked operands. Collective. */
sley_status sl_tile_spgemm(const sl_tiled *a, const sl_tiled *b, sley_semiring semiring, sl_tiled **out,
                           sley_tile_report *report);

#endif
