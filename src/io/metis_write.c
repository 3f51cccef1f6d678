/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of METIS graphs. Refuses what the format cannot store: matrices that are not square and symmetric,
 * entries on the diagonal, weights that are not positive whole numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/value.h"
#include "io/format.h"

static double value_at(const sley_matrix *m, int64_t e) {
  return sl_value_at(m->val, m->dtype, e);
}

/* Refuses entries that METIS cannot store; sets *weighted to whether a value other than 1 occurs. */
static sley_status check_entries(const sley_matrix *m, bool *weighted) {
  *weighted = false;
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++) {
      double value = value_at(m, e);
      if (sl_index_at(m->col, m->index, e) == i)
        return sl_fail(SLEY_ERR_UNSUPPORTED,
                       "row %" PRId64 " has an entry on the diagonal, but a METIS graph has no "
                       "loops; remove the diagonal or write another format",
                       i);
      if (!(value >= 1 && value <= 0x1p53 && value == floor(value)))
        return sl_fail(SLEY_ERR_UNSUPPORTED,
                       "row %" PRId64 " has the value %g, but a METIS graph has positive whole "
                       "weights; write another format",
                       i, value);
      *weighted |= value != 1;
    }
  return SLEY_OK;
}

/* Compares the matrix with its transpose t, row by row. */
static sley_status check_symmetric(const sley_matrix *m, const sley_matrix *t) {
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t count = m->rowptr[i + 1] - m->rowptr[i], e = m->rowptr[i], f = t->rowptr[i];
    bool same = count == t->rowptr[i + 1] - f;
    for (int64_t k = 0; same && k < count; k++)
      same = sl_index_at(m->col, m->index, e + k) == sl_index_at(t->col, t->index, f + k) &&
             value_at(m, e + k) == value_at(t, f + k);
    if (!same)
      return sl_fail(SLEY_ERR_UNSUPPORTED,
                     "row %" PRId64 " and column %" PRId64 " differ, but a METIS graph is symmetric; "
                     "write another format",
                     i, i);
  }
  return SLEY_OK;
}

/* Writes a number and the character `after`; returns the number of characters. */
static size_t put_number(char *text, int64_t number, char after) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  for (int i = 0; i < count; i++)
    text[i] = digits[count - 1 - i];
  text[count] = after;
  return (size_t)count + 1;
}

static sley_status write_lines(const sley_matrix *m, bool weighted, sl_sink *sink) {
  char text[4096];
  size_t used = 0;
  for (int64_t i = 0; i < m->rows; i++) {
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++) {
      if (used > sizeof text - 64) {
        SL_TRY(sl_interrupted());
        SL_TRY(sl_sink_put(sink, text, used));
        used = 0;
      }
      char after = e + 1 < m->rowptr[i + 1] ? ' ' : '\n';
      used += put_number(text + used, sl_index_at(m->col, m->index, e) + 1, weighted ? ' ' : after);
      if (weighted)
        used += put_number(text + used, (int64_t)value_at(m, e), after);
    }
    if (used > sizeof text - 64) {
      SL_TRY(sl_sink_put(sink, text, used));
      used = 0;
    }
    if (m->rowptr[i] == m->rowptr[i + 1])
      text[used++] = '\n';
  }
  return sl_sink_put(sink, text, used);
}

sley_status sl_metis_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  bool weighted;
  if (matrix->rows != matrix->cols)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "a METIS graph is square, but the matrix is %" PRId64 " x %" PRId64
                   "; write another format",
                   matrix->rows, matrix->cols);
  SL_TRY(check_entries(matrix, &weighted));
  sley_matrix *transposed;
  SL_TRY(sl_matrix_transpose(matrix, team, &transposed));
  sley_status status = check_symmetric(matrix, transposed);
  sl_matrix_destroy(transposed);
  SL_TRY(status);
  SL_TRY(sl_sink_print(sink, "%" PRId64 " %" PRId64 "%s\n", matrix->rows, matrix->nnz / 2,
                       weighted ? " 001" : ""));
  return write_lines(matrix, weighted, sink);
}
