/* SPDX-License-Identifier: Apache-2.0 */
/* Scanning of text: a cursor that can find its line number, and fast numbers. All scanners rely on the zeros
 * that follow an input's content (io/format.h), so they need no bounds. */
#ifndef SLEY_IO_TEXT_H
#define SLEY_IO_TEXT_H

#include <string.h>

#include "io/format.h"

typedef struct sl_text {
  const sl_input *input;
  const char *at; /* the next byte */
} sl_text;

static inline sl_text sl_text_start(const sl_input *input) {
  return (sl_text){input, input->begin};
}

/* Return SLEY_ERR_INPUT (or another status) with the message "FILE:LINE: " and the text; at: position of the
 * error. Lines are counted only here, from the beginning of the content. */
sley_status sl_text_fail(const sl_input *input, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
sley_status sl_text_fail_as(sley_status status, const sl_input *input, const char *at, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));

/* Skips blanks within a line: space, tab, carriage return. */
static inline const char *sl_skip_blanks(const char *at) {
  while (*at == ' ' || *at == '\t' || *at == '\r')
    at++;
  return at;
}

/* Scans the digits at `at` and appends them to *value, modulo 2^64: the caller checks the number of digits by
 * the returned pointer. Eight bytes are examined together, because the number of digits varies from number to
 * number, so a loop over digits would often be mispredicted. */
static inline const char *sl_scan_digits(const char *at, uint64_t *value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (;;) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word ^= UINT64_C(0x3030303030303030); /* converts the byte of each digit to its value */
    /* The lowest byte above 9 gets its top bit set; carries only go up, so lower bytes are classified
     * correctly. */
    uint64_t others = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    int digits = others ? __builtin_ctzll(others) >> 3 : 8;
    if (digits == 0)
      return at;
    word <<= 64 - 8 * digits;       /* as if zeros preceded the digits */
    word = 10 * word + (word >> 8); /* pairs of digits in every other byte */
    word = ((word & UINT64_C(0x000000ff000000ff)) * (100 + (UINT64_C(1000000) << 32)) +
            ((word >> 16) & UINT64_C(0x000000ff000000ff)) * (1 + (UINT64_C(10000) << 32))) >>
           32;
    *value = *value * tens[digits] + word;
    at += digits;
    if (digits < 8)
      return at;
  }
#else
  for (unsigned digit; (digit = (unsigned)(unsigned char)*at - '0') < 10; at++)
    *value = 10 * *value + digit;
  return at;
#endif
}

/* The first byte after the line's newline, or end. */
const char *sl_next_line(const char *at, const char *end);

/* Advances to the first nonblank byte of the next line that is neither blank nor starts with one of the
 * characters in comments; if the cursor is at the start of a line, that line is included. Returns false at
 * the end. */
bool sl_text_next_data(sl_text *text, const char *comments);

/* Returns the number of tokens (separated by blanks) from `at` to the end of its line, counted up to `most`.
 */
int sl_count_tokens(const char *at, const char *end, int most);

/* The number of newlines in [begin, end), plus one for a last line without a newline. */
int64_t sl_count_lines(const char *begin, const char *end);

/* The number of lines in [begin, end) at which sl_text_next_data would stop. */
int64_t sl_count_data_lines(const char *begin, const char *end, const char *comments);

/* Scans a decimal whole number with an optional sign at `at`; returns the byte after it, or NULL if there is
 * no number or it does not fit 64 bits. Leading blanks are not skipped. */
const char *sl_scan_int(const char *at, int64_t *out);

/* Scans a real number: decimal with optional sign, point and exponent (e, E, d, D, or a bare sign as in 1.5+3
 * if bare_sign is set), or nan, inf, infinity in any case. Correctly rounded to double. Returns the byte
 * after it, or NULL. May read SL_INPUT_PADDING bytes after the number. Source of the fast path: Clinger, How
 * to read floating point numbers accurately, PLDI 1990: a mantissa up to 2^53 and a power of ten up to 10^22
 * are exact, so one operation rounds once. With up to 19 digits and powers up to 10^27 a product or quotient
 * of 128-bit integers is exact and is rounded once; beyond that the C library converts it. */
const char *sl_scan_real(const char *at, bool bare_sign, double *out);

/* Returns whether a token ends at `at`: at a blank, a newline or the terminating zero. */
static inline bool sl_token_ends(const char *at) {
  return *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r' || *at == 0;
}

#endif
