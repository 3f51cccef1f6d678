/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers and lines of text, and adds their position to messages. */
#define _GNU_SOURCE
#include "io/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/locale.h"

static sley_status fail_at(sley_status status, const sl_input *input, const char *at, const char *format,
                           va_list arguments) __attribute__((format(printf, 4, 0)));

static sley_status fail_at(sley_status status, const sl_input *input, const char *at, const char *format,
                           va_list arguments) {
  char message[SL_ERROR_TEXT];
  sl_text_vformat(message, sizeof message, format, arguments);
  int64_t line = input->lines_before + 1;
  for (const char *next = input->begin; next < at && (next = memchr(next, '\n', (size_t)(at - next))); next++)
    line++;
  return sl_fail(status, "%s:%lld: %s", input->name, (long long)line, message);
}

sley_status sl_text_fail(const sl_input *input, const char *at, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  sley_status status = fail_at(SLEY_ERR_INPUT, input, at, format, arguments);
  va_end(arguments);
  return status;
}

sley_status sl_text_fail_as(sley_status status, const sl_input *input, const char *at, const char *format,
                            ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_at(status, input, at, format, arguments);
  va_end(arguments);
  return status;
}

const char *sl_next_line(const char *at, const char *end) {
  if (at >= end)
    return end;
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  return newline ? newline + 1 : end;
}

static const char *skip_to_data(const char *at, const char *end, const char *comments) {
  while (at < end) {
    at = sl_skip_blanks(at);
    if (at < end && *at != '\n' && (*at == 0 || !strchr(comments, *at)))
      return at;
    at = sl_next_line(at, end);
  }
  return end;
}

bool sl_text_next_data(sl_text *text, const char *comments) {
  const char *end = text->input->end, *at = text->at;
  bool inside = at > text->input->begin && at[-1] != '\n';
  text->at = skip_to_data(inside ? sl_next_line(at, end) : at, end, comments);
  return text->at < end;
}

int sl_count_tokens(const char *at, const char *end, int most) {
  int tokens = 0;
  for (at = sl_skip_blanks(at); at < end && *at != '\n' && tokens < most; at = sl_skip_blanks(at)) {
    tokens++;
    while (at < end && (!sl_token_ends(at) || *at == 0))
      at++;
  }
  return tokens;
}

int64_t sl_count_lines(const char *begin, const char *end) {
  int64_t lines = 0;
  for (const char *at = begin; at < end;) {
    /* Bytes are summed in 8-bit lanes, which a block of 255 vectors cannot overflow; compilers vectorise
     * this. */
    int64_t left = end - at;
    if (left > 1 << 14)
      left = 1 << 14;
    uint32_t block = 0;
    for (int64_t i = 0; i < left; i++)
      block += at[i] == '\n';
    lines += block;
    at += left;
  }
  return lines + (end > begin && end[-1] != '\n');
}

int64_t sl_count_data_lines(const char *begin, const char *end, const char *comments) {
  int64_t lines = 0;
  for (const char *at = begin; (at = skip_to_data(at, end, comments)) < end; at = sl_next_line(at, end))
    lines++;
  return lines;
}

const char *sl_scan_int(const char *at, int64_t *out) {
  bool negative = *at == '-';
  if (*at == '-' || *at == '+')
    at++;
  const char *start = at;
  int64_t value = 0;
  for (unsigned digit; (digit = (unsigned)(unsigned char)*at - '0') < 10; at++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_sub_overflow(value, (int64_t)digit, &value)) /* negative numbers have a larger range */
      return NULL;
  if (at == start || (!negative && value == INT64_MIN))
    return NULL;
  *out = negative ? value : -value;
  return at;
}

/* -------------------------------------------------------------------------------------------------------
 * reals */

enum { EXACT_DIGITS = 19, EXACT_POWER = 27 }; /* 10^19 and 5^27 fit 64 bits */

static const double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* clang-format off */
static const uint64_t power_of_five[EXACT_POWER + 1] = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125,
    6103515625, 30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625,
    476837158203125, 2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125,
    1490116119384765625, 7450580596923828125};
/* clang-format on */

/* 2^127 / d, rounded down, for d = 5^p shifted left until its top bit is bit 63; the first is not used. */
/* clang-format off */
static const uint64_t reciprocal_of_five[EXACT_POWER + 1] = {
    0, 0xcccccccccccccccc, 0xa3d70a3d70a3d70a, 0x83126e978d4fdf3b, 0xd1b71758e219652b, 0xa7c5ac471b478423,
    0x8637bd05af6c69b5, 0xd6bf94d5e57a42bc, 0xabcc77118461cefc, 0x89705f4136b4a597, 0xdbe6fecebdedd5be,
    0xafebff0bcb24aafe, 0x8cbccc096f5088cb, 0xe12e13424bb40e13, 0xb424dc35095cd80f, 0x901d7cf73ab0acd9,
    0xe69594bec44de15b, 0xb877aa3236a4b449, 0x9392ee8e921d5d07, 0xec1e4a7db69561a5, 0xbce5086492111aea,
    0x971da05074da7bee, 0xf1c90080baf72cb1, 0xc16d9a0095928a27, 0x9abe14cd44753b52, 0xf79687aed3eec551,
    0xc612062576589dda, 0x9e74d1b791e07e48};
/* clang-format on */

/* Divides mantissa x 2^63 by d, rounded down, for a mantissa with its top bit set; *rest: whether there is a
 * remainder; d as above. The product with the reciprocal is too small by at most 2, or by at most 4 once the
 * top bit is bit 63. The division is needed only if that could change the rounding of the bits above the
 * lowest 11. */
