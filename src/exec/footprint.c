/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/footprint.h"

#include "exec/exec_inside.h"
#include "plan/problem.h"

static bool on_host(const sl_plan *plan) {
  return plan->comm->device->ops->host_addresses;
}

static int64_t buffers_memory(const sl_plan *plan) {
  int64_t bytes = on_host(plan) ? plan->memory_bytes : 0;
  int64_t x = plan->x_rows * sl_operand_pitch(plan), y = plan->rows * SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  for (int i = SL_BUFFER_Y + 1; i < plan->buffers.count && !on_host(plan); i++)
    bytes += sl_device_bytes(SL_BUFFER(plan, i)->rows * SL_BUFFER(plan, i)->row_bytes);
  if (x > 0)
    bytes += sl_device_bytes(x);
  if (sl_plan_has_result(plan))
    bytes += sl_device_bytes(y);
  return bytes;
}

/* Memory of the exchanges, and of the one-sided fetches' published rows and lists. */
static int64_t exchanges_memory(const sl_plan *plan) {
  sl_comm *comm = plan->comm;
  int64_t bytes = 0, fetched = 0;
  for (int i = 0; i < plan->exchanges.count; i++)
    bytes += comm->ops->exchange_memory(comm, &SL_EXCHANGE(plan, i)->spec);
  for (int i = 0; i < plan->fetches.count; i++)
    fetched += SL_FETCH(plan, i)->count;
  if (plan->fetches.count > 0 || sl_plan_does(plan, SL_ACT_FETCH))
    bytes +=
        sl_device_bytes(plan->x_rows * SL_BUFFER(plan, SL_BUFFER_X)->row_bytes + (int64_t)sizeof(double));
  if (fetched > 0 && !on_host(plan)) {
    /* Rows out of reach are packed and received in buffers. Peers are assumed to request as many rows as this
     * rank. */
    int64_t row_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes;
    if (!comm->zero_copy)
      bytes += sl_device_bytes(2 * fetched * (row_bytes + (int64_t)sizeof(sl_pull_entry)));
    sl_exchange_spec fence = {.name = "fence", .dtype = plan->dtype};
    bytes +=
        sl_device_bytes(fetched * (int64_t)sizeof(sl_pull_entry)) + comm->ops->exchange_memory(comm, &fence);
  }
  return bytes;
}

static void add_kernel(const sl_kernel *kernel, const sl_kernel_args *args, bool twice, int64_t *bytes,
                       int64_t *passing) {
  int64_t most = 0;
  *bytes += kernel->memory(args, &most) * (twice ? 2 : 1);
  *passing = most > *passing ? most : *passing;
}

/* Adds the memory of a part's kernels, with a as the part's matrix. *passing becomes the largest temporary
 * memory of a kernel. */
static sley_status add_part(const sl_plan *plan, const sl_part *part, const sl_spmm_matrix *a, bool twice,
                            int64_t *bytes, int64_t *passing) {
  static const uintptr_t pages[1];
  const sl_kernel *kernel;
  sl_spmm_problem problem = sl_part_problem(plan, part, a, pages);
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  bool all_ranks_ask = plan->dry && plan->kernel; /* then all ranks check the kernel, even without rows */
  if (part->k == 0 || (a->rows == 0 && !all_ranks_ask))
    return SLEY_OK;
  SL_TRY(sl_product_kernel(plan, part, &args, &kernel));
  if (a->rows == 0)
    return SLEY_OK;
  add_kernel(kernel, &args, twice && !kernel->product->serves_fewer_columns, bytes, passing);
  if (!plan->fuses || part->y != SL_BUFFER_Y)
    return SLEY_OK;
  problem = sl_part_update_problem(plan, part, a, pages);
  args = sl_plan_update_args(plan, &problem);
  SL_TRY(sl_kernel_find(plan->comm->device, &args, &kernel));
  add_kernel(kernel, &args, twice, bytes, passing);
  return SLEY_OK;
}

/* Estimates the block as one part, and adds 5 % because it will be cut into several parts. */
static sley_status add_block(const sl_plan *plan, const sley_matrix *block, bool twice, int64_t *bytes,
                             int64_t *passing) {
  sl_spmm_matrix whole = sl_block_as_part(block);
  sl_part part = {
      .k = plan->k, .x = SL_BUFFER_X, .y = SL_BUFFER_Y, .in_place = plan->segment != NULL, .arrives_in = -1};
  int64_t one = 0;
  SL_TRY(add_part(plan, &part, &whole, twice, &one, passing));
  *bytes += one + one / 20;
  return SLEY_OK;
}

sley_status sl_exec_memory(const sl_plan *plan, const sley_matrix *block, bool twice, int64_t *out) {
  int64_t bytes =
              buffers_memory(plan) + sl_conversions_memory(plan) + (twice ? 2 : 1) * exchanges_memory(plan),
          passing = 0;
  if (plan->dry)
    SL_TRY(add_block(plan, block, twice, &bytes, &passing));
  for (int i = 0; i < plan->parts.count && !plan->dry; i++) {
    const sl_part *part = SL_PART(plan, i);
    if (part->arrives_in < 0)
      SL_TRY(add_part(plan, part, &part->a, twice, &bytes, &passing));
  }
  for (int i = 0; i < plan->steps.count && !plan->dry; i++)
    bytes += SL_STEP(plan, i)->kind->memory(plan, SL_STEP(plan, i));
  int64_t y = plan->rows * SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  if (plan->segment && !on_host(plan) && y > passing)
    passing = sl_device_bytes(y); /* kernels that read in place are timed with a separate Y of zeros */
  *out = bytes + passing;
  return SLEY_OK;
}
