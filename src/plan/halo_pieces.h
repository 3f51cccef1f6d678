/* SPDX-License-Identifier: Apache-2.0 */
/* A halo in pieces: the rows of X that the first rows of the block need come first, so that a device sums
 * those rows while the next piece is on its way. Every row of X still comes once. */
#ifndef SLEY_PLAN_HALO_PIECES_H
#define SLEY_PLAN_HALO_PIECES_H

#include "plan/plan.h"

enum { SL_HALO_PIECES_MOST = 6 };

typedef struct sl_halo_pieces {
  int count;
  int64_t *row;   /* count + 1: piece i is what rows row[i] .. row[i + 1] - 1 of the block need first */
  int64_t *place; /* of each halo entry in the buffer: by piece, then in the halo's order */
  int64_t
      *recv_at; /* where the rows of piece i from rank p begin there, at [i * size + p]; count * size + 1 */
  int64_t *wanted; /* rows of this rank's X that others need, by piece, then by rank, ascending; the plan's */
  int64_t *wanted_at; /* where those of piece i for rank p begin, at [i * size + p]; count * size + 1 */
} sl_halo_pieces;

/* The same number on every rank: by the bytes of the largest halo, one for about 48 MiB (SLEY_HALO_PIECE
 * bytes, if the environment says so). Collective. */
sley_status sl_halo_pieces_count(const sl_inspection *ins, int *count);

/* Ended by sl_halo_pieces_free, also on error; wanted stays as long as the plan. Collective, agreed. */
sley_status sl_halo_pieces_make(const sl_inspection *ins, sl_plan *plan, int count, sl_halo_pieces *out);
void sl_halo_pieces_free(sl_halo_pieces *pieces);

#endif
