/* SPDX-License-Identifier: Apache-2.0 */
/* Fortran formats of fixed-column files, and the numbers in their columns. */
#include "io/fortran.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "io/text.h"

/* ---- formats */

enum { MOST_DEPTH = 16 };

static const char *skip(const char *at) {
  return sl_skip_blanks(at);
}

static char letter_at(const char *at) {
  return (char)toupper((unsigned char)*at);
}

/* Scans a small whole number, with optional blanks between its digits; returns NULL if there is no number or
 * it is above limit. */
static const char *scan_small(const char *at, int limit, int *out) {
  if (!isdigit((unsigned char)*at))
    return NULL;
  int value = 0;
  for (; isdigit((unsigned char)*at); at = skip(at + 1)) {
    value = 10 * value + (*at - '0');
    if (value > limit)
      return NULL;
  }
  *out = value;
  return at;
}

/* Appends an item `times` times. */
static bool append(sl_fortran_format *f, int times, sl_fortran_kind kind, int width, int decimals) {
  if (times < 1 || times > SL_FORTRAN_ITEMS - f->count)
    return false;
  for (int i = 0; i < times; i++)
    f->item[f->count++] = (sl_fortran_item){kind, (int16_t)width, (int16_t)decimals};
  return true;
}

/* Parses "I5", "F8.3", "ES16.8E3" at its letter; returns the byte after it, or NULL. */
static const char *parse_number(const char *at, int times, sl_fortran_format *f) {
  int width, decimals = 0, exponent_digits;
  char letter = letter_at(at);
  bool integer = letter == 'I';
  at = skip(at + 1);
  if (letter == 'E' && (letter_at(at) == 'N' || letter_at(at) == 'S'))
    at = skip(at + 1);
  at = scan_small(at, SL_FORTRAN_WIDTH, &width);
  if (!at || width < 1)
    return NULL;
  if (*at == '.') {
    at = scan_small(skip(at + 1), SL_FORTRAN_WIDTH, &decimals);
    if (at && !integer && letter_at(at) == 'E')
      at = scan_small(skip(at + 1), SL_FORTRAN_WIDTH, &exponent_digits);
  }
  return at && append(f, times, integer ? SL_FORTRAN_INTEGER : SL_FORTRAN_REAL, width, decimals) ? at : NULL;
}

/* Parses "T9", "TL9", "TR9", "BN", "BZ", "S", "SP", "SS" at its first letter; returns the byte after it, or
 * NULL. */
static const char *parse_control(const char *at, sl_fortran_format *f) {
  char letter = letter_at(at), next = letter_at(skip(at + 1));
  int columns;
  at = skip(at + 1);
  if (letter == 'B')
    return (next == 'N' || next == 'Z') && append(f, 1, SL_FORTRAN_ZEROS, next == 'Z', 0) ? skip(at + 1)
                                                                                          : NULL;
  if (letter == 'S')
    return next == 'P' || next == 'S' ? skip(at + 1) : at;
  bool moves = next == 'L' || next == 'R';
  at = scan_small(moves ? skip(at + 1) : at, SL_FORTRAN_WIDTH, &columns);
  if (!at || columns < 1)
    return NULL;
  bool fits = moves ? append(f, 1, SL_FORTRAN_MOVE, next == 'L' ? -columns : columns, 0)
                    : append(f, 1, SL_FORTRAN_COLUMN, columns - 1, 0);
  return fits ? at : NULL;
}

/* Parses the items after an opening parenthesis, up to the closing one; returns the byte after the closing
   one, or NULL. */
