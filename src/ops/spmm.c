/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of sparse products: created alone or as a pair, executed, given new values, destroyed. */
#include "ops/spmm.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "check/check.h"
#include "device/asked_kernel.h"
#include "machine/machine.h"
#include "ops/compare.h"
#include "plan/resident.h"
#include "plan/symmetric_block.h"
#include "predict/choice.h"
#include "predict/cost.h"
#include "predict/locality.h"

/* Finds the library that the option names; its text is static. */
static sley_status choose_library(const sley_plan_options *options, const char **out) {
  static const char *const libraries[] = {"cusparse", NULL};
  const char *local = options->local;
  *out = NULL;
  if (!local || strcmp(local, "auto") == 0 || strcmp(local, "sley") == 0)
    return SLEY_OK;
  for (const char *const *each = libraries; *each && !*out; each++)
    if (strcmp(local, *each) == 0)
      *out = *each;
  if (!*out)
    return sl_fail(SLEY_ERR_ARG,
                   "there are no local kernels called \"%s\": auto, sley and cusparse are known", local);
  if (options->reproducible)
    return sl_fail(SLEY_ERR_ARG,
                   "reproducible sums need Sley's own kernels, but the plan requests the kernels of %s",
                   local);
  return SLEY_OK;
}

/* Finds the kernel that the option names, and the library to which it belongs. */
static sley_status choose_kernel(const sl_device *device, const sley_plan_options *options,
                                 sl_plan_wishes *wishes) {
  const char *name = options->kernel, *local = options->local;
  if (!name || strcmp(name, "auto") == 0)
    return SLEY_OK;
  SL_TRY(sl_kernel_named(device->ops->name, device->ops->kernels, name, &wishes->kernel));
  const char *owner = wishes->kernel->library ? wishes->kernel->library : "sley";
  if (local && strcmp(local, "auto") != 0 && strcmp(local, owner) != 0)
    return sl_fail(SLEY_ERR_ARG,
                   "the kernel %s is of %s, but the plan asks for kernels of %s: leave one of the two out",
                   name, owner, local);
  wishes->library = wishes->kernel->library;
  return SLEY_OK;
}

const char *const sl_wires[] = {"none", "bf16", "f16", NULL};

/* Chooses the type in which values are sent. Integer and 16-bit values are not narrowed further. Bits that
 * must be the same for every number of ranks cannot depend on which rows are sent. */
static sley_status choose_wire(const sley_plan_options *options, sley_dtype dtype, sl_plan_wishes *wishes) {
  const char *name = options->wire;
  static const sley_dtype types[] = {[1] = SLEY_BF16, [2] = SLEY_F16}; /* in the order of the names */
  int place = 0;
  while (name && sl_wires[place] && strcmp(name, sl_wires[place]) != 0)
    place++;
  if (place == 0)
    return SLEY_OK;
  if (!sl_wires[place])
    return sl_fail(SLEY_ERR_ARG, "values cannot travel as \"%s\": none, bf16 and f16 are known", name);
  if (sl_is_16_bit(dtype))
    return sl_fail(SLEY_ERR_ARG, "values of 16 bits cannot travel narrower (wire %s): leave it out", name);
  if (options->reproducible)
    return sl_fail(SLEY_ERR_ARG,
                   "reproducible bits do not depend on which rows travel, but with wire %s those are "
                   "rounded: leave one of the two out",
                   name);
  wishes->has_wire = true;
  wishes->wire = types[place];
  return SLEY_OK;
}

/* Chooses the figures by which kernels of the plan are chosen and shaped: figures of the machine for which
 * times are predicted replace the device's. No description has figures for the products of cores. */
static sley_status choose_figures(const sl_device *device, const sley_plan_options *options,
                                  sl_plan_wishes *wishes) {
  const sl_machine *machine = options->machine;
  if (!machine && !sl_kernel_is_there(device->ops->kernels, "hybrid"))
    return SLEY_OK;
  if (!machine)
    SL_TRY(sl_machine_find(sl_machine_of(device), &machine));
  wishes->has_figures = true;
  wishes->figures = sl_machine_figures(machine, &device->figures);
  return SLEY_OK;
}

