/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of archives for scipy.sparse.load_npz, as CSR. */
#include "base/memory.h"
#include "base/value.h"
#include "io/bytes/archive.h"
#include "io/npy.h"

sley_status sl_npz_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  (void)team;
  int64_t first = matrix->rowptr[0], rows = matrix->rows, *shifted = NULL;
  int64_t shape[2] = {rows, matrix->cols};
  size_t index_bytes = sl_index_bytes(matrix->index), value_bytes = sley_dtype_bytes(matrix->dtype);
  const int64_t *indptr = matrix->rowptr;
  void *converted = NULL;
  if (first != 0) {
    SL_TRY(SL_NEW(shifted, rows + 1, "row pointers"));
    for (int64_t i = 0; i <= rows; i++)
      shifted[i] = matrix->rowptr[i] - first;
    indptr = shifted;
  }
  const char *col = (const char *)matrix->col + (size_t)first * index_bytes;
  const char *val = (const char *)matrix->val + (size_t)first * value_bytes;
  sley_dtype written = sl_npy_dtype(matrix->dtype);
  if (written != matrix->dtype) {
    value_bytes = sley_dtype_bytes(written);
    converted = sl_alloc(matrix->nnz, value_bytes, "values to write");
    if (!converted) {
      sl_free(shifted);
      return SLEY_ERR_MEMORY;
    }
    sl_values_convert(matrix->dtype, val, written, converted, matrix->nnz);
    val = converted;
  }
  const char *int64_type = sl_npy_type('i', sizeof(int64_t));
  const sl_archive_array arrays[] = {
      {"indices.npy",
       sl_npy_type('i', index_bytes),
       1,
       {matrix->nnz},
       col,
       (size_t)matrix->nnz * index_bytes},
      {"indptr.npy", int64_type, 1, {rows + 1}, indptr, (size_t)(rows + 1) * sizeof(int64_t)},
      {"format.npy", "|S3", 0, {0}, "csr", 3},
      {"shape.npy", int64_type, 1, {2}, shape, sizeof shape},
      {"data.npy", sl_npy_type('f', value_bytes), 1, {matrix->nnz}, val, (size_t)matrix->nnz * value_bytes},
  };
  sley_status status = sl_archive_write(arrays, (int)(sizeof arrays / sizeof *arrays), sink);
  sl_free(converted);
  sl_free(shifted);
  return status;
}
