/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's row block in the memory of its device while it is planned. Devices with memory of their own get
 * the block anyway; once it is there they find the halo, mark what rows need and cut parts faster than the
 * threads of the host, and the parts stay there. Only what is small comes back: bits of columns, counts, row
 * pointers.
 *
 * Results are those of the host's paths in inspect.c, halo_pieces.c and parts.c, entry by entry. Those serve
 * CPUs, and blocks that do not suit: columns of 64 bits, more columns than entries, too little memory. The
 * environment's SLEY_INSPECT=host keeps to them, for tests and comparisons. */
#ifndef SLEY_PLAN_RESIDENT_H
#define SLEY_PLAN_RESIDENT_H

#include "plan/parts.h"

typedef struct sl_resident sl_resident;

/* Copies the block's rows and columns to the device: ins->resident; leaves it NULL where the block does not
 * suit or memory is short. Local. Waits for the rank's queue. */
sley_status sl_resident_open(sl_inspection *ins);

/* Gives the memory back; NULL is accepted. */
void sl_resident_close(sl_resident *resident);

/* The set of remote columns and owner_nnz of an inspection whose block is resident. Local. */
sley_status sl_resident_columns(sl_inspection *ins);

/* See SL_OP_NEEDS: both results lie in the host's memory, needs with an entry a row, piece with one a remote
 * column. piece_row: pieces entries. Local. */
sley_status sl_resident_needs(const sl_inspection *ins, int pieces, const int64_t *piece_row, int32_t *needs,
                              int32_t *piece);

/* Of each of at most SL_CUT_PARTS sets of columns: the rows with entries there, and their entries, at
 * sizes[2 p] and sizes[2 p + 1]. The rank's own columns are of set own, remote column h is of set part[h].
 * Local. */
sley_status sl_resident_sizes(const sl_inspection *ins, int parts, int own, const int32_t *part,
                              int64_t *sizes);

/* Whether these parts can be cut on the device: Sley's kernels sum them, their columns have 32 bits, entries
 * keep their order within a row, and values do not change. */
bool sl_resident_suits(const sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                       const sl_part_frame *frames, const sl_part *parts);

/* Cuts the parts, framed by the caller: row numbers and row pointers in the host's memory, columns and values
 * in the device's, which belong to the plan. Errors: SLEY_ERR_MEMORY where the device's is short; the parts
 * are then as they were. Local. */
sley_status sl_resident_cut(sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                            const sl_part_frame *frames, sl_part *parts);

#endif
