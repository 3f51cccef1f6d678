/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of rows, and the rows that they reach. */
#include "gnn/sample.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/types.h"

struct sley_gnn_sampler {
  const sley_matrix *a;
  int64_t batch, count; /* rows of a batch, and of all batches */
  int hops;
  int64_t *fan_out;
  uint64_t seed;
  int64_t *given, *order; /* rows to train on, as passed by the caller, and shuffled for `epoch` */
  int64_t epoch;          /* -1: not shuffled yet */
  int64_t *place;         /* for each row of a: its number in the subgraph; -1 outside draws */
  bool *marked;           /* one per entry of the longest row: whether the entry is drawn; all false between
                             rows */
  /* The growing subgraph. row: its rows, as numbers in a; the entries of the first `drawn` rows have been
   * drawn. end: end of the entries of each of these rows. entry: the entries, as numbers in a. */
  int64_t *row, *end, *entry;
  int64_t rows, row_room, drawn, end_room, entries, entry_room;
  sley_matrix *graph;
};

/* ---- random numbers */

/* Streams of random numbers of a seed, different from the streams of networks. */
enum { SHUFFLE = 0x5a0b1e, NEIGHBOURS = 0x5a0b1f };

static void shuffle(sley_gnn_sampler *s, int64_t epoch) {
  const uint64_t key = s->seed ^ sl_mix(SHUFFLE);
  memcpy(s->order, s->given, (size_t)s->count * sizeof *s->order);
  for (int64_t i = s->count - 1; i > 0; i--) {
    const int64_t other = sl_below(sl_random(key, (uint64_t)epoch, (uint64_t)i), i + 1), row = s->order[i];
    s->order[i] = s->order[other];
    s->order[other] = row;
  }
  s->epoch = epoch;
}

/* ---- the subgraph, row by row */

static sley_status grow(int64_t **list, int64_t *room, int64_t need) {
  if (need <= *room)
    return SLEY_OK;
  const int64_t more = need > 2 * *room ? need : 2 * *room;
  int64_t *longer = sl_realloc(*list, more, sizeof **list, "a drawn subgraph");
  if (!longer)
    return SLEY_ERR_MEMORY;
  *list = longer;
  *room = more;
  return SLEY_OK;
}

static void reach(sley_gnn_sampler *s, int64_t row) {
  if (s->place[row] >= 0)
    return;
  s->place[row] = s->rows;
  s->row[s->rows++] = row;
}

static void take_entry(sley_gnn_sampler *s, int64_t entry) {
  s->entry[s->entries++] = entry;
  reach(s, sl_index_at(s->a->col, s->a->index, entry));
}

/* Chooses `count` of a row's `all` entries, with one random number each. Source: R. Floyd, in J. Bentley,
 * Programming pearls: a sample of brilliance, CACM 30 (1987). */
static void choose(sley_gnn_sampler *s, uint64_t key, int64_t row, int64_t all, int64_t count) {
  const int64_t first = s->a->rowptr[row], begin = s->entries;
  for (int64_t last = all - count; last < all; last++) {
    const int64_t drawn = sl_below(sl_random(key, (uint64_t)row, (uint64_t)last), last + 1);
    const int64_t taken = s->marked[drawn] ? last : drawn;
    s->marked[taken] = true;
    take_entry(s, first + taken);
  }
  for (int64_t e = begin; e < s->entries; e++)
    s->marked[s->entry[e] - first] = false;
}

static sley_status draw_row(sley_gnn_sampler *s, uint64_t key, int64_t fan_out) {
  const int64_t row = s->row[s->drawn], first = s->a->rowptr[row], all = s->a->rowptr[row + 1] - first;
  const int64_t count = all < fan_out ? all : fan_out;
  SL_TRY(grow(&s->entry, &s->entry_room, s->entries + count));
  SL_TRY(grow(&s->row, &s->row_room, s->rows + count));
  SL_TRY(grow(&s->end, &s->end_room, s->drawn + 1));
  if (count < all) {
    choose(s, key, row, all, count);
  } else {
    for (int64_t e = first; e < first + all; e++)
      take_entry(s, e);
  }
  s->end[s->drawn++] = s->entries;
  return SLEY_OK;
}

static sley_status draw_hops(sley_gnn_sampler *s, uint64_t key, const int64_t *seed, int64_t seeds) {
  s->rows = s->drawn = s->entries = 0;
  SL_TRY(grow(&s->row, &s->row_room, seeds));
  for (int64_t i = 0; i < seeds; i++)
    reach(s, seed[i]);
  for (int hop = 0; hop < s->hops; hop++) {
    const int64_t frontier_end = s->rows;
    while (s->drawn < frontier_end)
      SL_TRY(draw_row(s, key, s->fan_out[hop]));
  }
  return SLEY_OK;
}

/* ---- the subgraph as a matrix */

