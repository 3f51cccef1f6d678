/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_BYTES = 512, SHOWN = 60, DIGITS = 9 };

static sley_status refuse(const char *text, const char *part, size_t length, const sley_parameter *table) {
  char known[KNOWN_BYTES] = "";
  int name = (int)strcspn(text, ":");
  for (size_t used = 0; table->key && used < sizeof known; table++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s=%s", used > 0 ? ", " : "", table->key,
                             table->values);
  if (!*known)
    return sl_fail(SLEY_ERR_ARG, "%.*s: \"%.*s\" is not known: it takes no parameters", name, text,
                   (int)(length < SHOWN ? length : SHOWN), part);
  return sl_fail(SLEY_ERR_ARG, "%.*s: \"%.*s\" is not known; its parameters are %s", name, text,
                 (int)(length < SHOWN ? length : SHOWN), part, known);
}

/* A number within "LEAST..MOST"; -1: it is none. */
static int number_of(const char *values, const char *text, size_t length) {
  int number = 0;
  if (length == 0 || length > DIGITS)
    return -1;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9')
      return -1;
    number = 10 * number + (text[i] - '0');
  }
  return number >= atoi(values) && number <= atoi(strstr(values, "..") + 2) ? number : -1;
}

/* The place of a word in "WORD|WORD"; -1: it is not there. */
static int place_of(const char *values, const char *text, size_t length) {
  for (int place = 0;; place++) {
    size_t word = strcspn(values, "|");
    if (word == length && strncmp(values, text, length) == 0)
      return place;
    if (!values[word])
      return -1;
    values += word + 1;
  }
}

/* One part KEY=VALUE. */
static sley_status read_part(const char *text, const char *part, size_t length, const sley_parameter *table,
                             int *value) {
  size_t key = strcspn(part, "=,");
  int at = 0;
  while (table[at].key && (strlen(table[at].key) != key || strncmp(table[at].key, part, key) != 0))
    at++;
  if (!table[at].key || key >= length)
    return refuse(text, part, length, table);
  if (value[at] >= 0)
    return sl_fail(SLEY_ERR_ARG, "%.*s: %s is given twice: leave one of the two out", (int)strcspn(text, ":"),
                   text, table[at].key);
  value[at] = strstr(table[at].values, "..") ? number_of(table[at].values, part + key + 1, length - key - 1)
                                             : place_of(table[at].values, part + key + 1, length - key - 1);
  return value[at] >= 0 ? SLEY_OK : refuse(text, part, length, table);
}

sley_status sl_parameters_read(const char *text, const sley_parameter *table, int *value) {
  for (int i = 0; table[i].key; i++)
    value[i] = -1;
  const char *part = strchr(text, ':');
  while (part) {
    size_t length = strcspn(++part, ",");
    SL_TRY(read_part(text, part, length, table, value));
    part = part[length] ? part + length : NULL;
  }
  return SLEY_OK;
}