static sley_status choose_updates(const sley_plan_options *options, sl_updates *out) {
  static const sl_updates of[] = {[SLEY_UPDATE_NONE] = SL_UPDATES_NONE,
                                  [SLEY_UPDATE_FUSED] = SL_UPDATES_FUSED,
                                  [SLEY_UPDATE_APART] = SL_UPDATES_APART,
                                  [SLEY_UPDATE_FUSED_ONLY] = SL_UPDATES_FUSED_ONLY};
  if ((unsigned)options->update >= sizeof of / sizeof *of)
    return sl_fail(SLEY_ERR_ARG, "there is no way %d to make an update", (int)options->update);
  *out = of[options->update];
  return SLEY_OK;
}

static sley_status read_wishes(const sl_comm *comm, const sley_plan_options *options, int64_t k,
                               sley_dtype dtype, sl_plan_wishes *out) {
  *out = sl_plan_wishes_for(k, dtype);
  out->reproducible = options->reproducible;
  out->capture = options->capture;
  out->machine = options->machine;
  out->keeps_input = options->keep_input;
  out->owned = options->transpose;
  out->renewable = options->renewable;
  SL_TRY(choose_updates(options, &out->updates));
  SL_TRY(choose_library(options, &out->library));
  SL_TRY(choose_kernel(comm->device, options, out));
  SL_TRY(sl_precision_read(options->precision, dtype, options->reproducible, &out->tf32));
  SL_TRY(sl_algorithm_read_parameters(options->algo, out));
  SL_TRY(choose_figures(comm->device, options, out));
  return choose_wire(options, dtype, out);
}

/* Samples the block, if the machine's rates need it, and for CPUs, whose rates are measured with such
 * samples. For GPUs it is otherwise left out, because a sample takes as long as hundreds of their products.
 */
static sley_status look_at_locality(sl_inspection *ins) {
  const sl_machine *machine;
  SL_TRY(sl_cost_machine(ins, &machine));
  return machine->nears > 0 || ins->comm->device->ops->host_addresses ? sl_locality(ins) : SLEY_OK;
}

/* The common first steps of building and of comparing plans. */
static sley_status begin_planning(sl_inspection *ins, const sley_plan_options *options) {
  if (options->mem_limit > 0) { /* parts are then cut without regard to limits */
    sl_resident_close(ins->resident);
    ins->resident = NULL;
  }
  return sl_agree(ins->comm, look_at_locality(ins));
}

/* Finds the least accuracy of all parts on all ranks, and shares it. Collective. */
static sley_status find_accuracy(sley_plan *handle) {
  sl_accuracy own = sl_exec_accuracy(handle->exec);
  if (handle->last)
    own = sl_accuracy_least(own, sl_exec_accuracy(handle->last));
  int64_t most[] = {own.each, own.more, own.tf32};
  SL_TRY(handle->comm->ops->allreduce(handle->comm, SL_MAX, most, 3));
  handle->accuracy = (sl_accuracy){(int)most[0], (int)most[1], most[2] != 0};
  return SLEY_OK;
}

/* Lets the algorithm build the plan from the inspection, and binds it. */
static sley_status build(sley_plan *handle, sl_inspection *ins, const sley_plan_options *options) {
  sley_status status = begin_planning(ins, options);
  handle->halo = sl_halo_hold(ins->halo);
  sl_comm_begin_work(ins->comm, "choosing and cutting parts", 4);
  if (status == SLEY_OK)
    status = sl_plan_build(ins, options->algo, options->dry, &handle->plan);
  sl_resident_close(ins->resident); /* frees memory for the plan */
  ins->resident = NULL;
  if (status == SLEY_OK)
    status = sl_spmm_fit(handle, ins, options);
  sl_comm_begin_work(ins->comm, "preparing kernels", 4);
  if (status == SLEY_OK && !options->dry)
    status = sl_exec_create(handle->blocks > 1 ? &handle->full_block : &handle->plan, &handle->exec);
  if (status == SLEY_OK && !options->dry && handle->rest > 0)
    status = sl_exec_create_sharing(&handle->last_block, handle->exec, &handle->last);
  if (status == SLEY_OK && !options->dry)
    status = find_accuracy(handle);
  if (status == SLEY_OK && !options->dry)
    sl_kernel_use_of_exec(handle->exec, &handle->used);
  else if (status == SLEY_OK && !options->machine)
    sl_kernel_use_of_dry(&handle->plan, ins, &handle->used);
  return status;
}