static void fill(const sley_gnn_sampler *s, const sl_csr_arrays *to) {
  const size_t value = sley_dtype_bytes(s->a->dtype);
  to->rowptr[0] = 0;
  for (int64_t i = 0; i < s->rows; i++)
    to->rowptr[i + 1] = i < s->drawn ? s->end[i] : s->entries;
  for (int64_t e = 0; e < s->entries; e++) {
    sl_index_set(to->col, s->a->index, e, s->place[sl_index_at(s->a->col, s->a->index, s->entry[e])]);
    memcpy((char *)to->val + (size_t)e * value, (const char *)s->a->val + (size_t)s->entry[e] * value, value);
  }
}

static sley_status make_graph(const sley_gnn_sampler *s, sley_matrix **out) {
  const sley_matrix *a = s->a;
  sl_csr_arrays arrays;
  SL_TRY(sl_csr_arrays_alloc(s->rows, s->entries, a->index, a->dtype, &arrays));
  fill(s, &arrays);
  const sley_status status =
      sl_csr_sort_rows(s->rows, arrays.rowptr, a->index, arrays.col, a->dtype, arrays.val, NULL);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&arrays);
    return status;
  }
  return sl_matrix_adopt(s->rows, s->rows, a->index, a->dtype, arrays, -1, out);
}

sley_status sl_sampler_draw(sley_gnn_sampler *s, int64_t epoch, int64_t batch, sley_gnn_drawn *out) {
  const int64_t first = batch * s->batch, left = s->count - first;
  const int64_t seeds = left < s->batch ? left : s->batch;
  const uint64_t key = sl_random(s->seed ^ sl_mix(NEIGHBOURS), (uint64_t)epoch, (uint64_t)batch);
  sl_matrix_destroy(s->graph);
  s->graph = NULL;
  if (s->epoch != epoch)
    shuffle(s, epoch);
  sley_status status = draw_hops(s, key, s->order + first, seeds);
  if (status == SLEY_OK)
    status = make_graph(s, &s->graph);
  for (int64_t i = 0; i < s->rows; i++)
    s->place[s->row[i]] = -1;
  if (status == SLEY_OK)
    *out = (sley_gnn_drawn){.rows = s->rows, .seeds = seeds, .row = s->row, .graph = s->graph};
  return status;
}

/* ---- the sampler */

static sley_status take_memory(sley_gnn_sampler *s, const sley_gnn_sampler_options *o) {
  SL_TRY(SL_NEW(s->fan_out, s->hops, "a sampler's fan-outs"));
  SL_TRY(SL_NEW(s->given, s->count, "a sampler's rows"));
  SL_TRY(SL_NEW(s->order, s->count, "a sampler's rows"));
  SL_TRY(SL_NEW(s->place, s->a->rows, "a sampler's rows"));
  SL_TRY(SL_NEW_ZERO(s->marked, sl_matrix_max_row(s->a), "a sampler's entries"));
  for (int hop = 0; hop < s->hops; hop++)
    s->fan_out[hop] = o->fan_out[hop];
  for (int64_t i = 0; i < s->a->rows; i++)
    s->place[i] = -1;
  return SLEY_OK;
}

/* Copies the rows to train on, and checks that each is a row of a and occurs once. */
static sley_status take_rows(sley_gnn_sampler *s, const int64_t *row) {
  for (int64_t taken = 0; taken < s->count; taken++) {
    const int64_t r = row[taken];
    if (r < 0 || r >= s->a->rows)
      return sl_fail(SLEY_ERR_ARG, "sley_gnn_sampler_create: row[%lld] is %lld: the matrix has %lld rows",
                     (long long)taken, (long long)r, (long long)s->a->rows);
    if (s->place[r] >= 0)
      return sl_fail(SLEY_ERR_ARG, "sley_gnn_sampler_create: row[%lld] and row[%lld] are both %lld",
                     (long long)s->place[r], (long long)taken, (long long)r);
    s->place[r] = taken;
    s->given[taken] = r;
  }
  for (int64_t i = 0; i < s->count; i++)
    s->place[row[i]] = -1;
  return SLEY_OK;
}

sley_status sl_sampler_create(const sley_matrix *a, const sley_gnn_sampler_options *o,
                              sley_gnn_sampler **out) {
  sley_gnn_sampler *s;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(s, 1, "a sampler"));
  s->a = a;
  s->batch = o->batch;
  s->count = o->rows;
  s->hops = o->hops;
  s->seed = o->seed;
  s->epoch = -1;
  sley_status status = take_memory(s, o);
  if (status == SLEY_OK)
    status = take_rows(s, o->row);
  if (status != SLEY_OK) {
    sl_sampler_destroy(s);
    return status;
  }
  *out = s;
  return SLEY_OK;
}

int64_t sl_sampler_batches(const sley_gnn_sampler *s) {
  return s->count / s->batch + (s->count % s->batch > 0);
}

void sl_sampler_destroy(sley_gnn_sampler *s) {
  if (!s)
    return;
  sl_matrix_destroy(s->graph);
  int64_t *const all[] = {s->entry, s->end, s->row, s->place, s->order, s->given, s->fan_out};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    sl_free(all[i]);
  sl_free(s->marked);
  sl_free(s);
}
