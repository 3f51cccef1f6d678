/* SPDX-License-Identifier: Apache-2.0 */
/* A set of column numbers that answers "which place has column c among the members": pages of bits with
 * counts. Memory grows with the pages touched, not with the range: 16 bytes for 64 columns of a touched page.
 * Where that is at most a byte an entry of the source for all pages, they all count as touched, which spares
 * a pass.
 */
#ifndef SLEY_PLAN_COLSET_H
#define SLEY_PLAN_COLSET_H

#include "base/team.h"
#include "device/op/op_inspect.h"

enum { SL_COLSET_PAGE = 4096 }; /* columns a page */

typedef struct sl_colset {
  int64_t range, pages;
  int64_t *page_at; /* of each page: its first word, or -1 */
  sl_colset_word *words;
  int64_t word_count;
  int64_t count;       /* members */
  int64_t occurrences; /* of members in the source */
} sl_colset;

/* Says which columns belong to entries [begin, end) of a caller's numbering: calls back for each. */
typedef struct sl_colset_source {
  int64_t entries;
  /* Writes the members among entries begin .. end-1 to out (room for end - begin) and returns how many. */
  int64_t (*columns)(const void *context, int64_t begin, int64_t end, int64_t *out);
  const void *context;
} sl_colset_source;

/* The set of all columns of the source, each in [0, range). Freed by sl_colset_free. Errors: SLEY_ERR_MEMORY.
 */
sley_status sl_colset_build(int64_t range, const sl_colset_source *source, sl_team *team, sl_colset *out);
/* The same of a set whose bits are known: bit c % 64 of word c / 64 for column c, (range + 63) / 64 words. */
sley_status sl_colset_from_bits(int64_t range, const uint64_t *bits, sl_colset *out);
void sl_colset_free(sl_colset *set);

/* The members in ascending order, written by the team's threads; out has room for count. */
sley_status sl_colset_list(const sl_colset *set, sl_team *team, int64_t *out);

/* Bits that are 1; not every processor that Sley is built for has an instruction for it. */
static inline int64_t sl_ones(uint64_t bits) {
  bits -= bits >> 1 & UINT64_C(0x5555555555555555);
  bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
  return (int64_t)(((bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >>
                   56);
}

/* Place of a member among the members. column must be one. */
static inline int64_t sl_colset_place(const sl_colset *set, int64_t column) {
  const sl_colset_word *word =
      &set->words[set->page_at[column / SL_COLSET_PAGE] + column % SL_COLSET_PAGE / 64];
  return word->before + sl_ones(word->bits & ((UINT64_C(1) << (column % 64)) - 1));
}

#endif
