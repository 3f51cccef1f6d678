/* SPDX-License-Identifier: Apache-2.0 */
/* Collects and prints aligned text tables. */
#include "output/table.h"

#include <stdarg.h>
#include <string.h>

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

void cli_table_print(const cli_table *table, FILE *stream) {
  int width[CLI_TABLE_COLUMNS] = {0};
  for (int row = 0; row < table->rows; row++) {
    for (int column = 0; column < table->columns; column++) {
      int length = (int)strlen(table->cell[row][column]);
      if (length > width[column])
        width[column] = length;
    }
  }
  for (int row = 0; row < table->rows; row++) {
    int last = table->columns - 1;
    while (last > 0 && table->left[last] && !table->cell[row][last][0])
      last--;
    for (int column = 0; column <= last; column++) {
      const char *cell = table->cell[row][column];
      if (table->left[column])
        fprintf(stream, "%-*s", column == last ? 0 : width[column], cell);
      else
        fprintf(stream, "%*s", width[column], cell);
      fputs(column == last ? "\n" : "  ", stream);
    }
  }
}
