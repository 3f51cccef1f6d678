/* SPDX-License-Identifier: Apache-2.0 */
#include "output/changes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "output/terminal.h"
#include "ranks/processes.h"

enum { MOST = 16, LINE = 1280 };

static char said[MOST][LINE];
static int count;

void cli_changed(const char *format, ...) {
  char line[LINE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  for (int i = 0; i < count; i++)
    if (strcmp(said[i], line) == 0)
      return;
  if (count < MOST)
    memcpy(said[count++], line, sizeof line);
  if (cli_is_first())
    cli_say("%s", line);
}

void cli_no_effect(const char *command, const char *option, bool idle, const char *why) {
  if (idle && cli_given(option))
    cli_changed("%s: --%s has no effect: %s", command, option, why);
}

/* Returns true if the name is a generator whose seed the command supplies. */
static bool is_drawn(const char *name) {
  return name && strchr(name, ':') && access(name, F_OK) != 0 && !strstr(name, "seed=");
}

void cli_seed_no_effect(const char *command, bool draws, const char *matrix, const char *other,
                        const char *third) {
  cli_no_effect(command, "seed", !draws && !is_drawn(matrix) && !is_drawn(other) && !is_drawn(third),
                "nothing is drawn");
}

void cli_workgroup_bounded(const char *command, int64_t asked, int ranks) {
  if (asked > ranks)
    cli_changed("%s: --workgroup %lld is more than the %d ranks: they are one workgroup", command,
                (long long)asked, ranks);
}

void cli_transport_settled(const char *command, const char *asked, const char *ran) {
  if (asked && *ran && strcmp(asked, ran) != 0)
    cli_changed("%s: --transport %s is not available here: ranks ran over %s", command, asked, ran);
}

void cli_changes_json(json_t *object) {
  json_t *list = count > 0 ? json_array() : NULL;
  for (int i = 0; i < count && list; i++)
    json_array_append_new(list, json_string(said[i]));
  if (list)
    json_object_set_new(object, "changed", list);
}
