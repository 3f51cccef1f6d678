/* SPDX-License-Identifier: Apache-2.0 */
/* A message is its length in bytes, the number of the tile, the number of the term, and the values. */
#include "tile/products/term_sums.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"

enum { WORD = sizeof(int64_t) };
typedef enum message_word { BYTES, TILE, TERM, WORDS } message_word;

static int64_t values_of(const sl_tiled *y, int64_t i, int64_t j) {
  return sl_tile_height(&y->tiling, i) * sl_tile_width(&y->tiling, j);
}

static int64_t message_bytes(const sl_tiled *y, int64_t i, int64_t j) {
  const int64_t bytes = values_of(y, i, j) * (int64_t)sley_dtype_bytes(y->dtype);
  return WORDS * WORD + (bytes + WORD - 1) / WORD * WORD;
}

/* ---- terms */

static void add_values(const sl_term_sums *s, sl_tile_terms *t, const int64_t *message) {
  const int64_t count = values_of(s->y, t->i, t->j);
  for (int64_t e = 0; e < count; e++)
    t->sum[e] += sl_value_at(message + WORDS, s->y->dtype, e);
}

/* Adds a term of this rank's tile, and the terms that waited for it; a term whose turn has not come is
 * copied. */
static sley_status take_term(sl_term_sums *s, sl_tile_terms *t, const int64_t *message) {
  const int64_t term = message[TERM];
  if (term != t->added) {
    if (!(t->early[term] = sl_alloc(message[BYTES], 1, "a term of a sum")))
      return SLEY_ERR_MEMORY;
    memcpy(t->early[term], message, (size_t)message[BYTES]);
    s->missing--;
    return SLEY_OK;
  }
  add_values(s, t, message);
  s->missing--;
  for (t->added++; t->added < t->count && t->early[t->added]; t->added++) {
    add_values(s, t, t->early[t->added]);
    sl_free(t->early[t->added]);
    t->early[t->added] = NULL;
  }
  return SLEY_OK;
}

static bool is_missing(const sl_tile_terms *t, int64_t term) {
  return term >= t->added && term < t->count && !t->early[term];
}

static sley_status receive(void *context, int from, const int64_t *message, int64_t bytes) {
  sl_term_sums *s = context;
  const sl_tiling *g = &s->y->tiling;
  const int64_t tile = bytes < WORDS * WORD ? -1 : message[TILE];
  if (tile < 0 || tile >= sl_tiles(g) || s->y->pointers[tile].rank != s->y->comm->rank)
    return sl_fail_peer(from, "it has sent a term for no tile of this rank");
  sl_tile_terms *t = &s->tiles[sl_own_local(g, tile / g->across, tile % g->across)];
  if (bytes != message_bytes(s->y, t->i, t->j) || !is_missing(t, message[TERM]))
    return sl_fail_peer(from,
                        "it has sent a term of tile (%lld, %lld) that this rank does not wait for: each of "
                        "the %lld terms may be added once",
                        (long long)t->i, (long long)t->j, (long long)t->count);
  return take_term(s, t, message);
}

/* ---- the calls */

static sley_status open_tiles(sl_term_sums *s, const int64_t *terms) {
  const sl_tiling *g = &s->y->tiling;
  const int me = s->y->comm->rank;
  SL_TRY(SL_NEW(s->terms, sl_tiles(g), "numbers of terms"));
  memcpy(s->terms, terms, (size_t)sl_tiles(g) * sizeof *terms);
  SL_TRY(SL_NEW_ZERO(s->tiles, sl_own_count(g, me), "sums of tiles"));
  s->own = sl_own_count(g, me);
  for (sl_own_tile at = sl_own_first(g, me); sl_own_is(g, &at); sl_own_next(g, &at)) {
    sl_tile_terms *t = &s->tiles[at.local];
    *t = (sl_tile_terms){.i = at.i, .j = at.j, .count = terms[sl_tile_number(g, at.i, at.j)]};
    s->missing += t->count;
    SL_TRY(SL_NEW_ZERO(t->early, t->count, "terms of a sum"));
    SL_TRY(SL_NEW_ZERO(t->sum, values_of(s->y, at.i, at.j), "a sum"));
  }
  return SLEY_OK;
}

