/* SPDX-License-Identifier: Apache-2.0 */
/* Builds JSON objects field by field. A failure is recorded, and reported once by cli_json_end. */
#ifndef SLEY_CLI_OUTPUT_JSON_H
#define SLEY_CLI_OUTPUT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct cli_json {
  json_t *object;
  bool whole; /* no field has failed so far */
} cli_json;

cli_json cli_json_start(void);
void cli_json_int(cli_json *json, const char *name, int64_t value);
void cli_json_real(cli_json *json, const char *name, double value); /* infinities and NaN become null */
void cli_json_bool(cli_json *json, const char *name, bool value);
void cli_json_text(cli_json *json, const char *name, const char *value); /* NULL becomes null */

/* Adds the object inner as a field; json takes ownership of it. */
void cli_json_object(cli_json *json, const char *name, cli_json inner);

/* Adds a list of count objects; json takes ownership of them. */
void cli_json_list(cli_json *json, const char *name, const cli_json *objects, int count);

/* Returns the object, or NULL if adding a field failed. */
json_t *cli_json_end(cli_json json);

#endif
