/* SPDX-License-Identifier: Apache-2.0 */
/* The cases that `sley bench` measures: files of a folder, in an order drawn by a seed, and widths drawn by
 * the seed. */
#ifndef SLEY_CLI_BENCH_DRAW_H
#define SLEY_CLI_BENCH_DRAW_H

#include <stdbool.h>
#include <stdint.h>

enum { CLI_BENCH_WIDTHS = 256 }; /* most widths of a matrix */

typedef struct cli_files {
  char **path; /* paths relative to the folder */
  int count;
} cli_files;

/* Lists the files of a folder and its subfolders whose names end like names of matrices, in the order that
 * the seed draws. Hidden files and links to folders are left out. On failure prints one line on stderr and
 * returns false; then there is nothing to free. */
bool cli_files_draw(const char *folder, uint64_t seed, cli_files *out);
void cli_files_free(cli_files *files);

/* Draws `count` widths from 1 to `widest`, with uniformly distributed logarithms, from the seed and the
 * matrix's name. Returns the number of distinct widths, which are in ascending order. */
int cli_widths_draw(uint64_t seed, const char *name, int count, int64_t widest,
                    int64_t widths[CLI_BENCH_WIDTHS]);

#endif
