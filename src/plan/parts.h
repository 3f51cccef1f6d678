/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a row block into parts: compact sparse matrices whose columns are rows of a buffer. */
#ifndef SLEY_PLAN_PARTS_H
#define SLEY_PLAN_PARTS_H

#include "plan/plan.h"
#include "plan/redistribute.h"

/* Adds count parts to the plan, in the order of frames; their Y is the caller's, with the caller's beta if
 * whole or made of whole rows, else added. *first: index of the first. Nothing is built in a dry plan.
 *
 * What a part has in common with the block is not copied: where all entries go to one whole part, that has
 * the block's own row pointers and, without turns, values, and its columns too where they are places already,
 * as with one rank. plan->uses_block then tells that the block must outlive the plan. */
sley_status sl_parts_cut(sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                         const sl_part_frame *frames, int *first);

/* For sums in column order: the part of each halo entry, from sl_alloc, which is `below` for those below the
 * rank's own columns and `above` for those above them. */
sley_status sl_parts_around_own(const sl_inspection *ins, int below, int above, int32_t **part);

/* Cuts the parts of the plan's division, if it has one. Local. */
sley_status sl_plan_cut(sl_plan *plan, const sl_inspection *ins);

/* About what the parts of a block take, for dry plans. */
int64_t sl_block_bytes(const sley_matrix *block);

/* Part of a plan from count items: row r is stored row r - row_first (whole, rows of them) or listed (not
 * whole), column c is c - col_first of buffer x. The items of a row keep their order; where rows are listed,
 * items come by row. Its place in the plan: *index. */
sley_status sl_part_from_items(sl_plan *plan, const sl_part *frame, const sl_item *items, int64_t count,
                               bool whole, int64_t rows, int64_t row_first, int64_t col_first, int *index);

#endif
