/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in tiles: every rank reads every tile, sparse and dense, blocking and as a future, also after new
 * values; rows are written to tiles and read back. */
#include <math.h>

#include "allocations.h"
#include "base/memory.h"
#include "tile/fetch.h"
#include "tile_case.h"

enum { PAD = 2 };

/* ---- expected tiles */

static sley_status compare_sparse(const tile_case *c, const sl_tile *tile, int64_t i, int64_t j,
                                  sley_index index, double factor) {
  double sums[64 * 64] = {0};
  EXPECT(tile->rows == sl_tile_height(&c->a, i) && tile->cols == sl_tile_width(&c->a, j));
  for (int64_t s = 0; tile->entries > 0 && s < tile->stored; s++)
    for (int64_t e = tile->rowptr[s]; e < tile->rowptr[s + 1]; e++)
      sums[(tile->rowid ? tile->rowid[s] : s) * tile->cols + sl_index_at(tile->col, index, e)] +=
          sl_value_at(tile->val, c->dtype, e);
  for (int64_t row = 0; row < tile->rows; row++)
    for (int64_t col = 0; col < tile->cols; col++)
      EXPECT(sums[row * tile->cols + col] ==
             factor * c->dense[(sl_tile_row(&c->a, i) + row) * c->n + sl_tile_col(&c->a, j) + col]);
  return SLEY_OK;
}

static sley_status compare_dense(const tile_case *c, const sl_tile *tile, int64_t i, int64_t j,
                                 uint64_t seed) {
  EXPECT(tile->rows == sl_tile_height(&c->x, i) && tile->cols == sl_tile_width(&c->x, j));
  for (int64_t row = 0; row < tile->rows; row++)
    for (int64_t col = 0; col < tile->cols; col++)
      EXPECT(sl_value_at(tile->val, c->dtype, row * tile->cols + col) ==
             tile_value(seed, sl_tile_row(&c->x, i) + row, sl_tile_col(&c->x, j) + col));
  return SLEY_OK;
}

static sley_status compare(const tile_case *c, const sl_tiled *t, const sl_tile *tile, int64_t i, int64_t j,
                           double factor) {
  return t->sparse ? compare_sparse(c, tile, i, j, t->index, factor)
                   : compare_dense(c, tile, i, j, c->seed + 2);
}

/* ---- reading all tiles */

/* Reads all tiles. Ranks begin with different tiles, so that they read different ones at a time; the next
 * tile is in flight meanwhile. */
static sley_status read_ahead(const tile_case *c, const sl_tiled *t, double factor) {
  const int64_t count = sl_tiles(&t->tiling), across = t->tiling.across;
  sl_tile_fetch fetch[2] = {0};
  sl_tile tile;
  sley_status status = SLEY_OK;
  TRY(sl_tile_fetch_open(&fetch[0], t, SL_TILE_FOR_HOST));
  TRY(sl_tile_fetch_open(&fetch[1], t, SL_TILE_FOR_HOST));
  for (int64_t n = -1; n < count; n++) {
    const int64_t now = (n + t->comm->rank) % count, next = (n + 1 + t->comm->rank) % count;
    if (n + 1 < count)
      TRY(sl_tile_begin(&fetch[(n + 1) % 2], next / across, next % across));
    if (n < 0)
      continue;
    TRY(sl_tile_wait(&fetch[n % 2], &tile));
    TRY(compare(c, t, &tile, now / across, now % across, factor));
  }
done:
  sl_tile_fetch_close(&fetch[0]);
  sl_tile_fetch_close(&fetch[1]);
  return status;
}

/* Reads all tiles, blocking, and checks that the counted bytes equal the tiles' bytes. */
static sley_status read_blocking(const tile_case *c, const sl_tiled *t, double factor) {
  sl_tile_fetch fetch = {0};
  sl_tile tile;
  sl_counters before, after;
  int64_t bytes = 0, counted = 0;
  sley_status status = SLEY_OK;
  TRY(sl_tile_fetch_open(&fetch, t, SL_TILE_FOR_HOST));
  t->comm->ops->counters(t->comm, &before);
  for (int64_t n = 0; n < sl_tiles(&t->tiling); n++) {
    const int64_t i = n / t->tiling.across, j = n % t->tiling.across;
    TRY(sl_tile_get(&fetch, i, j, &tile));
    TRY(compare(c, t, &tile, i, j, factor));
    bytes += t->pointers[n].bytes;
  }
  t->comm->ops->counters(t->comm, &after);
  for (int link = 0; link < SL_LINK_COUNT; link++)
    counted += after.bytes[link] - before.bytes[link];
  CHECK(counted == bytes);
done:
  sl_tile_fetch_close(&fetch);
  return status;
}

