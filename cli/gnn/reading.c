/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages, and the reader of text files with one line per row. */
#include "gnn/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/loop.h"

enum { LINE_ROOM = 1 << 14 };

sley_status cli_gnn_refuse(const cli_gnn_reading *r, const char *path, int64_t line, const char *what) {
  if (line > 0)
    snprintf(r->message, r->room, "%s:%" PRId64 ": %s", path, line, what);
  else
    snprintf(r->message, r->room, "%s: %s", path, what);
  return SLEY_ERR_INPUT;
}

int64_t cli_gnn_column(const sley_csr *m, int64_t e) {
  return m->index == SLEY_I64 ? ((const int64_t *)m->col)[e] : ((const int32_t *)m->col)[e];
}

double cli_gnn_value(const sley_csr *m, int64_t e) {
  return m->dtype == SLEY_F64 ? ((const double *)m->val)[e] : (double)((const float *)m->val)[e];
}

sley_status cli_gnn_refuse_value(const cli_gnn_reading *r, const char *path, const char *what, int64_t row,
                                 int64_t col, double value) {
  char message[200];
  snprintf(message, sizeof message, "the %s in row %" PRId64 ", column %" PRId64 " is %g: %s", what, row + 1,
           col + 1, value,
           isfinite(value) ? "networks compute in f32, whose largest value is 3.4e38"
                           : "networks are trained on finite values");
  return cli_gnn_refuse(r, path, 0, message);
}

static bool is_finite(const sley_csr *m, int64_t e) {
  return isfinite((float)cli_gnn_value(m, e));
}

typedef struct finite_check {
  sley_csr m;
  _Atomic int64_t first; /* first entry that is not finite; the number of entries if all are */
} finite_check;

static sley_status check_rows(void *context, int64_t begin, int64_t end) {
  finite_check *c = context;
  for (int64_t e = c->m.rowptr[begin]; e < c->m.rowptr[end]; e++) {
    int64_t first = atomic_load(&c->first);
    if (e > first)
      break;
    if (is_finite(&c->m, e))
      continue;
    while (e < first && !atomic_compare_exchange_weak(&c->first, &first, e)) {
    }
    break;
  }
  return SLEY_OK;
}

sley_status cli_gnn_check_entries(const cli_gnn_reading *r, const char *path, const char *what,
                                  const sley_matrix *matrix) {
  finite_check c;
  sley_status status = sley_matrix_csr(matrix, &c.m);
  if (status != SLEY_OK)
    return status;
  atomic_init(&c.first, c.m.rowptr[c.m.rows]);
  status = cli_loop(r->source->threads, c.m.rows, CLI_GNN_ROWS_AT_ONCE, check_rows, &c);
  const int64_t e = c.first;
  if (status != SLEY_OK || e == c.m.rowptr[c.m.rows])
    return status;
  int64_t row = 0;
  while (c.m.rowptr[row + 1] <= e)
    row++;
  return cli_gnn_refuse_value(r, path, what, row, cli_gnn_column(&c.m, e), cli_gnn_value(&c.m, e));
}

/* Returns NULL, or a message about a wrong line. whole: the line ends with a newline or at the end of the
 * file. */
static const char *take_line(const cli_gnn_reading *r, char *line, bool whole, int64_t row,
                             cli_gnn_take_line *take) {
  static const char mark[] = "\xef\xbb\xbf";
  if (!whole)
    return strlen(line) == LINE_ROOM - 1 ? "this line is too long" : "this is no text: it has a byte 0";
  if (row == 0 && strncmp(line, mark, sizeof mark - 1) == 0)
    line += sizeof mark - 1;
  return take(r, line, row, row < r->data->rows);
}

static sley_status parse_lines(const cli_gnn_reading *r, const char *path, FILE *stream, char *line,
                               const char *what, cli_gnn_take_line *take) {
  char message[160];
  int64_t rows = 0;
  bool blank = false; /* a blank line was read: only blank lines may follow */
  while (fgets(line, LINE_ROOM, stream)) {
    const size_t length = strlen(line);
    const bool whole = (length > 0 && line[length - 1] == '\n') || (length < LINE_ROOM - 1 && feof(stream));
    if (whole && length == strspn(line, " \t\r\n")) {
      blank = true;
      continue;
    }
    const char *wrong = blank ? "this line is blank" : take_line(r, line, whole, rows, take);
    if (wrong)
      return cli_gnn_refuse(r, path, rows + 1, wrong);
    if (rows++ < r->data->rows)
      continue;
    snprintf(message, sizeof message, "there are more %s than the graph has rows, %" PRId64, what,
             r->data->rows);
    return cli_gnn_refuse(r, path, rows, message);
  }
  if (ferror(stream))
    return cli_gnn_refuse(r, path, rows + 1, "cannot read");
  if (rows == r->data->rows)
    return SLEY_OK;
  snprintf(message, sizeof message, "there are fewer %s than the graph has rows: %" PRId64 " of %" PRId64,
           what, rows, r->data->rows);
  return cli_gnn_refuse(r, path, rows + 1, message);
}

sley_status cli_gnn_read_lines(const cli_gnn_reading *r, const char *path, const char *what,
                               cli_gnn_take_line *take) {
  r->path[0] = path;
  FILE *stream = fopen(path, "r");
  if (!stream)
    return cli_gnn_refuse(r, path, 0, strerror(errno));
  char *line = malloc(LINE_ROOM);
  const sley_status status = line ? parse_lines(r, path, stream, line, what, take) : SLEY_ERR_MEMORY;
  free(line);
  fclose(stream);
  return status;
}
