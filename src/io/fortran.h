/* SPDX-License-Identifier: Apache-2.0 */
/* Fortran formats, as in matrix files with fixed columns, and the numbers in these columns: e.g. (16I5),
 * (1X,8I9), (1P,4D20.13), (3(1P,E24.16)). Source: ISO/IEC 1539-1, format specification and input editing of
 * numbers. Supported edit descriptors: I, F, E, EN, ES, D, G; X, T, TL, TR, /, P, BN, BZ, and S, SP, SS and
 * :, which have no effect here; groups with repeat counts. */
#ifndef SLEY_IO_FORTRAN_H
#define SLEY_IO_FORTRAN_H

#include "base/status.h"

typedef enum sl_fortran_kind {
  SL_FORTRAN_INTEGER, /* I: a number of `width` columns */
  SL_FORTRAN_REAL,    /* F, E, EN, ES, D, G: a number of `width` columns; without a point its last `decimals`
                         digits are the fraction */
  SL_FORTRAN_MOVE,    /* X, TR, TL: advance or go back by `width` columns */
  SL_FORTRAN_COLUMN,  /* T: continue at column `width`, counted from 0 */
  SL_FORTRAN_LINE,    /* /: continue on the next line */
  SL_FORTRAN_SCALE,   /* P: numbers without exponent are divided by 10^width */
  SL_FORTRAN_ZEROS,   /* BN, BZ: blanks in the following numbers are left out (width 0) or treated as zeros
                         (1) */
} sl_fortran_kind;

typedef struct sl_fortran_item {
  sl_fortran_kind kind;
  int16_t width, decimals;
} sl_fortran_item;

enum { SL_FORTRAN_ITEMS = 512, SL_FORTRAN_WIDTH = 255 };

/* A format without groups: the items in the order of use. */
typedef struct sl_fortran_format {
  int count;
  int again;     /* the item with which a line that follows the last item begins */
  bool integers; /* all numbers have descriptor I */
  sl_fortran_item item[SL_FORTRAN_ITEMS];
} sl_fortran_format;

/* Parses a format in parentheses at `at` (blanks before and inside are skipped). Returns the byte after it,
 * or NULL if there is no format, it has another descriptor or more than SL_FORTRAN_ITEMS items, or it has no
 * number from `again` on. Stops at the zero or newline that ends the line. */
const char *sl_fortran_parse(const char *at, sl_fortran_format *out);

/* Bytes for a number's characters, and for the zeros that scanners need after them. */
enum { SL_FORTRAN_TEXT = SL_FORTRAN_WIDTH + 32 };

/* Reads the number in columns [from, to), with a scale factor; blanks are left out or, after the first digit,
 * treated as zeros. text receives the number for sl_scan_real, with its effective point and exponent. Returns
 * false if there is no number, or something else. */
bool sl_fortran_int(bool zeros, const char *from, const char *to, int64_t *out);
bool sl_fortran_real(const sl_fortran_item *item, int scale, bool zeros, const char *from, const char *to,
                     char text[SL_FORTRAN_TEXT], double *out);

#endif
