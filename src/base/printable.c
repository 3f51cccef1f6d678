/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside (file names, words of the command line, bytes of a file) made safe for a terminal. UTF-8
 * as defined by RFC 3629. */
#include <stdint.h>
#include <string.h>

#include "sley.h"

enum { LONGEST_PIECE = 8 };

/* Decodes the first character of text into *character and returns its length in bytes; 0: text does not begin
 * with a valid UTF-8 character. text ends with 0. */
static int decode(const unsigned char *text, uint32_t *character) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int bytes = text[0] < 0x80         ? 1
              : text[0] >> 5 == 0x6  ? 2
              : text[0] >> 4 == 0xe  ? 3
              : text[0] >> 3 == 0x1e ? 4
                                     : 0;
  *character = bytes < 2 ? text[0] : text[0] & (0x7fu >> bytes);
  for (int i = 1; i < bytes; i++) {
    if (text[i] >> 6 != 0x2)
      return 0;
    *character = *character << 6 | (text[i] & 0x3f);
  }
  const bool real =
      bytes > 0 && *character >= least[bytes] && *character <= 0x10ffff && *character >> 11 != 0x1b;
  return real ? bytes : 0;
}

/* Returns whether a terminal would interpret the character, break the line there, or change the direction of
 * the text. */
static bool acts(uint32_t c) {
  return c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

static int hexadecimal(char *piece, char kind, uint32_t value, int digits) {
  piece[0] = '\\';
  piece[1] = kind;
  for (int i = 0; i < digits; i++)
    piece[2 + i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 0xf];
  return 2 + digits;
}

/* Writes the printable form of the first character of text to piece. Returns its length in bytes; *taken:
 * number of bytes of text that were used. */
static int show(const char *text, char piece[LONGEST_PIECE], int *taken) {
  static const char named[] = "abtnvfr"; /* letters of the escapes, starting with character 7 */
  uint32_t character;
  int bytes = decode((const unsigned char *)text, &character);
  if (bytes == 0)
    character = (unsigned char)*text;
  *taken = bytes > 0 ? bytes : 1;
  if (bytes > 0 && !acts(character)) {
    memcpy(piece, text, (size_t)bytes);
    return bytes;
  }
  if (bytes > 0 && character >= 7 && character < 7 + sizeof named - 1) {
    piece[0] = '\\';
    piece[1] = named[character - 7];
    return 2;
  }
  return character > 0xff ? hexadecimal(piece, 'u', character, 4)
                          : hexadecimal(piece, 'x', character & 0xff, 2);
}

size_t sley_printable(const char *text, char *out, size_t room) {
  size_t whole = 0, put = 0;
  int taken;
  for (; *text; text += taken) {
    char piece[LONGEST_PIECE];
    const size_t bytes = (size_t)show(text, piece, &taken);
    if (whole == put && whole + bytes < room) { /* all pieces so far were written */
      memcpy(out + put, piece, bytes);
      put += bytes;
    }
    whole += bytes;
  }
  if (room > 0)
    out[put] = '\0';
  return whole;
}
