/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank makes its tiles of C one after the other: of each, products of tiles as they come, added as
 * sparse matrices. The sizes of C are known when all are made; then the directory is shared, and the tiles
 * move to symmetric memory. */
#include "tile/tile_spgemm.h"

#include "base/memory.h"
#include "base/value.h"
#include "tile/sparse_sum.h"
#include "tile/task_loop.h"

/* Tiles of 16-bit values are multiplied and added in f32. */
typedef struct spgemm {
  sl_tile_operands o;
  sley_semiring semiring;
  sley_dtype dtype; /* of sums */
  sl_task_loop loop;
  sl_csr_arrays *made; /* of this rank's tiles of C: all rows, or NULL arrays where there are no entries */
  sl_sparse_sum sum;   /* of the tile that is being made */
  int64_t i, j;        /* that tile; i below 0: none */
} spgemm;

/* ---- operands of the local product */

/* A tile as CSR of all its rows. What had to be made anew is the caller's to free. */
typedef struct csr_tile {
  sley_csr csr;
  int64_t *rowptr;
  void *val;
} csr_tile;

static void free_csr(csr_tile *t) {
  sl_free(t->rowptr);
  sl_free(t->val);
}

static sley_status csr_of(const spgemm *s, const sl_tiled *of, const sl_tile *tile, csr_tile *out) {
  *out = (csr_tile){.csr = {.rows = tile->rows,
                            .cols = tile->cols,
                            .rowptr = tile->rowptr,
                            .col = tile->col,
                            .val = tile->val,
                            .index = of->index,
                            .dtype = s->dtype}};
  if (tile->rowid) {
    SL_TRY(SL_NEW(out->rowptr, tile->rows + 1, "row pointers of a tile"));
    sl_sparse_tile_rowptr(tile, out->rowptr);
    out->csr.rowptr = out->rowptr;
  }
  if (of->dtype == s->dtype)
    return SLEY_OK;
  out->val = sl_alloc(tile->entries, sley_dtype_bytes(s->dtype), "values of a tile");
  if (!out->val)
    return SLEY_ERR_MEMORY;
  sl_values_convert(of->dtype, tile->val, s->dtype, out->val, tile->entries);
  out->csr.val = out->val;
  return SLEY_OK;
}

/* ---- tiles of C */

/* The tile that was being made is done. */
static sley_status end_tile(spgemm *s) {
  if (s->i < 0)
    return SLEY_OK;
  sl_csr_arrays *made = &s->made[sl_own_local(&s->o.y->tiling, s->i, s->j)];
  s->i = -1;
  return sl_sparse_sum_take(&s->sum, made);
}

static sley_status multiply(spgemm *s, const sl_tile *a, const sl_tile *b, sl_spgemm_result *made) {
  csr_tile left = {0}, right = {0};
  sley_status status = csr_of(s, s->o.a, a, &left);
  if (status == SLEY_OK)
    status = csr_of(s, s->o.x, b, &right);
  const sl_kernel_args args = {
      .op = SL_OP_SPGEMM, .spgemm = {.semiring = s->semiring, .a = left.csr, .b = right.csr, .out = made}};
  if (status == SLEY_OK)
    status = sl_kernel_run(s->o.y->comm->queue, &args);
  free_csr(&left);
  free_csr(&right);
  return status;
}

static sley_status run_task(void *context, sl_task_loop *loop, const sl_tile_task *task, const sl_tile *a,
                            const sl_tile *b) {
  spgemm *s = context;
  sl_spgemm_result made;
  if (task->i != s->i || task->j != s->j) {
    SL_TRY(end_tile(s));
    s->i = task->i;
    s->j = task->j;
    s->sum.rows = sl_tile_height(&s->o.y->tiling, task->i);
    sl_task_spend(loop, &loop->report->accumulate_ms);
  }
  SL_TRY(multiply(s, a, b, &made));
  loop->report->flops += 2 * made.products;
  sl_task_spend(loop, &loop->report->compute_ms);
  SL_TRY(sl_sparse_sum_add(&s->sum, (sl_csr_arrays){made.rowptr, made.col, made.val}));
  sl_task_spend(loop, &loop->report->accumulate_ms);
  return SLEY_OK;
}

/* ---- the matrix C */

