/* SPDX-License-Identifier: Apache-2.0 */
/* Records how files were read, prints it in reports, and writes it to JSON. */
#include "matrix/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "output/terminal.h"

typedef struct noted {
  char *name;
  sley_matrix_source source;
} noted;

static noted *list;
static int count, printed;

void cli_source_note(const char *name, const sley_matrix_source *source) {
  if (!source->format)
    return;
  for (int i = 0; i < count; i++)
    if (strcmp(list[i].name, name) == 0)
      return;
  noted *longer = realloc(list, ((size_t)count + 1) * sizeof *list);
  char *copy = longer ? strdup(name) : NULL;
  list = longer ? longer : list;
  if (copy) /* if memory for the record is short, the report leaves out this file */
    list[count++] = (noted){copy, *source};
}

void cli_sources_print(FILE *stream) {
  for (; printed < count; printed++) {
    const sley_matrix_source *s = &list[printed].source;
    fprintf(stream, "format     %s: %s", cli_shown(list[printed].name), s->description);
    if (s->base >= 0)
      fprintf(stream, ", rows and columns from %d: %s", s->base, s->base_reason);
    if (s->unread_lines > 0)
      fprintf(stream, "; %" PRId64 " lines have fields after the value, which are not read", s->unread_lines);
    fprintf(stream, "\n");
  }
}

bool cli_sources_json(json_t *object) {
  if (count == 0)
    return true;
  json_t *inputs = json_array();
  for (int i = 0; i < count; i++) {
    const sley_matrix_source *s = &list[i].source;
    cli_json json = cli_json_start();
    cli_json_text(&json, "name", list[i].name);
    cli_json_text(&json, "format", s->format);
    cli_json_text(&json, "description", s->description);
    if (s->base >= 0)
      cli_json_int(&json, "base", s->base);
    else
      cli_json_text(&json, "base", NULL);
    cli_json_text(&json, "base_reason", s->base_reason);
    cli_json_int(&json, "unread_lines", s->unread_lines);
    json_array_append_new(inputs, cli_json_end(json));
  }
  return (int)json_array_size(inputs) == count && json_object_set_new(object, "inputs", inputs) == 0;
}