/* ---- sparse */

static sley_status sparse_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  sley_matrix *block, *renewed = NULL;
  sl_tiled *t = NULL;
  SL_TRY(tile_block(c, c->matrix, comm->rank, &block));
  const sl_tile_source source = {block, c->whole ? NULL : c->row_begin};
  sley_status status = tile_block(c, c->renewed, comm->rank, &renewed);
  if (status != SLEY_OK)
    goto done;
  TRY(sl_tiled_create_sparse(comm, &c->a, &source, &t));
  TRY(read_blocking(c, t, 1));
  TRY(read_ahead(c, t, 1));
  TRY(comm->ops->barrier(comm));
  TRY(sl_tiled_renew(t, &(sl_tile_source){renewed, source.row_begin}));
  TRY(read_ahead(c, t, 2));
done:
  sl_tiled_destroy(t);
  sl_matrix_destroy(block);
  sl_matrix_destroy(renewed);
  return status;
}

static void sparse_tiles(const rank_case *rank) {
  for (uint64_t n = 0; n < 6; n++) {
    tile_case c = tile_case_draw(rank->seed * 100 + n, rank->ranks);
    assert_case_ok(rank, run_case(rank, sparse_main, &c));
    tile_case_free(&c);
  }
}

static void all_ranks_read_sparse_tiles_and_new_values(void **state) {
  (void)state;
  each_case(sparse_tiles);
}

/* ---- dense */

static sley_status dense_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  const int64_t first = c->col_begin[comm->rank], last = c->col_begin[comm->rank + 1], ld = c->k + PAD;
  void *rows = tile_rows(c->seed + 2, c->dtype, first, last, c->k, PAD), *back = NULL;
  int64_t even[TILE_MOST_RANKS + 1];
  sl_tiled *t = NULL;
  sley_status status = SLEY_OK;
  for (int r = 0; r <= comm->size; r++)
    even[r] = sl_share_begin(c->n, comm->size, r);
  const int64_t from = even[comm->rank], to = even[comm->rank + 1];
  TRY(sl_tiled_create_dense(comm, &c->x, c->dtype, &t));
  TRY(sl_tiled_set_rows(t, c->col_begin, rows, ld));
  TRY(read_blocking(c, t, 1));
  TRY(read_ahead(c, t, 1));
  back = tile_rows(1, c->dtype, from, to, c->k, PAD);
  TRY(sl_tiled_get_rows(t, even, back, ld));
  for (int64_t i = from; i < to; i++)
    for (int64_t j = 0; j < ld; j++) {
      const double found = sl_value_at(back, c->dtype, (i - from) * ld + j);
      CHECK(j < c->k ? found == tile_value(c->seed + 2, i, j) : isnan(found));
    }
done:
  sl_tiled_destroy(t);
  free(rows);
  free(back);
  return status;
}

static void dense_tiles(const rank_case *rank) {
  for (uint64_t n = 0; n < 6; n++) {
    tile_case c = tile_case_draw(rank->seed * 100 + 50 + n, rank->ranks);
    assert_case_ok(rank, run_case(rank, dense_main, &c));
    tile_case_free(&c);
  }
}

static void all_ranks_read_dense_tiles_and_rows(void **state) {
  (void)state;
  each_case(dense_tiles);
}

/* ---- failures */

/* Values with another pattern are refused on all ranks; the comm and the tiles stay usable. */
static sley_status other_pattern_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  sley_matrix *block;
  sl_tiled *t = NULL;
  SL_TRY(tile_block(c, c->matrix, comm->rank, &block));
  sley_csr other = sl_matrix_csr(block);
  sley_matrix *shorter = NULL;
  int64_t *none = sl_alloc_zero(block->rows + 1, sizeof *none, "row pointers");
  sley_status status = none ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status != SLEY_OK)
    goto done;
  other.rowptr = comm->rank == comm->size - 1 ? none : other.rowptr;
  TRY(sl_matrix_from_csr(&other, SLEY_BORROW, NULL, &shorter));
  TRY(sl_tiled_create_sparse(comm, &c->a, &(sl_tile_source){block, c->whole ? NULL : c->row_begin}, &t));
  const bool differs = c->row_begin[comm->size] > 0 && block->nnz > 0;
  int64_t any = differs && comm->rank == comm->size - 1;
  TRY(comm->ops->allreduce(comm, SL_MAX, &any, 1));
  const sley_status refused = sl_tiled_renew(t, &(sl_tile_source){shorter, c->whole ? NULL : c->row_begin});
  CHECK(any ? refused == (comm->rank == comm->size - 1 ? SLEY_ERR_ARG : SLEY_ERR_PEER) : refused == SLEY_OK);
  TRY(read_blocking(c, t, 1));
