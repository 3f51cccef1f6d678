/* SPDX-License-Identifier: Apache-2.0 */
/* Fits a plan into a device's memory: all columns at once if they fit, else blocks of columns. */
#include <stdio.h>

#include "base/value.h"
#include "exec/footprint.h"
#include "ops/spmm.h"
#include "plan/count.h"
#include "predict/cost.h"

enum { WIDE = 32 }; /* wider blocks are multiples of this number of columns */

typedef struct fitting {
  const sley_plan *handle;
  const sl_inspection *ins;
  bool operands;
  int64_t limit;
} fitting;

static int64_t operand_bytes(const fitting *f, int64_t k) {
  int64_t row = k * (int64_t)sley_dtype_bytes(f->ins->block->dtype);
  return f->operands ? sl_device_bytes(f->ins->x_rows * row) + sl_device_bytes(f->ins->rows * row) : 0;
}

/* Computes the memory that blocks of `width` columns need on this rank. */
static sley_status need(const fitting *f, int64_t width, int64_t *out) {
  const sl_plan *plan = &f->handle->plan;
  sl_plan narrow;
  if (width == plan->k) {
    SL_TRY(sl_exec_memory(plan, f->ins->block, false, out));
  } else {
    sley_status status = sl_plan_for_columns(plan, width, &narrow);
    if (status == SLEY_OK)
      status = sl_exec_memory(&narrow, f->ins->block, plan->k % width != 0, out);
    sl_plan_free(&narrow);
    SL_TRY(status);
  }
  *out += operand_bytes(f, width);
  return SLEY_OK;
}

/* Finds the largest n in [0, most] such that blocks of n * step columns fit. */
static sley_status search(const fitting *f, int64_t step, int64_t most, int64_t *out) {
  int64_t fits = 0;
  while (fits < most) {
    int64_t middle = fits + (most - fits + 1) / 2, bytes;
    SL_TRY(need(f, middle * step, &bytes));
    if (bytes <= f->limit)
      fits = middle;
    else
      most = middle - 1;
  }
  *out = fits;
  return SLEY_OK;
}

/* Finds the widest block, of fewer than all columns, that fits on this rank; 0 if none does. */
static sley_status widest(const fitting *f, int64_t *width) {
  int64_t k = f->handle->plan.k, found = 0;
  SL_TRY(search(f, WIDE, (k - 1) / WIDE, &found));
  *width = found * WIDE;
  if (found > 0)
    return SLEY_OK;
  return search(f, 1, k - 1 < WIDE - 1 ? k - 1 : WIDE - 1, width);
}

/* Returns the bytes of the plan's own arrays that are already in host memory. */
static int64_t there_already(const sl_plan *plan) {
  int64_t bytes = plan->memory_bytes;
  for (int i = SL_BUFFER_Y + 1; i < plan->buffers.count; i++)
    if (!SL_BUFFER(plan, i)->constant)
      bytes -= SL_BUFFER(plan, i)->rows * SL_BUFFER(plan, i)->row_bytes;
  return plan->dry ? 0 : bytes;
}

/* Computes the memory that the rank may use: its limit, and at most its share of the free memory of its
 * device. Ranks in host memory without a limit share it in proportion to their needs. Collective. */
static sley_status may_take(const fitting *f, int64_t mem_limit, int64_t needed, int64_t *out) {
  sl_comm *comm = f->handle->comm;
  const sl_device_ops *device = comm->device->ops;
  int64_t free = 0, total = 0, sums[2] = {needed, there_already(&f->handle->plan)};
  int devices = device->count(), ranks = comm->processes ? comm->workgroup : comm->size;
  SL_TRY(sl_agree(comm, device->memory(comm->device, &free, &total)));
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 2));
  if (device->host_addresses)
    free = mem_limit > 0 || sums[0] == 0
               ? INT64_MAX
               : (int64_t)((double)needed / (double)sums[0] * ((double)free + (double)sums[1]));
  else if (devices > 0)
    free = free / ((ranks + devices - 1) / devices) + f->handle->plan.device_bytes;
  *out = mem_limit > 0 && mem_limit < free ? mem_limit : free;
  return SLEY_OK;
}