static uint64_t divide(uint64_t mantissa, int power, uint64_t *rest) {
  enum { LOW_BITS = 0x7ff, HALF = 0x400, MOST_WRONG = 4 };
  uint64_t quotient = (uint64_t)((unsigned __int128)mantissa * reciprocal_of_five[power] >> 64);
  uint64_t low = (quotient >> 63 ? quotient : quotient << 1) & LOW_BITS;
  *rest = 1;
  if (low < HALF - MOST_WRONG || low > HALF)
    return quotient;
  uint64_t divisor = power_of_five[power];
  divisor <<= __builtin_clzll(divisor);
  unsigned __int128 dividend = (unsigned __int128)mantissa << 63;
  quotient = (uint64_t)(dividend / divisor);
  *rest = dividend != (unsigned __int128)quotient * divisor;
  return quotient;
}

/* Computes mantissa x 10^power, mantissa > 0 and |power| <= EXACT_POWER, rounded once: 10^p = 5^p 2^p, the
 * product with 5^p (or the quotient by 5^-p) is held to 63 bits or more with a flag for a nonzero remainder,
 * then rounded to even. */
static double round_exactly(uint64_t mantissa, int power) {
  int lead = __builtin_clzll(mantissa), exponent;
  uint64_t top, rest;
  mantissa <<= lead;
  if (power >= 0) {
    unsigned __int128 product = (unsigned __int128)mantissa * power_of_five[power];
    int shift =
        64 - __builtin_clzll(power_of_five[power]); /* the product has 63 + shift or 64 + shift bits */
    top = (uint64_t)(product >> shift);
    rest = (product & (((unsigned __int128)1 << shift) - 1)) != 0;
    exponent = shift - lead + power;
  } else {
    top = divide(mantissa, -power, &rest);
    exponent = __builtin_clzll(power_of_five[-power]) - lead + power - 63;
  }
  int up = !(top >> 63);
  top <<= up;
  exponent -= up;
  uint64_t kept = top >> 11, half = top & 0x7ff;
  kept += half > 0x400 || (half == 0x400 && (rest || (kept & 1)));
  uint64_t scale = (uint64_t)(1023 + exponent + 11)
                   << 52; /* a power of two, far from the ends of the range */
  double power_of_two;
  memcpy(&power_of_two, &scale, sizeof power_of_two);
  return (double)kept * power_of_two;
}

/* Handles the general case with the C library, for a number that is known to span [at, end). */
static const char *scan_slowly(const char *at, const char *mark, const char *end, double *out) {
  locale_t c_locale = sl_c_locale();
  if (!c_locale)
    return NULL;
  if (!mark || *mark == 'e' || *mark == 'E') {
    *out = strtod_l(at, NULL, c_locale);
    return end;
  }
  char copy[1200]; /* the exponent mark of Fortran is replaced by an e */
  size_t before = (size_t)(mark - at), after = (size_t)(end - mark);
  if (before + after + 2 > sizeof copy)
    return NULL;
  bool bare = *mark == '+' || *mark == '-';
  memcpy(copy, at, before);
  copy[before] = 'e';
  memcpy(copy + before + 1, mark + !bare, after - !bare);
  copy[before + 1 + after - !bare] = 0;
  *out = strtod_l(copy, NULL, c_locale);
  return end;
}

static const char *scan_word(const char *at, bool negative, double *out) {
  static const struct {
    const char *text;
    double value;
  } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
  for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
    size_t i = 0;
    while (words[w].text[i] && tolower((unsigned char)at[i]) == words[w].text[i])
      i++;
    if (!words[w].text[i]) {
      *out = negative ? -words[w].value : words[w].value;
      return at + i;
    }
  }
  return NULL;
}

static const double negative_or_not[] = {1, -1};

const char *sl_scan_real(const char *start, bool bare_sign, double *out) {
  const char *at = start;
  bool negative = *at == '-';
  at += negative | (*at == '+'); /* without a branch, because signs are random */
  const char *first = at;
  uint64_t mantissa = 0;
  at = sl_scan_digits(at, &mantissa);
  int64_t digits = at - first, power = 0;
  if (*at == '.') {
    const char *point = ++at;
    at = sl_scan_digits(at, &mantissa);
    power = point - at;
    digits -= power;
  }
  if (digits == 0)
    return scan_word(first, negative, out);
  if (digits > EXACT_DIGITS) /* leading zeros do not count */
    for (const char *zero = first; digits > 0 && (*zero == '0' || *zero == '.'); zero++)
      digits -= *zero == '0';
  const char *mark = NULL;
  bool exponential = *at == 'e' || *at == 'E' || *at == 'd' || *at == 'D';
  if (exponential || (bare_sign && (*at == '+' || *at == '-'))) {
    mark = at;
    at += exponential;
    bool below = *at == '-';
    if (*at == '-' || *at == '+')
      at++;
    const char *begin = at;
    int64_t exponent = 0;
    for (unsigned digit; (digit = (unsigned)(unsigned char)*at - '0') < 10; at++)
      if (exponent < 1000000)
        exponent = 10 * exponent + digit;
    if (at == begin)
      return NULL;
    power += below ? -exponent : exponent;
  }
  if (digits > EXACT_DIGITS)
    return scan_slowly(start, mark, at, out);
  double value;
  if (mantissa == 0)
    value = 0;
  else if (mantissa <= UINT64_C(1) << 53 && power >= -22 && power <= 22)
    value = power < 0 ? (double)mantissa / power_of_ten[-power] : (double)mantissa * power_of_ten[power];
  else if (power >= -EXACT_POWER && power <= EXACT_POWER)
    value = round_exactly(mantissa, (int)power);
  else
    return scan_slowly(start, mark, at, out);
  *out = negative_or_not[negative] * value;
  return at;
}
