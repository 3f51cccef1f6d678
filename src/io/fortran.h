/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Fortran's formats that fixed-column matrix files use: one repeated number, e.g. (16I5),
 * (5E16.8), (1P,4D20.13). Source: ISO/IEC 1539-1, input editing of I, F, E, D and G. */
#ifndef SLEY_IO_FORTRAN_H
#define SLEY_IO_FORTRAN_H

#include "base/status.h"

typedef struct sl_fortran_format {
  char letter;  /* I, F, E, D or G */
  int per_line; /* numbers on a line */
  int width;    /* columns of a number */
  int decimals; /* digits after the point where a number has none */
  int scale;    /* P: a number without exponent is divided by 10^scale */
} sl_fortran_format;

/* Reads a format in parentheses at at (blanks before and inside are skipped); returns the byte after it, or
 * NULL if it is none of those above. Stops at the zero or newline that ends the line. */
const char *sl_fortran_parse(const char *at, sl_fortran_format *out);

/* The number in the columns [from, to), blanks around it allowed. False if there is none, or something else.
 */
bool sl_fortran_int(const char *from, const char *to, int64_t *out);
bool sl_fortran_real(const sl_fortran_format *format, const char *from, const char *to, double *out);

#endif
