/* SPDX-License-Identifier: Apache-2.0 */
/* A set of column numbers that finds the position of a member among all members: pages of bits with counts.
 * Memory grows with the pages that have members, not with the range: 16 bytes per 64 columns of such a page.
 * If words for all pages take at most a byte per entry of the source, every page gets words, which saves a
 * pass over the entries. */
#ifndef SLEY_PLAN_COLSET_H
#define SLEY_PLAN_COLSET_H

#include "base/team.h"
#include "device/op/op_inspect.h"

enum { SL_COLSET_PAGE = 4096 }; /* columns per page */

typedef struct sl_colset {
  int64_t range, pages;
  int64_t *page_at; /* first word of each page, or -1 */
  sl_colset_word *words;
  int64_t word_count;
  int64_t count;       /* number of members */
  int64_t occurrences; /* number of the source's entries that name a member */
} sl_colset;

/* The entries from which a set is built. columns is called for ranges of them. */
typedef struct sl_colset_source {
  int64_t entries;
  /* Writes the members that entries begin .. end-1 name to out (end - begin elements) and returns their
   * number. */
  int64_t (*columns)(const void *context, int64_t begin, int64_t end, int64_t *out);
  const void *context;
} sl_colset_source;

/* Builds the set of all columns of the source, which are in [0, range). Freed by sl_colset_free. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_colset_build(int64_t range, const sl_colset_source *source, sl_team *team, sl_colset *out);
/* Builds a set from known bits: bit c % 64 of word c / 64 stands for column c; (range + 63) / 64 words. */
sley_status sl_colset_from_bits(int64_t range, const uint64_t *bits, sl_colset *out);
void sl_colset_free(sl_colset *set);

/* Writes the members to out (count elements) in ascending order, with the team's threads. */
sley_status sl_colset_list(const sl_colset *set, sl_team *team, int64_t *out);

/* Number of bits that are 1. Written out because not every processor for which Sley is built has an
 * instruction for it. */
static inline int64_t sl_ones(uint64_t bits) {
  bits -= bits >> 1 & UINT64_C(0x5555555555555555);
  bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
  return (int64_t)(((bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >>
                   56);
}

/* Position of column among the members. column must be a member. */
static inline int64_t sl_colset_place(const sl_colset *set, int64_t column) {
  const sl_colset_word *word =
      &set->words[set->page_at[column / SL_COLSET_PAGE] + column % SL_COLSET_PAGE / 64];
  return word->before + sl_ones(word->bits & ((UINT64_C(1) << (column % 64)) - 1));
}

#endif
