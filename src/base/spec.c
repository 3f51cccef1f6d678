/* SPDX-License-Identifier: Apache-2.0 */
/* Parses specifications such as "rmat:scale=17,edgefactor=8": a name and options. */
#include "base/spec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The position of key; -1 if there is none. */
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

/* The position of key, which is marked as used; -1 if there is none. */
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
