/* SPDX-License-Identifier: Apache-2.0 */
/* Fortran's formats, as fixed-column matrix files use them, and the numbers in their columns: e.g. (16I5),
 * (1X,8I9), (1P,4D20.13), (3(1P,E24.16)). Source: ISO/IEC 1539-1, format specification and input editing of
 * numbers. Edit descriptors that are understood: I, F, E, EN, ES, D, G; X, T, TL, TR, /, P, BN, BZ, and S,
 * SP, SS and :, which do nothing here; groups with repeat counts. */
#ifndef SLEY_IO_FORTRAN_H
#define SLEY_IO_FORTRAN_H

#include "base/status.h"

typedef enum sl_fortran_kind {
  SL_FORTRAN_INTEGER, /* I: a number of `width` columns */
  SL_FORTRAN_REAL,    /* F, E, EN, ES, D, G: the same, with `decimals` digits after a point it lacks */
  SL_FORTRAN_MOVE,    /* X, TR, TL: `width` columns on, or back */
  SL_FORTRAN_COLUMN,  /* T: to column `width`, counted from 0 */
  SL_FORTRAN_LINE,    /* /: to the next line */
  SL_FORTRAN_SCALE,   /* P: numbers without exponent are divided by 10^width */
  SL_FORTRAN_ZEROS,   /* BN, BZ: blanks in numbers that follow are left out (width 0) or zeros (1) */
} sl_fortran_kind;

typedef struct sl_fortran_item {
  sl_fortran_kind kind;
  int16_t width, decimals;
} sl_fortran_item;

enum { SL_FORTRAN_ITEMS = 512, SL_FORTRAN_WIDTH = 255 };

/* A format without its groups: the items in the order in which they are used. */
typedef struct sl_fortran_format {
  int count;
  int again;     /* the item with which a line after the last item begins */
  bool integers; /* all numbers are of I */
  sl_fortran_item item[SL_FORTRAN_ITEMS];
} sl_fortran_format;

/* Reads a format in parentheses at at (blanks before and inside are skipped); returns the byte after it, or
 * NULL if there is none, it has another descriptor or more than SL_FORTRAN_ITEMS items, or no number, which a
 * format needs from `again` on. Stops at the zero or newline that ends the line. */
const char *sl_fortran_parse(const char *at, sl_fortran_format *out);

/* Room for a number's characters, and the zeros that scanners want after them. */
enum { SL_FORTRAN_TEXT = SL_FORTRAN_WIDTH + 32 };

/* The number in the columns [from, to), under a scale factor, with blanks left out or, after the first digit,
 * taken as zeros. text receives it as sl_scan_real reads it, with its point and exponent as they count. False
 * if there is none, or something else. */
bool sl_fortran_int(bool zeros, const char *from, const char *to, int64_t *out);
bool sl_fortran_real(const sl_fortran_item *item, int scale, bool zeros, const char *from, const char *to,
                     char text[SL_FORTRAN_TEXT], double *out);

#endif
