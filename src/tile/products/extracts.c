/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/extracts.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"

enum { WORD = sizeof(int64_t), BITS = 64, SIZES = 2 };

static int64_t words_of(int64_t bits) {
  return (bits + BITS - 1) / BITS;
}

static bool is_marked(const uint64_t *marks, int64_t n) {
  return marks[n / BITS] >> n % BITS & 1;
}

static void mark(uint64_t *marks, int64_t n) {
  marks[n / BITS] |= UINT64_C(1) << n % BITS;
}

static const sl_tiled *matrix_of(const sl_tile_operands *o, bool of_a) {
  return of_a ? o->a : o->x;
}

/* ---- marks */

/* Number of marks of tile (i, j): its columns if it is of A, else its rows. */
static int64_t marks_of(const sl_tiled *of, bool of_a, int64_t i, int64_t j) {
  return of_a ? sl_tile_width(&of->tiling, j) : sl_tile_height(&of->tiling, i);
}

/* Whether a rank needs the marks of tile (i, j): for a tile of A, as an owner of tiles of X in row j; for a
 * tile of X, as an owner of tiles of A in column i. */
static bool takes_marks(const sl_tiled *of, bool of_a, int64_t i, int64_t j, int rank) {
  const sl_tiling *t = &of->tiling;
  return sl_tile_at(of, i, j)->entries > 0 &&
         (of_a ? rank / t->grid_cols == j % t->grid_rows : rank % t->grid_cols == i % t->grid_cols);
}

static void mark_tile(const sl_tiled *of, bool of_a, const sl_tile *tile, uint64_t *marks) {
  for (int64_t s = 0; s < tile->stored; s++) {
    const int64_t from = tile->rowptr[s], end = tile->rowptr[s + 1];
    if (!of_a && end > from)
      mark(marks, tile->rowid ? tile->rowid[s] : s);
    for (int64_t e = from; of_a && e < end; e++)
      mark(marks, sl_index_at(tile->col, of->index, e));
  }
}

/* Bytes that this rank's alltoallv moves to or from each rank, and their offsets. */
typedef struct trade {
  int64_t *send_at, *send_bytes, *recv_at, *recv_bytes;
  char *send, *recv;
} trade;

static void free_trade(trade *t) {
  sl_free(t->send_at);
  sl_free(t->send);
  *t = (trade){.recv = t->recv};
}

static sley_status open_trade(trade *t, int size) {
  *t = (trade){0};
  SL_TRY(SL_NEW_ZERO(t->send_at, 4 * (int64_t)size, "marks of tiles"));
  t->send_bytes = t->send_at + size;
  t->recv_at = t->send_bytes + size;
  t->recv_bytes = t->recv_at + size;
  return SLEY_OK;
}

/* Allocates the memory of both sides, whose bytes are set. */
static sley_status fill_offsets(trade *t, int size) {
  int64_t send = 0, recv = 0;
  for (int r = 0; r < size; r++) {
    t->send_at[r] = send;
    t->recv_at[r] = recv;
    send += t->send_bytes[r];
    recv += t->recv_bytes[r];
  }
  SL_TRY(SL_NEW_ZERO(t->send, send, "marks of tiles"));
  return SL_NEW(t->recv, recv, "marks of tiles");
}

/* Collective. */
static sley_status run_trade(sl_extracts *p, trade *t) {
  sl_comm *comm = p->o->y->comm;
  for (int r = 0; r < comm->size; r++)
    p->traded += sl_link_to(comm, r) == SL_LINK_MESSAGE ? t->send_bytes[r] : 0;
  return comm->ops->alltoallv(comm, t->send, t->send_at, t->send_bytes, t->recv, t->recv_at, t->recv_bytes);
}

