/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts parts on the device from a resident block (resident.h). The parts' columns and values stay there. The
 * parts equal the parts of parts.c, entry by entry. */
#ifndef SLEY_PLAN_RESIDENT_CUT_H
#define SLEY_PLAN_RESIDENT_CUT_H

#include "plan/parts.h"
#include "plan/resident.h"

/* For each of at most SL_CUT_PARTS sets of columns: sizes[2 p] is the number of rows with entries in set p,
 * sizes[2 p + 1] the number of these entries. The rank's own columns are in set own, remote column h in set
 * part[h]. Local. */
sley_status sl_resident_sizes(const sl_inspection *ins, int parts, int own, const int32_t *part,
                              int64_t *sizes);

/* Returns whether these parts can be cut on the device: Sley's kernels sum them, their columns have 32 bits,
 * entries keep their order within a row, and values do not change. */
bool sl_resident_suits(const sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                       const sl_part_frame *frames, const sl_part *parts);

/* Cuts the parts, whose other fields the caller has set. Row numbers and row pointers are in host memory,
 * columns and values in device memory; all belong to the plan. Errors: SLEY_ERR_MEMORY, also of the device;
 * the parts then have no arrays. Local. */
sley_status sl_resident_cut(sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                            const sl_part_frame *frames, sl_part *parts);

#endif
