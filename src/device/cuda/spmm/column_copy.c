/* SPDX-License-Identifier: Apache-2.0 */
/* Copies columns to the device, as 32-bit numbers. */
#include "device/cuda/spmm/column_copy.h"

#include "device/cuda/spmm/stream.h"

sley_status sl_cuda_check_columns(const sl_spmm_matrix *a) {
  const int64_t *col = a->col;
  for (int64_t i = a->rowptr[0]; !a->resident && a->index == SLEY_I64 && i < a->rowptr[a->rows]; i++)
    if (col[i] >= INT32_MAX)
      return sl_fail(SLEY_ERR_OVERFLOW, "a part with column %lld is too wide for one device: use more ranks",
                     (long long)col[i]);
  return SLEY_OK;
}

sley_status sl_cuda_upload_columns(sl_queue *queue, const sl_spmm_matrix *a, const int32_t **out) {
  sl_device *device = queue->device;
  int64_t entries = sl_spmm_entries(a), first = a->rowptr[0] * (int64_t)sl_index_bytes(a->index);
  void *col = NULL, *wide = NULL;
  sley_status status = SLEY_OK;
  if (a->resident) {
    col = (void *)a->col;
  } else if (a->index == SLEY_I64) {
    status = sl_device_upload_private(queue, (const char *)a->col + first, entries * 8, "columns", &wide);
    if (status == SLEY_OK)
      status = device->ops->alloc_private(device, entries * 4, "columns", &col);
    if (status == SLEY_OK)
      status = sl_cuda_stream_narrow(queue, entries, wide, col);
    sley_status waited = device->ops->queue_wait(queue); /* memory is freed after the kernel has read it */
    device->ops->free(device, wide);
    status = status != SLEY_OK ? status : waited;
  } else {
    status = sl_device_upload_private(queue, (const char *)a->col + first, entries * 4, "columns", &col);
  }
  *out = col;
  return status;
}