/* Counts the marks that go from one rank to another. */
static int64_t count_marks(const sl_tiled *of, bool of_a, int from, int to) {
  int64_t words = 0;
  for (sl_own_tile at = sl_own_first(&of->tiling, from); sl_own_is(&of->tiling, &at);
       sl_own_next(&of->tiling, &at))
    if (takes_marks(of, of_a, at.i, at.j, to))
      words += words_of(marks_of(of, of_a, at.i, at.j));
  return words * WORD;
}

/* own: this rank's block, in host memory. */
static void pack_marks(const sl_tiled *of, bool of_a, const char *own, trade *t) {
  const sl_tiling *g = &of->tiling;
  char *to = t->send;
  for (int r = 0; r < of->comm->size; r++)
    for (sl_own_tile at = sl_own_first(g, of->comm->rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
      if (!takes_marks(of, of_a, at.i, at.j, r))
        continue;
      const sl_tile tile = sl_tile_view(of, at.i, at.j, own + sl_tile_at(of, at.i, at.j)->offset);
      mark_tile(of, of_a, &tile, (uint64_t *)(void *)to);
      to += words_of(marks_of(of, of_a, at.i, at.j)) * WORD;
    }
}

static sley_status prepare_marks(const sl_tiled *of, bool of_a, trade *t) {
  const int me = of->comm->rank, size = of->comm->size;
  char *own;
  SL_TRY(open_trade(t, size));
  for (int r = 0; r < size; r++) {
    t->send_bytes[r] = count_marks(of, of_a, me, r);
    t->recv_bytes[r] = count_marks(of, of_a, r, me);
  }
  SL_TRY(fill_offsets(t, size));
  SL_TRY(sl_tiled_own_open(of, true, &own));
  pack_marks(of, of_a, own, t);
  sl_tiled_own_drop(of, own);
  return SLEY_OK;
}

static void find_marks(sl_extracts *p, const sl_tiled *of, bool of_a) {
  uint64_t *at = p->words[of_a];
  for (int r = 0; r < of->comm->size; r++)
    for (sl_own_tile t = sl_own_first(&of->tiling, r); sl_own_is(&of->tiling, &t);
         sl_own_next(&of->tiling, &t))
      if (takes_marks(of, of_a, t.i, t.j, of->comm->rank)) {
        p->marks[of_a][sl_tile_number(&of->tiling, t.i, t.j)] = at;
        at += words_of(marks_of(of, of_a, t.i, t.j));
      }
}

/* Collective, agreed. */
static sley_status trade_marks(sl_extracts *p, bool of_a) {
  const sl_tiled *of = matrix_of(p->o, of_a);
  trade t = {0};
  sley_status status = SL_NEW_ZERO(p->marks[of_a], sl_tiles(&of->tiling), "marks of tiles");
  if (status == SLEY_OK)
    status = prepare_marks(of, of_a, &t);
  status = sl_agree(of->comm, status);
  if (status == SLEY_OK)
    status = run_trade(p, &t);
  p->words[of_a] = (uint64_t *)(void *)t.recv;
  if (status == SLEY_OK)
    find_marks(p, of, of_a);
  free_trade(&t);
  return status;
}

/* ---- the entries of an extract */

sl_tile_shape sl_extract_shape(const sl_tile_operands *o, const sl_extract *p) {
  sl_tile_shape shape = sl_tile_shape_of(matrix_of(o, p->of_a), p->i, p->j);
  shape.stored = p->stored;
  shape.entries = p->entries;
  return shape;
}

/* Rows of a tile of X, or columns of a tile of A, that a workgroup multiplies with an entry. NULL, in *out:
 * all. */
static sley_status find_wanted(const sl_extracts *p, const sl_extract *extract, int group, uint64_t **out) {
  const sl_tile_operands *o = p->o;
  const sl_tiled *of = matrix_of(o, extract->of_a), *by = matrix_of(o, !extract->of_a);
  const int64_t words = words_of(marks_of(of, extract->of_a, extract->i, extract->j));
  *out = NULL;
  if (!by->sparse)
    return SLEY_OK;
  SL_TRY(SL_NEW_ZERO(*out, words, "rows of a tile"));
  for (int64_t n = 0; n < sl_tile_uses(o, extract->of_a); n++) {
    const sl_tile_task task = sl_tile_use(extract->of_a, extract->i, extract->j, n);
    if (!sl_task_is(o, &task) || sl_workgroup_of(o->y->comm, sl_tile_at(o->y, task.i, task.j)->rank) != group)
      continue;
    const uint64_t *marks =
        p->marks[!extract->of_a][extract->of_a ? sl_tile_number(&by->tiling, task.l, task.j)
                                               : sl_tile_number(&by->tiling, task.i, task.l)];
    for (int64_t w = 0; w < words; w++)
      (*out)[w] |= marks[w];
  }
  return SLEY_OK;
}

/* Number of entries of stored row s in the extract. */
static int64_t count_row(const sl_tiled *of, const sl_tile *tile, int64_t s, bool of_a,
                         const uint64_t *wanted) {
  const int64_t from = tile->rowptr[s], end = tile->rowptr[s + 1];
  int64_t count = 0;
  if (!wanted)
    return end - from;
  if (!of_a)
    return is_marked(wanted, tile->rowid ? tile->rowid[s] : s) ? end - from : 0;
  for (int64_t e = from; e < end; e++)
    count += is_marked(wanted, sl_index_at(tile->col, of->index, e));
  return count;
}

static void measure_sparse(const sl_tiled *of, const sl_tile *tile, const uint64_t *wanted,
                           sl_extract *extract) {
  int64_t filled = 0;
  for (int64_t s = 0; s < tile->stored; s++) {
    const int64_t count = count_row(of, tile, s, extract->of_a, wanted);
    filled += count > 0;
    extract->entries += count;
  }
  extract->stored = sl_tile_stored_rows(tile->rows, filled);
}

/* Copies entry `from` of a tile to entry `to` of an extract. */
static void copy_entry(const sl_tiled *of, const sl_tile *src, int64_t from, const sl_tile *dst, int64_t to) {
  sl_index_set((void *)dst->col, of->index, to, sl_index_at(src->col, of->index, from));
  sl_value_copy((void *)dst->val, to, src->val, from, of->dtype);
}

static void pack_sparse(const sl_tiled *of, const sl_tile *tile, const uint64_t *wanted, bool of_a,
                        const sl_tile_shape *shape, char *to) {
  const sl_tile out = sl_sparse_tile_view(shape, to);
  int64_t *rowptr = (int64_t *)out.rowptr, *rowid = (int64_t *)out.rowid, stored = 0, at = 0;
  rowptr[0] = 0;
  for (int64_t s = 0; s < tile->stored; s++) {
    const int64_t row = tile->rowid ? tile->rowid[s] : s, end = at + count_row(of, tile, s, of_a, wanted);
    if (end == at)
      continue;
    for (; !rowid && stored < row; stored++)
      rowptr[stored + 1] = at;
    if (rowid)
      rowid[stored] = row;
    for (int64_t e = tile->rowptr[s]; e < tile->rowptr[s + 1]; e++)
      if (!wanted || !of_a || is_marked(wanted, sl_index_at(tile->col, of->index, e)))
        copy_entry(of, tile, e, &out, at++);
    rowptr[++stored] = at;
  }
  for (; stored < shape->stored; stored++)
    rowptr[stored + 1] = at;
  sl_sparse_tile_pad(shape, to);
}

/* A dense section: marks of its rows, then the rows. */
static void pack_dense(const sl_tiled *of, const sl_tile *tile, const uint64_t *wanted, char *to) {
  const size_t row_bytes = (size_t)tile->cols * sley_dtype_bytes(of->dtype);
  memcpy(to, wanted, (size_t)words_of(tile->rows) * WORD);
  to += words_of(tile->rows) * WORD;
  for (int64_t row = 0; row < tile->rows; row++)
    if (is_marked(wanted, row)) {
      memcpy(to, (const char *)tile->val + (size_t)row * row_bytes, row_bytes);
      to += row_bytes;
    }
}

sley_status sl_extract_pack(const sl_extracts *p, const sl_extract *extract, const char *tile, char *to) {
  const sl_tiled *of = matrix_of(p->o, extract->of_a);
  const sl_tile view = sl_tile_view(of, extract->i, extract->j, tile);
  const sl_tile_shape shape = sl_extract_shape(p->o, extract);
  uint64_t *wanted;
  if (extract->bytes == 0)
    return SLEY_OK;
  SL_TRY(find_wanted(p, extract, sl_workgroup_of(of->comm, extract->receiver), &wanted));
  if (of->sparse)
    pack_sparse(of, &view, wanted, extract->of_a, &shape, to);
  else
    pack_dense(of, &view, wanted, to);
  sl_free(wanted);
  return SLEY_OK;
}

sley_status sl_extract_unpack(const sl_tile_operands *o, const sl_extract *extract, const char *from,
                              char *tile) {
  const sl_tiled *of = matrix_of(o, extract->of_a);
  const int64_t rows = sl_tile_height(&of->tiling, extract->i), cols = sl_tile_width(&of->tiling, extract->j);
  const size_t row_bytes = (size_t)cols * sley_dtype_bytes(of->dtype);
  const uint64_t *wanted = (const uint64_t *)(const void *)from;
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row++)
    count += is_marked(wanted, row);
  if (count != extract->stored)
    return sl_fail_peer(extract->owner, "it has sent %lld rows of tile (%lld, %lld), not %lld",
                        (long long)count, (long long)extract->i, (long long)extract->j,
                        (long long)extract->stored);
  from += words_of(rows) * WORD;
  for (int64_t row = 0; row < rows; row++)
    if (is_marked(wanted, row)) {
      memcpy(tile + (size_t)row * row_bytes, from, row_bytes);
      from += row_bytes;
    }
  return SLEY_OK;
}

