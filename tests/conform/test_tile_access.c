/* SPDX-License-Identifier: Apache-2.0 */
/* Access to single tiles: any rank gets every tile, several at a time, or parts of it, and puts new values,
 * while the owner waits in a barrier; tiles of other patterns. */
#include <math.h>

#include "allocations.h"
#include "base/random.h"
#include "sley_tile.h"
#include "tile_case.h"

enum { PAD = 2, AHEAD = 3 };

static sley_status make(const tile_case *c, sl_comm *comm, bool sparse, sley_tiled **out) {
  sley_matrix *block = NULL;
  const sley_tiling of_a = tile_public(&c->a), of_x = tile_public(&c->x);
  if (sparse) {
    SL_TRY(tile_block(c, c->matrix, comm->rank, &block));
    const sley_status status =
        sley_tiled_create_sparse(comm, block, c->whole ? NULL : c->row_begin, &of_a, out);
    sl_matrix_destroy(block);
    return status;
  }
  void *rows =
      tile_rows(c->seed + 2, c->dtype, c->col_begin[comm->rank], c->col_begin[comm->rank + 1], c->k, 0);
  sley_status status = sley_tiled_create_dense(comm, c->n, c->k, c->dtype, &of_x, out);
  if (status == SLEY_OK)
    status = sley_tiled_set_rows(*out, c->col_begin, rows, c->k);
  free(rows);
  return status;
}

/* ---- expected tiles */

static sley_status check_sparse(const tile_case *c, sley_tile_future *future, const sley_tile_info *t,
                                double factor) {
  sley_matrix *tile = NULL;
  sley_status status = SLEY_OK;
  TRY(sley_tile_get_matrix(future, &tile));
  const sley_csr csr = sl_matrix_csr(tile);
  CHECK(csr.rows == t->rows && csr.cols == t->cols && tile->nnz == t->entries);
  for (int64_t row = 0; row < t->rows; row++) {
    double sums[64] = {0};
    for (int64_t e = csr.rowptr[row]; e < csr.rowptr[row + 1]; e++)
      sums[sl_index_at(csr.col, csr.index, e)] += sl_value_at(csr.val, c->dtype, e);
    for (int64_t col = 0; col < t->cols; col++)
      CHECK(sums[col] == factor * c->dense[(t->first_row + row) * c->n + t->first_col + col]);
  }
done:
  sl_matrix_destroy(tile);
  return status;
}

static sley_status check_dense(const tile_case *c, sley_tile_future *future, const sley_tile_info *t,
                               double factor) {
  const int64_t ld = t->cols + PAD;
  void *data = tile_rows(1, c->dtype, 0, t->rows + 1, t->cols, PAD);
  sley_status status = SLEY_OK;
  TRY(sley_tile_get_values(future, data, ld));
  CHECK(t->entries == t->rows * t->cols);
  for (int64_t row = 0; row < t->rows; row++)
    for (int64_t col = 0; col < ld; col++) {
      const double found = sl_value_at(data, c->dtype, row * ld + col);
      CHECK(col < t->cols ? found == factor * tile_value(c->seed + 2, t->first_row + row, t->first_col + col)
                          : isnan(found));
    }
done:
  free(data);
  return status;
}

/* Reads all tiles, AHEAD of them in flight at a time; each rank begins with another tile. */
static sley_status read_all(const tile_case *c, sl_comm *comm, const sley_tiled *t, double factor) {
  sley_tiled_info whole;
  sley_tile_info info;
  sley_tile_future *futures[AHEAD] = {NULL};
  sley_status status = SLEY_OK;
  TRY(sley_tiled_info_get(t, &whole));
  const int64_t across = whole.tiling.tiles_across, count = whole.tiling.tiles_down * across;
  int64_t entries = 0;
  for (int64_t n = 0; n < count + AHEAD; n++) {
    sley_tile_future **slot = &futures[n % AHEAD];
    const int64_t old = (n - AHEAD + comm->rank) % count, now = (n + comm->rank) % count;
    if (n >= AHEAD) {
      TRY(sley_tile_info_get(t, old / across, old % across, &info));
      entries += info.entries;
      TRY(whole.sparse ? check_sparse(c, *slot, &info, factor) : check_dense(c, *slot, &info, factor));
      sley_tile_future_destroy(*slot);
      *slot = NULL;
    }
    if (n < count)
      TRY(sley_tile_get_begin(t, now / across, now % across, slot));
  }
  CHECK(entries == whole.entries);
done:
  for (int i = 0; i < AHEAD; i++)
    sley_tile_future_destroy(futures[i]);
  return status;
}

