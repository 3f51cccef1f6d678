/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spmm/windows/rest.h"

#include "base/memory.h"
#include "base/value.h"

/* Host arrays of the rest. */
typedef struct rest_rows {
  int64_t rows, *rowid, *rowptr, *from, *piece_end;
} rest_rows;

void sl_rest_release(sl_device *device, const sl_rest *rest) {
  if (rest->kernel)
    rest->kernel->release(device, rest->prepared);
  const void *blocks[] = {rest->col, rest->val, rest->from, rest->rowptr};
  sl_window_free(device, blocks, sizeof blocks / sizeof *blocks);
  sl_free((void *)rest->a.rowptr);
}

/* Lists the rows of windows that are not chosen. */
static sley_status list_rows(const sl_spmm_problem *args, const sl_window_draft *d, rest_rows *out) {
  const sl_spmm_matrix *a = args->a;
  const int window = d->matrix.form.rows;
  int64_t most = (d->windows - d->chosen_windows) * window, entries = 0;
  SL_TRY(SL_NEW(out->rowid, most, "rows"));
  SL_TRY(SL_NEW(out->rowptr, most + 1, "rows"));
  SL_TRY(SL_NEW(out->from, most, "rows"));
  SL_TRY(SL_NEW_ZERO(out->piece_end, args->pieces, "rows"));
  for (int64_t row = 0; row < a->rows; row++) {
    if (d->chosen[row / window])
      continue;
    for (int p = args->pieces - 1; p >= 0 && row < args->piece_end[p]; p--)
      out->piece_end[p]++;
    out->rowid[out->rows] = a->rowid ? a->rowid[row] : row;
    out->from[out->rows] = a->rowptr[row] - a->rowptr[0];
    out->rowptr[out->rows++] = entries;
    entries += a->rowptr[row + 1] - a->rowptr[row];
  }
  out->rowptr[out->rows] = entries;
  return SLEY_OK;
}

static sley_status gather(sl_queue *queue, const sl_spmm_problem *args, const rest_rows *rows,
                          const sl_window_arrays *arrays, sl_rest *out) {
  int64_t entries = rows->rowptr[rows->rows], bytes = (int64_t)sley_dtype_bytes(args->a->dtype);
  SL_TRY(sl_device_upload_private(queue, rows->from, rows->rows * (int64_t)sizeof *rows->from, "rows",
                                  (void **)&out->from));
  SL_TRY(sl_device_upload_private(queue, rows->rowptr, (rows->rows + 1) * (int64_t)sizeof *rows->rowptr,
                                  "rows", (void **)&out->rowptr));
  SL_TRY(sl_window_alloc(queue, entries * (int64_t)sizeof *out->col, "columns", &out->col));
  SL_TRY(sl_window_alloc(queue, entries * bytes, "values", &out->val));
  return sl_window_gather(queue, rows->rows, out->from, out->rowptr, arrays->col, arrays->val, bytes,
                          out->col, out->val);
}

static sley_status prepare(sl_queue *queue, const sl_spmm_problem *problem, const sl_kernel *const *kernels,
                           sl_rest *out) {
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = problem}};
  const sl_kernel *found = NULL;
  for (const sl_kernel *const *each = kernels; *each; each++)
    if ((*each)->ok(&args) &&
        (!found || (*each)->cost(problem->figures, &args) < found->cost(problem->figures, &args)))
      found = *each;
  if (!found)
    return sl_fail(SLEY_ERR_INTERNAL, "no kernel for rows outside windows");
  SL_TRY(found->prepare(queue->device, queue, &args, &out->prepared));
  out->kernel = found;
  return SLEY_OK;
}

static sley_status make(sl_queue *queue, const sl_spmm_problem *args, const sl_window_draft *d,
                        const sl_window_arrays *arrays, const sl_kernel *const *kernels, rest_rows *rows,
                        sl_rest *out) {
  sl_spmm_problem problem = *args;
  out->a = *args->a;
  out->a.col = arrays->col;
  out->a.val = arrays->val;
  out->a.index = SLEY_I32;
  out->a.resident = true;
  if (d->chosen_windows > 0) {
    SL_TRY(list_rows(args, d, rows));
    SL_TRY(gather(queue, args, rows, arrays, out));
    problem.piece_end = rows->piece_end;
    out->a.rows = rows->rows;
    out->a.rowid = rows->rowid;
    out->a.rowptr = rows->rowptr;
    out->a.col = out->col;
    out->a.val = out->val;
  }
  problem.a = &out->a;
  problem.kernel = NULL;
  return prepare(queue, &problem, kernels, out);
}

sley_status sl_rest_make(sl_queue *queue, const sl_spmm_problem *args, const sl_window_draft *d,
                         const sl_window_arrays *arrays, const sl_kernel *const *kernels, sl_rest *out) {
  rest_rows rows = {0};
  if (d->windows > 0 && d->chosen_windows == d->windows)
    return SLEY_OK;
  sley_status status = make(queue, args, d, arrays, kernels, &rows, out);
  if (!args->renewable) {
    const sley_status waited = queue->ops->queue_wait(queue); /* for kernels that read what is freed */
    const void *blocks[] = {out->from, out->rowptr};
    sl_window_free(queue->device, blocks, sizeof blocks / sizeof *blocks);
    out->from = out->rowptr = NULL;
    status = status != SLEY_OK ? status : waited;
  }
  out->a.rowid = NULL;
  if (!args->renewable || status != SLEY_OK || !out->col)
    out->a.rowptr = NULL;
  else
    rows.rowptr = NULL; /* refill reads it */
  sl_free(rows.rowid);
  sl_free(rows.rowptr);
  sl_free(rows.from);
  sl_free(rows.piece_end);
  return status;
}

sley_status sl_rest_refill(sl_queue *queue, const sl_kernel_args *args, const void *val, sl_rest *rest) {
  sl_spmm_problem problem = *args->spmm.problem;
  sl_kernel_args own = *args;
  if (!rest->kernel)
    return SLEY_OK;
  problem.a = &rest->a;
  own.spmm.problem = &problem;
  SL_TRY(sl_window_gather(queue, rest->a.rows, rest->from, rest->rowptr, NULL, val,
                          (int64_t)sley_dtype_bytes(rest->a.dtype), NULL, rest->val));
  return rest->kernel->refill(queue->device, queue, &own, rest->val, SL_VALUES_IN_DEVICE, rest->prepared);
}

sley_status sl_rest_run(sl_queue *queue, const sl_kernel_args *args, const sl_rest *rest) {
  sl_spmm_problem problem = *args->spmm.problem;
  sl_kernel_args own = *args;
  if (!rest->kernel)
    return SLEY_OK;
  problem.a = &rest->a;
  own.spmm.problem = &problem;
  own.spmm.prepared = rest->prepared;
  return rest->kernel->run(queue, &own);
}

int64_t sl_rest_bytes(const sl_spmm_problem *p) {
  const int64_t entries = sl_spmm_entries(p->a);
  return sl_device_bytes(entries * (int64_t)sley_dtype_bytes(p->a->dtype)) +
         2 * sl_device_bytes((p->a->rows + 1) * (int64_t)sizeof(int64_t));
}
