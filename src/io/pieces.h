/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a text into pieces of whole lines, for the threads of a team. */
#ifndef SLEY_IO_PIECES_H
#define SLEY_IO_PIECES_H

#include "io/text.h"

/* Returns the number of pieces: of about 256 KiB each, at most 1024. */
static inline int64_t sl_piece_count(const char *begin, const char *end) {
  int64_t count = (end - begin) >> 18;
  return count < 1 ? 1 : (count > 1024 ? 1024 : count);
}

/* Returns the start of piece i of `count`, which is the end of piece i - 1: the first byte of a line, or end.
 * i is in [0, count]. */
static inline const char *sl_piece_start(const char *begin, const char *end, int64_t i, int64_t count) {
  if (i == 0 || begin == end)
    return begin;
  if (i == count)
    return end;
  const char *near = begin + (int64_t)((double)(end - begin) * ((double)i / (double)count));
  return sl_next_line(near == begin ? near : near - 1, end);
}

#endif
