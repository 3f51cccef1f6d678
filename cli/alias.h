/* SPDX-License-Identifier: Apache-2.0 */
/* `sley tile`, for one version: the words of `sley spmm` or `sley spgemm` that do the same. */
#ifndef SLEY_CLI_ALIAS_H
#define SLEY_CLI_ALIAS_H

#include <stdbool.h>

/* Replaces the words of the command line if they are of `sley tile`, and says so on stderr. The new ones are
 * kept until the process ends. False: out of memory. */
bool cli_alias_expand(int *argc, char ***argv);

#endif
