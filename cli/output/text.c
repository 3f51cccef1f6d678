/* SPDX-License-Identifier: Apache-2.0 */
/* Collects a report and divides its long lines. */
#include "output/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static FILE *report_to; /* destination of the report that is being collected; NULL: no report */

int cli_text_room(FILE *stream) {
  enum { ROOM = 80, LEAST = 40 };
  struct winsize size;
  const int file = fileno(report_to ? report_to : stream);
  if (isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const char *columns = getenv("COLUMNS");
  const int given = columns ? atoi(columns) : 0;
  return given >= LEAST ? given : ROOM;
}

void cli_text_wrap(const char *text, int column, int room, FILE *stream) {
  while ((int)strlen(text) > room - column) {
    int length = room - column;
    while (length > 0 && text[length] != ' ')
      length--;
    if (length <= 0)
      length = (int)strcspn(text, " ");
    if (!text[length])
      break;
    fprintf(stream, "%.*s\n%*s", length, text, column, "");
    text += length + 1;
  }
  fprintf(stream, "%s\n", text);
}

/* Returns the column after the first group of at least two blanks that follows a word. If there is none, or
 * it is beyond half of the width, returns two more than the indentation of the line. */
static int value_column(const char *line, int room) {
  const int indentation = (int)strspn(line, " ");
  const char *gap = strstr(line + indentation, "  ");
  const int column = gap ? (int)(gap - line) + (int)strspn(gap, " ") : 0;
  return column > 0 && column <= room / 2 ? column : indentation > 0 ? indentation + 2 : 0;
}

static void write_line(const char *line, int room, FILE *to) {
  const int column = (int)strlen(line) > room ? value_column(line, room) : 0;
  fprintf(to, "%.*s", column, line);
  cli_text_wrap(line + column, column, room, to);
}

void cli_text_start(cli_text *text, const char *json) {
  *text = (cli_text){.to = json && strcmp(json, "-") == 0 ? stderr : stdout};
  text->stream = open_memstream(&text->bytes, &text->count);
  report_to = text->to;
  if (!text->stream)
    text->stream = text->to; /* if memory is short, lines are not divided */
}

void cli_text_end(cli_text *text) {
  report_to = NULL;
  if (text->stream == text->to)
    return;
  fclose(text->stream);
  const int room = cli_text_room(text->to);
  for (char *line = text->bytes, *end; line && *line; line = end + 1) {
    end = strchr(line, '\n');
    if (!end) {
      fputs(line, text->to);
      break;
    }
    *end = '\0';
    write_line(line, room, text->to);
  }
  free(text->bytes);
}
