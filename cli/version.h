/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the version of Sley. */
#ifndef SLEY_CLI_VERSION_H
#define SLEY_CLI_VERSION_H

#include <stdio.h>

/* Prints a line with the library's version and, if the build knew it, a line with the commit of the sources,
 * which ends in "-dirty" if they differed from that commit. */
void cli_version_print(FILE *stream);

#endif