static void count_rows(const spgemm *s, int64_t *tally) {
  const sl_tiling *t = &s->o.y->tiling;
  for (sl_own_tile at = sl_own_first(t, s->o.y->comm->rank); sl_own_is(t, &at); sl_own_next(t, &at)) {
    const int64_t *rowptr = s->made[at.local].rowptr, rows = sl_tile_height(t, at.i);
    for (int64_t i = 0; rowptr && i < rows; i++)
      tally[2 * at.local] += rowptr[i + 1] > rowptr[i];
    tally[2 * at.local + 1] = rowptr ? rowptr[rows] : 0;
  }
}

/* Sizes are shared, and tiles move. Collective, agreed. */
static sley_status settle(spgemm *s) {
  sl_tiled *c = s->o.y;
  int64_t *tally;
  sley_status status = SL_NEW_ZERO(tally, 2 * sl_own_count(&c->tiling, c->comm->rank), "sizes of tiles");
  if (status == SLEY_OK)
    count_rows(s, tally);
  status = sl_tiled_share_sizes(c, status, tally);
  sl_free(tally);
  if (status == SLEY_OK)
    status = sl_tiled_lay_out(c);
  if (status != SLEY_OK)
    return status;
  for (sl_own_tile at = sl_own_first(&c->tiling, c->comm->rank); sl_own_is(&c->tiling, &at);
       sl_own_next(&c->tiling, &at)) {
    const sl_tile_shape shape = sl_tile_shape_of(c, at.i, at.j);
    sl_sparse_tile_write(&shape, &s->made[at.local], s->dtype, sl_tile_own(c, at.i, at.j));
    sl_csr_arrays_free(&s->made[at.local]);
  }
  return c->comm->ops->barrier(c->comm);
}

/* Memory before the first task. Collective, agreed. */
static sley_status open_all(spgemm *s, sley_tile_report *report) {
  sl_comm *comm = s->o.a->comm;
  const sl_tiling *a = &s->o.a->tiling, *b = &s->o.x->tiling;
  const sl_tiling tiling = {a->rows, b->cols, a->down, b->across, a->grid_rows, a->grid_cols};
  SL_TRY(sl_tiled_begin(comm, &tiling, s->o.a->dtype, true, &s->o.y));
  s->sum =
      (sl_sparse_sum){.index = s->o.y->index, .dtype = s->dtype, .semiring = s->semiring, .team = comm->team};
  sley_status status = SL_NEW_ZERO(s->made, sl_own_count(&tiling, comm->rank), "tiles of C");
  if (status == SLEY_OK)
    status = sl_task_loop_open(&s->loop, &s->o, report);
  return sl_agree(comm, status);
}

static void close_all(spgemm *s) {
  const int64_t count = s->o.y && s->made ? sl_own_count(&s->o.y->tiling, s->o.y->comm->rank) : 0;
  for (int64_t n = 0; n < count; n++)
    sl_csr_arrays_free(&s->made[n]);
  sl_free(s->made);
  sl_sparse_sum_free(&s->sum);
  sl_task_loop_close(&s->loop);
}

static sley_status make_tiles(spgemm *s) {
  SL_TRY(sl_task_loop_run(&s->loop, NULL, NULL, run_task, s));
  SL_TRY(end_tile(s));
  sl_task_spend(&s->loop, &s->loop.report->accumulate_ms);
  return SLEY_OK;
}

sley_status sl_tile_spgemm(const sl_tiled *a, const sl_tiled *b, sley_semiring semiring, sl_tiled **out,
                           sley_tile_report *report) {
  spgemm s = {.o = {.a = a, .x = b, .stationary = SL_STATIONARY_C},
              .semiring = semiring,
              .dtype = sl_sum_dtype(a->dtype),
              .i = -1};
  sl_comm *comm = a->comm;
  *out = NULL;
  *report = (sley_tile_report){0};
  sley_status status = open_all(&s, report);
  if (status == SLEY_OK) {
    sl_task_loop_start(&s.loop);
    status = sl_abort_on_error(comm, make_tiles(&s));
    if (status == SLEY_OK)
      status = comm->ops->barrier(comm);
    sl_task_spend(&s.loop, &report->imbalance_ms);
    if (status == SLEY_OK)
      status = settle(&s);
    sl_task_spend(&s.loop, &report->accumulate_ms);
    sl_task_loop_stop(&s.loop);
  }
  close_all(&s);
  if (status != SLEY_OK) {
    sl_tiled_destroy(s.o.y);
    return status;
  }
  *out = s.o.y;
  return SLEY_OK;
}
