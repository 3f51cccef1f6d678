/* SPDX-License-Identifier: Apache-2.0 */
/* Parses specifications such as "rmat:scale=17,edgefactor=8": a name and options. */
#include "base/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the position of key; -1 if there is none. */
static int place_of(const sl_spec *spec, const char *key) {
  for (int i = 0; i < spec->keys; i++)
    if (strcmp(spec->key[i], key) == 0)
      return i;
  return -1;
}

sley_status sl_spec_parse(const char *text, sl_spec *out) {
  *out = (sl_spec){0};
  size_t length = strlen(text);
  if (length >= SL_SPEC_TEXT)
    return sl_fail(SLEY_ERR_ARG, "'%.40s...': longer than %d characters", text, SL_SPEC_TEXT - 1);
  memcpy(out->text, text, length + 1);
  out->name = out->text;
  char *next = strchr(out->text, ':');
  if (next)
    *next++ = '\0';
  while (next && *next) {
    char *part = next;
    next = strpbrk(part, ",:");
    if (next)
      *next++ = '\0';
    if (*part == '\0')
      return sl_fail(SLEY_ERR_ARG, "'%s': an empty part", text);
    if (out->keys == SL_SPEC_KEYS)
      return sl_fail(SLEY_ERR_ARG, "'%s': more than %d parts", text, SL_SPEC_KEYS);
    char *equals = strchr(part, '=');
    if (equals)
      *equals++ = '\0';
    if (place_of(out, part) >= 0)
      return sl_fail(SLEY_ERR_ARG, "'%s': the key '%s' is given twice", text, part);
    out->key[out->keys] = part;
    out->value[out->keys++] = equals;
  }
  return SLEY_OK;
}

/* Returns the position of key, and marks it as used; -1 if there is none. */
static int find(sl_spec *spec, const char *key) {
  int i = place_of(spec, key);
  if (i >= 0)
    spec->used[i] = true;
  return i;
}

const char *sl_spec_text(sl_spec *spec, const char *key) {
  int i = find(spec, key);
  if (i < 0)
    return NULL;
  return spec->value[i] ? spec->value[i] : spec->key[i];
}

sley_status sl_parse_int(const char *text, const char *what, int64_t least, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  bool overflow = errno == ERANGE;
  if (end != text && *end == '^' && value == 2) {
    char *power_end;
    long power = strtol(end + 1, &power_end, 10);
    if (power_end != end + 1 && power >= 0 && power < 63) {
      value = 1LL << power;
      end = power_end;
    }
  } else if (end != text && *end && strchr("kmgKMG", *end)) {
    long long unit = strchr("kK", *end) ? 1000 : strchr("mM", *end) ? 1000000 : 1000000000;
    overflow |= __builtin_mul_overflow(value, unit, &value);
    end++;
  }
  if (end == text || *end || text[0] == ' ')
    return sl_fail(SLEY_ERR_ARG, "%s: '%s' is not a whole number", what, text);
  if (overflow || value < least || value > most)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is not within %lld .. %lld", what, text, (long long)least,
                   (long long)most);
  *out = value;
  return SLEY_OK;
}

sley_status sl_parse_real(const char *text, const char *what, double least, double most, double *out) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || isnan(value) || text[0] == ' ')
    return sl_fail(SLEY_ERR_ARG, "%s: '%s' is not a number", what, text);
  if (value < least || value > most)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is not within %g .. %g", what, text, least, most);
  *out = value;
  return SLEY_OK;
}

sley_status sl_spec_int(sl_spec *spec, const char *key, int64_t least, int64_t most, int64_t *value) {
  int i = find(spec, key);
  if (i < 0)
    return SLEY_OK;
  return sl_parse_int(spec->value[i] ? spec->value[i] : "", key, least, most, value);
}

sley_status sl_spec_real(sl_spec *spec, const char *key, double least, double most, double *value) {
  int i = find(spec, key);
  if (i < 0)
    return SLEY_OK;
  return sl_parse_real(spec->value[i] ? spec->value[i] : "", key, least, most, value);
}

sley_status sl_spec_done(const sl_spec *spec) {
  for (int i = 0; i < spec->keys; i++)
    if (!spec->used[i])
      return sl_fail(SLEY_ERR_ARG, "%s: unknown key '%s'", spec->name, spec->key[i]);
  return SLEY_OK;
}

/* ---- parameters, by a table */

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

/* Returns a number within "LEAST..MOST"; -1 if the text is not one. */
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

/* Returns the position of a word in "WORD|WORD"; -1 if it is not there. */
static int word_of(const char *values, const char *text, size_t length) {
  for (int place = 0;; place++) {
    size_t word = strcspn(values, "|");
    if (word == length && strncmp(values, text, length) == 0)
      return place;
    if (!values[word])
      return -1;
    values += word + 1;
  }
}

/* Reads one part KEY=VALUE. */
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
                                             : word_of(table[at].values, part + key + 1, length - key - 1);
  return value[at] >= 0 ? SLEY_OK : refuse(text, part, length, table);
}

sley_status sl_spec_read(const char *text, const sley_parameter *table, int *value) {
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