done:
  sl_tiled_destroy(t);
  sl_matrix_destroy(shorter);
  sl_matrix_destroy(block);
  sl_free(none);
  return status;
}

static void another_pattern(const rank_case *rank) {
  tile_case c = tile_case_draw(rank->seed * 100 + 90, rank->ranks);
  assert_case_ok(rank, run_case(rank, other_pattern_main, &c));
  tile_case_free(&c);
}

static void another_pattern_is_refused_on_all_ranks(void **state) {
  (void)state;
  each_case(another_pattern);
}

/* A rank that ends early causes an error on the others. */
static sley_status early_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  sl_tiled *t = NULL;
  sley_status status = SLEY_OK;
  void *rows = tile_rows(c->seed, c->dtype, c->col_begin[comm->rank], c->col_begin[comm->rank + 1], c->k, 0);
  TRY(sl_tiled_create_dense(comm, &c->x, c->dtype, &t));
  if (comm->rank == comm->size - 1)
    TRY(sl_fail(SLEY_ERR_INPUT, "ends early"));
  TRY(sl_tiled_set_rows(t, c->col_begin, rows, c->k));
done:
  sl_tiled_destroy(t);
  free(rows);
  return status;
}

static void an_early_end(const rank_case *rank) {
  tile_case c = tile_case_draw(rank->seed * 100 + 91, rank->ranks);
  assert_int_equal(run_case(rank, early_main, &c), SLEY_ERR_INPUT);
  assert_non_null(strstr(sley_last_error(), "ends early"));
  tile_case_free(&c);
}

static void a_rank_that_fails_ends_all(void **state) {
  (void)state;
  each_case(an_early_end);
}

/* A tile of another process that is not a valid CSR matrix is detected when it is read, whichever of its
 * arrays is wrong. */
static void spoil(const sl_tiled *t, int64_t i, int64_t j, char *own, int which) {
  const sl_tile tile = sl_tile_view(t, i, j, own + sl_tile_at(t, i, j)->offset);
  if (which == 0)
    ((int64_t *)tile.rowptr)[tile.stored / 2] += tile.entries + 1;
  else if (which == 1)
    sl_index_set((void *)tile.col, t->index, tile.entries - 1, tile.cols);
  else if (which == 2)
    sl_index_set((void *)tile.col, t->index, 0, -1);
  else if (tile.rowid)
    ((int64_t *)tile.rowid)[tile.stored - 1] = tile.rows;
  else
    ((int64_t *)tile.rowptr)[0] = 1;
}

static sley_status spoil_all(const sl_tiled *t) {
  char *own;
  SL_TRY(sl_tiled_own_open(t, true, &own));
  const sl_tiling *g = &t->tiling;
  for (sl_own_tile at = sl_own_first(g, t->comm->rank); sl_own_is(g, &at); sl_own_next(g, &at))
    if (sl_tile_at(t, at.i, at.j)->entries > 0)
      spoil(t, at.i, at.j, own, (int)((at.i + at.j) % 4));
  return sl_tiled_own_close(t, own, SLEY_OK);
}

static sley_status spoiled_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  sley_matrix *block;
  sl_tiled *t = NULL;
  sl_tile_fetch fetch = {0}, there = {0};
  sl_tile tile;
  SL_TRY(tile_block(c, c->matrix, comm->rank, &block));
  sley_status status =
      sl_tiled_create_sparse(comm, &c->a, &(sl_tile_source){block, c->whole ? NULL : c->row_begin}, &t);
  if (status != SLEY_OK)
    goto done;
  TRY(sl_tile_fetch_open(&fetch, t, SL_TILE_FOR_HOST));
  TRY(sl_tile_fetch_open(&there, t, SL_TILE_FOR_DEVICE));
  TRY(spoil_all(t));
  TRY(comm->ops->barrier(comm));
  for (int64_t n = 0; n < sl_tiles(&c->a); n++) {
    const int64_t i = n / c->a.across, j = n % c->a.across;
    if (t->pointers[n].rank == comm->rank || t->pointers[n].entries == 0)
      continue;
    CHECK(sl_tile_get(&fetch, i, j, &tile) == SLEY_ERR_PEER &&
          strstr(sley_last_error(), "is not a CSR matrix"));
    const bool trusted = there.on_device && t->blocks[t->pointers[n].rank];
    CHECK(sl_tile_get(&there, i, j, &tile) == (trusted ? SLEY_OK : SLEY_ERR_PEER));
  }
  TRY(comm->ops->barrier(comm));
