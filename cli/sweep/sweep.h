/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command once for each combination of the numbers that its options list, and reports all runs. */
#ifndef SLEY_CLI_SWEEP_SWEEP_H
#define SLEY_CLI_SWEEP_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "command.h"

/* Each run is this command in a process of its own, with one number of each list. Its JSON is kept, its text
 * is not shown. Ends at the first run that fails. settings: the parsed settings, which begin with a
 * cli_common. Returns the exit code. */
int cli_sweep(const cli_command *command, const void *settings, char **positionals);

/* The report of a sweep; defined in report.c. runs: the runs' JSON objects, a list, which sweep_json takes
 * over a reference to. */
void cli_sweep_print(const json_t *runs, FILE *stream);
bool cli_sweep_json(const char *path, const cli_command *command, json_t *runs);

/* Draws time and bytes over the first list that has several numbers. Returns as cli_plot. */
bool cli_sweep_plot(const char *path, const cli_command *command, const json_t *runs);

#endif
