/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a plan as products. Only this file sets the arguments of SpMM kernels. */
#include "base/clock.h"
#include "exec/exec_inside.h"
#include "plan/problem.h"

sley_status sl_product_kernel(const sl_plan *plan, const sl_part *part, const sl_kernel_args *args,
                              const sl_kernel **out) {
  sley_status status = sl_kernel_find(plan->comm->device, args, out);
  if (status == SLEY_OK || !plan->kernel)
    return status;
  if (!part->name)
    return sl_fail_prefix(status, "the product by %s: ", plan->algo);
  return sl_fail_prefix(status, "part \"%s\" of %s, %lld entries: ", part->name, plan->algo,
                        (long long)part->nnz);
}

static sley_status bind_product(sl_exec *exec, int index) {
  const sl_part *part = SL_PART(exec->run.plan, index);
  sl_bound_part *bound = &exec->parts[index];
  const sl_bound_part *model = exec->wide ? &exec->wide->parts[index] : NULL;
  bool shared = model && model->kernel && model->kernel->product->serves_fewer_columns && model->prepared;
  bound->a = shared ? model->a : part->a;
  if (part->arrives_in >= 0 && !shared) {
    const char *base = exec->run.memory[part->arrives_in];
    bound->a.rowid = (const int64_t *)(base + part->rowid_at);
    bound->a.rowptr = (const int64_t *)(base + part->rowptr_at);
    bound->a.col = base + part->col_at;
    bound->a.val = base + part->val_at;
  }
  bound->problem = sl_part_problem(exec->run.plan, part, &bound->a, exec->pages);
  if (shared) {
    bound->kernel = model->kernel;
    bound->prepared = model->prepared;
    bound->shared = true;
    bound->waits = model->waits && bound->kernel->product->waits(&(sl_kernel_args){
                                       .op = SL_OP_SPMM, .spmm = {.problem = &bound->problem}});
    return SLEY_OK;
  }
  sl_spmm_matrix known = bound->a;
  if (part->arrives_in >= 0)
    known.rows = 0; /* the arrays have no contents yet */
  sl_spmm_problem problem = sl_part_problem(exec->run.plan, part, &known, exec->pages);
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  SL_TRY(sl_product_kernel(exec->run.plan, part, &args, &bound->kernel));
  bound->waits = bound->kernel->product->waits(&args);
  if (part->arrives_in >= 0)
    return SLEY_OK;
  args.spmm.problem = &bound->problem;
  return bound->kernel->prepare(exec->run.comm->device, exec->run.queue, &args, &bound->prepared);
}

sley_status sl_product_bind(sl_exec *exec, int index) {
  const sl_part *part = SL_PART(exec->run.plan, index);
  if (exec->parts[index].kernel || part->a.rows == 0 || part->k == 0)
    return SLEY_OK;
  SL_TRY(bind_product(exec, index));
  return sl_update_bind(exec, index);
}

void sl_product_release(sl_exec *exec, int index) {
  sl_bound_part *bound = &exec->parts[index];
  if (bound->prepared && !bound->shared)
    bound->kernel->release(exec->run.comm->device, bound->prepared);
  sl_update_release(exec, index);
}

sl_kernel_args sl_product_args(const sl_exec *exec, int index, double alpha, double beta) {
  const sl_part *part = SL_PART(exec->run.plan, index);
  const sl_bound_part *bound = &exec->parts[index];
  int64_t y_bytes = (int64_t)(bound->problem.wide_y ? exec->sum_bytes : exec->value_bytes);
  return (sl_kernel_args){
      .op = SL_OP_SPMM,
      .spmm = {.problem = &bound->problem,
               .prepared = bound->prepared,
               .alpha = alpha,
               .beta = part->beta == SL_BETA_USER   ? beta
                       : part->beta == SL_BETA_ZERO ? 0
                                                    : 1,
               .x = exec->run.memory[part->x],
               .ldx = exec->run.stride[part->x] / (int64_t)exec->value_bytes,
               .far = part->far ? exec->run.memory[part->far] : NULL,
               .ldfar = part->far ? exec->run.stride[part->far] / (int64_t)exec->value_bytes : 0,
               .y = exec->run.memory[part->y],
               .ldy = exec->run.stride[part->y] / y_bytes,
               .padded = part->x != SL_BUFFER_X || exec->run.memory[SL_BUFFER_X] == exec->packed,
               .during_pull = part->during_pull}};
}

/* Sets the words on which a part's kernel waits for pieces. For a kernel that cannot wait, the queue waits
 * for the last piece. The first piece has always arrived. */
static sley_status await_pieces(const sl_exec *exec, const sl_part *part, bool waits, sl_queue *queue,
                                const sl_piece_words **arrivals) {
  const sl_piece_words *words = exec->words[part->exchange];
  *arrivals = waits ? words : NULL;
  if (waits || !words || part->pieces == 1)
    return SLEY_OK;
  sl_arrive_args last = {.words = (sl_piece_words *)words, .piece = part->pieces - 1};
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_ARRIVE, .arrive = last});
}

sley_status sl_product_run(const sl_exec *exec, int index, sl_queue *queue) {
  const sl_bound_part *bound = &exec->parts[index];
  const sl_part *part = SL_PART(exec->run.plan, index);
  if (!bound->kernel)
    return SLEY_OK;
  bool updates = exec->update && part->y == SL_BUFFER_Y;
  const sl_kernel *kernel = updates ? bound->update.kernel : bound->kernel;
  sl_kernel_args args = sl_product_args(exec, index, exec->run.alpha, exec->run.beta);
  if (part->pieces > 0)
    SL_TRY(
        await_pieces(exec, part, updates ? bound->update.waits : bound->waits, queue, &args.spmm.arrivals));
  if (updates)
    args = sl_update_args_of(exec, index, &args.spmm);
  double begin = exec->trace ? sl_now() : 0;
  sley_status status = kernel->run(queue, &args);
  if (exec->trace)
    sl_trace_span(exec->trace, part->name, begin, sl_now(), -1);
  return status;
}

const sl_neighbour_table *sl_exec_tuned(const sl_exec *exec) {
  const sl_neighbour_table *table = NULL;
  for (int i = 0; i < exec->run.plan->parts.count && !table; i++) {
    const sl_bound_part *bound = &exec->parts[i];
    if (bound->kernel)
      table = bound->kernel->product->tuned(bound->prepared);
  }
  return table && table->count > 0 ? table : NULL;
}
