/* SPDX-License-Identifier: Apache-2.0 */
/* Splits rows into partitions of local and remote entries for the row-wise kernel (MGG, algorithm 1). */
#include "device/neighbours.h"

#include <string.h>

#include "base/memory.h"

/* Returns the segment that contains a column: the last segment that begins at or before it and is not empty.
 */
static int owner_of(const int64_t *segment, int segments, int64_t col) {
  int low = 0, high = segments;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (segment[middle] <= col)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void half_free(sl_neighbour_half *half) {
  sl_free(half->val);
  sl_free(half->owner);
  sl_free(half->col);
  sl_free(half->rowptr);
  *half = (sl_neighbour_half){0};
}

void sl_neighbour_split_free(sl_neighbour_split *split) {
  sl_free(split->word);
  split->word = NULL;
  half_free(&split->remote);
  half_free(&split->local);
}

static sley_status half_take(sl_neighbour_half *half, int64_t entries, size_t value_bytes) {
  SL_TRY(SL_NEW(half->col, entries, "a part's columns"));
  SL_TRY(SL_NEW(half->owner, entries, "owners of a part's columns"));
  half->val = sl_alloc(entries, value_bytes, "a part's values");
  return half->val ? SLEY_OK : SLEY_ERR_MEMORY;
}

/* Records whether entry `bit` of the word is remote; `remotes` remote entries precede it. */
static void mark_entry(sl_neighbour_word *word, int64_t bit, int64_t remotes, int remote) {
  if (bit == 0)
    word->remotes = remotes;
  word->remote |= (uint32_t)remote << bit;
}

sley_status sl_neighbour_split_make(const sl_spmm_matrix *a, const int64_t *segment, int segments, int own,
                                    sl_neighbour_split *out) {
  *out = (sl_neighbour_split){.rows = a->rows};
  size_t value_bytes = sley_dtype_bytes(a->dtype);
  SL_TRY(SL_NEW(out->local.rowptr, a->rows + 1, "a part's rows"));
  SL_TRY(SL_NEW(out->remote.rowptr, a->rows + 1, "a part's rows"));
  int64_t entries = sl_spmm_entries(a), locals = 0;
  for (int64_t e = 0; e < entries; e++) {
    int64_t col = sl_index_at(a->col, a->index, a->rowptr[0] + e);
    locals += col >= segment[own] && col < segment[own + 1];
  }
  out->words = (entries + SL_NEIGHBOUR_WORD - 1) / SL_NEIGHBOUR_WORD;
  SL_TRY(SL_NEW_ZERO(out->word, out->words, "places of a part's values"));
  SL_TRY(half_take(&out->local, locals, value_bytes));
  SL_TRY(half_take(&out->remote, entries - locals, value_bytes));
  int64_t at[2] = {0, 0};
  sl_neighbour_half *halves[2] = {&out->local, &out->remote};
  for (int64_t i = 0; i < a->rows; i++) {
    out->local.rowptr[i] = at[0];
    out->remote.rowptr[i] = at[1];
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
      int64_t col = sl_index_at(a->col, a->index, e);
      int which = !(col >= segment[own] && col < segment[own + 1]);
      sl_neighbour_half *half = halves[which];
      mark_entry(&out->word[(e - a->rowptr[0]) / SL_NEIGHBOUR_WORD], (e - a->rowptr[0]) % SL_NEIGHBOUR_WORD,
                 at[1], which);
      half->col[at[which]] = (int32_t)col;
      half->owner[at[which]] = (uint8_t)(which ? owner_of(segment, segments, col) : own);
      memcpy((char *)half->val + (size_t)at[which] * value_bytes,
             (const char *)a->val + (size_t)e * value_bytes, value_bytes);
      at[which]++;
    }
  }
  out->local.rowptr[a->rows] = at[0];
  out->remote.rowptr[a->rows] = at[1];
  return SLEY_OK;
}

static int64_t parts_of(const sl_neighbour_half *half, int64_t row, int ps) {
  return (half->rowptr[row + 1] - half->rowptr[row] + ps - 1) / ps;
}

/* Lists the partitions of a row's half, with slots from *slot on if the row needs slots. Returns the next
 * index in the list. */
static int64_t put_parts(const sl_neighbour_half *half, int64_t row, int ps, sl_neighbour_part *list,
                         int64_t at, int64_t *slot) {
  for (int64_t begin = half->rowptr[row]; begin < half->rowptr[row + 1]; begin += ps) {
    int64_t left = half->rowptr[row + 1] - begin;
    list[at++] = (sl_neighbour_part){.begin = begin,
                                     .slot = slot ? (*slot)++ : -1,
                                     .count = (int32_t)(left < ps ? left : ps),
                                     .row = (int32_t)row};
  }
  return at;
}

static int64_t longest_of(const sl_neighbour_part *list, int64_t count) {
  int64_t longest = 0;
  for (int64_t i = 0; i < count; i++)
    longest = list[i].count > longest ? list[i].count : longest;
  return longest;
}

sley_status sl_neighbour_lists_make(const sl_neighbour_split *split, int ps, sl_neighbour_lists *out) {
  *out = (sl_neighbour_lists){0};
  for (int64_t i = 0; i < split->rows; i++) {
    int64_t local = parts_of(&split->local, i, ps), remote = parts_of(&split->remote, i, ps);
    out->locals += local;
    out->remotes += remote;
    out->joins += local + remote != 1;
  }
  SL_TRY(SL_NEW(out->local, out->locals, "neighbour partitions"));
  SL_TRY(SL_NEW(out->remote, out->remotes, "neighbour partitions"));
  SL_TRY(SL_NEW(out->joined, out->joins, "neighbour partitions"));
  int64_t local = 0, remote = 0, join = 0;
  for (int64_t i = 0; i < split->rows; i++) {
    int64_t parts = parts_of(&split->local, i, ps) + parts_of(&split->remote, i, ps);
    int64_t *slot = parts == 1 ? NULL : &out->slots;
    if (slot)
      out->joined[join++] = (sl_neighbour_row){.row = i, .first_slot = out->slots, .slots = parts};
    local = put_parts(&split->local, i, ps, out->local, local, slot);
    remote = put_parts(&split->remote, i, ps, out->remote, remote, slot);
  }
  local = longest_of(out->local, out->locals);
  remote = longest_of(out->remote, out->remotes);
  out->longest = local > remote ? local : remote;
  return SLEY_OK;
}

void sl_neighbour_lists_free(sl_neighbour_lists *lists) {
  sl_free(lists->joined);
  sl_free(lists->remote);
  sl_free(lists->local);
  *lists = (sl_neighbour_lists){0};
}