done:
  sl_tile_fetch_close(&fetch);
  sl_tile_fetch_close(&there);
  sl_tiled_destroy(t);
  sl_matrix_destroy(block);
  return status;
}

static void spoiled_tiles(const rank_case *rank) {
  for (uint64_t n = 0; n < 4; n++) {
    tile_case c = tile_case_draw(rank->seed * 100 + 60 + n, rank->ranks);
    assert_case_ok(rank, run_case(rank, spoiled_main, &c));
    tile_case_free(&c);
  }
}

static void what_other_processes_send_is_checked(void **state) {
  (void)state;
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  if (!transport || strcmp(transport, "threads") == 0) /* data of threads of one process is not checked */
    skip();
  each_case(spoiled_tiles);
}

/* Each allocation fails once: an error on some rank, no hang, and all memory is freed. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  rank_case rank = {.transport = "threads", .ranks = 3, .workgroup = 2, .threads = 1};
  tile_case c = tile_case_draw(4242, rank.ranks);
  assert_true(fail_each_allocation(&rank, sparse_main, &c, SLEY_OK) > 20);
  tile_case_free(&c);
}

/* ---- shapes */

static void tilings_are_checked(void **state) {
  (void)state;
  const sl_tiling good = {10, 10, 3, 4, 2, 3};
  assert_sley_ok(sl_tiling_check(&good, 6, "A"));
  const sl_tiling bad[] = {
      {10, 10, 3, 4, 2, 2}, {10, 10, 3, 4, 0, 6},  {10, 10, 3, 4, -2, -3},          {-1, 10, 3, 4, 2, 3},
      {10, 10, 0, 4, 2, 3}, {10, 10, 3, -1, 2, 3}, {10, 10, 1 << 13, 1 << 12, 2, 3}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(sl_tiling_check(&bad[i], 6, "the tiles of A"), SLEY_ERR_ARG);
    assert_non_null(strstr(sley_last_error(), "the tiles of A: "));
  }
}

static void grids_are_nearly_square(void **state) {
  (void)state;
  const int expected[][3] = {{1, 1, 1}, {2, 2, 1}, {6, 3, 2}, {7, 7, 1}, {12, 4, 3}, {16, 4, 4}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    int rows, cols;
    sl_tiling_grid(expected[i][0], &rows, &cols);
    assert_int_equal(rows, expected[i][1]);
    assert_int_equal(cols, expected[i][2]);
  }
}

/* Every tile has one owner, which numbers its tiles from 0 without gaps; the tiles cover the whole matrix. */
static void every_tile_has_one_owner(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 200; seed++) {
    tile_case c = tile_case_draw(seed, 1 + (int)(seed % TILE_MOST_RANKS));
    const sl_tiling *t = &c.a;
    int64_t seen = 0, area = 0;
    for (int r = 0; r < c.ranks; r++) {
      int64_t local = 0;
      for (sl_own_tile at = sl_own_first(t, r); sl_own_is(t, &at); sl_own_next(t, &at), local++, seen++) {
        assert_int_equal(sl_tile_owner(t, at.i, at.j), r);
        assert_int_equal(at.local, local);
        assert_int_equal(sl_own_local(t, at.i, at.j), local);
        area += sl_tile_height(t, at.i) * sl_tile_width(t, at.j);
      }
      assert_int_equal(local, sl_own_count(t, r));
    }
    assert_int_equal(seen, sl_tiles(t));
    assert_int_equal(area, t->rows * t->cols);
    tile_case_free(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tilings_are_checked),
                                     cmocka_unit_test(grids_are_nearly_square),
                                     cmocka_unit_test(every_tile_has_one_owner),
                                     cmocka_unit_test(all_ranks_read_sparse_tiles_and_new_values),
                                     cmocka_unit_test(all_ranks_read_dense_tiles_and_rows),
                                     cmocka_unit_test(another_pattern_is_refused_on_all_ranks),
                                     cmocka_unit_test(a_rank_that_fails_ends_all),
                                     cmocka_unit_test(what_other_processes_send_is_checked),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
