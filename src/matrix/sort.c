/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting the entries of rows by column, stably: short runs first, then merging of runs. Entries with 32-bit
 * columns and values of at most 4 bytes are sorted as one 64-bit word each, others as pairs of words. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "matrix/matrix.h"

enum { ROWS_AT_ONCE = 1024, RUN = 16, WORDS_ON_STACK = 1024 };

typedef struct entry {
  int64_t col;
  uint64_t val; /* bits of the value */
} entry;

typedef struct rows_to_sort {
  const int64_t *rowptr;
  sley_index index;
  void *col;
  size_t val_bytes; /* 0: no values */
  void *val;
} rows_to_sort;

static void load(const rows_to_sort *rows, int64_t begin, int64_t count, entry *out) {
  for (int64_t i = 0; i < count; i++)
    out[i] = (entry){.col = sl_index_at(rows->col, rows->index, begin + i)};
  if (rows->val_bytes == 4)
    for (int64_t i = 0; i < count; i++)
      out[i].val = ((const uint32_t *)rows->val)[begin + i];
  else if (rows->val_bytes == 8)
    for (int64_t i = 0; i < count; i++)
      out[i].val = ((const uint64_t *)rows->val)[begin + i];
  else if (rows->val_bytes == 2)
    for (int64_t i = 0; i < count; i++)
      out[i].val = ((const uint16_t *)rows->val)[begin + i];
}

static void store(const rows_to_sort *rows, int64_t begin, int64_t count, const entry *in) {
  for (int64_t i = 0; i < count; i++)
    sl_index_set(rows->col, rows->index, begin + i, in[i].col);
  if (rows->val_bytes == 4)
    for (int64_t i = 0; i < count; i++)
      ((uint32_t *)rows->val)[begin + i] = (uint32_t)in[i].val;
  else if (rows->val_bytes == 8)
    for (int64_t i = 0; i < count; i++)
      ((uint64_t *)rows->val)[begin + i] = in[i].val;
  else if (rows->val_bytes == 2)
    for (int64_t i = 0; i < count; i++)
      ((uint16_t *)rows->val)[begin + i] = (uint16_t)in[i].val;
}

static void insertion_sort(entry *run, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    entry moved = run[i];
    int64_t at = i;
    for (; at > 0 && run[at - 1].col > moved.col; at--)
      run[at] = run[at - 1];
    run[at] = moved;
  }
}

static void merge(const entry *left, int64_t left_count, const entry *right, int64_t right_count,
                  entry *out) {
  int64_t l = 0, r = 0;
  while (l < left_count && r < right_count) {
    bool from_right = right[r].col < left[l].col;
    *out++ = from_right ? right[r] : left[l];
    r += from_right;
    l += !from_right;
  }
  memcpy(out, left + l, (size_t)(left_count - l) * sizeof *out);
  memcpy(out + (left_count - l), right + r, (size_t)(right_count - r) * sizeof *out);
}

/* Sorts count entries stably; other has room for as many. Returns the array with the result: list or
 * other. */
static entry *merge_sort(entry *list, entry *other, int64_t count) {
  for (int64_t at = 0; at < count; at += RUN)
    insertion_sort(list + at, count - at < RUN ? count - at : RUN);
  for (int64_t width = RUN; width < count; width *= 2) {
    for (int64_t at = 0; at < count; at += 2 * width) {
      int64_t left = count - at < width ? count - at : width;
      int64_t right = count - at - left < width ? count - at - left : width;
      merge(list + at, left, list + at + left, right, other + at);
    }
    entry *sorted = other;
    other = list;
    list = sorted;
  }
  return list;
}

/* A narrow entry in one word: the column in the upper half, the bits of the value in the lower half. */
typedef uint64_t packed;

/* The bits of the value of a narrow entry. */
static inline uint32_t bits_at(const rows_to_sort *rows, int64_t e) {
  if (rows->val_bytes == 4)
    return ((const uint32_t *)rows->val)[e];
  return rows->val_bytes == 2 ? ((const uint16_t *)rows->val)[e] : 0;
}

/* Packs count <= width entries, from entry begin on, sorted into out. The position of an entry is the number
 * of entries that precede it; counting all of them needs no branch and is vectorised. */
