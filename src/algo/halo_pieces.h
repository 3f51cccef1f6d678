/* SPDX-License-Identifier: Apache-2.0 */
/* How a device that loads the halo over direct links is kept busy meanwhile. Every row of X still moves once.
 *
 * - In pieces: the rows of X that the first rows of the block need arrive first, so that the device can sum
 *   these rows while the next pieces are in flight. Every row of the block is summed once, over this rank's
 *   rows of X and the halo together.
 * - Own columns first: the device sums the entries whose rows of X are this rank's own, and adds the others
 *   when the whole halo has arrived. If every row needs rows from all over the halo, the rows of the block
 *   would otherwise wait for nearly all of it. */
#ifndef SLEY_ALGO_HALO_PIECES_H
#define SLEY_ALGO_HALO_PIECES_H

#include "plan/plan.h"

typedef struct sl_halo_pieces {
  int count;      /* 1 to SL_PIECES_MOST */
  bool own_first; /* the own columns are summed first; then all of the halo is one piece */
  bool unhurried; /* the block takes longer to sum than the halo takes to arrive */
  int32_t
      *row_part;  /* for each row of the block, 0: it needs no halo and is summed first; 1: any other row */
  int64_t *place; /* place of each halo entry in the buffer: by owner, then by piece */
  /* Arrays of the plan. rows[i]: number of rows with row_part 1 that need only pieces 0 to i. end[p count +
   * i]: end of piece i among the rows from rank p, counted from the first of them. wanted: the rows of this
   * rank's X that others need, by rank, then in the order of that rank's buffer. */
  int64_t *rows, *end, *wanted;
} sl_halo_pieces;

/* Finds the pieces. Freed by sl_halo_pieces_free, also on error; rows, end and wanted live as long as the
 * plan. In a dry plan `wanted` is not filled, and row_part and place are NULL. Collective, agreed. */
sley_status sl_halo_pieces_make(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out);
void sl_halo_pieces_free(sl_halo_pieces *pieces);

#endif
