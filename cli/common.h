/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share: one table, one struct of their values, and a bit for each option, by
 * which a command names the ones that it takes. */
#ifndef SLEY_CLI_COMMON_H
#define SLEY_CLI_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "matrix/source.h"
#include "options.h"

enum { CLI_MOST_RANKS = 4096, CLI_MOST_RUNS = 1000000, CLI_MOST_TILES = 1 << 24 };

/* The first member of the settings of every command that takes one of these options. A row in the command's
 * own table may write to this struct too, if its meaning or its limits differ. */
typedef struct cli_common {
  int64_t ranks, workgroup, threads, seed, mem_limit, repeat, warmup, columns, buffers;
  double timeout, budget;
  const char *transport, *device, *kernel, *precision, *wire, *dtype, *order, *partition, *machine, *grid,
      *tiles, *plot, *json;
  bool reproducible, verify, brief;
  cli_reading reading;
} cli_common;

enum {
  CLI_TAKES_RANKS = 1 << 0,
  CLI_TAKES_WORKGROUP = 1 << 1,
  CLI_TAKES_THREADS = 1 << 2,
  CLI_TAKES_TRANSPORT = 1 << 3,
  CLI_TAKES_TIMEOUT = 1 << 4,
  CLI_TAKES_DEVICE = 1 << 5,
  CLI_TAKES_KERNEL = 1 << 6,
  CLI_TAKES_PRECISION = 1 << 7,
  CLI_TAKES_WIRE = 1 << 8,
  CLI_TAKES_REPRODUCIBLE = 1 << 9,
  CLI_TAKES_DTYPE = 1 << 10,
  CLI_TAKES_ORDER = 1 << 11,
  CLI_TAKES_PARTITION = 1 << 12,
  CLI_TAKES_MACHINE = 1 << 13,
  CLI_TAKES_SEED = 1 << 14,
  CLI_TAKES_MEM_LIMIT = 1 << 15,
  CLI_TAKES_REPEAT = 1 << 16,
  CLI_TAKES_WARMUP = 1 << 17,
  CLI_TAKES_BUDGET = 1 << 18,
  CLI_TAKES_VERIFY = 1 << 19,
  CLI_TAKES_READING = 1 << 20, /* --format and --base */
  CLI_TAKES_PLOT = 1 << 21,
  CLI_TAKES_BRIEF = 1 << 22,
  CLI_TAKES_JSON = 1 << 23,
  CLI_TAKES_TILES = 1 << 24, /* --grid, --tiles and --columns */
  CLI_TAKES_BUFFERS = 1 << 25
};

/* Returns the option with this number among the options that `taken` selects, in the order of the table;
   NULL: there are fewer options. */
const cli_option *cli_common_option(unsigned taken, int number);

/* The words of the table, for rows in the tables of commands. */
const char *const *cli_devices(void);
const char *const *cli_precisions(void);

#endif
