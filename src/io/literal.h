/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of a text are values of a matrix, and why others are refused: whole numbers where the file
 * promises them, in f64 only as far as it holds each (narrower types round what they read), and no finite
 * value that becomes infinite in the dtype. */
#ifndef SLEY_IO_LITERAL_H
#define SLEY_IO_LITERAL_H

#include <math.h>

#include "base/types.h"
#include "io/text.h"

/* What a file says of its values. */
typedef enum sl_literal {
  SL_LITERAL_REAL,     /* real numbers: rounded */
  SL_LITERAL_UNTYPED,  /* nothing: what is written in digits alone is a whole number */
  SL_LITERAL_WHOLE,    /* whole numbers */
  SL_LITERAL_UNSIGNED, /* whole numbers of at least 0 */
} sl_literal;

typedef struct sl_value_rule {
  sl_literal literal;
  sley_dtype dtype;
  double sure;        /* values of a smaller magnitude need no second look */
  double sure_digits; /* the same of what is written in digits alone */
} sl_value_rule;

sl_value_rule sl_value_rule_of(sl_literal literal, sley_dtype dtype);

/* Why the number in [at, end), which sl_scan_real has read as value, is refused; NULL if it is not. */
const char *sl_value_reason(const sl_value_rule *rule, const char *at, const char *end, double value);

/* sl_scan_real without Fortran's bare signs; NULL also where sl_value_reason has a reason. */
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

/* SLEY_ERR_INPUT for a value at at that was refused: the reason, or `otherwise` if it is no number. */
sley_status sl_value_fail(const sl_input *input, const char *at, const sl_value_rule *rule,
                          const char *otherwise);

#endif
