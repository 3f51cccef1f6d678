/* SPDX-License-Identifier: Apache-2.0 */
#include "device/chunks.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

enum { LONG = 4 }; /* targets in a row that is cut, and in a chunk that is overlong */

/* Closes the chunk that rows are being added to. */
static void close_chunk(sl_chunks *out, sl_chunk *open) {
  if (open->count > 0 && out->chunk)
    out->chunk[out->chunks] = *open;
  out->chunks += open->count > 0;
  open->count = 0;
}

/* The row as pieces of about target entries. */
static void cut_row(sl_chunks *out, int32_t y, int64_t begin, int64_t entries, int64_t target) {
  int64_t pieces = (entries + target - 1) / target;
  if (!out->chunk) { /* counting */
    out->longs++;
    out->chunks += pieces;
    out->slots += pieces;
    return;
  }
  out->long_row[out->longs++] = (sl_long_row){y, (int32_t)out->slots};
  for (int64_t p = 0; p < pieces; p++) {
    int64_t from = entries * p / pieces, to = entries * (p + 1) / pieces;
    out->chunk[out->chunks++] = (sl_chunk){.begin = begin + from,
                                           .count = (int32_t)(to - from),
                                           .row = (int32_t)out->rows,
                                           .rows = 1,
                                           .slot = (int32_t)out->slots++};
  }
}

/* Without arrays in out, only its numbers are set. */
static void cut(int64_t rows, const int64_t *rowid, const int64_t *rowptr, int64_t target, sl_chunks *out) {
  sl_chunk open = {0};
  for (int64_t i = 0; i < rows; i++) {
    int64_t begin = rowptr[i] - rowptr[0], entries = rowptr[i + 1] - rowptr[i];
    int32_t y = (int32_t)(rowid ? rowid[i] : i);
    if (entries == 0) {
      if (out->empty)
        out->empty[out->empties] = y;
      out->empties++;
      continue;
    }
    if (entries > out->longest || open.count >= target || open.count + entries > target + target / 4)
      close_chunk(out, &open);
    if (entries > out->longest) {
      cut_row(out, y, begin, entries, target);
    } else if (open.count == 0) {
      open = (sl_chunk){
          .begin = begin, .count = (int32_t)entries, .row = (int32_t)out->rows, .rows = 1, .slot = -1};
    } else {
      open.count += (int32_t)entries;
      open.rows++;
    }
    if (out->row)
      out->row[out->rows] = y;
    out->rows++;
  }
  close_chunk(out, &open);
}

static int by_length(const void *a, const void *b) {
  const sl_chunk *p = a, *q = b;
  if (p->count != q->count)
    return p->count > q->count ? -1 : 1;
  return p->begin < q->begin ? -1 : p->begin > q->begin;
}

/* Overlong chunks to the front; the others keep their order, since rows near each other share columns. */
static sley_status overlong_first(sl_chunks *out, int64_t most) {
  int64_t overlong = 0;
  for (int64_t i = 0; i < out->chunks; i++)
    overlong += out->chunk[i].count > most;
  if (overlong == 0)
    return SLEY_OK;
  sl_chunk *front;
  SL_TRY(SL_NEW(front, overlong, "chunks"));
  int64_t found = 0;
  for (int64_t i = out->chunks - 1, to = out->chunks; i >= 0; i--)
    if (out->chunk[i].count > most)
      front[found++] = out->chunk[i];
    else
      out->chunk[--to] = out->chunk[i];
  qsort(front, (size_t)overlong, sizeof *front, by_length);
  for (int64_t i = 0; i < overlong; i++)
    out->chunk[i] = front[i];
  sl_free(front);
  return SLEY_OK;
}

static int64_t longest_row(int64_t rows, const int64_t *rowptr) {
  int64_t most = 0;
  for (int64_t i = 0; i < rows; i++)
    most = rowptr[i + 1] - rowptr[i] > most ? rowptr[i + 1] - rowptr[i] : most;
  return most;
}

void sl_chunks_count(int64_t rows, const int64_t *rowptr, int64_t target, bool in_order, sl_chunks *out) {
  *out = (sl_chunks){.longest = in_order ? longest_row(rows, rowptr) : LONG * target};
  cut(rows, NULL, rowptr, target, out);
}

sley_status sl_chunks_make(int64_t rows, const int64_t *rowid, const int64_t *rowptr, int64_t target,
                           bool in_order, sl_chunks *out) {
  *out = (sl_chunks){0};
  int64_t most = longest_row(rows, rowptr), entries = rows > 0 ? rowptr[rows] - rowptr[0] : 0;
  int64_t full = entries / target; /* chunks, if all were full */
  if (rows >= INT32_MAX || most >= INT32_MAX - target || full >= INT32_MAX / 4 ||
      (rowid && rows > 0 && rowid[rows - 1] >= INT32_MAX))
    return sl_fail(
        SLEY_ERR_OVERFLOW,
        "%lld rows with %lld entries, %lld of them in one row, are too many for one device: use more "
        "ranks",
        (long long)rows, (long long)entries, (long long)most);
  /* Two chunks in a row hold more than target together; a long row has at most 5/4 pieces a target. */
  SL_TRY(SL_NEW(out->chunk, 4 * full + 4, "chunks"));
  SL_TRY(SL_NEW(out->long_row, full / LONG + 2, "chunks"));
  SL_TRY(SL_NEW(out->row, rows + 2, "chunks"));
  SL_TRY(SL_NEW(out->empty, rows, "chunks"));
  out->longest = in_order ? most : LONG * target;
  cut(rows, rowid, rowptr, target, out);
  out->row[out->rows] = out->row[out->rows + 1] = 0;
  out->long_row[out->longs] = (sl_long_row){-1, (int32_t)out->slots};
  return overlong_first(out, LONG * target);
}

void sl_chunks_free(sl_chunks *chunks) {
  sl_free(chunks->chunk);
  sl_free(chunks->row);
  sl_free(chunks->empty);
  sl_free(chunks->long_row);
  *chunks = (sl_chunks){0};
}
