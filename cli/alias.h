/* SPDX-License-Identifier: Apache-2.0 */
/* The old name `sley tile`, for one version: replaced by `sley spmm` or `sley spgemm`. */
#ifndef SLEY_CLI_ALIAS_H
#define SLEY_CLI_ALIAS_H

#include <stdbool.h>

/* If the command line is one of `sley tile`, replaces it and prints one line on stderr. The new words are
 * valid until the process ends. Returns false if out of memory. */
bool cli_alias_expand(int *argc, char ***argv);

#endif