sley_status sl_extract_check(const sl_tile_operands *o, const sl_extract *extract, const char *at) {
  const sl_tile_shape shape = sl_extract_shape(o, extract);
  const sl_tile tile = sl_sparse_tile_view(&shape, at);
  if (tile.entries > 0 && !sl_sparse_tile_is_csr(&tile, shape.index))
    return sl_fail_peer(extract->owner, "its extract of tile (%lld, %lld) is not a CSR matrix",
                        (long long)extract->i, (long long)extract->j);
  return SLEY_OK;
}

/* ---- which extracts travel */

/* The rank of a workgroup that receives its extract of tile (i, j): one of the ranks on the line of the grid
 * whose tasks use the tile, in turn. */
static int receiver_of(const sl_tile_operands *o, bool of_a, int64_t i, int64_t j, int group) {
  const sl_comm *comm = o->y->comm;
  const sl_tiling *g = &o->a->tiling;
  const int first = sl_workgroup_first(comm, group), end = first + sl_workgroup_size(comm, group);
  int64_t count = 0, nth;
  for (int r = first; r < end; r++)
    count += of_a ? r / g->grid_cols == i % g->grid_rows : r % g->grid_cols == j % g->grid_cols;
  nth = (of_a ? j : i) % count;
  for (int r = first;; r++)
    if ((of_a ? r / g->grid_cols == i % g->grid_rows : r % g->grid_cols == j % g->grid_cols) && nth-- == 0)
      return r;
}

