/* SPDX-License-Identifier: Apache-2.0 */
/* Parts cut on the device from a block in its memory, see resident.h: the parts' columns and values stay
 * there. Entry by entry those of parts.c. */
#ifndef SLEY_PLAN_RESIDENT_CUT_H
#define SLEY_PLAN_RESIDENT_CUT_H

#include "plan/parts.h"
#include "plan/resident.h"

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
