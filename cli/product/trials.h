/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of rowwise's kernel that were tried, what MGG's model says of them and how long they took, in
 * text and JSON. */
#ifndef SLEY_CLI_PRODUCT_TRIALS_H
#define SLEY_CLI_PRODUCT_TRIALS_H

#include "output/json.h"
#include "product/measure.h"

/* One line: how many were tried, and which was chosen. Where the algorithm was given parameters, also the
 * table of all, or, if nothing was tried, that they change nothing. */
void cli_trials_print(const cli_result *result, FILE *stream);

/* Adds the list "tuned", if anything was tried. */
void cli_trials_json(cli_json *json, const cli_result *result);

#endif