/* The purpose of an inspection: one plan, or a comparison of plans. */
typedef struct request {
  int64_t k;
  const sley_plan_options *options;
  sley_comparison *comparison; /* NULL: make a plan */
} request;

static sley_status inspect_and_build(sley_plan *handle, const sley_matrix *block, const int64_t *row_begin,
                                     const int64_t *col_begin, const sl_plan_wishes *wishes,
                                     const request *asked) {
  sl_inspection inspection;
  SL_TRY(sl_inspect_checked(handle->comm, block, row_begin, col_begin, wishes, &inspection));
  sley_status status;
  if (asked->comparison) {
    status = begin_planning(&inspection, asked->options);
    if (status == SLEY_OK)
      status = sl_spmm_compare_all(handle, &inspection, asked->options, asked->comparison);
  } else {
    status = build(handle, &inspection, asked->options);
  }
  sl_inspection_free(&inspection);
  return status;
}

/* Makes this rank's rows of A^T for a plan; the handle owns them. */
static sley_status transpose(sley_plan *handle, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, const sley_plan_options *options) {
  bool renewable = options->renewable && !options->dry;
  return sl_transpose_blocks(handle->comm, block, row_begin, col_begin, renewable ? &handle->values : NULL,
                             &handle->transposed);
}

/* Frees arrays of A^T that the finished plan no longer reads. */
static void drop_transposed(sley_plan *handle) {
  if (handle->plan.uses_block || handle->values)
    return;
  sl_matrix_destroy(handle->transposed);
  handle->transposed = NULL;
}

/* Makes the plan of A, or of A^T, whose rows are exchanged first. */
static sley_status make(sley_plan *handle, const sley_matrix *block, const int64_t *row_begin,
                        const int64_t *col_begin, const request *asked) {
  const sley_plan_options *options = asked->options;
  sl_plan_wishes wishes;
  SL_TRY(sl_agree(handle->comm, read_wishes(handle->comm, options, asked->k, block->dtype, &wishes)));
  SL_TRY(sl_inspect_check(handle->comm, block, row_begin, col_begin, &wishes));
  if (!options->transpose)
    return inspect_and_build(handle, block, row_begin, col_begin, &wishes, asked);
  SL_TRY(transpose(handle, block, row_begin, col_begin, options));
  SL_TRY(inspect_and_build(handle, handle->transposed, col_begin, row_begin, &wishes, asked));
  drop_transposed(handle);
  return SLEY_OK;
}

static sley_status begin_plan(sl_comm *comm, const sley_matrix *block, sley_plan **out) {
  sley_status status = SL_NEW_ZERO(*out, 1, "a plan");
  if (status == SLEY_OK) {
    (*out)->comm = comm;
    (*out)->nnz = block->nnz;
    (*out)->accuracy = SL_ACCURACY_IN_ORDER;
  }
  return sl_agree(comm, status);
}

sley_status sl_spmm_plan(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                         const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                         sley_plan **out) {
  sley_plan *handle = NULL;
  *out = NULL;
  sley_status status = begin_plan(comm, block, &handle);
  if (status == SLEY_OK)
    status = make(handle, block, row_begin, col_begin, &(request){.k = k, .options = options});
  sl_comm_begin_work(comm, NULL, 0);
  if (status != SLEY_OK) {
    sl_spmm_plan_destroy(handle);
    return status;
  }
  *out = handle;
  return SLEY_OK;
}

sley_status sl_spmm_compare(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                            const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                            sley_comparison *comparison) {
  sley_plan *handle = NULL;
  sley_status status = begin_plan(comm, block, &handle);
  if (status == SLEY_OK)
    status = make(handle, block, row_begin, col_begin,
                  &(request){.k = k, .options = options, .comparison = comparison});
  sl_comm_begin_work(comm, NULL, 0);
  sl_spmm_plan_destroy(handle);
  return status;
}

/* Makes the plan of A^T from the inspection of A, which serves both if the pattern is symmetric. If one is
 * not NULL, *one is set if A^T equals A; then there is no second plan. */
