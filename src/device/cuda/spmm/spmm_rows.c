/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spmm/spmm_rows.h"

#include "base/memory.h"
#include "base/value.h"
#include "device/window_model.h"

enum { WARP = 32, GROUP_LEAST = 4, WAYS_MOST = 16 };

/* K_LEAST: products with fewer columns are left to narrow_rows.cuh. SHARE: lanes share a feature while there
 * are few threads and at least SHARE entries of a row for each lane. ROUNDS: most rounds of loads of the
 * longest row; otherwise the other rows would finish long before it. */
enum { K_LEAST = 3, SHARE = 2, ROUNDS = 3 };

int sl_row_ways(const sl_spmm_problem *problem) {
  const sl_spmm_matrix *a = problem->a;
  const int64_t *fill = problem->figures->fill, most = fill[SL_FILL_ROW_MOST];
  const int64_t entries = sl_spmm_entries(a), bytes = (int64_t)sley_dtype_bytes(a->dtype), k = problem->k;
  if (problem->in_order || problem->pieces > 1 || k < K_LEAST || a->rows == 0 || a->rows > most ||
      entries > fill[SL_FILL_ROW_BYTES] / (k * bytes) || (a->rowid && a->rowid[a->rows - 1] >= INT32_MAX))
    return 0;
  int64_t longest = 0, filled = 0, lanes = 1, ways = WAYS_MOST;
  for (int64_t i = 0; i < a->rows; i++) {
    int64_t here = a->rowptr[i + 1] - a->rowptr[i];
    longest = here > longest ? here : longest;
    filled += here > 0;
  }
  const int64_t vec = sl_features_of_lane(a->dtype, k),
                at_once = vec * bytes > 8 ? 4 : 8; /* rows of X per lane */
  while (lanes * vec < k)
    lanes *= 2;
  while (ways > 1 && (lanes * ways > WARP || a->rows * lanes * ways > fill[SL_FILL_ROW_THREADS] ||
                      filled * ways * SHARE > entries))
    ways /= 2;
  const int64_t group = lanes * ways;
  const bool fits = group >= GROUP_LEAST && group <= WARP && a->rows * group <= most;
  return fits && longest <= ROUNDS * at_once * ways ? (int)ways : 0;
}

sley_status sl_row_tasks_upload(sl_queue *queue, const sl_spmm_problem *problem, sl_stream_matrix *out) {
  const sl_spmm_matrix *a = problem->a;
  sl_row_task *task;
  SL_TRY(SL_NEW(task, a->rows, "rows"));
  for (int64_t i = 0; i < a->rows; i++)
    task[i] = (sl_row_task){.begin = (uint32_t)(a->rowptr[i] - a->rowptr[0]),
                            .count = (uint32_t)(a->rowptr[i + 1] - a->rowptr[i]),
                            .row = (int32_t)(a->rowid ? a->rowid[i] : i)};
  out->tasks = a->rows;
  sley_status status =
      sl_device_upload_private(queue, task, a->rows * (int64_t)sizeof *task, "rows", (void **)&out->task);
  if (status == SLEY_OK) /* the host's list is freed after this */
    status = queue->ops->queue_wait(queue);
  sl_free(task);
  return status;
}
