/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of edge lists, with the two lines of KONECT's header, from which the reader recovers the numbering
 * (from 1) and the sizes: "% asym weighted" ("bip" if the matrix is not square, "unweighted" if all values
 * are 1, which are then left out) and "% entries rows cols". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/interrupt.h"
#include "base/value.h"
#include "io/format.h"

sley_status sl_edgelist_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  (void)team;
  bool weighted = false;
  int64_t first = matrix->rowptr[0];
  for (int64_t e = first; e < first + matrix->nnz && !weighted; e++)
    weighted = sl_value_at(matrix->val, matrix->dtype, e) != 1;
  SL_TRY(sl_sink_print(sink, "%% %s %s\n%% %" PRId64 " %" PRId64 " %" PRId64 "\n",
                       matrix->rows == matrix->cols ? "asym" : "bip", weighted ? "weighted" : "unweighted",
                       matrix->nnz, matrix->rows, matrix->cols));
  int precision = sl_value_digits(matrix->dtype);
  for (int64_t i = 0; i < matrix->rows; i++) {
    SL_TRY(sl_interrupted());
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++) {
      char line[96];
      int64_t column = sl_index_at(matrix->col, matrix->index, e) + 1;
      int length = snprintf(line, sizeof line, "%" PRId64 " %" PRId64, i + 1, column);
      double value = sl_value_at(matrix->val, matrix->dtype, e);
      if (weighted &&
          fabs(value) > SL_MOST_WHOLE) /* with a point, because digits alone would be an integer */
        length += snprintf(line + length, sizeof line - (size_t)length, " %.*e", precision - 1, value);
      else if (weighted)
        length += snprintf(line + length, sizeof line - (size_t)length, " %.*g", precision, value);
      line[length++] = '\n';
      SL_TRY(sl_sink_put(sink, line, (size_t)length));
    }
  }
  return SLEY_OK;
}
