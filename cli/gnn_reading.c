/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, and texts with a line for each row. */
#include "gnn_reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = 1 << 14 };

sley_status cli_gnn_refuse(const cli_gnn_reading *r, const char *path, int64_t line, const char *what) {
  if (line > 0)
    snprintf(r->message, r->room, "%s:%" PRId64 ": %s", path, line, what);
  else
    snprintf(r->message, r->room, "%s: %s", path, what);
  return SLEY_ERR_INPUT;
}

static sley_status parse_lines(const cli_gnn_reading *r, const char *path, FILE *stream, char *line,
                               const char *what, cli_gnn_take_line *take) {
  char message[128];
  int64_t rows = 0;
  for (; fgets(line, LINE_ROOM, stream); rows++) {
    const bool there = rows < r->data->rows, whole = strlen(line) < LINE_ROOM - 1;
    const char *wrong = whole ? take(r, line, rows, there) : "this line is too long";
    if (wrong)
      return cli_gnn_refuse(r, path, rows + 1, wrong);
    snprintf(message, sizeof message, "there are more %s than the graph has rows", what);
    if (!there)
      return cli_gnn_refuse(r, path, rows + 1, message);
  }
  if (ferror(stream))
    return cli_gnn_refuse(r, path, rows + 1, "cannot read");
  snprintf(message, sizeof message, "there are fewer %s than the graph has rows", what);
  return rows == r->data->rows ? SLEY_OK : cli_gnn_refuse(r, path, rows + 1, message);
}

sley_status cli_gnn_read_lines(const cli_gnn_reading *r, const char *path, const char *what,
                               cli_gnn_take_line *take) {
  FILE *stream = fopen(path, "r");
  if (!stream)
    return cli_gnn_refuse(r, path, 0, strerror(errno));
  char *line = malloc(LINE_ROOM);
  const sley_status status = line ? parse_lines(r, path, stream, line, what, take) : SLEY_ERR_MEMORY;
  free(line);
  fclose(stream);
  return status;
}