static sley_status make_second(sley_plan *handle, sl_inspection *ins, const sley_plan_options *options,
                               bool *one) {
  const sley_matrix *block = ins->block;
  sl_plan_wishes wishes = *ins->wishes;
  bool alike;
  wishes.owned = true;
  if (one)
    SL_TRY(sl_is_symmetric(ins, one));
  if (one && *one)
    return SLEY_OK;
  SL_TRY(transpose(handle, block, ins->row_begin, ins->col_begin, options));
  SL_TRY(sl_has_pattern_of(ins, handle->transposed, &alike));
  if (alike) {
    ins->block = handle->transposed;
    ins->wishes = &wishes;
    SL_TRY(sl_agree(handle->comm, sl_resident_open(ins)));
    SL_TRY(build(handle, ins, options));
  } else {
    SL_TRY(inspect_and_build(handle, handle->transposed, ins->col_begin, ins->row_begin, &wishes,
                             &(request){.options = options}));
  }
  drop_transposed(handle);
  return SLEY_OK;
}

static sley_status make_pair(sley_plan *const pair[2], const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                             bool *one) {
  sl_comm *comm = pair[0]->comm;
  sl_inspection inspection;
  sl_plan_wishes wishes;
  SL_TRY(sl_agree(comm, read_wishes(comm, options, k, block->dtype, &wishes)));
  SL_TRY(sl_inspect(comm, block, row_begin, col_begin, &wishes, &inspection));
  sley_status status = build(pair[0], &inspection, options);
  if (status == SLEY_OK)
    status = make_second(pair[1], &inspection, options, one);
  sl_inspection_free(&inspection);
  return status;
}

sley_status sl_spmm_plan_pair(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                              bool may_be_one, sley_plan **out, sley_plan **out_transposed) {
  sley_plan *pair[2] = {NULL, NULL};
  bool one = false;
  *out = *out_transposed = NULL;
  sley_status status = begin_plan(comm, block, &pair[0]);
  if (status == SLEY_OK)
    status = begin_plan(comm, block, &pair[1]);
  if (status == SLEY_OK)
    status = make_pair(pair, block, row_begin, col_begin, k, options, may_be_one ? &one : NULL);
  sl_comm_begin_work(comm, NULL, 0);
  if (status != SLEY_OK) {
    sl_spmm_plan_destroy(pair[1]);
    sl_spmm_plan_destroy(pair[0]);
    return status;
  }
  if (one) {
    sl_spmm_plan_destroy(pair[1]);
    pair[1] = pair[0];
  }
  *out = pair[0];
  *out_transposed = pair[1];
  return SLEY_OK;
}

/* Starts the execution of a block of columns; records the ranks' counters. */
static sl_exec *begin_block(sley_plan *plan, int64_t block, sl_counters *before) {
  plan->kept.there = false;
  plan->comm->ops->counters(plan->comm, before);
  return plan->rest > 0 && block == plan->blocks - 1 ? plan->last : plan->exec;
}

static void end_block(sley_plan *plan, int64_t block, const sl_counters *before) {
  sl_counters after;
  plan->comm->ops->counters(plan->comm, &after);
  if (block == 0)
    plan->counted = (sl_counters){0};
  for (int link = 0; link < SL_LINK_COUNT; link++) {
    plan->counted.bytes[link] += after.bytes[link] - before->bytes[link];
    plan->counted.messages[link] += after.messages[link] - before->messages[link];
  }
}

static sley_status run_block(sley_plan *plan, int64_t block, bool unchanged, double alpha, const void *x,
                             int64_t ldx, double beta, void *y, int64_t ldy) {
  sl_counters before;
  sl_exec *exec = begin_block(plan, block, &before);
  SL_TRY(sl_exec_run(exec, unchanged, alpha, x, ldx, beta, y, ldy));
  end_block(plan, block, &before);
  return SLEY_OK;
}

sley_status sl_spmm_execute_block(sley_plan *plan, int64_t block, double alpha, const void *x, int64_t ldx,
                                  double beta, void *y, int64_t ldy) {
  return run_block(plan, block, false, alpha, x, ldx, beta, y, ldy);
}

/* Returns whether partial sums are computed with the alpha of the execute that sends them. */
static bool sums_travel(const sl_plan *plan) {
  for (int i = 0; i < plan->parts.count; i++)
    if (SL_PART(plan, i)->y != SL_BUFFER_Y)
      return true;
  return false;
}

