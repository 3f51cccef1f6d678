/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the options of a run as JSON. */
#ifndef SLEY_CLI_OPTIONS_JSON_H
#define SLEY_CLI_OPTIONS_JSON_H

#include <jansson.h>

#include "command.h"

/* Adds a field `settings` to an object (to NULL: does nothing): each option of the command under its name,
 * with _ instead of -, with its given or default value. */
void cli_options_json(const cli_command *command, const void *settings, json_t *to);

#endif
