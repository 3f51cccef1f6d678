/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a matrix, with a message about it. */
#include "matrix/write.h"

#include <inttypes.h>
#include <stdio.h>

#include "output/terminal.h"

sley_status cli_write_matrix(const sley_matrix *matrix, const char *path) {
  char text[160];
  snprintf(text, sizeof text, "writing %s", path);
  cli_progress(text, 0, 0);
  sley_status status = sley_matrix_write(matrix, path);
  cli_progress_clear();
  sley_matrix_info info;
  if (status == SLEY_OK)
    status = sley_matrix_info_get(matrix, &info);
  if (status == SLEY_OK)
    cli_say("%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros", path, info.rows, info.cols, info.nnz);
  return status;
}
