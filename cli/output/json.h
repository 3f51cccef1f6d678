/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects built field by field; a failure is remembered and asked for once, at the end. */
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

/* The object inner becomes a field and belongs to json. */
void cli_json_object(cli_json *json, const char *name, cli_json inner);

/* A list of count objects, which then belong to json. */
void cli_json_list(cli_json *json, const char *name, const cli_json *objects, int count);

/* The object, or NULL if a field failed. */
json_t *cli_json_end(cli_json json);

#endif
