/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the values of tables of options as JSON. */
#include "options_json.h"

#include <math.h>
#include <string.h>

enum { NAME_ROOM = 64 };

static json_t *value_of(const cli_option *option, const void *settings) {
  const char *place = (const char *)settings + option->offset;
  switch (option->kind) {
  case CLI_FLAG:
  case CLI_SWITCH:
    return json_boolean(*(const bool *)place);
  case CLI_INT:
  case CLI_SIZE:
    return json_integer(*(const int64_t *)place);
  case CLI_REAL:
    return isfinite(*(const double *)place) ? json_real(*(const double *)place) : json_null();
  default:
    break;
  }
  const char *text = *(const char *const *)place;
  json_t *value = text ? json_string(text) : NULL; /* also NULL if the text is not UTF-8 */
  return value ? value : json_null();
}

void cli_options_json(const cli_command *command, const void *settings, json_t *to) {
  json_t *all = to ? json_object() : NULL;
  const cli_option *option;
  for (int i = 0; all && (option = cli_option_at(command, i)); i++) {
    char name[NAME_ROOM];
    size_t n = 0;
    for (; option->name[n] && n < NAME_ROOM - 1; n++)
      name[n] = option->name[n] == '-' ? '_' : option->name[n];
    name[n] = 0;
    json_object_set_new(all, name, value_of(option, settings));
  }
  if (all)
    json_object_set_new(to, "settings", all);
}