static const char *parse_group(const char *at, int depth, sl_fortran_format *f) {
  for (at = skip(at); *at != ')'; at = skip(at)) {
    int times = 1, sign = *at == '-' ? -1 : 1;
    bool sized = *at == '-' || *at == '+';
    const char *counted = scan_small(sized ? skip(at + 1) : at, SL_FORTRAN_WIDTH, &times);
    if (sized && (!counted || letter_at(counted) != 'P'))
      return NULL;
    at = counted ? counted : at;
    char letter = letter_at(at);
    int first = f->count;
    if (letter == '(') {
      at = depth < MOST_DEPTH ? parse_group(at + 1, depth + 1, f) : NULL;
      int size = f->count - first;
      if (!at || times < 1 || (int64_t)size * times > SL_FORTRAN_ITEMS - first)
        return NULL;
      for (int i = size; i < size * times; i++)
        f->item[f->count++] = f->item[first + i % size];
      if (depth == 0)
        f->again = first;
    } else if (letter != 0 && strchr("IFEDG", letter)) {
      at = parse_number(at, times, f);
    } else if (letter == 'P' && counted) {
      at = append(f, 1, SL_FORTRAN_SCALE, sign * times, 0) ? at + 1 : NULL;
    } else if (letter == 'X') {
      at = append(f, 1, SL_FORTRAN_MOVE, times, 0) ? at + 1 : NULL;
    } else if (letter == '/') {
      at = append(f, times, SL_FORTRAN_LINE, 0, 0) ? at + 1 : NULL;
    } else if (!counted && letter != 0 && strchr("TBS", letter)) {
      at = parse_control(at, f);
    } else if (!counted && (letter == ':' || letter == ',')) {
      at++;
    } else {
      return NULL;
    }
    if (!at)
      return NULL;
  }
  return at + 1;
}

const char *sl_fortran_parse(const char *at, sl_fortran_format *out) {
  out->count = out->again = 0;
  at = skip(at);
  if (*at != '(' || !(at = parse_group(at + 1, 0, out)))
    return NULL;
  bool number = false;
  out->integers = true;
  for (int i = 0; i < out->count; i++) {
    number |= i >= out->again && out->item[i].kind <= SL_FORTRAN_REAL;
    out->integers &= out->item[i].kind != SL_FORTRAN_REAL;
  }
  return number ? at : NULL;
}

/* ---- numbers */

/* Copies a field without its blanks, zero-terminated. Returns the number of characters, 0 if there are none
 * or too many. */
static int copy_field(bool zeros, const char *from, const char *to, char text[SL_FORTRAN_TEXT]) {
  int length = 0;
  if (to - from > SL_FORTRAN_WIDTH)
    return 0;
  for (; from < to; from++)
    if (*from != ' ')
      text[length++] = *from;
    else if (zeros && length > 0)
      text[length++] = '0';
  text[length] = 0;
  return length;
}

bool sl_fortran_int(bool zeros, const char *from, const char *to, int64_t *out) {
  char text[SL_FORTRAN_TEXT];
  int length = copy_field(zeros, from, to, text);
  return length > 0 && sl_scan_int(text, out) == text + length;
}

bool sl_fortran_real(const sl_fortran_item *item, int scale, bool zeros, const char *from, const char *to,
                     char text[SL_FORTRAN_TEXT], double *out) {
  enum { MOST_EXPONENT = 1000000 };
  int length = copy_field(zeros, from, to, text);
  if (length == 0 || sl_scan_real(text, true, out) != text + length)
    return false;
  const char *first = text + (*text == '+' || *text == '-');
  if (isalpha((unsigned char)*first))
    return true; /* an infinity, or NaN */
  size_t digits = strspn(first, "0123456789."), exponent = length - (size_t)(first - text) - digits;
  int shift = (memchr(first, '.', digits) ? 0 : item->decimals) + (exponent > 0 ? 0 : scale);
  if (shift == 0)
    return true;
  /* The exponent is changed, not the value, so the number is rounded once. */
  char *mark = text + (first - text) + digits, *at = mark + (isalpha((unsigned char)*mark) != 0);
  int64_t power = 0;
  if (exponent > 0 && (!sl_scan_int(at, &power) || power > MOST_EXPONENT || power < -MOST_EXPONENT))
    power = *at == '-' ? -MOST_EXPONENT : MOST_EXPONENT;
  snprintf(mark, SL_FORTRAN_TEXT - (size_t)(mark - text), "e%d", (int)power - shift);
  return sl_scan_real(text, true, out) != NULL;
}
