/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a list of rows that are pulled from several peers at once. */
#ifndef SLEY_TRANSPORT_PULL_LIST_H
#define SLEY_TRANSPORT_PULL_LIST_H

#include "base/team.h"
#include "device/kernel.h"

/* Rows of one source: entry i is copied from row src_rows[i] of the source to row dst_rows[i] of the
 * destination. If src_rows is NULL, that is row src_first + i; if dst_rows is NULL, row dst_first + i. */
typedef struct sl_pull_rows {
  int32_t source;
  int64_t count;
  const int64_t *src_rows, *dst_rows;
  int64_t src_first, dst_first;
  const int64_t *piece_end; /* piece s ends before entry piece_end[s]; the last piece ends with the list;
                               NULL: all entries are in the last piece */
} sl_pull_rows;

/* Entries that the longest list contributes in its turn: few compared with the thousands of rows that a
 * kernel has in flight, so links are used as evenly as with turns of one entry. */
enum { SL_PULL_TURN = 128 };

/* Returns the number of entries of all lists together. */
int64_t sl_pull_count(const sl_pull_rows *lists, int count);

/* Writes all entries of at most SL_PULL_SOURCES lists, taking turns among the lists from list `start` on, at
 * most SL_PULL_TURN consecutive entries each, in proportion to the length of the list: so a kernel that
 * processes the result in order keeps every link busy from beginning to end. No entry's piece is more than
 * `ahead` after the piece of an entry still to come: pieces need some links more than others, so the larger
 * `ahead` is, the better the links are used, but the later a piece is complete. piece_end (NULL: not wanted)
 * receives the end of each of `pieces` > 0 pieces in the result. out has room for sl_pull_count entries,
 * which the team's threads write; NULL: the calling thread does. Errors: SLEY_ERR_MEMORY. */
sley_status sl_pull_interleave(sl_team *team, const sl_pull_rows *lists, int count, int start, int pieces,
                               int ahead, int64_t *piece_end, sl_pull_entry *out);

#endif