static inline __attribute__((always_inline)) void sort_run(const rows_to_sort *rows, int64_t begin,
                                                           int64_t count, int width, packed *out) {
  int32_t col[RUN], place[RUN] = {0};
  const int32_t *from = (const int32_t *)rows->col + begin;
  for (int i = 0; i < width; i++)
    col[i] = i < count ? from[i] : INT32_MAX;
  for (int j = 0; j < width; j++)
    for (int i = 0; i < width; i++)
      place[i] += col[j] - (i > j) < col[i]; /* of equal columns the earlier entry goes first; columns are not
                                                negative */
  for (int64_t i = 0; i < count; i++)
    out[place[i]] = (packed)(uint32_t)col[i] << 32 | bits_at(rows, begin + i);
}

static void merge_packed(const packed *left, int64_t left_count, const packed *right, int64_t right_count,
                         packed *out) {
  const packed *left_end = left + left_count, *right_end = right + right_count;
  while (left < left_end && right < right_end) {
    packed l = *left, r = *right;
    packed from_right = r >> 32 < l >> 32;
    *out++ = l ^ ((l ^ r) & -from_right); /* no branch: it would be mispredicted half the time */
    right += from_right;
    left += 1 - from_right;
  }
  memcpy(out, left, (size_t)(left_end - left) * sizeof *out);
  memcpy(out + (left_end - left), right, (size_t)(right_end - right) * sizeof *out);
}

/* Sorts count entries from entry begin on; list and other are work arrays with room for count each. */
static void sort_narrow(const rows_to_sort *rows, int64_t begin, int64_t count, packed *list, packed *other) {
  if (count <= RUN / 2)
    sort_run(rows, begin, count, RUN / 2, list);
  else
    for (int64_t at = 0; at < count; at += RUN)
      sort_run(rows, begin + at, count - at < RUN ? count - at : RUN, RUN, list + at);
  for (int64_t width = RUN; width < count; width *= 2) {
    for (int64_t at = 0; at < count; at += 2 * width) {
      int64_t left = count - at < width ? count - at : width;
      int64_t right = count - at - left < width ? count - at - left : width;
      merge_packed(list + at, left, list + at + left, right, other + at);
    }
    packed *sorted = other;
    other = list;
    list = sorted;
  }
  int32_t *col = (int32_t *)rows->col + begin;
  for (int64_t i = 0; i < count; i++)
    col[i] = (int32_t)(list[i] >> 32);
  if (rows->val_bytes == 4)
    for (int64_t i = 0; i < count; i++)
      ((uint32_t *)rows->val)[begin + i] = (uint32_t)list[i];
  else if (rows->val_bytes == 2)
    for (int64_t i = 0; i < count; i++)
      ((uint16_t *)rows->val)[begin + i] = (uint16_t)list[i];
}

static bool ascends(const rows_to_sort *rows, int64_t begin, int64_t end) {
  for (int64_t e = begin + 1; e < end; e++)
    if (sl_index_at(rows->col, rows->index, e - 1) > sl_index_at(rows->col, rows->index, e))
      return false;
  return true;
}

static sley_status sort_some(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const rows_to_sort *rows = context;
  bool narrow = rows->index == SLEY_I32 && rows->val_bytes <= 4;
  uint64_t on_stack[WORDS_ON_STACK], *scratch = NULL;
  int64_t room = 0;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    int64_t first = rows->rowptr[i], count = rows->rowptr[i + 1] - first;
    if (ascends(rows, first, first + count))
      continue;
    int64_t words = narrow ? 2 * count : 4 * count;
    if (words > WORDS_ON_STACK && words > room) {
      sl_free(scratch);
      room = words + words / 4;
      scratch = sl_alloc(room, sizeof *scratch, "sorting a row");
      if (!scratch)
        return SLEY_ERR_MEMORY;
    }
    uint64_t *list = words > WORDS_ON_STACK ? scratch : on_stack;
    if (narrow) {
      sort_narrow(rows, first, count, list, list + count);
    } else {
      entry *entries = (entry *)list;
      load(rows, first, count, entries);
      store(rows, first, count, merge_sort(entries, entries + count, count));
    }
  }
  sl_free(scratch);
  return SLEY_OK;
}

sley_status sl_csr_sort_rows(int64_t rows, const int64_t *rowptr, sley_index index, void *col,
                             sley_dtype dtype, void *val, sl_team *team) {
  rows_to_sort job = {rowptr, index, col, val ? sley_dtype_bytes(dtype) : 0, val};
  return sl_team_for(team, rows, ROWS_AT_ONCE, sort_some, &job);
}
