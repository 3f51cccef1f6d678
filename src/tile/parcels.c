/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/parcels.h"

#include <string.h>

#include "base/memory.h"

/* The data that one rank sends, filled by one pass over its parcels. */
typedef struct packing {
  const sl_tiled *tiled;
  const sley_matrix *matrix;
  int64_t first_row;        /* first row of `a` in the whole matrix */
  const sl_parcels *ranges; /* rows of all sources; `source` is this rank's number among the sources */
  int source;
  int64_t *lengths_to, *entries_to; /* one per rank */
  uint32_t *lengths;
  char *col, *val;
  int64_t length, entry; /* elements filled so far */
} packing;

/* First entry in [from, end) of a row whose column is at least col. */
static int64_t lower_bound(const sley_matrix *a, int64_t from, int64_t end, int64_t col) {
  while (from < end) {
    const int64_t middle = from + (end - from) / 2;
    if (sl_index_at(a->col, a->index, middle) < col)
      from = middle + 1;
    else
      end = middle;
  }
  return from;
}

static void pack_entries(packing *p, int64_t from, int64_t end, int64_t first_col) {
  const sl_tiled *t = p->tiled;
  const int64_t value = (int64_t)sley_dtype_bytes(t->dtype);
  for (int64_t e = from; p->col && e < end; e++)
    sl_index_set(p->col, t->index, p->entry + e - from,
                 sl_index_at(p->matrix->col, p->matrix->index, e) - first_col);
  if (p->val && end > from)
    memcpy(p->val + p->entry * value, (const char *)p->matrix->val + from * value,
           (size_t)((end - from) * value));
  p->entry += end - from;
}

/* Packs the rows [first, last) of the whole matrix in tile column j. */
static sley_status pack_parcel(packing *p, int64_t first, int64_t last, int64_t j) {
  const sley_matrix *a = p->matrix;
  const int64_t begin = sl_tile_col(&p->tiled->tiling, j), end = sl_tile_col(&p->tiled->tiling, j + 1);
  for (int64_t row = first - p->first_row; row < last - p->first_row; row++) {
    const int64_t from = lower_bound(a, a->rowptr[row], a->rowptr[row + 1], begin);
    const int64_t to = lower_bound(a, from, a->rowptr[row + 1], end);
    if (to - from > UINT32_MAX)
      return sl_fail(SLEY_ERR_OVERFLOW, "row %lld of the matrix has more than 2^32 entries in one tile",
                     (long long)(row + p->first_row));
    if (p->lengths)
      p->lengths[p->length] = (uint32_t)(to - from);
    p->length++;
    pack_entries(p, from, to, begin);
  }
  return SLEY_OK;
}

