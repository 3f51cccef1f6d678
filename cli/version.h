/* SPDX-License-Identifier: Apache-2.0 */
/* Which Sley this is. */
#ifndef SLEY_CLI_VERSION_H
#define SLEY_CLI_VERSION_H

#include <stdio.h>

/* Prints a line with the library's version and, if it was known when the command was built, one with the
 * commit of its sources, which ends in "-dirty" where they differed from it. */
void cli_version_print(FILE *stream);

#endif