/* Checks that this rank may use its input as declared. */
static sley_status check_input(const sley_plan *plan, const sl_input *input) {
  const sl_input *kept = &plan->kept;
  long long generation = (long long)input->generation, last = (long long)kept->generation;
  if (!plan->plan.keeps_input)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm_input: the plan was not made with keep_input");
  if (input->state == SLEY_CHANGED) {
    if (kept->there && input->generation <= kept->generation)
      return sl_fail(SLEY_ERR_ARG,
                     "sley_spmm_input: X has changed, but its generation %lld does not come after %lld: "
                     "raise it each time",
                     generation, last);
    return SLEY_OK;
  }
  if (!kept->there)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm_input: X is called unchanged, but there was no execute of "
                                 "sley_spmm_input before that kept its rows");
  if (input->generation != kept->generation)
    return sl_fail(SLEY_ERR_ARG,
                   "sley_spmm_input: X is called unchanged, but it is generation %lld, and the last execute "
                   "was given %lld",
                   generation, last);
  if (input->x != kept->x || input->ldx != kept->ldx)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm_input: X is called unchanged, but it is not where it was, or its "
                                 "leading dimension is another");
  if (input->alpha != kept->alpha && sums_travel(&plan->plan))
    return sl_fail(SLEY_ERR_ARG,
                   "sley_spmm_input: X is called unchanged, but alpha is %g instead of %g, and %s keeps "
                   "partial sums with it",
                   input->alpha, kept->alpha, plan->plan.algo);
  return SLEY_OK;
}

/* Checks that all ranks declare the same input; if one rank fails, all return an error. Collective. */
static sley_status agree_input(const sley_plan *plan, const sl_input *input) {
  sl_comm *comm = plan->comm;
  sley_status mine = check_input(plan, input);
  int64_t least[5] = {mine == SLEY_OK, input->state, -(int64_t)input->state, input->generation,
                      -input->generation};
  sl_error own;
  sl_error_take(mine, &own);
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, least, 5));
  if (!least[0])
    return sl_agree(comm, mine == SLEY_OK ? SLEY_OK : sl_error_restore(&own));
  if (least[1] != -least[2] || least[3] != -least[4])
    return sl_agree(comm, sl_fail(SLEY_ERR_ARG, "sley_spmm_input: the ranks were given different states or "
                                                "generations of X"));
  return SLEY_OK;
}

sley_status sl_spmm_execute_input(sley_plan *plan, const sl_input *input, double beta, void *y, int64_t ldy) {
  SL_TRY(agree_input(plan, input));
  SL_TRY(
      run_block(plan, 0, input->state == SLEY_UNCHANGED, input->alpha, input->x, input->ldx, beta, y, ldy));
  plan->kept = *input;
  plan->kept.there = true;
  return SLEY_OK;
}

sley_status sl_spmm_execute(sley_plan *plan, double alpha, const void *x, int64_t ldx, double beta, void *y,
                            int64_t ldy) {
  int64_t bytes = plan->width * (int64_t)sley_dtype_bytes(plan->plan.dtype);
  for (int64_t b = 0; b < plan->blocks; b++)
    SL_TRY(sl_spmm_execute_block(plan, b, alpha, x ? (const char *)x + b * bytes : NULL, ldx, beta,
                                 y ? (char *)y + b * bytes : NULL, ldy));
  return SLEY_OK;
}

/* Multiplies a block of columns of A X by its rows of W, and adds it to the result of the earlier blocks. */
sley_status sl_spmm_update(sley_plan *plan, double alpha, const void *x, int64_t ldx,
                           const sl_update *update) {
  int64_t value = (int64_t)sley_dtype_bytes(plan->plan.dtype);
  for (int64_t b = 0; b < plan->blocks; b++) {
    int64_t first = b * plan->width;
    sl_counters before;
    sl_update some = *update;
    sl_exec *exec = begin_block(plan, b, &before);
    some.w = update->w ? (const char *)update->w + first * update->ldw * value : NULL;
    some.beta = b == 0 ? update->beta : 1;
    SL_TRY(sl_exec_run_update(exec, alpha, x ? (const char *)x + first * value : NULL, ldx, &some));
    end_block(plan, b, &before);
  }
  return SLEY_OK;
}

static sley_status set_values(sley_plan *plan, const void *val) {
  SL_TRY(sl_exec_set_values(plan->exec, val));
  return plan->last ? sl_exec_set_values(plan->last, val) : SLEY_OK;
}

