/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts rows into chunks with about equally many entries. */
#include "device/chunks.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

enum {
  LONG = 4,            /* maximum number of entries, in targets, of a chunk that is not overlong */
  SPAN_ROWS = 1 << 14, /* number of rows that one thread cuts; no chunk extends beyond them */
};

/* The counts of a span of rows; after the first pass, the starts of its parts of the lists. */
typedef struct span {
  int64_t chunks, rows, empties, longs, slots;
  int64_t overlong, most;
} span;

typedef struct cutter {
  int64_t rows;
  const int64_t *rowid, *rowptr;
  sl_chunk_sizes sizes;
  int64_t overlong; /* chunks with more entries than LONG targets */
  span *spans;
  sl_chunks *out;
  bool fills; /* second pass: stores what the first has counted */
} cutter;

static void store_chunk(const cutter *c, span *at, const sl_chunk *chunk) {
  if (c->fills)
    c->out->chunk[at->chunks] = *chunk;
  at->chunks++;
  at->overlong += chunk->count > c->overlong;
}

/* Ends the chunk to which rows are being added. */
static void close_chunk(const cutter *c, span *at, sl_chunk *open) {
  if (open->count > 0)
    store_chunk(c, at, open);
  open->count = 0;
}

/* Cuts a row into fragments. */
static void cut_row(const cutter *c, span *at, int32_t y, int64_t begin, int64_t entries) {
  int64_t fragments = (entries + c->sizes.fragment - 1) / c->sizes.fragment;
  if (c->fills)
    c->out->long_row[at->longs] = (sl_long_row){y, (int32_t)at->slots};
  at->longs++;
  for (int64_t p = 0; p < fragments; p++) {
    int64_t from = entries * p / fragments, to = entries * (p + 1) / fragments;
    sl_chunk fragment = {.begin = begin + from,
                         .count = (int32_t)(to - from),
                         .row = (int32_t)at->rows,
                         .rows = 1,
                         .slot = (int32_t)at->slots++,
                         .long_row = (int32_t)at->longs - 1};
    store_chunk(c, at, &fragment);
  }
}

/* Returns whether a row has more entries than a chunk's count can hold; reported as an error after all rows
 * have been read. */
static bool is_too_long(const cutter *c, int64_t entries) {
  return entries >= INT32_MAX - c->sizes.fragment;
}

static void cut_span(const cutter *c, int64_t first, int64_t end, span *at) {
  const int64_t target = c->sizes.target, *rowptr = c->rowptr;
  sl_chunk open = {0};
  for (int64_t i = first; i < end; i++) {
    int64_t begin = rowptr[i] - rowptr[0], entries = rowptr[i + 1] - rowptr[i];
    int32_t y = (int32_t)(c->rowid ? c->rowid[i] : i);
    at->most = entries > at->most ? entries : at->most;
    if (is_too_long(c, entries))
      continue;
    if (entries == 0) {
      if (c->fills)
        c->out->empty[at->empties] = y;
      at->empties++;
      continue;
    }
    if (entries > c->sizes.longest || open.count >= target || open.count + entries > target + target / 4)
      close_chunk(c, at, &open);
    if (entries > c->sizes.longest) {
      cut_row(c, at, y, begin, entries);
    } else if (open.count == 0) {
      open = (sl_chunk){.begin = begin,
                        .count = (int32_t)entries,
                        .row = (int32_t)at->rows,
                        .rows = 1,
                        .slot = -1,
                        .long_row = -1};
    } else {
      open.count += (int32_t)entries;
      open.rows++;
    }
    if (c->fills && c->out->row)
      c->out->row[at->rows] = y;
    at->rows++;
  }
  close_chunk(c, at, &open);
}

static int64_t spans_of(const cutter *c) {
  return (c->rows + SPAN_ROWS - 1) / SPAN_ROWS;
}

static sley_status cut_spans(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const cutter *c = context;
  for (int64_t s = begin; s < end; s++) {
    int64_t first = s * SPAN_ROWS, last = first + SPAN_ROWS;
    span at = c->spans[s];
    cut_span(c, first, last < c->rows ? last : c->rows, &at);
    if (!c->fills)
      c->spans[s] = at;
  }
  return SLEY_OK;
}

static void add_span(span *sum, const span *more) {
  sum->chunks += more->chunks;
  sum->rows += more->rows;
  sum->empties += more->empties;
  sum->longs += more->longs;
  sum->slots += more->slots;
  sum->overlong += more->overlong;
  sum->most = more->most > sum->most ? more->most : sum->most;
}

/* Turns the spans' counts into starts, and returns the totals. */
static span sum_spans(const cutter *c) {
  span sum = {0};
  for (int64_t s = 0; s < spans_of(c); s++) {
    span here = c->spans[s];
    c->spans[s] = sum;
    add_span(&sum, &here);
  }
  return sum;
}

