/* SPDX-License-Identifier: Apache-2.0 */
/* Access to single tiles: any rank gets every tile, several at a time, and puts new values, while the owner
 * waits in a barrier. */
#include <math.h>

#include "allocations.h"
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
  TRY(comm->ops->barrier(comm));
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
  tile_case_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_rank_gets_and_puts_every_tile),
                                     cmocka_unit_test(wrong_arguments_are_refused),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