/* Lists the extracts of a rank's tiles that go to a workgroup; list NULL: only counts them. */
static int64_t list_extracts(const sl_tile_operands *o, int owner, int group, sl_extract *list) {
  int64_t count = 0;
  for (int side = 0; side < 2; side++) {
    const bool of_a = side == 0;
    const sl_tiled *of = matrix_of(o, of_a);
    for (sl_own_tile at = sl_own_first(&of->tiling, owner); sl_own_is(&of->tiling, &at);
         sl_own_next(&of->tiling, &at)) {
      if (!sl_tile_is_needed(o, of_a, at.i, at.j, group))
        continue;
      if (list)
        list[count] = (sl_extract){.of_a = of_a,
                                   .i = at.i,
                                   .j = at.j,
                                   .owner = owner,
                                   .receiver = receiver_of(o, of_a, at.i, at.j, group)};
      count++;
    }
  }
  return count;
}

/* Sets the bytes of an extract from its other figures. */
static sley_status set_bytes(const sl_tile_operands *o, sl_extract *extract) {
  const sl_tiled *of = matrix_of(o, extract->of_a);
  const sl_tile_shape shape = sl_extract_shape(o, extract);
  if (of->sparse) {
    if (!sl_tile_shape_bytes(&shape, &extract->bytes))
      return sl_fail(SLEY_ERR_OVERFLOW, "an extract of a tile does not fit 64-bit sizes: use more tiles");
    extract->room = extract->bytes;
    return SLEY_OK;
  }
  extract->entries = extract->stored * shape.cols;
  extract->bytes =
      (words_of(shape.rows) * WORD + extract->entries * (int64_t)sley_dtype_bytes(of->dtype) + WORD - 1) /
      WORD * WORD;
  extract->room = sl_tile_at(of, extract->i, extract->j)->bytes;
  return SLEY_OK;
}

