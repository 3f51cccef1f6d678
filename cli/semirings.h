/* SPDX-License-Identifier: Apache-2.0 */
/* Semirings by their names, for the tables of options. */
#ifndef SLEY_CLI_SEMIRINGS_H
#define SLEY_CLI_SEMIRINGS_H

#include "sley.h"

/* Of a name of sley_semirings(). */
sley_semiring cli_semiring(const char *name);

#endif
