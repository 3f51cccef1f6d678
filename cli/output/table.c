/* SPDX-License-Identifier: Apache-2.0 */
/* Collects and prints aligned text tables. */
#include "output/table.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sley.h"

void cli_table_start(cli_table *table, const char *const *headings) {
  memset(table, 0, sizeof *table);
  table->rows = 1;
  for (; headings[table->columns] && table->columns < CLI_TABLE_COLUMNS; table->columns++) {
    const char *heading = headings[table->columns];
    table->left[table->columns] = heading[0] == '<';
    snprintf(table->cell[0][table->columns], CLI_TABLE_CELL, "%s", heading + (heading[0] == '<'));
  }
}

bool cli_table_row(cli_table *table) {
  if (table->rows == CLI_TABLE_ROWS)
    return false;
  table->rows++;
  return true;
}

void cli_table_cell(cli_table *table, int column, const char *format, ...) {
  char text[CLI_TABLE_CELL];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  sley_printable(text, table->cell[table->rows - 1][column], CLI_TABLE_CELL);
}

/* Columns of the terminal that the stream is; INT_MAX: it is none. */
static int room_of(FILE *stream) {
  struct winsize size;
  const bool known =
      isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : INT_MAX;
}

/* The first column (unless that is where they begin) and those from `begin` to before `end`, of one row.
 * Empty cells at the end are left out. */
static void print_row(const cli_table *table, int row, int begin, int end, const int *width, FILE *stream) {
  int last = end - 1;
  while (last > begin && table->left[last] && !table->cell[row][last][0])
    last--;
  for (int column = 0; column <= last; column = column < begin ? begin : column + 1) {
    const char *cell = table->cell[row][column];
    if (table->left[column])
      fprintf(stream, "%-*s", column == last ? 0 : width[column], cell);
    else
      fprintf(stream, "%*s", width[column], cell);
    fputs(column == last ? "\n" : "  ", stream);
  }
}

void cli_table_print(const cli_table *table, FILE *stream) {
  int width[CLI_TABLE_COLUMNS] = {0};
  const int room = room_of(stream);
  for (int row = 0; row < table->rows; row++) {
    for (int column = 0; column < table->columns; column++) {
      int length = (int)strlen(table->cell[row][column]);
      if (length > width[column])
        width[column] = length;
    }
  }
  for (int begin = 0, end; begin < table->columns; begin = end) {
    int used = begin > 0 ? width[0] + 2 + width[begin] : width[0];
    for (end = begin + 1; end < table->columns && used + 2 + width[end] <= room; end++)
      used += 2 + width[end];
    if (begin > 0)
      fprintf(stream, "\n");
    for (int row = 0; row < table->rows; row++)
      print_row(table, row, begin, end, width, stream);
  }
}
