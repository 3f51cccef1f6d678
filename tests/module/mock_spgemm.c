/* SPDX-License-Identifier: Apache-2.0 */
/* The mock device's sparse product: that every operand lies in memory within reach is checked, and the CPU's
 * kernel does the work at once, with memory of the device for the result. */
#include "mock.h"

static sley_status check_operand(const sl_queue *queue, const sley_csr *csr, bool values) {
  SL_TRY(mock_check(queue, csr->rowptr, "row pointers"));
  SL_TRY(mock_check(queue, csr->col, "columns"));
  return values ? mock_check(queue, csr->val, "values") : SLEY_OK;
}

static void *take(void *context, int64_t count, size_t bytes_each, const char *what) {
  void *block;
  return mock_take(context, count * (int64_t)bytes_each, what, &block) == SLEY_OK ? block : NULL;
}

static sley_status shrink(void *context, void **block, int64_t count, size_t bytes_each, const char *what) {
  (void)context;
  (void)block;
  (void)count;
  (void)bytes_each;
  (void)what;
  return SLEY_OK;
}

static void give(void *context, void *block) {
  if (block)
    mock_give(context, block);
}

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spgemm_args *a = &args->spgemm;
  const sl_spgemm_allocator memory = {queue->device, take, shrink, give};
  const bool values = a->semiring != SLEY_PLUS_PAIR;
  sl_kernel_args inner = *args;
  SL_TRY(check_operand(queue, &a->a, values));
  SL_TRY(check_operand(queue, &a->b, values));
  if (a->mask)
    SL_TRY(check_operand(queue, a->mask, false));
  SL_TRY(mock_queue_wait(queue));
  if (!a->memory)
    inner.spgemm.memory = &memory;
  return sl_kernel_run(((mock_queue *)queue)->inner, &inner);
}

static bool ok(const sl_kernel_args *args) {
  return sl_spgemm_ok(&args->spgemm);
}

static double cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 0;
}

const sl_kernel mock_spgemm = {
    .name = "mock-spgemm", .op = SL_OP_SPGEMM, .ok = ok, .cost = cost, SL_KERNEL_KEEPS_NOTHING, .run = run};