static void set_numbers(const cutter *c, const span *sum) {
  c->out->chunks = sum->chunks;
  c->out->rows = sum->rows;
  c->out->empties = sum->empties;
  c->out->longs = sum->longs;
  c->out->slots = sum->slots;
  c->out->longest = c->sizes.longest == INT64_MAX ? sum->most : c->sizes.longest;
}

static int by_length(const void *a, const void *b) {
  const sl_chunk *p = a, *q = b;
  if (p->count != q->count)
    return p->count > q->count ? -1 : 1;
  return p->begin < q->begin ? -1 : p->begin > q->begin;
}

/* Moves overlong chunks to the front; the others keep their order, because neighbouring rows share
 * columns. */
static sley_status overlong_first(sl_chunks *out, int64_t overlong, int64_t most) {
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

static sley_status check_sizes(const cutter *c, const span *sum) {
  int64_t rows = c->rows, entries = rows > 0 ? c->rowptr[rows] - c->rowptr[0] : 0;
  int64_t least = c->sizes.target < c->sizes.fragment ? c->sizes.target : c->sizes.fragment;
  /* Except between spans, two consecutive chunks together have more entries than target; a long row has fewer
   * than two fragments per `fragment` entries. */
  if (rows >= INT32_MAX || is_too_long(c, sum->most) || entries / least >= INT32_MAX / 4 ||
      (c->rowid && rows > 0 && c->rowid[rows - 1] >= INT32_MAX))
    return sl_fail(
        SLEY_ERR_OVERFLOW,
        "%lld rows with %lld entries, %lld of them in one row, are too many for one device: use more "
        "ranks",
        (long long)rows, (long long)entries, (long long)sum->most);
  return SLEY_OK;
}

static sley_status make(cutter *c, sl_team *team) {
  sl_chunks *out = c->out;
  SL_TRY(SL_NEW_ZERO(c->spans, spans_of(c), "chunks"));
  SL_TRY(sl_team_for(team, spans_of(c), 1, cut_spans, c));
  span sum = sum_spans(c);
  SL_TRY(check_sizes(c, &sum));
  set_numbers(c, &sum);
  SL_TRY(SL_NEW(out->chunk, out->chunks, "chunks"));
  SL_TRY(SL_NEW(out->long_row, out->longs + 1, "chunks"));
  SL_TRY(SL_NEW(out->empty, out->empties, "chunks"));
  if (c->rowid) {
    SL_TRY(SL_NEW(out->row, out->rows + 2, "chunks"));
    out->row[out->rows] = out->row[out->rows + 1] = 0;
  }
  out->long_row[out->longs] = (sl_long_row){-1, (int32_t)out->slots};
  c->fills = true;
  SL_TRY(sl_team_for(team, spans_of(c), 1, cut_spans, c));
  return overlong_first(out, sum.overlong, c->overlong);
}

static cutter begin(int64_t rows, const int64_t *rowid, const int64_t *rowptr, sl_chunk_sizes sizes,
                    sl_chunks *out) {
  int64_t overlong = LONG * sizes.target;
  *out = (sl_chunks){0};
  return (cutter){.rows = rows,
                  .rowid = rowid,
                  .rowptr = rowptr,
                  .sizes = sizes,
                  .overlong = overlong > sizes.fragment ? overlong : sizes.fragment,
                  .out = out};
}

sley_status sl_chunks_make(int64_t rows, const int64_t *rowid, const int64_t *rowptr, sl_chunk_sizes sizes,
                           sl_team *team, sl_chunks *out) {
  cutter c = begin(rows, rowid, rowptr, sizes, out);
  sley_status status = make(&c, team);
  sl_free(c.spans);
  return status;
}

/* A pass that only counts, into one sum. */
typedef struct counter {
  const cutter *cutter;
  pthread_mutex_t lock;
  span sum;
} counter;

static sley_status count_spans(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  counter *all = context;
  const cutter *c = all->cutter;
  for (int64_t s = begin; s < end; s++) {
    int64_t last = (s + 1) * SPAN_ROWS;
    span here = {0};
    cut_span(c, s * SPAN_ROWS, last < c->rows ? last : c->rows, &here);
    pthread_mutex_lock(&all->lock);
    add_span(&all->sum, &here);
    pthread_mutex_unlock(&all->lock);
  }
  return SLEY_OK;
}

void sl_chunks_count(int64_t rows, const int64_t *rowptr, sl_chunk_sizes sizes, sl_team *team,
                     sl_chunks *out) {
  cutter c = begin(rows, NULL, rowptr, sizes, out);
  counter all = {.cutter = &c};
  pthread_mutex_init(&all.lock, NULL);
  (void)sl_team_for(team, spans_of(&c), 1, count_spans, &all); /* cannot fail */
  pthread_mutex_destroy(&all.lock);
  set_numbers(&c, &all.sum);
}

void sl_chunks_free(sl_chunks *chunks) {
  sl_free(chunks->chunk);
  sl_free(chunks->row);
  sl_free(chunks->empty);
  sl_free(chunks->long_row);
  *chunks = (sl_chunks){0};
}
