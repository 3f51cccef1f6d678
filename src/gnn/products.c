/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of a network's sparse products. */
#include "gnn/products.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "ops/spmm.h"
#include "transport/stopwatch.h"

sley_status sl_products_open(sl_comm *comm, sley_matrix *matrix, const int64_t *row_begin,
                             const sley_gnn_options *options, sl_products *out) {
  *out = (sl_products){.comm = comm, .matrix = matrix, .options = SLEY_PLAN_OPTIONS_INIT};
  out->options.algo = options->algo;
  out->options.wire = options->wire;
  out->options.kernel = options->kernel;
  out->options.precision = options->precision;
  out->options.reproducible = options->reproducible;
  if (!options->reproducible && !sl_is_16_bit(matrix->dtype) && comm->device->ops->host_addresses)
    out->options.update = SLEY_UPDATE_FUSED_ONLY;
  SL_TRY(SL_NEW(out->row_begin, comm->size + 1, "a network's rows"));
  memcpy(out->row_begin, row_begin, (size_t)(comm->size + 1) * sizeof *row_begin);
  return SLEY_OK;
}

/* Returns whether plans of `width` columns use the memory of the widest plans. They do not if memory is so
 * short that the widest plans run in blocks of columns. */
static bool borrows(const sl_products *p, int64_t width) {
  const sl_product_pair *widest = &p->of[0];
  return p->count > 0 && width < widest->width && widest->forward->blocks <= 1 && widest->back->blocks <= 1;
}

/* Makes the plans of out->width columns. */
static sley_status plan(const sl_products *p, sl_product_pair *out) {
  const sl_product_pair *widest = &p->of[0];
  if (!borrows(p, out->width))
    return sl_spmm_plan_pair(p->comm, p->matrix, p->row_begin, p->row_begin, out->width, &p->options, true,
                             &out->forward, &out->back);
  SL_TRY(sl_spmm_narrow(widest->forward, out->width, &out->forward));
  if (widest->back != widest->forward)
    return sl_spmm_narrow(widest->back, out->width, &out->back);
  out->back = out->forward;
  return SLEY_OK;
}

static void release(const sl_product_pair *pair) {
  if (pair->back != pair->forward)
    sl_spmm_plan_destroy(pair->back);
  sl_spmm_plan_destroy(pair->forward);
}

sley_status sl_products_take(sl_products *p, int64_t width, int *number) {
  for (int i = 0; i < p->count; i++)
    if (p->of[i].width == width) {
      *number = i;
      return SLEY_OK;
    }
  if (p->count == SL_MOST_WIDTHS)
    return sl_fail(SLEY_ERR_INTERNAL, "a network's layers have more than %d widths", SL_MOST_WIDTHS);
  sl_product_pair pair = {.width = width};
  const sley_status status = plan(p, &pair);
  if (status != SLEY_OK) {
    release(&pair);
    return status;
  }
  p->of[p->count] = pair;
  *number = p->count++;
  return SLEY_OK;
}

static sley_plan *plan_of(const sl_products *p, int number, bool back) {
  return back ? p->of[number].back : p->of[number].forward;
}

sley_status sl_products_run(const sl_products *p, int number, bool back, sl_rows x, double beta, sl_rows y) {
  sley_plan *plan = plan_of(p, number, back);
  const sl_work before = sl_work_begin(p->comm, SL_WORK_SPMM);
  return sl_work_end(p->comm, before, sl_spmm_execute(plan, 1, x.data, x.ld, beta, y.data, y.ld));
}

bool sl_products_fuse(const sl_products *p, int number, bool back) {
  const sley_plan *plan = plan_of(p, number, back);
  return plan->plan.fuses && plan->blocks <= 1;
}

sley_status sl_products_update(const sl_products *p, int number, bool back, sl_rows x,
                               const sl_update *update) {
  const sl_work before = sl_work_begin(p->comm, SL_WORK_SPMM);
  return sl_work_end(p->comm, before, sl_spmm_update(plan_of(p, number, back), 1, x.data, x.ld, update));
}

static int64_t bytes_of(const sley_plan *plan) {
  return plan->blocks > 1 ? plan->full_block.memory_bytes : plan->plan.memory_bytes;
}

int64_t sl_products_bytes(const sl_products *p) {
  int64_t bytes = 0;
  for (int i = 0; i < p->count; i++) {
    const sl_product_pair *pair = &p->of[i];
    if (!borrows(p, pair->width))
      bytes += bytes_of(pair->forward) + (pair->back != pair->forward ? bytes_of(pair->back) : 0);
  }
  return bytes;
}

void sl_products_close(sl_products *p) {
  for (int i = p->count - 1; i >= 0; i--)
    release(&p->of[i]);
  p->count = 0;
  sl_free(p->row_begin);
  p->row_begin = NULL;
  sl_matrix_destroy(p->matrix);
  p->matrix = NULL;
}