/* Packs all parcels for ranks first_rank to last_rank. If it has no arrays, it only counts. */
static sley_status pack(packing *p, int first_rank, int last_rank) {
  const sl_tiling *g = &p->tiled->tiling;
  p->length = p->entry = 0;
  for (int rank = first_rank; rank <= last_rank; rank++) {
    const int64_t length = p->length, entry = p->entry;
    for (sl_own_tile at = sl_own_first(g, rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
      int64_t first, last;
      sl_parcels_rows(p->ranges, g, p->source, at.i, &first, &last);
      SL_TRY(pack_parcel(p, first, last, at.j));
    }
    p->lengths_to[rank - first_rank] = p->length - length;
    p->entries_to[rank - first_rank] = p->entry - entry;
  }
  return SLEY_OK;
}

static void free_packed(packing *p) {
  sl_free(p->lengths_to);
  sl_free(p->entries_to);
  sl_free(p->lengths);
  sl_free(p->col);
  sl_free(p->val);
}

/* Counts, allocates memory, and packs. */
static sley_status pack_all(packing *p, bool values_alone) {
  const sl_tiled *t = p->tiled;
  const int me = t->comm->rank, first = p->ranges->sources == 1 ? me : 0;
  const int last = p->ranges->sources == 1 ? me : t->comm->size - 1;
  SL_TRY(SL_NEW(p->lengths_to, last - first + 1, "entries for other ranks"));
  SL_TRY(SL_NEW(p->entries_to, last - first + 1, "entries for other ranks"));
  SL_TRY(pack(p, first, last));
  if (!values_alone) {
    SL_TRY(SL_NEW(p->lengths, p->length, "lengths of rows"));
    p->col = sl_alloc(p->entry, sl_index_bytes(t->index), "columns for other ranks");
    if (!p->col)
      return SLEY_ERR_MEMORY;
  }
  p->val = sl_alloc(p->entry, sley_dtype_bytes(t->dtype), "values for other ranks");
  return p->val ? pack(p, first, last) : SLEY_ERR_MEMORY;
}

/* If there is a single source, the rank's own packed data is the data that it receives. */
static void keep(packing *p, sl_parcels *out) {
  out->lengths_from = p->lengths_to;
  out->entries_from = p->entries_to;
  out->lengths = p->lengths;
  out->col = p->col;
  out->val = p->val;
  *p = (packing){0};
}

static sley_status trade(const sl_tiled *t, const packing *p, bool values_alone, sl_parcels *out) {
  sl_comm *comm = t->comm;
  sley_status status = SL_NEW(out->lengths_from, comm->size, "entries from other ranks");
  if (status == SLEY_OK)
    status = SL_NEW(out->entries_from, comm->size, "entries from other ranks");
  SL_TRY(sl_agree(comm, status));
  if (!values_alone) {
    SL_TRY(sl_exchange_items(comm, sizeof *p->lengths, p->lengths, p->lengths_to, (void **)&out->lengths,
                             out->lengths_from));
    SL_TRY(sl_exchange_items(comm, (int64_t)sl_index_bytes(t->index), p->col, p->entries_to, &out->col,
                             out->entries_from));
  }
  int64_t *values = sl_alloc(comm->size, sizeof *values, "values from other ranks");
  status = sl_agree(comm, values ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status == SLEY_OK)
    status = sl_exchange_items(comm, (int64_t)sley_dtype_bytes(t->dtype), p->val, p->entries_to, &out->val,
                               values);
  if (status == SLEY_OK && values_alone)
    memcpy(out->entries_from, values, (size_t)comm->size * sizeof *values);
  for (int r = 0; r < comm->size && status == SLEY_OK; r++)
    if (values[r] != out->entries_from[r])
      status = sl_fail_peer(r, "it has sent %lld columns but %lld values", (long long)out->entries_from[r],
                            (long long)values[r]);
  sl_free(values);
  return sl_agree(comm, status); /* the exchange has failed on all ranks or on none */
}

/* Checks one source's data: as many lengths as there are rows, as many entries as the lengths add up to, and
 * columns within their tiles. */
static sley_status check_source(const sl_tiled *t, const sl_parcels *p, int source, int64_t *length,
                                int64_t *entry) {
  const sl_tiling *g = &t->tiling;
  const int64_t lengths_end = *length + p->lengths_from[source], end = *entry + p->entries_from[source];
  for (sl_own_tile at = sl_own_first(g, t->comm->rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
    const uint64_t width = (uint64_t)sl_tile_width(g, at.j);
    int64_t first, last, count = 0;
    sl_parcels_rows(p, g, source, at.i, &first, &last);
    if (last - first > lengths_end - *length)
      return sl_fail_peer(source, "it has sent fewer rows than it has");
    for (; first < last; first++)
      count += p->lengths[(*length)++];
    if (count > end - *entry)
      return sl_fail_peer(source, "it has sent fewer entries than its rows have");
    for (; count > 0; count--, (*entry)++)
      if ((uint64_t)sl_index_at(p->col, t->index, *entry) >= width)
        return sl_fail_peer(source, "it has sent a column that is not in its tile");
  }
  return *length == lengths_end && *entry == end
             ? SLEY_OK
             : sl_fail_peer(source, "it has sent more entries than its rows have");
}

static sley_status check_all(const sl_tiled *t, const sl_parcels *p) {
  int64_t length = 0, entry = 0;
  for (int s = 0; s < p->sources; s++)
    SL_TRY(check_source(t, p, s, &length, &entry));
  return SLEY_OK;
}

static sley_status exchange(const sl_tiled *t, const sl_tile_source *source, bool values_alone,
                            sl_parcels *out) {
  const bool whole = !source->row_begin;
  *out = (sl_parcels){
      .sources = whole ? 1 : t->comm->size, .whole = {0, t->tiling.rows}, .row_begin = source->row_begin};
  if (whole)
    out->row_begin = out->whole;
  const int me = whole ? 0 : t->comm->rank;
  packing p = {
      .tiled = t, .matrix = source->matrix, .ranges = out, .source = me, .first_row = out->row_begin[me]};
  sley_status status = sl_agree(t->comm, pack_all(&p, values_alone));
  if (status == SLEY_OK && whole)
    keep(&p, out);
  else if (status == SLEY_OK)
    status = trade(t, &p, values_alone, out);
  free_packed(&p);
  if (status == SLEY_OK && !values_alone && !whole)
    status = sl_agree(t->comm, check_all(t, out));
  if (status != SLEY_OK)
    sl_parcels_free(out);
  return status;
}

sley_status sl_parcels_exchange(const sl_tiled *tiled, const sl_tile_source *source, sl_parcels *out) {
  return exchange(tiled, source, false, out);
}

sley_status sl_parcels_exchange_values(const sl_tiled *tiled, const sl_tile_source *source, sl_parcels *out) {
  return exchange(tiled, source, true, out);
}

void sl_parcels_free(sl_parcels *p) {
  sl_free(p->lengths_from);
  sl_free(p->entries_from);
  sl_free(p->lengths);
  sl_free(p->col);
  sl_free(p->val);
  *p = (sl_parcels){0};
}