/* Formats a number of bytes for people. */
static const char *size_text(int64_t bytes, char text[32]) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 4; unit++)
    value /= 1024;
  snprintf(text, 32, unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

static sley_status refuse(const sley_plan *handle, int64_t bytes, int64_t columns, bool limited) {
  char needed[32], there[32];
  size_text(bytes, needed);
  size_text(handle->limit_bytes, there);
  if (limited)
    return sl_fail(
        SLEY_ERR_MEMORY,
        "%lld column%s of the product take %s of a rank's device memory, and the limit is %s: raise "
        "--mem-limit (mem_limit) or take more ranks",
        (long long)columns, columns == 1 ? "" : "s", needed, there);
  return sl_fail(SLEY_ERR_MEMORY,
                 "the product takes %s of a rank's device memory, and %s are free for it: give --mem-limit "
                 "(mem_limit) to work in blocks of columns, or take more ranks",
                 needed, there);
}

/* Adds up the traffic and time of all blocks in the plan. */
static void sum_up(sley_plan *handle) {
  const sl_figures *wide = &handle->full_block.figures, *narrow = &handle->last_block.figures;
  sl_figures *all = &handle->plan.figures;
  int64_t full = handle->plan.k / handle->width, rest = handle->rest > 0;
  const sley_traffic *w = &wide->predicted, *n = &narrow->predicted;
  all->predicted = (sley_traffic){full * w->direct_bytes + rest * n->direct_bytes,
                                  full * w->direct_messages + rest * n->direct_messages,
                                  full * w->message_bytes + rest * n->message_bytes,
                                  full * w->message_messages + rest * n->message_messages,
                                  full * w->self_bytes + rest * n->self_bytes,
                                  full * w->self_messages + rest * n->self_messages};
  all->predicted_seconds = (double)full * wide->predicted_seconds + (double)rest * narrow->predicted_seconds;
  for (int i = 0; i < SL_PHASES; i++)
    all->phase_seconds[i] = (double)full * wide->phase_seconds[i] + (double)rest * narrow->phase_seconds[i];
  all->messages_most = full * wide->messages_most + rest * narrow->messages_most;
  all->memory_bytes_most = wide->memory_bytes_most;
  all->fuses = wide->fuses && (!rest || narrow->fuses);
}

/* Makes the plan for k of its columns, with figures summed over ranks. */
static sley_status make_narrow(const sley_plan *handle, const sl_inspection *ins, int64_t k, sl_plan *out) {
  SL_TRY(sl_agree(handle->comm, sl_plan_for_columns(&handle->plan, k, out)));
  SL_TRY(sl_plan_finish(out));
  return sl_plan_predict(ins, out);
}

/* Splits the columns into blocks of at most width: as few as possible, of nearly equal width. */
static sley_status split(sley_plan *handle, const sl_inspection *ins, int64_t width) {
  if (ins->wishes->keeps_input)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "the product takes blocks of columns in turn, whose rows share buffers: none can be kept "
                   "(keep_input)");
  if (ins->wishes->updates && sl_is_16_bit(handle->plan.dtype))
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "the product takes blocks of columns in turn, and Z, which is added to, has 16 bits: it "
                   "would be rounded each time (update)");
  int64_t k = handle->plan.k, blocks = (k + width - 1) / width, even = (k + blocks - 1) / blocks;
  if (width >= WIDE)
    even = (even + WIDE - 1) / WIDE * WIDE;
  handle->width = even;
  handle->rest = k % even;
  handle->blocks = blocks;
  SL_TRY(make_narrow(handle, ins, even, &handle->full_block));
  if (handle->rest > 0)
    SL_TRY(make_narrow(handle, ins, handle->rest, &handle->last_block));
  sum_up(handle);
  return SLEY_OK;
}

/* Decides whether all columns fit at once on all ranks; this rank needs `needed` bytes. *limited: some rank
 * has a limit. Fills in the handle's figures of memory, and one block. Collective. */
static sley_status fit_whole(sley_plan *handle, fitting *f, const sley_plan_options *options, int64_t needed,
                             bool *fits, bool *limited) {
  handle->width = handle->plan.k;
  handle->blocks = 1;
  SL_TRY(may_take(f, options->mem_limit, needed, &f->limit));
  int64_t most[4] = {needed, -f->limit, needed > f->limit, options->mem_limit > 0};
  SL_TRY(handle->comm->ops->allreduce(handle->comm, SL_MAX, most, 4));
  handle->needed_bytes = most[0];
  handle->limit_bytes = -most[1];
  *limited = most[3];
  *fits = !most[2];
  if (f->ins->wishes->machine && !*limited) { /* the memory of another machine is not known */
    handle->limit_bytes = INT64_MAX;
    *fits = true;
  }
  return SLEY_OK;
}

static sley_status check_limit(const sley_plan_options *options) {
  if (options->mem_limit < 0)
    return sl_fail(SLEY_ERR_ARG, "a memory limit of %lld bytes", (long long)options->mem_limit);
  return SLEY_OK;
}

sley_status sl_spmm_fits(sley_plan *handle, const sl_inspection *ins, const sley_plan_options *options,
                         int64_t plan_bytes, bool *fits) {
  fitting f = {.handle = handle, .ins = ins, .operands = options->mem_operands};
  bool limited;
  SL_TRY(sl_agree(handle->comm, check_limit(options)));
  return fit_whole(handle, &f, options, plan_bytes + operand_bytes(&f, handle->plan.k), fits, &limited);
}

sley_status sl_spmm_fit(sley_plan *handle, const sl_inspection *ins, const sley_plan_options *options) {
  sl_comm *comm = handle->comm;
  fitting f = {.handle = handle, .ins = ins, .operands = options->mem_operands};
  bool limited, fits;
  int64_t needed = 0, width = 0;
  sley_status status = check_limit(options);
  if (status == SLEY_OK)
    status = need(&f, handle->plan.k, &needed);
  SL_TRY(sl_agree(comm, status));
  SL_TRY(fit_whole(handle, &f, options, needed, &fits, &limited));
  if (!fits && !comm->device->ops->host_addresses) { /* kernels that keep less memory may fit */
    handle->plan.lean = true;
    SL_TRY(sl_agree(comm, need(&f, handle->plan.k, &needed)));
    SL_TRY(fit_whole(handle, &f, options, needed, &fits, &limited));
  }
  if (fits)
    return SLEY_OK;
  if (!limited && !handle->plan.dry)
    return refuse(handle, handle->needed_bytes, handle->plan.k, false);
  SL_TRY(sl_agree(comm, widest(&f, &width)));
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &width, 1));
  if (width > 0)
    return split(handle, ins, width);
  if (handle->plan.dry)
    return SLEY_OK;
  status = handle->plan.k > 0 ? need(&f, 1, &needed) : SLEY_OK;
  SL_TRY(sl_agree(comm, status));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &needed, 1));
  return refuse(handle, needed, 1, true);
}
