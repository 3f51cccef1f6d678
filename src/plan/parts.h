/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a row block into parts: compact sparse matrices whose columns are rows of a buffer. */
#ifndef SLEY_PLAN_PARTS_H
#define SLEY_PLAN_PARTS_H

#include "plan/plan.h"
#include "plan/redistribute.h"

/* Adds count parts to the plan, in the order of frames. They sum into the caller's Y: with the caller's beta
 * if a part stores all rows or consists of whole rows, otherwise they add to it. *first: index of the first
 * part. In a dry plan nothing is built.
 *
 * Arrays that a part has in common with the block are not copied. If all entries go to one part that stores
 * all rows, it uses the block's row pointers, without turns also its values, and its columns too if they are
 * places already, as with one rank. plan->uses_block is then set: the block must outlive the plan. */
sley_status sl_parts_cut(sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                         const sl_part_frame *frames, int *first);

/* For sums in column order: sets *part, allocated by sl_alloc, to the part of each halo entry: `below` for
 * entries below the rank's own columns, `above` for the others. */
sley_status sl_parts_around_own(const sl_inspection *ins, int below, int above, int32_t **part);

/* Cuts the parts of the plan's division, if it has one. Local. */
sley_status sl_plan_cut(sl_plan *plan, const sl_inspection *ins);

/* Approximate bytes of the parts of a block, for dry plans. */
int64_t sl_block_bytes(const sley_matrix *block);

/* Adds a part made from count items; its number is *index. Column c becomes column c - col_first, a row of
 * buffer frame->x. If whole, the part stores `rows` rows, and row r is stored row r - row_first; otherwise it
 * stores the rows that occur, listed as r - row_first, and the items must be in order of rows. Items of a row
 * keep their order. */
sley_status sl_part_from_items(sl_plan *plan, const sl_part *frame, const sl_item *items, int64_t count,
                               bool whole, int64_t rows, int64_t row_first, int64_t col_first, int *index);

#endif
