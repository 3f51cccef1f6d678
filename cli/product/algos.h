/* SPDX-License-Identifier: Apache-2.0 */
/* What --algo takes, and what it names. */
#ifndef SLEY_CLI_PRODUCT_ALGOS_H
#define SLEY_CLI_PRODUCT_ALGOS_H

#include <stdbool.h>

enum { CLI_ALGORITHMS = 64 }; /* at most */

/* What --algo names. */
typedef struct cli_algos {
  int count;
  bool several;  /* all, tile-all, or more than one */
  bool ablation; /* "cola": the steps of its ablation (ablation.h) */
  bool tiles;    /* products of matrices in tiles (sley_tile.h) */
  const char *name[CLI_ALGORITHMS + 1];
  char text[512];
} cli_algos;

/* The words that --algo of each command takes, NULL-terminated, static. */
const char *const *cli_plan_algos(void);
const char *const *cli_spmm_algos(void);
const char *const *cli_spgemm_algos(void);

/* Reads --algo before any work: NULL for auto; "all", "cola" or "tile-all" alone; or names separated by
 * commas, of which "auto" is one and any may have parameters, NAME:KEY=VALUE,... known: the command's words.
 * Algorithms of products in tiles are compared with each other alone. False after one line on stderr. The
 * names are valid as long as *out. */
bool cli_algos_read(const char *command, const char *algo, const char *const *known, cli_algos *out);

#endif