sley_status sl_term_sums_create(sl_tiled *y, const int64_t *terms, int buffers, sl_term_sums **out) {
  sl_term_sums *s;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(s, 1, "sums of tiles");
  if (status == SLEY_OK) {
    s->y = y;
    status = open_tiles(s, terms);
  }
  status = sl_agree(y->comm, status);
  if (status == SLEY_OK)
    status = sl_product_stream_create(y->comm, buffers, message_bytes(y, 0, 0), receive, s, &s->stream);
  if (status != SLEY_OK) {
    sl_term_sums_destroy(s);
    return status;
  }
  *out = s;
  return SLEY_OK;
}

sley_status sl_term_sums_add(sl_term_sums *s, int64_t i, int64_t j, int64_t number, const void *values) {
  const int64_t bytes = message_bytes(s->y, i, j), tile = sl_tile_number(&s->y->tiling, i, j);
  const int owner = s->y->pointers[tile].rank;
  sl_tile_terms *own = owner == s->y->comm->rank ? &s->tiles[sl_own_local(&s->y->tiling, i, j)] : NULL;
  if (own && !is_missing(own, number))
    return sl_fail(SLEY_ERR_ARG, "sley_sums_add: term %lld of tile (%lld, %lld) was added before",
                   (long long)number, (long long)i, (long long)j);
  int64_t *message = sl_alloc_zero(bytes, 1, "a term of a sum");
  if (!message)
    return SLEY_ERR_MEMORY;
  memcpy(message, (const int64_t[WORDS]){bytes, tile, number}, WORDS * WORD);
  memcpy(message + WORDS, values, (size_t)values_of(s->y, i, j) * sley_dtype_bytes(s->y->dtype));
  sley_status status = own ? take_term(s, own, message) : sl_product_stream_send(s->stream, owner, message);
  sl_free(message);
  return status == SLEY_OK ? sl_product_stream_receive(s->stream, NULL) : status;
}

/* Adds the sums to this rank's tiles of y. */
static sley_status store(const sl_term_sums *s) {
  char *own;
  SL_TRY(sl_tiled_own_open(s->y, true, &own));
  for (const sl_tile_terms *t = s->tiles; t < s->tiles + s->own; t++) {
    void *tile = own + sl_tile_at(s->y, t->i, t->j)->offset;
    for (int64_t e = 0; t->count > 0 && e < values_of(s->y, t->i, t->j); e++)
      sl_value_set(tile, s->y->dtype, e, sl_value_at(tile, s->y->dtype, e) + t->sum[e]);
  }
  return sl_tiled_own_close(s->y, own, SLEY_OK);
}

static sley_status finish(sl_term_sums *s) {
  SL_TRY(sl_product_stream_settle(s->stream));
  while (s->missing > 0) {
    bool any;
    SL_TRY(sl_interrupted());
    SL_TRY(sl_product_stream_receive(s->stream, &any));
    if (!any)
      sl_tile_queue_nap();
  }
  SL_TRY(sl_product_stream_settle(s->stream));
  return store(s);
}

sley_status sl_term_sums_finish(sl_term_sums *s) {
  sl_comm *comm = s->y->comm;
  const sley_status status = finish(s);
  if (status != SLEY_OK && comm->size > 1) /* also if a peer's term was wrong: others wait for this rank */
    comm->ops->abort(comm, status);
  return status == SLEY_OK ? comm->ops->barrier(comm) : status;
}

void sl_term_sums_destroy(sl_term_sums *s) {
  if (!s)
    return;
  sl_product_stream_destroy(s->stream);
  for (sl_tile_terms *t = s->tiles; t < s->tiles + s->own; t++) {
    for (int64_t n = 0; t->early && n < t->count; n++)
      sl_free(t->early[n]);
    sl_free(t->early);
    sl_free(t->sum);
  }
  sl_free(s->tiles);
  sl_free(s->terms);
  sl_free(s);
}
