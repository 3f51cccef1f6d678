/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a report, in lines no longer than the terminal's, or than 80 characters. */
#ifndef SLEY_CLI_OUTPUT_TEXT_H
#define SLEY_CLI_OUTPUT_TEXT_H

#include <stdio.h>

/* Characters in a line: of the terminal that the stream is; else COLUMNS of the environment, else 80. */
int cli_text_room(FILE *stream);

/* Prints text that begins at a column, with the newline. Lines that would be longer than `room` are divided
 * at blanks, and continue at the same column. */
void cli_text_wrap(const char *text, int column, int room, FILE *stream);

/* A report: print to `stream` between the two calls. The end writes the lines. A long line is continued at
 * the column after its first two blanks, which separate a name from its value. The report goes to stdout; to
 * stderr if json, the file of the JSON, is "-". */
typedef struct cli_text {
  FILE *stream, *to;
  char *bytes;
  size_t count;
} cli_text;
void cli_text_start(cli_text *text, const char *json);
void cli_text_end(cli_text *text);

#endif