/* ---- parts of tiles */

static sley_status check_part(const tile_case *c, const sley_tiled *t, int64_t i, int64_t j, bool sparse,
                              const sley_tile_part *part, const sley_tile_info *info) {
  sley_matrix *rows = NULL;
  const int64_t ld = part->cols + PAD;
  void *values = tile_rows(1, c->dtype, 0, part->rows + 1, part->cols, PAD);
  sley_status status = SLEY_OK;
  if (sparse)
    TRY(sley_tile_part_matrix(t, i, j, part, &rows));
  else
    TRY(sley_tile_part_values(t, i, j, part, values, ld));
  for (int64_t r = 0; r < part->rows; r++) {
    const int64_t row = info->first_row + part->first_row + r;
    double sums[64] = {0};
    for (int64_t e = sparse ? rows->rowptr[r] : 0; sparse && e < rows->rowptr[r + 1]; e++)
      sums[sl_index_at(rows->col, rows->index, e)] += sl_value_at(rows->val, c->dtype, e);
    for (int64_t k = 0; k < part->cols; k++) {
      const int64_t col = info->first_col + part->first_col + k;
      CHECK(sparse ? sums[k] == c->dense[row * c->n + col]
                   : sl_value_at(values, c->dtype, r * ld + k) == tile_value(c->seed + 2, row, col));
    }
  }
  CHECK(!sparse || (rows->rows == part->rows && rows->cols == part->cols));
done:
  sl_matrix_destroy(rows);
  free(values);
  return status;
}

/* Gets drawn parts of every tile. */
static sley_status read_parts(const tile_case *c, sl_comm *comm, const sley_tiled *t, bool sparse) {
  const sl_tiling *tiling = sparse ? &c->a : &c->x;
  for (int64_t n = 0; n < 2 * sl_tiles(tiling); n++) {
    const int64_t i = n / 2 / tiling->across, j = n / 2 % tiling->across;
    const uint64_t seed = c->seed + (uint64_t)comm->rank;
    sley_tile_info info;
    SL_TRY(sley_tile_info_get(t, i, j, &info));
    sley_tile_part part = {.first_row = sl_below(sl_random(seed, 1, (uint64_t)n), info.rows + 1),
                           .first_col = sl_below(sl_random(seed, 2, (uint64_t)n), info.cols + 1)};
    part.rows = sl_below(sl_random(seed, 3, (uint64_t)n), info.rows - part.first_row + 1);
    part.cols = sl_below(sl_random(seed, 4, (uint64_t)n), info.cols - part.first_col + 1);
    SL_TRY(check_part(c, t, i, j, sparse, &part, &info));
  }
  return comm->ops->barrier(comm);
}

/* ---- new values */

