/* SPDX-License-Identifier: Apache-2.0 */
/* Semirings by their names, for the tables of options. */
#ifndef SLEY_CLI_SEMIRINGS_H
#define SLEY_CLI_SEMIRINGS_H

#include "sley.h"

const char *const *cli_semirings(void);

/* Of a name that is among them. */
sley_semiring cli_semiring(const char *name);

#endif
