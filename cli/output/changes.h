/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that were changed or had no effect. Each is one line on stderr, and the JSON has all of them in
 * the list "changed". */
#ifndef SLEY_CLI_OUTPUT_CHANGES_H
#define SLEY_CLI_OUTPUT_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* Reports that a run differs from the request. Under a launcher only the first rank prints the line. */
void cli_changed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* If idle is true and the command line has the option, reports that it has no effect. why: the reason, such
 * as "ranks are threads". */
void cli_no_effect(const char *command, const char *option, bool idle, const char *why);

/* Reports that --seed has no effect if the command draws nothing itself and none of these matrices (NULL:
 * none) is a generator without a seed of its own. */
void cli_seed_no_effect(const char *command, bool draws, const char *matrix, const char *other,
                        const char *third);

/* Reports a --workgroup that is larger than the number of ranks. */
void cli_workgroup_bounded(const char *command, int64_t asked, int ranks);

/* Reports that ranks used another transport than the requested one. asked NULL: none was requested. */
void cli_transport_settled(const char *command, const char *asked, const char *ran);

/* Adds the list "changed" to an object, if it is not empty. */
void cli_changes_json(json_t *object);

#endif
