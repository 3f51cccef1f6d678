/* SPDX-License-Identifier: Apache-2.0 */
/* Collects and prints aligned text tables. */
#include "output/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "output/text.h"
#include "sley.h"

bool cli_table_row(cli_table *table) {
  void *grown = realloc(table->cell, ((size_t)table->rows + 1) * sizeof *table->cell);
  if (!grown)
    return false;
  table->cell = grown;
  memset(table->cell[table->rows++], 0, sizeof *table->cell);
  return true;
}

void cli_table_start(cli_table *table, const char *const *headings) {
  *table = (cli_table){0};
  const bool room = cli_table_row(table);
  for (; room && headings[table->columns] && table->columns < CLI_TABLE_COLUMNS; table->columns++) {
    const char *heading = headings[table->columns];
    table->left[table->columns] = heading[0] == '<';
    snprintf(table->cell[0][table->columns], CLI_TABLE_CELL, "%s", heading + (heading[0] == '<'));
  }
}

void cli_table_cell(cli_table *table, int column, const char *format, ...) {
  char text[CLI_TABLE_CELL];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (table->rows > 0)
    sley_printable(text, table->cell[table->rows - 1][column], CLI_TABLE_CELL);
}

enum { LEAST_TEXT = 20 }; /* narrowest column whose text is divided into lines */

static int larger(int a, int b) {
  return a > b ? a : b;
}

/* Width of a column whose heading has two lines, which are divided at the blank `*at`; 0: it has no blank. */
static int width_in_two(const char *heading, int *at) {
  const int length = (int)strlen(heading);
  int least = length;
  *at = 0;
  for (int i = 1; i < length; i++)
    if (heading[i] == ' ' && larger(i, length - i - 1) < least) {
      least = larger(i, length - i - 1);
      *at = i;
    }
  return least;
}

/* Divides headings that are wider than their columns in two lines: row 0 keeps the second line, and `first`
 * receives the first line. Returns true if there is such a heading. */
static bool halve_headings(cli_table *table, char (*first)[CLI_TABLE_CELL], int *width) {
  bool any = false;
  for (int column = 0; column < table->columns; column++) {
    char *heading = table->cell[0][column];
    int cells = 0, at;
    for (int row = 1; row < table->rows; row++)
      cells = larger(cells, (int)strlen(table->cell[row][column]));
    first[column][0] = '\0';
    const int narrow = width_in_two(heading, &at);
    if (cells >= width[column] || at == 0)
      continue;
    snprintf(first[column], CLI_TABLE_CELL, "%.*s", at, heading);
    memmove(heading, heading + at + 1, strlen(heading + at + 1) + 1);
    width[column] = larger(cells, narrow);
    any = true;
  }
  return any;
}

/* Prints the first cell (unless the line begins with it) and the cells from `begin` to before `end`. Empty
 * cells at the end are left out. */
static void print_row(const cli_table *table, const char (*cell)[CLI_TABLE_CELL], int begin, int end,
                      const int *width, int room, FILE *stream) {
  int last = end - 1, used = 0;
  while (last > begin && !cell[last][0])
    last--;
  for (int column = 0; column < last; column = column < begin ? begin : column + 1) {
    fprintf(stream, table->left[column] ? "%-*s  " : "%*s  ", width[column], cell[column]);
    used += width[column] + 2;
  }
  if (table->left[last] || !cell[last][0])
    cli_text_wrap(cell[last], used, room, stream);
  else
    fprintf(stream, "%*s\n", width[last], cell[last]);
}

void cli_table_print(cli_table *table, FILE *stream) {
  static char first[CLI_TABLE_COLUMNS][CLI_TABLE_CELL];
  int width[CLI_TABLE_COLUMNS] = {0}, whole = -2;
  const int room = cli_text_room(stream);
  for (int column = 0; column < table->columns; column++) {
    for (int row = 0; row < table->rows; row++)
      width[column] = larger(width[column], (int)strlen(table->cell[row][column]));
    whole += width[column] + 2;
  }
  const bool two = whole > room && halve_headings(table, first, width);
  for (int begin = 0, end; begin < table->columns; begin = end) {
    int used = begin > 0 ? width[0] + 2 + width[begin] : width[0];
    for (end = begin + 1; end < table->columns && used + 2 + width[end] <= room; end++)
      used += 2 + width[end];
    if (end == table->columns - 1 && table->left[end] && room - used - 2 >= LEAST_TEXT)
      end++; /* the text of this column is divided into lines */
    if (begin > 0)
      fprintf(stream, "\n");
    bool halved = first[0][0] != '\0';
    for (int column = begin; column < end; column++)
      halved |= first[column][0] != '\0';
    if (two && halved)
      print_row(table, first, begin, end, width, room, stream);
    for (int row = 0; row < table->rows; row++)
      print_row(table, table->cell[row], begin, end, width, room, stream);
  }
  free(table->cell);
  *table = (cli_table){0};
}
