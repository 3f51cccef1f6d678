/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptions of parts that kernels receive during planning, and how the parts compute Y together. */
#ifndef SLEY_PLAN_PROBLEM_H
#define SLEY_PLAN_PROBLEM_H

#include "plan/plan.h"

/* Describes a whole block as the matrix of one part, for plans whose parts are not cut. */
sl_spmm_matrix sl_block_as_part(const sley_matrix *block);

/* Describes the product of a part at planning time, for the matrix a, which is the part's own or one that
 * stands for it. pages: used for parts in place. */
sl_spmm_problem sl_part_problem(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a,
                                const uintptr_t *pages);

/* As sl_part_problem, for the product of an update, whose rows are sums. */
sl_spmm_problem sl_part_update_problem(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a,
                                       const uintptr_t *pages);

/* Returns whether several steps add to the same rows of Y. */
bool sl_plan_sums_in_steps(const sl_plan *plan);

/* The arguments with which a kernel for updates is found and prepared; a run uses them too. problem: the
 * problem of the product; NULL: the rows of A X are already computed. */
sl_kernel_args sl_plan_update_args(const sl_plan *plan, const sl_spmm_problem *problem);

/* For a plan made for updates: whether the kernels of its device multiply each block of rows of A X by W as
 * soon as it is summed. This is so if one part computes every row of Y and, for each part, the device has
 * such a kernel whose `pays` is true. Otherwise all of A X is stored and then multiplied. Local. */
bool sl_plan_should_fuse(const sl_plan *plan);

#endif