/* Doubles the values of tile (i, j), whichever rank owns it. */
static sley_status double_tile(const tile_case *c, sley_tiled *t, int64_t i, int64_t j, bool sparse) {
  sley_tile_info info;
  sley_tile_future *future = NULL;
  sley_matrix *tile = NULL;
  void *values = NULL;
  sley_status status = SLEY_OK;
  TRY(sley_tile_info_get(t, i, j, &info));
  TRY(sley_tile_get_begin(t, i, j, &future));
  values = tile_rows(1, c->dtype, 0, 1, info.entries + 1, 0);
  if (sparse) {
    TRY(sley_tile_get_matrix(future, &tile));
    const sley_csr csr = sl_matrix_csr(tile);
    for (int64_t e = 0; e < info.entries; e++)
      sl_value_set(values, c->dtype, e, 2 * sl_value_at(csr.val, c->dtype, e));
  } else {
    TRY(sley_tile_get_values(future, values, info.cols));
    for (int64_t e = 0; e < info.entries; e++)
      sl_value_set(values, c->dtype, e, 2 * sl_value_at(values, c->dtype, e));
  }
  TRY(sley_tile_put(t, i, j, values));
done:
  sley_tile_future_destroy(future);
  sl_matrix_destroy(tile);
  free(values);
  return status;
}

static sley_status access_main(sl_comm *comm, const tile_case *c, bool sparse) {
  const sl_tiling *tiling = sparse ? &c->a : &c->x;
  sley_tiled *t = NULL;
  sley_status status = make(c, comm, sparse, &t);
  TRY(status);
  TRY(read_all(c, comm, t, 1));
  TRY(read_parts(c, comm, t, sparse));
  for (int64_t n = 0; n < sl_tiles(tiling); n++) /* usually not by the owner */
    if (n % comm->size == comm->rank)
      TRY(double_tile(c, t, n / tiling->across, n % tiling->across, sparse));
  TRY(comm->ops->barrier(comm));
  TRY(read_all(c, comm, t, 2));
  TRY(comm->ops->barrier(comm));
done:
  sley_tiled_destroy(t);
  return status;
}

/* ---- tiles of other patterns */

/* Replaces every other tile of this rank by one of another pattern; back: by what it was, with repeated
 * entries added. */
static sley_status replace_some(const tile_case *c, sl_comm *comm, sley_tiled *t, bool back) {
  const sl_tiling *g = &c->a;
  const int64_t own = sl_own_count(g, comm->rank);
  int64_t *i = calloc((size_t)own + 1, sizeof *i), *j = calloc((size_t)own + 1, sizeof *j), count = 0;
  const sley_matrix **tiles = calloc((size_t)own + 1, sizeof *tiles);
  sley_status status = SLEY_OK;
  for (sl_own_tile at = sl_own_first(g, comm->rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
    const int64_t rows = sl_tile_height(g, at.i), cols = sl_tile_width(g, at.j);
    int64_t rowptr[64] = {0}, n = 0;
    int32_t col[64 * 64];
    char *val;
    sley_matrix *tile;
    if ((at.i + at.j) % 2)
      continue;
    val = tile_rows(1, c->dtype, 0, 1, rows * cols + 1, 0);
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t k = 0; k < cols; k++) {
        const double old = c->dense[(sl_tile_row(g, at.i) + r) * c->n + sl_tile_col(g, at.j) + k];
        if (back ? old != 0 : (r + k) % 3 == 0) {
          sl_value_set(val, c->dtype, n, back ? old : (double)(k % 5 + 1));
          col[n++] = (int32_t)k;
        }
      }
      rowptr[r + 1] = n;
    }
    const sley_csr csr = {rows, cols, rowptr, col, val, SLEY_I32, c->dtype};
    status = sley_matrix_from_csr(&csr, SLEY_COPY, &tile);
    free(val);
    TRY(status);
    i[count] = at.i;
    j[count] = at.j;
    tiles[count++] = tile;
  }
done:
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sley_tiled_replace(t, count, i, j, tiles);
  for (int64_t n = 0; n < count; n++)
    sley_matrix_destroy((sley_matrix *)tiles[n]);
  free(tiles);
  free(i);
  free(j);
  return status;
}

