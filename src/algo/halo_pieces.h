/* SPDX-License-Identifier: Apache-2.0 */
/* A halo in pieces: the rows of X that the first rows of the block need come first, so that a device sums
 * those rows while the next pieces are on their way. Every row of X still comes once, and every row of the
 * block is summed once: over this rank's rows of X and the halo together. */
#ifndef SLEY_ALGO_HALO_PIECES_H
#define SLEY_ALGO_HALO_PIECES_H

#include "plan/plan.h"

typedef struct sl_halo_pieces {
  int count;         /* 1 to SL_PIECES_MOST */
  bool unhurried;    /* the block takes longer to sum than the halo to come */
  int32_t *row_part; /* of each row of the block: 0: it needs no halo and is summed first; 1 */
  int64_t *place;    /* of each halo entry in the buffer: by owner, then by piece */
  /* The plan's: how many of the rows with a 1 need only pieces 0 to i; where piece i of the rows
   * from rank p ends, counted from the first of them, at [p count + i]; and the rows of this rank's X that
   * others need, by rank, then in the order of that rank's buffer. */
  int64_t *rows, *end, *wanted;
} sl_halo_pieces;

/* Ended by sl_halo_pieces_free, also on error; rows, end and wanted stay as long as the plan. Of a dry plan
 * the lists have room but no contents, and there are no places. Collective, agreed. */
sley_status sl_halo_pieces_make(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out);
void sl_halo_pieces_free(sl_halo_pieces *pieces);

#endif
