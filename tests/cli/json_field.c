/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a field of a JSON file, for the shell tests: json_field FILE a.b.0.c. An array prints its length, an
 * object its number of fields. Exit status 1 if the file is no JSON, 2 if the field is missing. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *step(json_t *at, const char *name) {
  if (json_is_array(at))
    return json_array_get(at, (size_t)strtoul(name, NULL, 10));
  return json_object_get(at, name);
}

static void print(const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_STRING:
    puts(json_string_value(value));
    break;
  case JSON_INTEGER:
    printf("%lld\n", (long long)json_integer_value(value));
    break;
  case JSON_REAL:
    printf("%.17g\n", json_real_value(value));
    break;
  case JSON_ARRAY:
    printf("%zu\n", json_array_size(value));
    break;
  case JSON_OBJECT:
    printf("%zu\n", json_object_size(value));
    break;
  default:
    puts(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
  }
}

int main(int argc, char **argv) {
  json_error_t error;
  if (argc != 3)
    return 1;
  json_t *root = json_load_file(argv[1], 0, &error);
  if (!root) {
    fprintf(stderr, "%s:%d: %s\n", argv[1], error.line, error.text);
    return 1;
  }
  json_t *at = root;
  for (char *name = strtok(argv[2], "."); name && at; name = strtok(NULL, "."))
    at = step(at, name);
  if (at)
    print(at);
  else
    fprintf(stderr, "%s: no such field\n", argv[1]);
  json_decref(root);
  return at ? 0 : 2;
}
