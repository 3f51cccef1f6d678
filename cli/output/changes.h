/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for and is not so: each is one line on stderr, and all are the list "changed" of the JSON.
 */
#ifndef SLEY_CLI_OUTPUT_CHANGES_H
#define SLEY_CLI_OUTPUT_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* Something runs otherwise than asked. Under a launcher the first rank alone says so. */
void cli_changed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where idle is true and the command line has the option: it has no effect, and why ("ranks are threads"). */
void cli_no_effect(const char *command, const char *option, bool idle, const char *why);

/* The same of --seed: where the command draws nothing itself and none of these matrices (NULL: none) is a
 * generator without a seed of its own. */
void cli_seed_no_effect(const char *command, bool draws, const char *matrix, const char *other,
                        const char *third);

/* --workgroup asks for more ranks than there are. */
void cli_workgroup_bounded(const char *command, int64_t asked, int ranks);

/* The transport that was asked for (NULL: none in particular), beside the one that ranks ran over. */
void cli_transport_settled(const char *command, const char *asked, const char *ran);

/* Adds the list, if there is anything, to an object that is written. */
void cli_changes_json(json_t *object);

#endif
