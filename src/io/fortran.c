/* SPDX-License-Identifier: Apache-2.0 */
/* Fortran formats of fixed-column files, and the numbers in their columns. */
#include "io/fortran.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "io/text.h"

enum { MOST_COLUMNS = 255 };

static const char *skip(const char *at) {
  return sl_skip_blanks(at);
}

/* A small whole number of digits; NULL if there is none or it is above limit. */
static const char *scan_small(const char *at, int limit, int *out) {
  if (!isdigit((unsigned char)*at))
    return NULL;
  int value = 0;
  for (; isdigit((unsigned char)*at); at++) {
    value = 10 * value + (*at - '0');
    if (value > limit)
      return NULL;
  }
  *out = value;
  return at;
}

const char *sl_fortran_parse(const char *at, sl_fortran_format *out) {
  *out = (sl_fortran_format){.per_line = 1};
  at = skip(at);
  if (*at++ != '(')
    return NULL;
  at = skip(at);
  int number = 1, sign = 1;
  bool counted = false;
  if (*at == '-' || *at == '+')
    sign = *at++ == '-' ? -1 : 1;
  const char *next = scan_small(at, MOST_COLUMNS, &number);
  if (next) {
    at = skip(next);
    counted = true;
  } else if (sign < 0) {
    return NULL;
  }
  if (counted && toupper((unsigned char)*at) == 'P') {
    out->scale = sign * number;
    at = skip(at + 1);
    if (*at == ',')
      at = skip(at + 1);
    number = 1;
    if ((next = scan_small(at, MOST_COLUMNS, &number)))
      at = skip(next);
  } else if (sign < 0) {
    return NULL;
  }
  out->per_line = number;
  out->letter = (char)toupper((unsigned char)*at);
  if (number < 1 || !out->letter || !strchr("IFEDG", out->letter))
    return NULL;
  at = scan_small(skip(at + 1), MOST_COLUMNS, &out->width);
  if (!at || out->width < 1)
    return NULL;
  at = skip(at);
  if (*at == '.') {
    at = scan_small(skip(at + 1), MOST_COLUMNS, &out->decimals);
    if (!at)
      return NULL;
    at = skip(at);
    int exponent_digits;
    if (out->letter != 'I' && toupper((unsigned char)*at) == 'E') {
      at = scan_small(skip(at + 1), MOST_COLUMNS, &exponent_digits);
      if (!at)
        return NULL;
      at = skip(at);
    }
  }
  return *at == ')' ? at + 1 : NULL;
}

/* Copies the columns without the blanks around them, zero-ended; the number of characters. */
static int trim(const char *from, const char *to, char text[MOST_COLUMNS + 1]) {
  while (from < to && (*from == ' ' || *from == '\t'))
    from++;
  while (from < to && (to[-1] == ' ' || to[-1] == '\t'))
    to--;
  int length = to - from > MOST_COLUMNS ? 0 : (int)(to - from);
  memcpy(text, from, (size_t)length);
  text[length] = 0;
  return length;
}

bool sl_fortran_int(const char *from, const char *to, int64_t *out) {
  char text[MOST_COLUMNS + 1];
  int length = trim(from, to, text);
  return length > 0 && sl_scan_int(text, out) == text + length;
}

bool sl_fortran_real(const sl_fortran_format *format, const char *from, const char *to, double *out) {
  char text[MOST_COLUMNS + SL_INPUT_PADDING]; /* which the scanner may look at */
  int length = trim(from, to, text);
  if (length == 0 || sl_scan_real(text, true, out) != text + length)
    return false;
  if (format->letter == 'I')
    return strspn(text, "+-0123456789") == (size_t)length;
  if (!isfinite(*out) || *out == 0)
    return true;
  bool point = strchr(text, '.') != NULL,
       exponent = strpbrk(text, "eEdD") != NULL || strpbrk(text + 1, "+-") != NULL;
  int shift = (point ? 0 : format->decimals) + (exponent ? 0 : format->scale);
  if (shift > 0)
    *out /= pow(10, shift);
  else if (shift < 0)
    *out *= pow(10, -shift);
  return true;
}