/* Checks all tiles after the replacement. */
static sley_status check_replaced(const tile_case *c, const sley_tiled *t) {
  const sl_tiling *g = &c->a;
  for (int64_t n = 0; n < sl_tiles(g); n++) {
    const int64_t i = n / g->across, j = n % g->across;
    sley_tile_info info;
    sley_matrix *tile;
    bool same = true;
    SL_TRY(sley_tile_info_get(t, i, j, &info));
    SL_TRY(sley_tile_part_matrix(t, i, j, &(sley_tile_part){0, info.rows, 0, info.cols}, &tile));
    for (int64_t r = 0; r < info.rows; r++) {
      double sums[64] = {0};
      for (int64_t e = tile->rowptr[r]; e < tile->rowptr[r + 1]; e++)
        sums[sl_index_at(tile->col, tile->index, e)] += sl_value_at(tile->val, c->dtype, e);
      for (int64_t k = 0; k < info.cols; k++)
        same &= sums[k] == ((i + j) % 2        ? c->dense[(info.first_row + r) * c->n + info.first_col + k]
                            : (r + k) % 3 == 0 ? (double)(k % 5 + 1)
                                               : 0);
    }
    sl_matrix_destroy(tile);
    EXPECT(same);
  }
  return SLEY_OK;
}

static sley_status replace_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  const sley_tiling of_x = tile_public(&c->x), of_y = tile_public(&c->y);
  sley_tiled *t = NULL, *x = NULL, *y = NULL;
  sley_tile_spmm *product = NULL;
  sley_status status = make(c, comm, true, &t);
  TRY(status);
  TRY(sley_tiled_create_dense(comm, c->n, c->k, c->dtype, &of_x, &x));
  TRY(sley_tiled_create_dense(comm, c->m, c->k, c->dtype, &of_y, &y));
  TRY(sley_tile_spmm_create(t, x, y, NULL, &product));
  TRY(replace_some(c, comm, t, false));
  TRY(check_replaced(c, t));
  TRY(comm->ops->barrier(comm));
  CHECK(sley_tile_spmm_run(product, 1, 0) == SLEY_ERR_ARG && strstr(sley_last_error(), "have been replaced"));
  TRY(replace_some(c, comm, t, true));
  TRY(read_all(c, comm, t, 1));
  TRY(comm->ops->barrier(comm));
done:
  sley_tile_spmm_destroy(product);
  sley_tiled_destroy(t);
  sley_tiled_destroy(x);
  sley_tiled_destroy(y);
  return status;
}

static sley_status sparse_main(sl_comm *comm, void *arg) {
  return access_main(comm, arg, true);
}

static sley_status dense_main(sl_comm *comm, void *arg) {
  return access_main(comm, arg, false);
}

static void some_cases(const rank_case *rank) {
  for (uint64_t n = 0; n < 6; n++) {
    tile_case c = tile_case_draw(rank->seed * 100 + n, rank->ranks);
    assert_case_ok(rank, run_case(rank, sparse_main, &c));
    assert_case_ok(rank, run_case(rank, dense_main, &c));
    if (n < 2)
      assert_case_ok(rank, run_case(rank, replace_main, &c));
    tile_case_free(&c);
  }
}

static void any_rank_gets_and_puts_every_tile(void **state) {
  (void)state;
  each_case(some_cases);
}

/* ---- errors */

/* Checks that a call was refused with a message that contains these words. */
#define REFUSED(call, words) CHECK((call) == SLEY_ERR_ARG && strstr(sley_last_error(), words))