/* Measures the extracts that this rank sends; their tiles are in host memory at own[of_a]. */
static sley_status measure_extracts(sl_extracts *p, char *const own[2]) {
  for (sl_extract *extract = p->sent; extract < p->sent + p->sends; extract++) {
    const sl_tiled *of = matrix_of(p->o, extract->of_a);
    uint64_t *wanted;
    SL_TRY(sl_interrupted());
    SL_TRY(find_wanted(p, extract, sl_workgroup_of(of->comm, extract->receiver), &wanted));
    const sl_tile tile = sl_tile_view(of, extract->i, extract->j,
                                      own[extract->of_a] + sl_tile_at(of, extract->i, extract->j)->offset);
    if (of->sparse)
      measure_sparse(of, &tile, wanted, extract);
    for (int64_t row = 0; !of->sparse && row < tile.rows; row++)
      extract->stored += is_marked(wanted, row);
    sl_free(wanted);
    SL_TRY(set_bytes(p->o, extract));
  }
  return SLEY_OK;
}

static sley_status list_sent(sl_extracts *p) {
  const sl_tile_operands *o = p->o;
  const sl_comm *comm = o->y->comm;
  const int mine = sl_workgroup_of(comm, comm->rank);
  char *own[2] = {0};
  for (int g = 0; g < sl_workgroups(comm); g++)
    p->sends += g == mine ? 0 : list_extracts(o, comm->rank, g, NULL);
  SL_TRY(SL_NEW(p->sent, p->sends, "extracts of tiles"));
  int64_t count = 0;
  for (int g = 0; g < sl_workgroups(comm); g++)
    count += g == mine ? 0 : list_extracts(o, comm->rank, g, p->sent + count);
  SL_TRY(sl_tiled_own_open(o->a, true, &own[1]));
  sley_status status = sl_tiled_own_open(o->x, true, &own[0]);
  if (status == SLEY_OK)
    status = measure_extracts(p, own);
  sl_tiled_own_drop(o->x, own[0]);
  sl_tiled_own_drop(o->a, own[1]);
  return status;
}

static sley_status list_received(sl_extracts *p) {
  const sl_comm *comm = p->o->y->comm;
  const int mine = sl_workgroup_of(comm, comm->rank);
  for (int r = 0; r < comm->size; r++)
    p->receives += sl_workgroup_of(comm, r) == mine ? 0 : list_extracts(p->o, r, mine, NULL);
  SL_TRY(SL_NEW(p->received, p->receives, "extracts of tiles"));
  int64_t count = 0;
  for (int r = 0; r < comm->size; r++)
    count += sl_workgroup_of(comm, r) == mine ? 0 : list_extracts(p->o, r, mine, p->received + count);
  return SLEY_OK;
}

