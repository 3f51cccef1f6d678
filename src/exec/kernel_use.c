/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/kernel_use.h"

#include <math.h>

#include "exec/exec_inside.h"
#include "plan/problem.h"

const sl_kernel *sl_kernel_numbered(const sl_device *device, int number) {
  for (const sl_kernel *const *each = device->ops->kernels; *each; each++)
    if ((*each)->op == SL_OP_SPMM && number-- == 0)
      return *each;
  return NULL;
}

/* Adds the entries of a part. prepared: NULL if the part is not prepared. */
static void add(const sl_device *device, const sl_kernel *kernel, const void *prepared, sley_part_kind kind,
                int64_t entries, int64_t copied, sl_kernel_use *out) {
  const sl_kernel *each;
  kernel = kernel->product->stands_for(kernel, prepared);
  for (int i = 0; i < SL_KERNELS_MOST && (each = sl_kernel_numbered(device, i)); i++)
    if (each == kernel) {
      out->entries[kind][i] += entries;
      out->copied[kind][i] += copied;
    }
}

static int64_t copied_by(const sl_kernel *kernel, const sl_spmm_problem *problem, const void *prepared) {
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = problem}};
  return kernel->product->copied(&args, prepared);
}

sl_accuracy sl_accuracy_least(sl_accuracy a, sl_accuracy b) {
  return (sl_accuracy){a.each > b.each ? a.each : b.each, a.more > b.more ? a.more : b.more,
                       a.tf32 || b.tf32};
}

/* Combines the accuracy `all` with the accuracy of a kernel, which may be NULL. */
static sl_accuracy with_kernel(sl_accuracy all, const sl_kernel *kernel, const sl_kernel_args *args,
                               const void *prepared) {
  return kernel ? sl_accuracy_least(all, kernel->product->accuracy(args, prepared)) : all;
}

sl_accuracy sl_exec_accuracy(const sl_exec *exec) {
  const sl_plan *plan = exec->run.plan;
  sl_accuracy all = SL_ACCURACY_IN_ORDER;
  if (plan->updates && !plan->fuses) {
    const sl_kernel *kernel;
    sl_kernel_args given = sl_plan_update_args(plan, NULL);
    if (sl_kernel_find(plan->comm->device, &given, &kernel) == SLEY_OK)
      all = with_kernel(all, kernel, &given, NULL);
  }
  for (int i = 0; i < plan->parts.count; i++) {
    const sl_bound_part *bound = &exec->parts[i];
    sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &bound->problem}};
    sl_kernel_args update = sl_plan_update_args(plan, &bound->update.problem);
    all = with_kernel(all, bound->kernel, &args, bound->prepared);
    all = with_kernel(all, bound->update.kernel, &update, bound->update.prepared);
  }
  return all;
}

void sl_kernel_use_of_exec(const sl_exec *exec, sl_kernel_use *out) {
  const sl_plan *plan = exec->run.plan;
  *out = (sl_kernel_use){0};
  for (int i = 0; i < plan->parts.count; i++) {
    const sl_bound_part *bound = &exec->parts[i];
    if (bound->kernel)
      add(plan->comm->device, bound->kernel, bound->prepared, SL_PART(plan, i)->kind, SL_PART(plan, i)->nnz,
          SL_PART(plan, i)->arrives_in < 0 ? copied_by(bound->kernel, &bound->problem, bound->prepared) : 0,
          out);
  }
}

/* Adds a dry part, with the block as its matrix. If no kernel is found, nothing is counted. */
static void add_dry(const sl_plan *plan, const sley_matrix *block, sley_part_kind kind, int64_t entries,
                    sl_kernel_use *out) {
  static const uintptr_t pages[1];
  const sl_kernel *kernel;
  sl_spmm_matrix whole = sl_block_as_part(block);
  sl_part part = {.k = plan->k, .x = SL_BUFFER_X, .y = SL_BUFFER_Y, .arrives_in = -1};
  part.in_place = kind == SLEY_PART_BOTH && plan->segment;
  sl_spmm_problem problem = sl_part_problem(plan, &part, &whole, pages);
  problem.far_rows = kind == SLEY_PART_BOTH && !plan->segment;
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  if (entries > 0 && sl_kernel_find(plan->comm->device, &args, &kernel) == SLEY_OK)
    add(plan->comm->device, kernel, NULL, kind, entries, copied_by(kernel, &problem, NULL) > 0 ? entries : 0,
        out);
}

/* Adds parts with unknown entries: the rank's own columns and the other columns, or all columns together. */
static void add_untold(const sl_plan *plan, const sl_inspection *ins, sl_kernel_use *out) {
  int64_t own = ins->owner_nnz[ins->comm->rank], all = ins->block->nnz;
  for (int i = 0; i < plan->parts.count; i++)
    if (SL_PART(plan, i)->kind == SLEY_PART_BOTH) {
      add_dry(plan, ins->block, SLEY_PART_BOTH, all, out);
      return;
    }
  add_dry(plan, ins->block, SLEY_PART_LOCAL, own, out);
  add_dry(plan, ins->block, SLEY_PART_HALO, all - own, out);
}

void sl_kernel_use_of_dry(const sl_plan *plan, const sl_inspection *ins, sl_kernel_use *out) {
  double told[SL_PART_KINDS] = {0}, all = 0;
  *out = (sl_kernel_use){0};
  if (plan->entries_travel)
    return;
  for (int i = 0; i < plan->parts.count; i++) {
    told[SL_PART(plan, i)->kind] += SL_PART(plan, i)->work;
    all += SL_PART(plan, i)->work;
  }
  for (int kind = 0; kind < SL_PART_KINDS && all > 0; kind++)
    add_dry(plan, ins->block, (sley_part_kind)kind, llround(told[kind]), out);
  if (all <= 0)
    add_untold(plan, ins, out);
}
