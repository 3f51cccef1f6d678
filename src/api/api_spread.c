/* SPDX-License-Identifier: Apache-2.0 */
/* Collective reading and writing: argument checks. */
#include <string.h>

#include "api/read_options.h"
#include "io/io.h"
#include "parallel_io/parallel_io.h"

static sley_status check_partition(const char *partition, bool *by_nonzeros) {
  *by_nonzeros = partition && strcmp(partition, "nnz") == 0;
  if (!partition || *by_nonzeros || strcmp(partition, "rows") == 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_ARG, "there is no partition '%s': give rows or nnz", partition);
}

sley_status sley_matrix_read_rows(sley_comm *comm, const char *name, const sley_read_options *options,
                                  const char *partition, int64_t *row_begin, sley_matrix_info *whole,
                                  sley_matrix **out) {
  sley_read_options o;
  bool by_nonzeros = false;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_read_rows: comm is NULL");
  sley_status status = SLEY_OK;
  if (!name || !row_begin || !out)
    status = sl_fail(SLEY_ERR_ARG, "sley_matrix_read_rows: name, row_begin or out is NULL");
  if (status == SLEY_OK)
    status = sl_read_options_take(options, &o);
  if (status == SLEY_OK)
    status = sl_read_options_for_file(name, &o);
  if (status == SLEY_OK)
    status = check_partition(partition, &by_nonzeros);
  SL_TRY(sl_agree(comm, status));
  sl_pio_info info;
  const sl_reading reading = sl_reading_of(&o);
  SL_TRY(sl_pio_read(comm, name, &reading, o.seed, by_nonzeros, row_begin, &info, out));
  if (whole)
    *whole = (sley_matrix_info){.rows = info.rows,
                                .cols = info.cols,
                                .nnz = info.nnz,
                                .entries_stored = info.entries_stored,
                                .max_row_nnz = info.max_row_nnz,
                                .dtype = o.dtype,
                                .index = info.index,
                                .bytes = sl_csr_bytes(info.rows, info.nnz, info.index, o.dtype)};
  return SLEY_OK;
}

sley_status sley_dense_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                                 int64_t count, int64_t *rows, int64_t *cols, void **data) {
  if (!path || !rows || !cols || !data || count < 0)
    return sl_fail(SLEY_ERR_ARG,
                   "sley_dense_read_rows: path, rows, cols or data is NULL, or count is negative");
  if (sley_dtype_bytes(dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "unknown dtype %d", (int)dtype);
  return sl_npy_read_rows(path, dtype, which, first, count, rows, cols, data);
}

sley_status sley_dense_write_rows(sley_comm *comm, const char *path, sley_dtype dtype, int64_t rows,
                                  int64_t cols, int64_t first, int64_t count, const void *data, int64_t ld) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_dense_write_rows: comm is NULL");
  sley_status status = SLEY_OK;
  if (!path || (!data && count > 0 && cols > 0) || sley_dtype_bytes(dtype) == 0)
    status = sl_fail(SLEY_ERR_ARG, "sley_dense_write_rows: path or data is NULL, or the dtype is unknown");
  SL_TRY(sl_agree_alike(comm, status));
  return sl_pio_write(comm, path, dtype, rows, cols, first, count, data, ld);
}
