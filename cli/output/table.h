/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned text tables. Cells are collected first, because column widths depend on all of them. */
#ifndef SLEY_CLI_OUTPUT_TABLE_H
#define SLEY_CLI_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum { CLI_TABLE_COLUMNS = 12, CLI_TABLE_ROWS = 64, CLI_TABLE_CELL = 256 };

typedef struct cli_table {
  int columns, rows;            /* row 0 is the heading */
  bool left[CLI_TABLE_COLUMNS]; /* true: aligned left; false: aligned right */
  char cell[CLI_TABLE_ROWS][CLI_TABLE_COLUMNS][CLI_TABLE_CELL];
} cli_table;

/* Starts a table. headings: NULL-terminated; a column whose heading starts with '<' is aligned left. */
void cli_table_start(cli_table *table, const char *const *headings);

/* Begins a row of empty cells. Returns false if the table is full. */
bool cli_table_row(cli_table *table);

/* Writes a cell of the last row, with control characters replaced by sley_printable, cut to CLI_TABLE_CELL.
 */
void cli_table_cell(cli_table *table, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* On a terminal that is narrower than the table, columns that do not fit follow below, each time after the
 * first column. Elsewhere a row is a line, which programs can read. */
void cli_table_print(const cli_table *table, FILE *stream);

#endif
