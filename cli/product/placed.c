/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the operands on a rank's device. */
#include "product/placed.h"

#include <string.h>

/* Allocates device memory for one block of columns, and host memory to pack it. */
static sley_status place_block(sley_comm *comm, const cli_operands *operands, cli_placed *out) {
  int64_t row = out->width * (int64_t)sley_dtype_bytes(operands->dtype);
  int64_t x_bytes = out->x_count * row, y_bytes = out->y_count * row;
  void *x = NULL;
  out->copied = true;
  out->x = out->y = NULL;
  sley_status status = sley_comm_alloc(comm, x_bytes, &x);
  out->x = x;
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, y_bytes, &out->y);
  return status == SLEY_OK ? sley_buffer_alloc(x_bytes > y_bytes ? x_bytes : y_bytes, &out->packed) : status;
}

/* Copies X's rows and W to the device, and allocates Y there. */
static sley_status place_whole(sley_comm *comm, const cli_operands *operands, int64_t x_bytes,
                               cli_placed *out) {
  int64_t w_bytes = operands->k * operands->y_cols * (int64_t)sley_dtype_bytes(operands->dtype);
  void *x = NULL, *y = NULL, *w = NULL;
  out->copied = true;
  sley_status status = sley_comm_alloc(comm, x_bytes, &x);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, out->y_bytes, &y);
  if (status == SLEY_OK)
    status = sley_comm_copy(comm, x, out->host_x, x_bytes, SLEY_TO_DEVICE);
  if (status == SLEY_OK && operands->w)
    status = sley_comm_alloc(comm, w_bytes, &w);
  if (status == SLEY_OK && operands->w)
    status = sley_comm_copy(comm, w, operands->w, w_bytes, SLEY_TO_DEVICE);
  out->x = x;
  out->y = y;
  out->w = w;
  return status;
}

sley_status cli_place(sley_comm *comm, const cli_job *job, const cli_operands *operands, bool transpose,
                      const sley_plan_info *info, cli_placed *out) {
  int rank = sley_comm_rank(comm);
  const int64_t *x_begin = transpose ? job->row_begin : job->col_begin;
  const int64_t *y_begin = transpose ? job->col_begin : job->row_begin;
  int64_t row = operands->k * (int64_t)sley_dtype_bytes(operands->dtype);
  int64_t x_bytes = (x_begin[rank + 1] - x_begin[rank]) * row;
  const void *host_x = cli_operands_x(operands, x_begin[rank]);
  *out = (cli_placed){
      .x = host_x, .w = operands->w, .y_first = y_begin[rank], .y_count = y_begin[rank + 1] - y_begin[rank]};
  out->y = out->host_y = cli_operands_y(operands, out->y_first);
  out->y_bytes = out->y_count * operands->y_cols * (int64_t)sley_dtype_bytes(operands->dtype);
  out->host_x = host_x;
  out->x_count = x_begin[rank + 1] - x_begin[rank];
  out->blocks = operands->w ? 1 : info->column_blocks; /* an update needs all columns at once */
  out->width = info->column_width;
  if (out->blocks > 1)
    return place_block(comm, operands, out);
  if (strcmp(sley_comm_device(comm), "cpu") == 0)
    return SLEY_OK;
  return place_whole(comm, operands, x_bytes, out);
}

void cli_unplace(sley_comm *comm, cli_placed *p) {
  if (!p->copied)
    return;
  sley_comm_free(comm, (void *)p->x);
  if (p->w)
    sley_comm_free(comm, (void *)p->w);
  sley_comm_free(comm, p->y);
  sley_buffer_free(p->packed);
}

sley_status cli_placed_reset(sley_comm *comm, const cli_operands *operands, const cli_placed *p) {
  cli_operands_reset(operands, p->y_first, p->y_count);
  if (!p->copied || p->blocks > 1 || !operands->y_start)
    return SLEY_OK;
  return sley_comm_copy(comm, p->y, p->host_y, p->y_bytes, SLEY_TO_DEVICE);
}
