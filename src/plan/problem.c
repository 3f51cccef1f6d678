/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/problem.h"

#include "device/product.h"
#include "plan/step.h"

sl_spmm_matrix sl_block_as_part(const sley_matrix *block) {
  return (sl_spmm_matrix){.rows = block->rows,
                          .rowptr = block->rowptr,
                          .col = block->col,
                          .val = block->val,
                          .index = block->index,
                          .dtype = block->dtype};
}

sl_spmm_problem sl_part_problem(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a,
                                const uintptr_t *pages) {
  return (sl_spmm_problem){.a = a,
                           .k = part->k,
                           .x_rows = SL_BUFFER(plan, part->x)->rows,
                           .far_rows = part->far ? SL_BUFFER(plan, part->far)->rows : 0,
                           .far_stride = part->far ? SL_BUFFER(plan, part->far)->row_bytes /
                                                         (int64_t)sley_dtype_bytes(plan->dtype)
                                                   : 0,
                           .pieces = part->pieces,
                           .piece_end = part->piece_end,
                           .pages = part->in_place ? pages : NULL,
                           .segment = part->in_place ? plan->segment : NULL,
                           .segments = plan->comm->size,
                           .own = plan->comm->rank,
                           .wide_y = sl_part_is_wide(plan, part),
                           .in_order = plan->reproducible,
                           .tf32 = plan->tf32,
                           .lean = plan->lean,
                           .renewable = plan->renewable,
                           .arrives = part->arrives_in >= 0,
                           .library = part->arrives_in < 0 ? plan->library : NULL,
                           .figures = &plan->device_figures,
                           .kernel = plan->kernel,
                           .rowwise = plan->rowwise,
                           .team = plan->comm->team};
}

sl_spmm_problem sl_part_update_problem(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a,
                                       const uintptr_t *pages) {
  sl_spmm_problem problem = sl_part_problem(plan, part, a, pages);
  problem.wide_y = true;
  problem.library = NULL;
  return problem;
}

sl_kernel_args sl_plan_update_args(const sl_plan *plan, const sl_spmm_problem *problem) {
  return (sl_kernel_args){
      .op = SL_OP_UPDATE,
      .update = {.product = {.problem = problem}, .dtype = plan->dtype, .in_order = plan->reproducible}};
}

bool sl_plan_sums_in_steps(const sl_plan *plan) {
  int parts = 0;
  for (int i = 0; i < plan->parts.count; i++) {
    const sl_part *part = SL_PART(plan, i);
    parts += part->y == SL_BUFFER_Y && part->a.rows > 0 && !part->completes;
  }
  bool arrive = false;
  for (int i = 0; i < plan->exchanges.count; i++)
    arrive |= SL_EXCHANGE(plan, i)->dst == SL_BUFFER_Y;
  for (int i = 0; i < plan->conversions.count; i++)
    arrive |= SL_CONVERSION(plan, i)->dst == SL_BUFFER_Y;
  return parts > 1 || arrive;
}

/* Returns whether every step that writes Y sums a part, and each row of Y is computed by one step. */
static bool is_made_at_once(const sl_plan *plan) {
  for (int i = 0; i < plan->steps.count; i++) {
    const sl_step *step = SL_STEP(plan, i);
    if (step->kind->writes(plan, step) == SL_BUFFER_Y && !(step->kind->acts & SL_ACT_SUM))
      return false;
  }
  return !sl_plan_sums_in_steps(plan);
}

/* Returns the arguments with which a kernel for a part's update is found; they refer to known and problem. */
static sl_kernel_args update_args_of(const sl_plan *plan, const sl_part *part, sl_spmm_matrix *known,
                                     sl_spmm_problem *problem) {
  static const uintptr_t pages[1];
  *known = part->a;
  if (plan->dry || part->arrives_in >= 0)
    known->rows = 0; /* the arrays do not exist yet */
  *problem = sl_part_update_problem(plan, part, known, pages);
  if (plan->dry) {
    known->dtype = plan->dtype;
    problem->k = plan->k;
    problem->pages = plan->segment ? pages : NULL;
  }
  return sl_plan_update_args(plan, problem);
}

/* Returns whether an update multiplies the rows of the part. */
static bool is_updated(const sl_plan *plan, const sl_part *part) {
  return part->y == SL_BUFFER_Y && (part->a.rows > 0 || plan->dry);
}

/* Returns whether fusing is faster with this kernel. In dry plans the rank's rows have the average number of
 * entries. */
static bool pays(const sl_plan *plan, const sl_part *part, const sl_kernel *kernel) {
  if (!plan->dry)
    return kernel->product->pays(&plan->device_figures, part->a.rows, part->nnz, plan->k);
  const double share = plan->all_rows > 0 ? (double)plan->rows / (double)plan->all_rows : 0;
  return kernel->product->pays(&plan->device_figures, plan->rows, (int64_t)(share * (double)plan->all_nnz),
                               plan->k);
}

bool sl_plan_should_fuse(const sl_plan *plan) {
  if (plan->library || plan->kernel || plan->k == 0 || !is_made_at_once(plan))
    return false;
  for (int i = 0; i < plan->parts.count; i++) {
    const sl_part *part = SL_PART(plan, i);
    sl_spmm_matrix known;
    sl_spmm_problem problem;
    if (!is_updated(plan, part))
      continue;
    sl_kernel_args args = update_args_of(plan, part, &known, &problem);
    const sl_kernel *kernel;
    if (!sl_kernel_serves(plan->comm->device, &args) ||
        sl_kernel_find(plan->comm->device, &args, &kernel) != SLEY_OK || !pays(plan, part, kernel))
      return false;
  }
  return true;
}