static sley_status refused_main(sl_comm *comm, void *arg) {
  const tile_case *c = arg;
  sley_tiled *sparse = NULL, *dense = NULL;
  sley_tile_future *of_sparse = NULL, *of_dense = NULL;
  sley_tile_info info;
  sley_matrix *tile;
  char value[8] = {0};
  sley_status status = SLEY_OK;
  TRY(make(c, comm, true, &sparse));
  TRY(make(c, comm, false, &dense));
  REFUSED(sley_tile_info_get(sparse, c->a.down, 0, &info), "there is no tile (");
  REFUSED(sley_tile_info_get(sparse, 0, 0, NULL), "out is NULL");
  REFUSED(sley_tile_info_get(NULL, 0, 0, &info), "tiled is NULL");
  REFUSED(sley_tile_get_begin(dense, 0, -1, &of_dense), "there is no tile (0, -1)");
  REFUSED(sley_tile_get_begin(dense, 0, 0, NULL), "out is NULL");
  REFUSED(sley_tile_put(dense, 0, c->x.across, value), "there is no tile (0, ");
  REFUSED(sley_tile_put(dense, 0, 0, NULL), "values is NULL");
  const sley_tile_part all = {0, 0, 0, 0}, far = {0, 64, 0, 0}, early = {-1, 1, 0, 0};
  const sley_matrix *const tiles[] = {NULL};
  const int64_t none[] = {c->a.down}, zero[] = {0};
  REFUSED(sley_tile_part_matrix(sparse, 0, 0, &far, &tile), "are not in the tile of");
  REFUSED(sley_tile_part_matrix(sparse, 0, 0, &early, &tile), "are not in the tile of");
  REFUSED(sley_tile_part_matrix(sparse, 0, 0, NULL, &tile), "part is NULL");
  REFUSED(sley_tile_part_matrix(sparse, 0, 0, &all, NULL), "out is NULL");
  REFUSED(sley_tile_part_matrix(dense, 0, 0, &all, &tile), "use sley_tile_part_values");
  REFUSED(sley_tile_part_values(sparse, 0, 0, &all, value, 1), "use sley_tile_part_matrix");
  REFUSED(sley_tile_part_values(dense, 0, 0, &all, NULL, 1), "data is NULL");
  REFUSED(sley_tiled_replace(dense, 0, NULL, NULL, NULL), "the matrix is dense");
  REFUSED(sley_tiled_replace(sparse, -1, NULL, NULL, NULL), "-1 tiles");
  REFUSED(sley_tiled_replace(sparse, 1, NULL, NULL, NULL), "tiles is NULL");
  REFUSED(sley_tiled_replace(sparse, 1, none, zero, tiles), "owns no tile");
  TRY(sley_tile_get_begin(sparse, 0, 0, &of_sparse));
  TRY(sley_tile_get_begin(dense, 0, 0, &of_dense));
  REFUSED(sley_tile_get_matrix(of_dense, &tile), "the matrix is dense: use sley_tile_get_values");
  REFUSED(sley_tile_get_values(of_sparse, value, 1 << 20), "the matrix is sparse: use sley_tile_get_matrix");
  REFUSED(sley_tile_get_values(of_dense, value, sl_tile_width(&c->x, 0) - 1), "the leading dimension is ");
  REFUSED(sley_tile_get_values(of_dense, NULL, 1 << 20), "future or data is NULL");
  sley_tile_future_destroy(NULL);
  TRY(comm->ops->barrier(comm));
done:
  sley_tile_future_destroy(of_sparse);
  sley_tile_future_destroy(of_dense);
  sley_tiled_destroy(sparse);
  sley_tiled_destroy(dense);
  return status;
}

static void refusals(const rank_case *rank) {
  tile_case c = tile_case_draw(rank->seed * 100 + 70, rank->ranks);
  assert_case_ok(rank, run_case(rank, refused_main, &c));
  tile_case_free(&c);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  each_case(refusals);
}

/* Each allocation fails once: an error on some rank, no hang, and all memory is freed. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  rank_case rank = {.transport = "threads", .ranks = 3, .workgroup = 2, .threads = 1};
  tile_case c = tile_case_draw(4242, rank.ranks);
  assert_true(fail_each_allocation(&rank, sparse_main, &c, SLEY_OK) > 20);
  assert_true(fail_each_allocation(&rank, replace_main, &c, SLEY_OK) > 20);
  tile_case_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_rank_gets_and_puts_every_tile),
                                     cmocka_unit_test(wrong_arguments_are_refused),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
