/* SPDX-License-Identifier: Apache-2.0 */
/* Reads times measured by other commands from their JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "output/terminal.h"
#include "roofline/roofline.h"

static double time_of(const json_t *object) {
  return json_number_value(json_object_get(json_object_get(object, "time_ms"), "median"));
}

/* Bytes over the links that are the network in the roofline: messages if there are several nodes, else direct
 * links. Negative: not known. */
static double bytes_of(const json_t *object, int nodes) {
  const json_t *by_link = json_object_get(object, "volume_bytes");
  const json_t *bytes = json_object_get(by_link, nodes > 1 ? "message" : "direct");
  return json_is_number(bytes) ? json_number_value(bytes) : -1;
}

/* Returns true if the file lacks this whole number or it equals `wanted`, else false after one line on
 * stderr. */
static bool agrees(const char *path, const json_t *root, const char *name, int64_t wanted) {
  const json_t *found = json_object_get(root, name);
  if (!json_is_integer(found) || json_integer_value(found) == wanted)
    return true;
  cli_error("%s: its %s is %" JSON_INTEGER_FORMAT ", but here it is %" PRId64, path, name,
            json_integer_value(found), wanted);
  return false;
}

static cli_roofline_row *row_of(cli_roofline *r, const char *algo) {
  for (int i = 0; i < r->count; i++)
    if (strcmp(r->row[i].algo, algo) == 0)
      return &r->row[i];
  if (r->count == CLI_ROOFLINE_ROWS)
    return NULL;
  cli_roofline_row *row = &r->row[r->count++];
  *row = (cli_roofline_row){.line = r->row[0].line};
  snprintf(row->algo, sizeof row->algo, "%s", algo);
  return row;
}

static bool take(const char *path, const json_t *object, cli_roofline *r) {
  const char *algo = json_string_value(json_object_get(object, "algo"));
  const double ms = time_of(object);
  if (!algo || !(ms > 0)) {
    cli_error("%s: no algorithm and time in it: give what --json of sley spmm or spgemm has written", path);
    return false;
  }
  cli_roofline_row *row = row_of(r, algo);
  if (!row) {
    cli_error("%s: more than %d algorithms", path, CLI_ROOFLINE_ROWS);
    return false;
  }
  row->measured_ms = ms;
  row->measured_bytes = bytes_of(object, r->row[0].line.nodes);
  return true;
}

static bool take_all(const char *path, const json_t *root, cli_roofline *r) {
  const json_t *list = json_object_get(root, "algorithms");
  bool fits = agrees(path, root, "ranks", r->ranks) &&
              agrees(path, root, r->sparse ? "a_nnz" : "nnz", r->info.nnz) &&
              (r->sparse || agrees(path, root, "k", r->k));
  if (fits && !json_is_array(list))
    return take(path, root, r);
  for (size_t i = 0; fits && i < json_array_size(list); i++)
    fits = take(path, json_array_get(list, i), r);
  return fits;
}

bool cli_roofline_measured(const char *path, cli_roofline *r) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (!root) {
    if (error.line > 0)
      cli_error("%s: line %d: %s", path, error.line, error.text);
    else
      cli_error("%s: %s", path, error.text);
    return false;
  }
  const bool taken = take_all(path, root, r);
  json_decref(root);
  return taken;
}
