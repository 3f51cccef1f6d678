/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for the numbers of a text. */
#include "io/literal.h"

#include <ctype.h>

#include "base/value.h"

sl_value_rule sl_value_rule_of(sl_literal literal, sley_dtype dtype) {
  double limit = sl_dtype_limit(dtype), whole = limit < SL_MOST_WHOLE ? limit : SL_MOST_WHOLE;
  sl_value_rule rule = {.literal = literal, .dtype = dtype};
  rule.sure = literal == SL_LITERAL_REAL ? limit : literal == SL_LITERAL_UNTYPED ? whole : 0;
  rule.sure_digits = literal == SL_LITERAL_WHOLE ? whole : 0;
  return rule;
}

/* The components of a decimal number. */
typedef struct decimal {
  bool word;     /* true: an infinity or NaN, written in letters */
  bool digits;   /* only digits, after an optional sign */
  bool whole;    /* true: its value has no fraction */
  uint64_t lead; /* its first 16 significant digits, padded with zeros */
} decimal;

static decimal take_apart(const char *at, const char *end) {
  enum { LEAD = 16 };
  decimal d = {.digits = true};
  int64_t fraction = 0, last = INT64_MIN,
          exponent = 0; /* last: number of digits after the point, up to the last nonzero digit */
  int lead = 0;
  bool point = false;
  at += *at == '-' || *at == '+';
  d.word = isalpha((unsigned char)*at);
  for (; at < end && (isdigit((unsigned char)*at) || *at == '.'); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    fraction += point;
    if (*at != '0')
      last = fraction;
    if (lead < LEAD && (lead > 0 || *at != '0')) {
      d.lead = 10 * d.lead + (uint64_t)(*at - '0');
      lead++;
    }
  }
  for (; lead > 0 && lead < LEAD; lead++)
    d.lead *= 10;
  d.digits = at == end && !point;
  if (at < end && !d.word) {
    at += isalpha((unsigned char)*at) != 0;
    bool below = *at == '-';
    at += *at == '-' || *at == '+';
    for (; at < end && exponent < 1000000; at++)
      exponent = 10 * exponent + (*at - '0');
    exponent = below ? -exponent : exponent;
  }
  d.whole = !d.word && last <= exponent;
  return d;
}

const char *sl_value_reason(const sl_value_rule *rule, const char *at, const char *end, double value) {
  const decimal d = take_apart(at, end);
  const double size = fabs(value);
  bool typed = rule->literal == SL_LITERAL_WHOLE || rule->literal == SL_LITERAL_UNSIGNED;
  if (d.word)
    return NULL;
  if (typed && !d.whole)
    return "is no whole number, and the file's header promises integers";
  if (rule->literal == SL_LITERAL_UNSIGNED && value < 0)
    return "is negative, and the file's header promises unsigned integers";
  if (rule->dtype == SLEY_F64 && (typed || (rule->literal == SL_LITERAL_UNTYPED && d.digits)) &&
      (size > SL_MOST_WHOLE || (size == SL_MOST_WHOLE && d.lead > (uint64_t)SL_MOST_WHOLE)))
    return typed
               ? "is beyond 2^53, where f64 does not hold every whole number; write real in the header to "
                 "have it rounded"
               : "is beyond 2^53, where f64 does not hold every whole number; write it with a point to have "
                 "it rounded";
  if (isinf(value))
    return sl_dtype_beyond(SLEY_F64);
  return size < sl_dtype_limit(rule->dtype) ? NULL : sl_dtype_beyond(rule->dtype);
}

sley_status sl_value_fail(const sl_input *input, const char *at, const sl_value_rule *rule,
                          const char *otherwise) {
  enum { SHOWN = 40 };
  double value;
  const char *end = sl_scan_real(at, false, &value);
  const char *reason = end ? sl_value_reason(rule, at, end, value) : NULL;
  if (!reason)
    return sl_text_fail(input, at, "%s", otherwise);
  int length = end - at > SHOWN ? SHOWN : (int)(end - at);
  return sl_text_fail(input, at, "the value %.*s%s %s", length, at, end - at > SHOWN ? "..." : "", reason);
}
