/* SPDX-License-Identifier: Apache-2.0 */
/* The options in force as JSON. */
#ifndef SLEY_CLI_OPTIONS_JSON_H
#define SLEY_CLI_OPTIONS_JSON_H

#include <jansson.h>

#include "command.h"

/* Adds a field `settings` to an object (NULL: none): each option of the command by its name, with _ for -, as
 * it was given, or its default. */
void cli_options_json(const cli_command *command, const void *settings, json_t *to);

#endif
