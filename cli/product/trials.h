/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the shapes of the rowwise kernel that were tried, MGG's model of each shape, and the measured
 * times, as text and JSON. */
#ifndef SLEY_CLI_PRODUCT_TRIALS_H
#define SLEY_CLI_PRODUCT_TRIALS_H

#include "output/json.h"
#include "product/measure.h"

/* Prints one line with the number of shapes tried and the chosen one. If the algorithm was given parameters,
 * also prints the table of all shapes, or, if none was tried, that the parameters have no effect. */
void cli_trials_print(const cli_result *result, FILE *stream);

/* Adds the list "tuned" if any shape was tried. */
void cli_trials_json(cli_json *json, const cli_result *result);

#endif
