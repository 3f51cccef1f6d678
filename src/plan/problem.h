/* SPDX-License-Identifier: Apache-2.0 */
/* Parts as kernels see them when they are planned, and how they make Y together. */
#ifndef SLEY_PLAN_PROBLEM_H
#define SLEY_PLAN_PROBLEM_H

#include "plan/plan.h"

/* A block as the matrix of one part, for what is asked of plans that have cut none. */
sl_spmm_matrix sl_block_as_part(const sley_matrix *block);

/* What is known of a part's product when it is planned, of the matrix a, which is the part's or stands for
 * it. pages: of parts in place. */
sl_spmm_problem sl_part_problem(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a,
                                const uintptr_t *pages);

/* The same as the product of an update, whose rows are sums. */
sl_spmm_problem sl_part_update_problem(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a,
                                       const uintptr_t *pages);

/* Whether rows of Y take sums of more than one step. */
bool sl_plan_sums_in_steps(const sl_plan *plan);

/* The arguments by which a kernel for updates is looked for and prepared, and what they have in common with
 * those of a run. problem: of the product; NULL: rows are given. */
sl_kernel_args sl_plan_update_args(const sl_plan *plan, const sl_spmm_problem *problem);

/* Of a plan that is made for updates: whether the kernels of its device multiply each block of rows of A X by
 * W as soon as it is summed. That takes a device that has such a kernel for each part, which does not say
 * that it is slower, and that every row of Y is made by one part; else A X is made whole, in a buffer, and
 * then multiplied. Local. */
bool sl_plan_should_fuse(const sl_plan *plan);

#endif
