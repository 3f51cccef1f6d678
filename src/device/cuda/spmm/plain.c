/* SPDX-License-Identifier: Apache-2.0 */
/* The plain product: its preparation, a copy of the matrix's arrays on the device, and its cost. */
#include "base/memory.h"
#include "device/cuda/cuda.h"
#include "device/product.h"

static bool plain_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  const sl_spmm_matrix *a = p->a;
  return sley_dtype_bytes(a->dtype) != 0 && (a->index == SLEY_I32 || a->index == SLEY_I64) && !a->resident &&
         !p->pages && p->far_rows == 0;
}

/* The number of entries of a part that arrives is not known. */
static double plain_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  const sl_spmm_matrix *a = p->a;
  double entries = p->arrives ? 0 : (double)sl_spmm_entries(a);
  return figures->launch + entries * (double)p->k * (double)sley_dtype_bytes(a->dtype) / figures->plain;
}

static void plain_release(sl_device *device, void *prepared) {
  sl_cuda_csr *csr = prepared;
  if (!csr)
    return;
  device->ops->free(device, (void *)csr->rowid);
  device->ops->free(device, (void *)csr->rowptr);
  device->ops->free(device, (void *)csr->col);
  device->ops->free(device, (void *)csr->val);
  sl_free(csr);
}

static sley_status upload(sl_queue *queue, const sl_spmm_matrix *a, sl_cuda_csr *csr) {
  int64_t first = a->rowptr[0], entries = sl_spmm_entries(a);
  int64_t index_bytes = (int64_t)sl_index_bytes(a->index), value_bytes = (int64_t)sley_dtype_bytes(a->dtype);
  csr->rows = a->rows;
  csr->first = first;
  if (a->rowid)
    SL_TRY(sl_device_upload_private(queue, a->rowid, a->rows * (int64_t)sizeof *a->rowid, "a part's rows",
                                    (void **)&csr->rowid));
  SL_TRY(sl_device_upload_private(queue, a->rowptr, (a->rows + 1) * (int64_t)sizeof *a->rowptr,
                                  "a part's rows", (void **)&csr->rowptr));
  SL_TRY(sl_device_upload_private(queue, (const char *)a->col + first * index_bytes, entries * index_bytes,
                                  "a part's columns", (void **)&csr->col));
  return sl_device_upload_private(queue, (const char *)a->val + first * value_bytes, entries * value_bytes,
                                  "a part's values", (void **)&csr->val);
}

static sley_status plain_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 void **prepared) {
  *prepared = NULL;
  const sl_spmm_problem *p = args->spmm.problem;
  if (p->a->rows == 0 || p->k == 0)
    return SLEY_OK;
  sl_cuda_csr *csr;
  SL_TRY(SL_NEW_ZERO(csr, 1, "a part's arrays"));
  sley_status status = upload(queue, p->a, csr);
  if (status != SLEY_OK) {
    plain_release(device, csr);
    return status;
  }
  *prepared = csr;
  return SLEY_OK;
}

static sley_status plain_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                const void *val, sl_values_in where, void *prepared) {
  const sl_cuda_csr *csr = prepared;
  (void)device;
  return csr ? sl_device_copy_values(queue, args->spmm.problem->a, val, where, (void *)csr->val) : SLEY_OK;
}

static int64_t plain_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_matrix *a = args->spmm.problem->a;
  int64_t entries = sl_spmm_entries(a);
  *passing = 0;
  return sl_device_bytes((a->rows + 1) * (int64_t)sizeof *a->rowptr) +
         (a->rowid ? sl_device_bytes(a->rows * (int64_t)sizeof *a->rowid) : 0) +
         sl_device_bytes(entries * (int64_t)sl_index_bytes(a->index)) +
         sl_device_bytes(entries * (int64_t)sley_dtype_bytes(a->dtype));
}

static sley_status plain_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spmm_run *run = &args->spmm;
  const sl_spmm_matrix *a = run->problem->a;
  if (a->rows <= 0 || run->problem->k <= 0)
    return SLEY_OK;
  if (run->problem->pages)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "the cuda device reads no rows in place");
  sl_cuda_csr arrived = {
      .rows = a->rows, .rowid = a->rowid, .rowptr = a->rowptr, .col = a->col, .val = a->val};
  return sl_cuda_launch_spmm_plain(queue, run, run->prepared ? run->prepared : &arrived);
}

static const sl_product_traits plain_product = {SL_PRODUCT_DEFAULTS, .serves_fewer_columns = true};

const sl_kernel sl_cuda_spmm_plain = {.name = "spmm-plain",
                                      .op = SL_OP_SPMM,
                                      .ok = plain_ok,
                                      .cost = plain_cost,
                                      .prepare = plain_prepare,
                                      .refill = plain_refill,
                                      .release = plain_release,
                                      .memory = plain_memory,
                                      .product = &plain_product,
                                      .run = plain_run};
