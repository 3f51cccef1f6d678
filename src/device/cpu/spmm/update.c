/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the update kernels of all instruction sets: how many rows of T are computed at a time, and which
 * thread computes which rows. */
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/spmm/spmm_parts.h"

/* A block of T shares the nearest cache with a panel of W. Blocks of fewer than BLOCK_LEAST rows do not pay
 * for reading W once per block, unless they fill a buffer; blocks of fewer than FEW rows never pay. */
enum { BLOCK_BYTES = 16 << 10, BLOCK_MOST = 1024, BLOCK_LEAST = 32, FEW = 4 };

/* If T is given by the caller: rows that a thread claims at a time. */
enum { GRAIN = 64 };

int64_t sl_cpu_update_rows(int64_t row_bytes) {
  int64_t fit = row_bytes > 0 ? SL_UPDATE_BYTES / row_bytes : BLOCK_MOST,
          rows = row_bytes > 0 ? BLOCK_BYTES / row_bytes : BLOCK_MOST;
  rows = rows < BLOCK_LEAST ? BLOCK_LEAST : rows < BLOCK_MOST ? rows : BLOCK_MOST;
  rows = rows < fit ? rows : fit;
  return rows < FEW ? 0 : rows < 8 ? rows : rows / 8 * 8;
}

/* The product's problem with T as its Y, in the type of sums. */
static sl_spmm_problem wide(const sl_update_args *args) {
  sl_spmm_problem problem = *args->product.problem;
  problem.wide_y = true;
  return problem;
}

sley_status sl_cpu_update_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  void **prepared) {
  (void)device;
  *prepared = NULL;
  if (!args->update.product.problem)
    return SLEY_OK;
  sl_spmm_problem problem = wide(&args->update);
  sl_spmm_matrix rows = *problem.a; /* the rows of T are consecutive */
  rows.rowid = NULL;
  problem.a = &rows;
  return sl_cpu_spmm_parts(queue, &problem, true, prepared);
}

sley_status sl_cpu_update_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 const void *val, sl_values_in where, void *prepared) {
  sl_kernel_args product = {.op = SL_OP_SPMM, .spmm = {.problem = args->update.product.problem}};
  return sl_cpu_spmm_refill(device, queue, &product, val, where, prepared);
}

int64_t sl_cpu_update_memory(const sl_kernel_args *args, int64_t *passing) {
  sl_kernel_args product = {.op = SL_OP_SPMM, .spmm = {.problem = args->update.product.problem}};
  *passing = 0;
  return product.spmm.problem ? sl_cpu_spmm_memory(&product, passing) : 0;
}

/* Copies W^T, so that its rows are those of W. */
static sley_status pack(const sl_update_args *args, void **out) {
  const int64_t k = args->product.problem->k, n = args->n, each = (int64_t)sley_dtype_bytes(args->dtype);
  SL_TRY(SL_NEW(*(char **)out, k * n * each, "weights of an update"));
  for (int64_t j = 0; j < n; j++)
    for (int64_t l = 0; l < k; l++)
      memcpy((char *)*out + (l * n + j) * each, (const char *)args->w + (j * args->ldw + l) * each,
             (size_t)each);
  return SLEY_OK;
}

static sley_status run_summed(sl_queue *queue, const sl_update_args *args, sl_spmm_part_body part) {
  const sl_spmm_problem *p = args->product.problem;
  sl_update_args packed = *args;
  void *w = NULL;
  if (args->more.transpose_w) {
    SL_TRY(pack(args, &w));
    packed.w = w;
    packed.ldw = args->n;
  }
  const sley_status status =
      sl_cpu_spmm_run(queue, &packed.product,
                      (double)p->a->rows * (double)p->k * (double)args->n / p->figures->cores.update, part);
  sl_free(w);
  return status;
}

sley_status sl_cpu_update_run(sl_queue *queue, const sl_update_args *args, sl_spmm_part_body part,
                              sl_range_body range) {
  if (args->n <= 0)
    return SLEY_OK;
  if (args->product.problem)
    return run_summed(queue, args, part);
  if (args->rows <= 0)
    return SLEY_OK;
  sl_update_given given = {args, &queue->device->figures.cores};
  return sl_team_for(sl_cpu_queue_team(queue), args->rows, GRAIN, range, &given);
}
