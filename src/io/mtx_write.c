/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Matrix Market, coordinate real general, with as many digits as bring every value back. */
#include <stdio.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "io/mtx.h"

enum { ROOM = 1 << 18, LINE = 96 }; /* two 64-bit numbers and a %.17g take less than a line */

static char *put_int(char *at, int64_t value) {
  char digits[24];
  int count = 0;
  do
    digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  while (count > 0)
    *at++ = digits[--count];
  return at;
}

static char *put_value(char *at, const sley_matrix *matrix, int64_t e) {
  double value =
      matrix->dtype == SLEY_F32 ? (double)((const float *)matrix->val)[e] : ((const double *)matrix->val)[e];
  enum { SHORT = 1 << 20 };
  if (value > -SHORT && value < SHORT && value == (double)(int64_t)value && value != 0) {
    if (value < 0)
      *at++ = '-';
    return put_int(at, (int64_t)(value < 0 ? -value : value));
  }
  return at + snprintf(at, 40, "%.*g", matrix->dtype == SLEY_F32 ? 9 : 17, value);
}

sley_status sl_mtx_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  (void)team;
  SL_TRY(sl_sink_print(sink, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
                       (long long)matrix->rows, (long long)matrix->cols, (long long)matrix->nnz));
  char *room;
  SL_TRY(SL_NEW(room, ROOM, "text to write"));
  sley_status status = SLEY_OK;
  char *at = room;
  for (int64_t row = 0; row < matrix->rows; row++)
    for (int64_t e = matrix->rowptr[row]; e < matrix->rowptr[row + 1]; e++) {
      if (at > room + ROOM - LINE) {
        SL_TRY_GOTO(status, sl_interrupted(), done);
        SL_TRY_GOTO(status, sl_sink_put(sink, room, (size_t)(at - room)), done);
        at = room;
      }
      at = put_int(at, row + 1);
      *at++ = ' ';
      at = put_int(at, sl_index_at(matrix->col, matrix->index, e) + 1);
      *at++ = ' ';
      at = put_value(at, matrix, e);
      *at++ = '\n';
    }
  status = sl_sink_put(sink, room, (size_t)(at - room));
done:
  sl_free(room);
  return status;
}
