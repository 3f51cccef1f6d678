/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, reads and writes X and Y. If the matrix was reordered, rows of X are moved to the new order, and
 * rows of Y back to the order of the file. */
#include "product/operands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/terminal.h"
#include "ranks/processes.h"

enum { MESSAGE = 512 };

static sley_status dense_alloc(const cli_operands *operands, int64_t rows, int64_t cols, void **out) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)sley_dtype_bytes(operands->dtype), &bytes))
    bytes = INT64_MAX;
  return sley_buffer_alloc(bytes, out);
}

/* Bytes of a row with cols columns. */
static size_t row_bytes(const cli_operands *operands, int64_t cols) {
  return (size_t)cols * sley_dtype_bytes(operands->dtype);
}

void *cli_operands_x(const cli_operands *operands, int64_t first) {
  return (char *)operands->x + (size_t)(first - operands->x_first) * row_bytes(operands, operands->k);
}

void *cli_operands_y(const cli_operands *operands, int64_t first) {
  return (char *)operands->y + (size_t)(first - operands->y_first) * row_bytes(operands, operands->y_cols);
}

void cli_operands_tell_rows(char *text, size_t room, const char *path, const cli_job *job, int64_t rows,
                            int64_t wanted) {
  snprintf(text, room,
           "%s: X has %" PRId64 " rows, but the product with %s (%" PRId64 " x %" PRId64 ") needs %" PRId64,
           path, rows, job->name, job->info.rows, job->info.cols, wanted);
}

void cli_operands_tell_columns(char *text, size_t room, const char *path, int64_t cols, int64_t k) {
  snprintf(text, room, "%s: X has %" PRId64 " columns, but --k says %" PRId64, path, cols, k);
}

/* Copies row i of source to row place[i] of *out, or, if back, row place[i] to row i. The caller frees *out.
 */
static sley_status permuted(const cli_operands *operands, const void *source, int64_t rows, int64_t cols,
                            const int64_t *place, bool back, void **out) {
  sley_status status = dense_alloc(operands, rows, cols, out);
  size_t bytes = row_bytes(operands, cols);
  for (int64_t i = 0; status == SLEY_OK && i < rows; i++) {
    size_t from = (size_t)(back ? place[i] : i), to = (size_t)(back ? i : place[i]);
    memcpy((char *)*out + to * bytes, (const char *)source + from * bytes, bytes);
  }
  return status;
}

static sley_status read_x(const cli_job *job, const char *path, int64_t k, cli_operands *out, bool *told) {
  int64_t rows = 0, cols = 0;
  char text[MESSAGE];
  sley_status status = sley_dense_read(path, out->dtype, &rows, &cols, &out->x);
  if (status != SLEY_OK)
    return cli_input_status(status, path);
  out->vector = cli_x_is_vector(path);
  *told = true;
  if (rows != out->x_rows) {
    cli_operands_tell_rows(text, sizeof text, path, job, rows, out->x_rows);
    cli_error("%s", text);
    return SLEY_ERR_ARG;
  }
  if (k >= 0 && k != cols) {
    cli_operands_tell_columns(text, sizeof text, path, cols, k);
    cli_error("%s", text);
    return SLEY_ERR_ARG;
  }
  *told = false;
  out->k = cols;
  if (!job->place)
    return SLEY_OK;
  void *moved = NULL;
  status = permuted(out, out->x, rows, out->k, job->place, false, &moved);
  if (status == SLEY_OK) {
    sley_buffer_free(out->x);
    out->x = moved;
  }
  return status;
}

/* Allocates Y in memory that forked ranks share. */
static sley_status share_y(cli_operands *operands) {
  size_t bytes;
  operands->y = NULL;
  if (!__builtin_mul_overflow((size_t)operands->y_rows, row_bytes(operands, operands->y_cols), &bytes)) {
    operands->shared = bytes > 0 ? bytes : 1;
    operands->y = cli_share(operands->shared);
  }
  return operands->y ? SLEY_OK
                     : sley_buffer_alloc(INT64_MAX, &operands->y); /* reports that memory is short */
}

static sley_status make_w(int64_t seed, cli_operands *out) {
  sley_status status = dense_alloc(out, out->k, out->y_cols, &out->w);
  if (status == SLEY_OK)
    status =
        sley_dense_random((uint64_t)seed + 2, 0, out->k, out->y_cols, NULL, out->dtype, out->w, out->y_cols);
  return status;
}

sley_status cli_operands_make(const cli_job *job, const char *x_path, int64_t k, sley_dtype dtype,
                              int64_t seed, bool with_start, cli_operands *out, bool *told) {
  *told = false;
  *out = (cli_operands){
      .dtype = dtype, .x_rows = job->x_rows, .y_rows = job->y_rows, .k = k < 0 ? CLI_DEFAULT_K : k};
  sley_status status;
  if (x_path) {
    status = read_x(job, x_path, k, out, told);
  } else {
    status = dense_alloc(out, out->x_rows, out->k, &out->x);
    if (status == SLEY_OK)
      status =
          sley_dense_random((uint64_t)seed, 0, out->x_rows, out->k, job->row_name, dtype, out->x, out->k);
  }
  out->y_cols = job->settings->update > 0 ? job->settings->update : out->k;
  if (status == SLEY_OK && job->settings->update > 0)
    status = make_w(seed, out);
  if (status == SLEY_OK)
    status = job->ranks.transport ? share_y(out) : dense_alloc(out, out->y_rows, out->y_cols, &out->y);
  if (status == SLEY_OK && with_start) {
    status = dense_alloc(out, out->y_rows, out->y_cols, &out->y_start);
    if (status == SLEY_OK)
      status = sley_dense_random((uint64_t)seed + 1, 0, out->y_rows, out->y_cols, job->row_name, dtype,
                                 out->y_start, out->y_cols);
  }
  if (status != SLEY_OK)
    cli_operands_free(out);
  return status;
}

void cli_operands_free(cli_operands *operands) {
  sley_buffer_free(operands->x);
  sley_buffer_free(operands->w);
  if (operands->shared)
    cli_unshare(operands->y, operands->shared);
  else
    sley_buffer_free(operands->y);
  sley_buffer_free(operands->y_start);
  *operands = (cli_operands){0};
}

void cli_operands_reset(const cli_operands *operands, int64_t first, int64_t count) {
  if (operands->y_start)
    memcpy(cli_operands_y(operands, first),
           (char *)operands->y_start +
               (size_t)(first - operands->y_first) * row_bytes(operands, operands->y_cols),
           (size_t)count * row_bytes(operands, operands->y_cols));
}

int64_t cli_operands_file_columns(const cli_operands *operands) {
  return operands->vector && operands->y_cols == 1 ? SLEY_VECTOR : operands->y_cols;
}

bool cli_x_is_vector(const char *path) {
  sley_dtype dtype;
  int dims = 0;
  return path && sley_stored_type(path, &dtype, &dims) == SLEY_OK && dims == 1;
}

sley_status cli_operands_write(const cli_operands *operands, const cli_job *job, const char *path) {
  int64_t columns = cli_operands_file_columns(operands);
  if (!job->place)
    return sley_dense_write(path, operands->dtype, operands->y_rows, columns, operands->y, operands->y_cols);
  void *moved = NULL;
  sley_status status =
      permuted(operands, operands->y, operands->y_rows, operands->y_cols, job->place, true, &moved);
  if (status == SLEY_OK)
    status = sley_dense_write(path, operands->dtype, operands->y_rows, columns, moved, operands->y_cols);
  sley_buffer_free(moved);
  return status;
}
