/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings that editors and old systems produce: a byte order mark, UTF-16, lines that end with CR alone. */
#include "io/bytes/encoding.h"

#include <string.h>

#include "io/text.h"

enum { LOOK = 64 };

static const char mark_utf8[] = "\xef\xbb\xbf";
enum { MARK_UTF8 = 3 };

/* Returns whether the content is UTF-16 or UTF-32: by its byte order mark, or because every second one of its
 * first bytes is zero and the others are not. */
static bool is_wide(const sl_input *input) {
  if (sl_input_starts(input, "\xff\xfe", 2) || sl_input_starts(input, "\xfe\xff", 2) ||
      sl_input_starts(input, "\0\0\xfe\xff", 4))
    return true;
  int64_t size = input->end - input->begin, zeros[2] = {0, 0};
  size = size < LOOK ? size / 2 * 2 : LOOK;
  for (int64_t i = 0; i < size; i++)
    zeros[i % 2] += input->begin[i] == 0;
  return size >= 4 && zeros[0] + zeros[1] == size / 2 && (zeros[0] == 0 || zeros[1] == 0);
}

sley_status sl_encoding_head(sl_input *head, int64_t *mark) {
  *mark = 0;
  if (is_wide(head))
    return sl_text_fail(head, head->begin,
                        "the text is UTF-16 or UTF-32; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)");
  if (!sl_input_starts(head, mark_utf8, MARK_UTF8))
    return SLEY_OK;
  *mark = MARK_UTF8;
  head->begin += MARK_UTF8;
  return SLEY_OK;
}

bool sl_encoding_cr_only(const sl_input *head) {
  size_t size = (size_t)(head->end - head->begin);
  return sl_input_is_text(head) && !memchr(head->begin, '\n', size) && memchr(head->begin, '\r', size);
}

static bool divides(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == ';';
}

/* Counts the fields from at to the next CR or LF, up to 2. */
static int fields_of(const char *at, const char *end) {
  int fields = 0;
  for (bool inside = false; at < end && *at != '\r' && *at != '\n' && fields < 2; at++) {
    fields += !inside && !divides(*at);
    inside = !divides(*at);
  }
  return fields;
}

/* Returns whether a CR stands between two possible lines: between an entry or a comment, and another entry.
 */
static bool is_between_lines(const char *begin, const char *cr, const char *end) {
  const char *line = cr, *next = cr + 1;
  while (line > begin && line[-1] == '\r')
    line--;
  cr = line;
  while (line > begin && line[-1] != '\n' && line[-1] != '\r')
    line--;
  line = sl_skip_blanks(line);
  while (next < end && (divides(*next) || *next == '\r'))
    next++;
  bool entry = next < end && ((*next >= '0' && *next <= '9') || *next == '-' || *next == '+');
  return entry && fields_of(next, end) == 2 && (*line == '%' || *line == '#' || fields_of(line, cr) == 2);
}

sley_status sl_encoding_check_lines(const sl_input *part) {
  for (const char *at = part->begin; at < part->end; at++) {
    at = memchr(at, '\r', (size_t)(part->end - at));
    if (!at)
      return SLEY_OK;
    if (at + 1 < part->end && at[1] != '\n' && at[1] != '\r' && is_between_lines(part->begin, at, part->end))
      return sl_text_fail(part, at,
                          "a carriage return (CR) inside the line: some lines end with CR alone, others do "
                          "not; save the text with line feeds (LF)");
  }
  return SLEY_OK;
}

sley_status sl_encoding_clean(sl_input *input) {
  int64_t mark;
  SL_TRY(sl_encoding_head(input, &mark));
  if (!sl_input_is_text(input))
    return SLEY_OK;
  if (!sl_encoding_cr_only(input))
    return sl_encoding_check_lines(input);
  for (char *at = input->memory, *end = at + (input->end - (char *)input->memory);
       (at = memchr(at, '\r', (size_t)(end - at)));)
    *at = '\n';
  return SLEY_OK;
}
