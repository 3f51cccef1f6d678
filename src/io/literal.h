/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers in a text that are accepted as values of a matrix. If a file declares whole numbers, only whole
 * numbers are accepted. In f64 only whole numbers that f64 holds exactly are accepted (narrower types round).
 * No finite value may become infinite in the dtype. */
#ifndef SLEY_IO_LITERAL_H
#define SLEY_IO_LITERAL_H

#include <math.h>

#include "base/types.h"
#include "io/text.h"

/* A file's declaration of its values. */
typedef enum sl_literal {
  SL_LITERAL_REAL,     /* real numbers: rounded */
  SL_LITERAL_UNTYPED,  /* no declaration: numbers written in digits alone are whole numbers */
  SL_LITERAL_WHOLE,    /* whole numbers */
  SL_LITERAL_UNSIGNED, /* whole numbers of at least 0 */
} sl_literal;

typedef struct sl_value_rule {
  sl_literal literal;
  sley_dtype dtype;
  double sure;        /* magnitude below which values need no further check */
  double sure_digits; /* magnitude below which numbers written in digits alone need no further check */
} sl_value_rule;

sl_value_rule sl_value_rule_of(sl_literal literal, sley_dtype dtype);

/* Returns the reason to refuse the number in [at, end), which sl_scan_real has read as value; NULL if it is
 * accepted. */
const char *sl_value_reason(const sl_value_rule *rule, const char *at, const char *end, double value);

/* Like sl_scan_real, without Fortran's bare signs. Also returns NULL if sl_value_reason has a reason to
   refuse the number. */
static inline const char *sl_scan_value(const sl_value_rule *rule, const char *at, double *out) {
  const char *end = sl_scan_real(at, false, out);
  if (!end || fabs(*out) < rule->sure)
    return end;
  if (fabs(*out) < rule->sure_digits) {
    const char *digit = at + (*at == '-' || *at == '+');
    while (digit < end && (unsigned)(unsigned char)*digit - '0' < 10)
      digit++;
    if (digit == end)
      return end;
  }
  return sl_value_reason(rule, at, end, *out) ? NULL : end;
}

/* Returns SLEY_ERR_INPUT for a refused value at `at`: with the reason, or with `otherwise` if it is not a
 * number. */
sley_status sl_value_fail(const sl_input *input, const char *at, const sl_value_rule *rule,
                          const char *otherwise);

#endif
