/* SPDX-License-Identifier: Apache-2.0 */
#include "nonzeros.h"

#include "base/memory.h"

sley_status nonzeros_of(const double *x, int64_t rows, int64_t cols, sley_matrix **out) {
  int64_t *rowptr = sl_alloc_zero(rows + 1, sizeof *rowptr, "a test's matrix");
  int64_t *col = sl_alloc(rows * cols, sizeof *col, "a test's matrix"), at = 0;
  double *val = sl_alloc(rows * cols, sizeof *val, "a test's matrix");
  sley_status status = rowptr && col && val ? SLEY_OK : SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < rows && status == SLEY_OK; i++) {
    for (int64_t j = 0; j < cols; j++)
      if (x[i * cols + j] != 0) {
        col[at] = j;
        val[at++] = x[i * cols + j];
      }
    rowptr[i + 1] = at;
  }
  if (status == SLEY_OK)
    status = sley_matrix_from_csr(&(sley_csr){.rows = rows,
                                              .cols = cols,
                                              .rowptr = rowptr,
                                              .col = col,
                                              .val = val,
                                              .index = SLEY_I64,
                                              .dtype = SLEY_F64},
                                  SLEY_COPY, out);
  sl_free(val);
  sl_free(col);
  sl_free(rowptr);
  return status;
}