sley_status sl_spmm_set_values(sley_plan *plan, const void *val) {
  if (!plan->values)
    return set_values(plan, val);
  void *own = (void *)plan->transposed->val;
  sley_status status = sl_transposition_run(plan->values, val, own);
  if (status == SLEY_OK)
    status = set_values(plan, own);
  return sl_agree(plan->comm, status);
}

sley_status sl_spmm_counted(sley_plan *plan, sley_traffic *out) {
  const sl_counters *c = &plan->counted;
  int64_t sums[6] = {c->bytes[SL_LINK_DIRECT],     c->messages[SL_LINK_DIRECT], c->bytes[SL_LINK_MESSAGE],
                     c->messages[SL_LINK_MESSAGE], c->bytes[SL_LINK_SELF],      c->messages[SL_LINK_SELF]};
  SL_TRY(plan->comm->ops->allreduce(plan->comm, SL_SUM, sums, 6));
  *out = (sley_traffic){sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
  return SLEY_OK;
}

void sl_spmm_info(const sley_plan *plan, sley_plan_info *out) {
  const sl_plan *p = &plan->plan;
  const sl_figures *f = &p->figures;
  *out = (sley_plan_info){.algo = p->algo,
                          .reason = p->reason,
                          .rows = p->all_rows,
                          .cols = p->all_cols,
                          .nnz = p->all_nnz,
                          .k = p->k,
                          .remote_nnz = p->remote_nnz,
                          .halo_rows = p->halo_rows,
                          .cover_rows = p->cover_rows.all,
                          .floor_between = p->cover_rows.between,
                          .floor_inside = p->cover_rows.inside,
                          .predicted = f->predicted,
                          .predicted_ms = 1e3 * f->predicted_seconds,
                          .memory_bytes = f->memory_bytes_most,
                          .needed_bytes = plan->needed_bytes,
                          .limit_bytes = plan->limit_bytes,
                          .column_width = plan->width,
                          .column_blocks = plan->blocks,
                          .phases = {.pack_ms = 1e3 * f->phase_seconds[SL_PHASE_PACK],
                                     .transfer_ms = 1e3 * f->phase_seconds[SL_PHASE_TRANSFER],
                                     .local_ms = 1e3 * f->phase_seconds[SL_PHASE_LOCAL],
                                     .remote_ms = 1e3 * f->phase_seconds[SL_PHASE_REMOTE],
                                     .wait_ms = 1e3 * f->phase_seconds[SL_PHASE_WAIT]},
                          .rank_messages = f->messages_most,
                          .wire = p->wire,
                          .wire_bound = sl_wire_bound(p->wire, p->roundings),
                          .term_roundings = plan->accuracy.each,
                          .more_roundings = plan->accuracy.more,
                          .update_fused = f->fuses,
                          .tf32 = plan->accuracy.tf32};
}

void sl_spmm_trials(const sley_plan *plan, sley_trial *out, int room, int *count) {
  const sl_neighbour_table *table = plan->exec ? sl_exec_tuned(plan->exec) : NULL;
  *count = table ? table->count : 0;
  for (int i = 0; i < *count && i < room; i++) {
    const sl_neighbour_trial *trial = &table->trial[i];
    const sl_neighbour_model *model = &trial->model;
    out[i] = (sley_trial){.ps = trial->shape.ps == SL_NEIGHBOUR_WHOLE ? 0 : trial->shape.ps,
                          .dist = trial->shape.dist,
                          .wpb = trial->shape.wpb,
                          .ms = 1e3 * trial->seconds,
                          .chosen = i == table->best,
                          .workload = model->workload,
                          .shared_bytes = model->shared_bytes,
                          .warps = model->warps,
                          .blocks = model->blocks,
                          .blocks_per_sm = model->blocks_per_sm};
  }
}

void sl_spmm_free_plans(sley_plan *plan) {
  sl_plan_free(&plan->last_block);
  sl_plan_free(&plan->full_block);
  sl_plan_free(&plan->plan);
  plan->rest = 0;
}

void sl_spmm_plan_destroy(sley_plan *plan) {
  if (!plan)
    return;
  sl_exec_destroy(plan->last);
  sl_exec_destroy(plan->exec);
  sl_spmm_free_plans(plan);
  sl_halo_release(plan->halo);
  sl_transposition_destroy(plan->values);
  sl_matrix_destroy(plan->transposed);
  sl_free(plan);
}
