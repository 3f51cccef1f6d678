/* SPDX-License-Identifier: Apache-2.0 */
/* Builds JSON objects field by field. */
#include "output/json.h"

#include <math.h>

#include "output/terminal.h"

/* jansson treats a NULL value or a NULL object as a failure, and releases the other one. */
static void set(cli_json *json, const char *name, json_t *value) {
  if (json_object_set_new(json->object, name, value) != 0)
    json->whole = false;
}

cli_json cli_json_start(void) {
  json_t *object = json_object();
  return (cli_json){.object = object, .whole = object != NULL};
}

void cli_json_int(cli_json *json, const char *name, int64_t value) {
  set(json, name, json_integer((json_int_t)value));
}

void cli_json_real(cli_json *json, const char *name, double value) {
  set(json, name, isfinite(value) ? json_real(value) : json_null());
}

void cli_json_bool(cli_json *json, const char *name, bool value) {
  set(json, name, json_boolean(value));
}

void cli_json_text(cli_json *json, const char *name, const char *value) {
  json_t *text = value ? json_string(value) : json_null();
  set(json, name, text ? text : json_string(cli_shown(value))); /* text that is not UTF-8 is stored as reports
                                                                   show it */
}

void cli_json_object(cli_json *json, const char *name, cli_json inner) {
  set(json, name, cli_json_end(inner));
}

void cli_json_list(cli_json *json, const char *name, const cli_json *objects, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++)
    if (json_array_append_new(list, cli_json_end(objects[i])) != 0)
      json->whole = false;
  set(json, name, list);
}

json_t *cli_json_end(cli_json json) {
  if (json.whole)
    return json.object;
  json_decref(json.object);
  return NULL;
}
