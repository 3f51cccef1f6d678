/* SPDX-License-Identifier: Apache-2.0 */
/* Which cases `sley bench` measures: files of a folder in an order, and widths, that a seed draws. */
#ifndef SLEY_CLI_BENCH_DRAW_H
#define SLEY_CLI_BENCH_DRAW_H

#include <stdbool.h>
#include <stdint.h>

enum { CLI_BENCH_WIDTHS = 256 }; /* of a matrix, at most */

typedef struct cli_files {
  char **path; /* below the folder */
  int count;
} cli_files;

/* The files of a folder and of those in it whose names end as those of matrices do, in the order that the
 * seed draws; hidden ones and links to folders are left out. False after one line on stderr, with nothing to
 * free. */
bool cli_files_draw(const char *folder, uint64_t seed, cli_files *out);
void cli_files_free(cli_files *files);

/* Draws `count` widths from 1 to `widest`, whose logarithms are uniform, by the seed and the name of the
 * matrix. Returns how many there are, ascending, without repeats. */
int cli_widths_draw(uint64_t seed, const char *name, int count, int64_t widest,
                    int64_t widths[CLI_BENCH_WIDTHS]);

#endif
