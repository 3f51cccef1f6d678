/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of Rutherford-Boeing files: real, assembled, unsymmetric (rua) or rectangular (rra), with enough
 * digits to restore every value. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/value.h"
#include "io/format.h"

enum { LINE = 80 };

/* A section that is being written: numbers of equal width, line by line. */
typedef struct columns {
  sl_sink *sink;
  int width, per_line, on_line;
  char line[LINE + 32];
} columns;

static int digits(int64_t number) {
  int count = 1;
  for (; number >= 10; number /= 10)
    count++;
  return count;
}

static columns columns_of(sl_sink *sink, int width) {
  return (columns){.sink = sink, .width = width, .per_line = LINE / width};
}

static int64_t lines_of(const columns *c, int64_t count) {
  return (count + c->per_line - 1) / c->per_line;
}

static sley_status flush(columns *c) {
  if (c->on_line == 0)
    return SLEY_OK;
  int length = c->on_line * c->width;
  SL_TRY(sl_interrupted());
  c->line[length] = '\n';
  c->on_line = 0;
  return sl_sink_put(c->sink, c->line, (size_t)length + 1);
}

static sley_status put_int(columns *c, int64_t number) {
  char *field = c->line + c->on_line * c->width;
  memset(field, ' ', (size_t)c->width);
  for (int at = c->width - 1; at == c->width - 1 || number > 0; at--, number /= 10)
    field[at] = (char)('0' + number % 10);
  return ++c->on_line == c->per_line ? flush(c) : SLEY_OK;
}

static sley_status put_value(columns *c, int decimals, double value) {
  char field[48];
  snprintf(field, sizeof field, "%*.*E", c->width, decimals, value);
  memcpy(c->line + c->on_line * c->width, field, (size_t)c->width);
  return ++c->on_line == c->per_line ? flush(c) : SLEY_OK;
}

/* Writes a matrix, whose columns are the rows of its transpose t. */
static sley_status write_transposed(const sley_matrix *t, sl_sink *sink) {
  /* width: a space, a sign, a digit, a point, and an exponent of two digits (f64: three) */
  int decimals = sl_value_digits(t->dtype) - 1, width = decimals + (t->dtype == SLEY_F64 ? 9 : 8);
  columns pointers = columns_of(sink, digits(t->nnz + 1) + 1),
          indices = columns_of(sink, digits(t->cols) + 1);
  columns values = columns_of(sink, width);
  int64_t lines[3] = {lines_of(&pointers, t->rows + 1), lines_of(&indices, t->nnz),
                      lines_of(&values, t->nnz)};
  char formats[3][48];
  snprintf(formats[0], sizeof formats[0], "(%dI%d)", pointers.per_line, pointers.width);
  snprintf(formats[1], sizeof formats[1], "(%dI%d)", indices.per_line, indices.width);
  snprintf(formats[2], sizeof formats[2], "(%dE%d.%d)", values.per_line, values.width, decimals);
  SL_TRY(sl_sink_print(sink, "%-72s%-8s\n", "Sparse matrix written by Sley", "sley"));
  SL_TRY(sl_sink_print(sink, "%14" PRId64 "%14" PRId64 "%14" PRId64 "%14" PRId64 "\n",
                       lines[0] + lines[1] + lines[2], lines[0], lines[1], lines[2]));
  SL_TRY(sl_sink_print(sink, "%-14s%14" PRId64 "%14" PRId64 "%14" PRId64 "%14d\n",
                       t->rows == t->cols ? "rua" : "rra", t->cols, t->rows, t->nnz, 0));
  SL_TRY(sl_sink_print(sink, "%-16s%-16s%-20s\n", formats[0], formats[1], formats[2]));
  int64_t first = t->rowptr[0];
  for (int64_t j = 0; j <= t->rows; j++)
    SL_TRY(put_int(&pointers, t->rowptr[j] - first + 1));
  SL_TRY(flush(&pointers));
  for (int64_t e = first; e < first + t->nnz; e++)
    SL_TRY(put_int(&indices, sl_index_at(t->col, t->index, e) + 1));
  SL_TRY(flush(&indices));
  for (int64_t e = first; e < first + t->nnz; e++)
    SL_TRY(put_value(&values, decimals, sl_value_at(t->val, t->dtype, e)));
  return flush(&values);
}

sley_status sl_rb_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  sley_matrix *transposed;
  SL_TRY(sl_matrix_transpose(matrix, team, &transposed));
  sley_status status = write_transposed(transposed, sink);
  sl_matrix_destroy(transposed);
  return status;
}
