/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned text tables. Cells are collected first, because column widths depend on all of them. */
#ifndef SLEY_CLI_OUTPUT_TABLE_H
#define SLEY_CLI_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum { CLI_TABLE_COLUMNS = 18, CLI_TABLE_CELL = 256 };

typedef struct cli_table {
  int columns, rows;                               /* row 0 is the heading */
  bool left[CLI_TABLE_COLUMNS];                    /* true: aligned left; false: aligned right */
  char (*cell)[CLI_TABLE_COLUMNS][CLI_TABLE_CELL]; /* cells of each row; cli_table_print frees them */
} cli_table;

/* Starts a table. headings: NULL-terminated; a column whose heading starts with '<' is aligned left. */
void cli_table_start(cli_table *table, const char *const *headings);

/* Begins a row of empty cells. Returns false if there is no memory for it. */
bool cli_table_row(cli_table *table);

/* Writes a cell of the last row, with control characters replaced by sley_printable, cut to CLI_TABLE_CELL.
 */
void cli_table_cell(cli_table *table, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the table in lines of at most cli_text_room characters. A wider table has headings of two lines;
 * columns that still do not fit follow below, each time after the first column, and text in the last column
 * is divided at blanks. Programs read the JSON instead. */
void cli_table_print(cli_table *table, FILE *stream);

#endif