/* ---- sizes */

/* Prepares the sizes of extracts, which every rank of an extract's workgroup receives. */
static sley_status prepare_sizes(const sl_extracts *p, trade *t) {
  const sl_comm *comm = p->o->y->comm;
  SL_TRY(open_trade(t, comm->size));
  for (int64_t n = 0; n < p->sends; n++) {
    const int group = sl_workgroup_of(comm, p->sent[n].receiver), first = sl_workgroup_first(comm, group);
    for (int r = first; r < first + sl_workgroup_size(comm, group); r++)
      t->send_bytes[r] += SIZES * WORD;
  }
  for (int64_t n = 0; n < p->receives; n++)
    t->recv_bytes[p->received[n].owner] += SIZES * WORD;
  SL_TRY(fill_offsets(t, comm->size));
  int64_t *to = (int64_t *)(void *)t->send;
  for (int r = 0; r < comm->size; r++)
    for (int64_t n = 0; n < p->sends; n++)
      if (sl_workgroup_of(comm, p->sent[n].receiver) == sl_workgroup_of(comm, r)) {
        *to++ = p->sent[n].stored;
        *to++ = p->sent[n].entries;
      }
  return SLEY_OK;
}

static sley_status take_sizes(sl_extracts *p, const int64_t *sizes) {
  for (sl_extract *extract = p->received; extract < p->received + p->receives; extract++, sizes += SIZES) {
    const sl_tiled *of = matrix_of(p->o, extract->of_a);
    const sl_tile_pointer *tile = sl_tile_at(of, extract->i, extract->j);
    const int64_t rows = sl_tile_height(&of->tiling, extract->i);
    extract->stored = sizes[0];
    extract->entries = sizes[1];
    if (extract->stored < 0 || extract->stored > rows ||
        (of->sparse && (extract->entries < 0 || extract->entries > tile->entries ||
                        (extract->stored > 0) != (extract->entries > 0))))
      return sl_fail_peer(extract->owner,
                          "it has sent impossible figures of its extract of tile (%lld, %lld)",
                          (long long)extract->i, (long long)extract->j);
    SL_TRY(set_bytes(p->o, extract));
  }
  return SLEY_OK;
}

/* Collective, agreed. */
static sley_status trade_sizes(sl_extracts *p) {
  sl_comm *comm = p->o->y->comm;
  trade t = {0};
  sley_status status = sl_agree(comm, prepare_sizes(p, &t));
  if (status == SLEY_OK)
    status = run_trade(p, &t);
  if (status == SLEY_OK)
    status = sl_agree(comm, take_sizes(p, (const int64_t *)(const void *)t.recv));
  free_trade(&t);
  sl_free(t.recv);
  return status;
}

sley_status sl_extracts_open(sl_extracts *p, const sl_tile_operands *o) {
  *p = (sl_extracts){.o = o};
  sley_status status = trade_marks(p, true);
  if (status == SLEY_OK && o->x->sparse)
    status = trade_marks(p, false);
  if (status == SLEY_OK) {
    status = list_sent(p);
    if (status == SLEY_OK)
      status = list_received(p);
    status = sl_agree(o->y->comm, status);
  }
  if (status == SLEY_OK)
    status = trade_sizes(p);
  if (status != SLEY_OK)
    sl_extracts_close(p);
  return status;
}

void sl_extracts_close(sl_extracts *p) {
  for (int n = 0; n < 2; n++) {
    sl_free(p->marks[n]);
    sl_free(p->words[n]);
  }
  sl_free(p->sent);
  sl_free(p->received);
  *p = (sl_extracts){0};
}
