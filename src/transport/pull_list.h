/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which rows are pulled from several peers at once. */
#ifndef SLEY_TRANSPORT_PULL_LIST_H
#define SLEY_TRANSPORT_PULL_LIST_H

#include "base/team.h"
#include "device/kernel.h"

/* Rows of one source: entry i goes from its row src_rows[i] (NULL: src_first + i) to row dst_rows[i] (NULL:
 * dst_first + i). */
typedef struct sl_pull_rows {
  int32_t source;
  int64_t count;
  const int64_t *src_rows, *dst_rows;
  int64_t src_first, dst_first;
  const int64_t *piece_end; /* piece s ends before entry piece_end[s], the last one with the list; NULL: all
                               entries are of the last */
} sl_pull_rows;

/* Entries that the longest list gets in its turn: few beside the thousands of rows that a kernel has in
 * flight, so that links are filled as by turns of one. */
enum { SL_PULL_TURN = 128 };

/* Entries of all lists together. */
int64_t sl_pull_count(const sl_pull_rows *lists, int count);

/* Writes all entries of at most SL_PULL_SOURCES lists, taking turns among them from list `start` on, of
 * SL_PULL_TURN neighbours at most, in proportion to its length: so that a kernel that works along the result
 * keeps every link busy from beginning to end. No entry is of a piece more than `ahead` after that of an
 * entry still to come: pieces need some links more than others, so the more ahead, the better the links are
 * filled, but the later a piece is complete. piece_end (NULL: not wanted) gets where in the result each of
 * `pieces` > 0 pieces is. out has room for sl_pull_count entries. The team's threads fill it; NULL: the
 * calling thread does. Errors: SLEY_ERR_MEMORY. */
sley_status sl_pull_interleave(sl_team *team, const sl_pull_rows *lists, int count, int start, int pieces,
                               int ahead, int64_t *piece_end, sl_pull_entry *out);

#endif
