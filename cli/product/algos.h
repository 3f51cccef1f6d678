/* SPDX-License-Identifier: Apache-2.0 */
/* The words that --algo takes, and the algorithms that it names. */
#ifndef SLEY_CLI_PRODUCT_ALGOS_H
#define SLEY_CLI_PRODUCT_ALGOS_H

#include <stdbool.h>

enum { CLI_ALGORITHMS = 64 }; /* upper bound of the number of algorithms */

/* The algorithms that --algo names. */
typedef struct cli_algos {
  int count;
  bool several;  /* true for "all", "tile-all" and more than one name */
  bool ablation; /* true for "cola": the steps of its ablation (ablation.h) */
  bool tiles;    /* true if all are algorithms in tiles (sley_tile.h) */
  const char *name[CLI_ALGORITHMS + 1];
  char text[512];
} cli_algos;

/* The words that --algo of each command takes, NULL-terminated, static. */
const char *const *cli_plan_algos(void);
const char *const *cli_spmm_algos(void);
const char *const *cli_spgemm_algos(void);

/* Reads --algo before any work: NULL for auto; "all", "cola" or "tile-all" alone; or names separated by
 * commas, which may include "auto" and may have parameters, NAME:KEY=VALUE,... known: the command's words.
 * A list of algorithms in tiles has no others. On failure prints one line on stderr and returns false. The
 * names are valid as long as *out. */
bool cli_algos_read(const char *command, const char *algo, const char *const *known, cli_algos *out);

#endif
