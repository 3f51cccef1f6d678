/* SPDX-License-Identifier: Apache-2.0 */
/* Products in tiles by messages of many tiles, tile-summa and tile-two-level: traffic equals a formula that
 * is computed from the tiles and their entries alone, on grids and tilings of every shape; blocks of columns
 * if memory is limited; wrong tiles of other processes are detected; failures. */
#include "allocations.h"
#include "base/random.h"
#include "draws.h"
#include "generate/generate.h"
#include "tile/tiled.h"
#include "tile_case.h"

typedef struct shape {
  int grid_rows, grid_cols;
  int64_t down, between, across, k;
} shape;

/* Numbers of ranks that are prime, single rows and columns of ranks, more tiles than ranks and fewer, tiles
 * without rows, X without columns and with one. Cases have at most 44 rows and columns. */
static const shape shapes[] = {
    {1, 1, 3, 2, 2, 7},   {1, 5, 1, 5, 5, 16},  {5, 1, 5, 5, 1, 16},  {7, 1, 9, 4, 3, 3},
    {1, 7, 2, 9, 8, 33},  {2, 2, 2, 2, 2, 7},   {2, 2, 50, 50, 3, 7}, {2, 4, 5, 7, 6, 33},
    {4, 2, 6, 9, 5, 16},  {2, 3, 2, 6, 3, 0},   {3, 2, 3, 6, 2, 1},   {3, 2, 3, 6, 9, 1},
    {1, 8, 3, 16, 9, 33}, {8, 1, 17, 3, 2, 16}, {2, 2, 1, 1, 1, 7},   {1, 3, 4, 2, 7, 3}};

enum { SHAPES = sizeof shapes / sizeof *shapes, PAD = 1 };

typedef struct sample {
  tile_case c;
  sley_matrix *b; /* A^T */
  bool sparse;    /* multiplies by B; else by X */
  const char *algo;
  bool found[TILE_MOST_RANKS]; /* for each rank, whether it has detected an invalid tile */
} sample;

static sample draw(uint64_t seed, const shape *s, bool sparse, const char *algo) {
  sample out = {.c = tile_case_draw(seed, s->grid_rows * s->grid_cols), .sparse = sparse, .algo = algo};
  tile_case *c = &out.c;
  c->k = s->k;
  c->a = (sl_tiling){c->m, c->n, s->down, s->between, s->grid_rows, s->grid_cols};
  c->x = (sl_tiling){c->n, c->k, s->between, s->across, s->grid_rows, s->grid_cols};
  c->y = (sl_tiling){c->m, c->k, s->down, s->across, s->grid_rows, s->grid_cols};
  if (sparse)
    c->x.cols = c->m; /* B is A^T */
  assert_sley_ok(sley_matrix_transpose(c->matrix, 1, &out.b));
  return out;
}

static void drop(sample *s) {
  sley_matrix_destroy(s->b);
  tile_case_free(&s->c);
}

/* The operands of one rank. */
typedef struct operands {
  sley_matrix *block;
  sley_tiled *a, *x, *y; /* x: X or B */
  void *x_rows, *y_rows;
} operands;

static sley_status make(sley_comm *comm, const sample *s, operands *o) {
  const tile_case *c = &s->c;
  const int me = comm->rank;
  sley_tiling a = tile_public(&c->a), x = tile_public(&c->x), y = tile_public(&c->y);
  SL_TRY(tile_block(c, c->matrix, me, &o->block));
  SL_TRY(sley_tiled_create_sparse(comm, o->block, c->whole ? NULL : c->row_begin, &a, &o->a));
  if (s->sparse)
    return sley_tiled_create_sparse(comm, s->b, NULL, &x, &o->x);
  o->x_rows = tile_rows(c->seed + 2, c->dtype, c->col_begin[me], c->col_begin[me + 1], c->k, PAD);
  o->y_rows = tile_rows(c->seed + 3, c->dtype, c->row_begin[me], c->row_begin[me + 1], c->k, PAD);
  SL_TRY(sley_tiled_create_dense(comm, c->n, c->k, c->dtype, &x, &o->x));
  SL_TRY(sley_tiled_create_dense(comm, c->m, c->k, c->dtype, &y, &o->y));
  return sley_tiled_set_rows(o->x, c->col_begin, o->x_rows, c->k + PAD);
}

static void end(operands *o) {
  sley_tiled_destroy(o->a);
  sley_tiled_destroy(o->x);
  sley_tiled_destroy(o->y);
  sl_matrix_destroy(o->block);
  free(o->x_rows);
  free(o->y_rows);
}

static sley_status product(const sample *s, const operands *o, sley_tile_report *report) {
  sley_tile_spmm_options dense = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_tile_spgemm_options sparse = SLEY_TILE_SPGEMM_OPTIONS_INIT;
  sley_tile_spmm *handle = NULL;
  sley_tiled *made = NULL;
  dense.algo = sparse.algo = s->algo;
  sley_status status = s->sparse ? sley_tile_spgemm(o->a, o->x, &sparse, &made, report)
                                 : sley_tile_spmm_create(o->a, o->x, o->y, &dense, &handle);
  for (int run = 0; run < 2 && handle && status == SLEY_OK; run++)
    status = sley_tile_spmm_run(handle, 1, 0);
  if (handle && status == SLEY_OK)
    status = sley_tile_spmm_report_get(handle, report);
  sley_tile_spmm_destroy(handle);
  sley_tiled_destroy(made);
  return status;
}

/* ---- results and traffic */

static sley_status compare(const sample *s, operands *o, int me) {
  const tile_case *c = &s->c;
  const int64_t ld = c->k + PAD;
  SL_TRY(sley_tiled_get_rows(o->y, c->row_begin, o->y_rows, ld));
  for (int64_t i = c->row_begin[me]; i < c->row_begin[me + 1]; i++)
    for (int64_t j = 0; j < c->k; j++) {
      double sum = 0, rounded[1];
      for (int64_t l = 0; l < c->n; l++)
        sum += c->dense[i * c->n + l] * tile_value(c->seed + 2, l, j);
      sl_value_set(rounded, c->dtype, 0, sum);
      EXPECT(sl_value_at(o->y_rows, c->dtype, (i - c->row_begin[me]) * ld + j) ==
             sl_value_at(rounded, c->dtype, 0));
    }
  return SLEY_OK;
}

/* Whether tile (i, j) has anything to multiply. */
static bool is_filled(const sley_tiled *of, int64_t i, int64_t j) {
  sley_tile_info tile;
  return sley_tile_info_get(of, i, j, &tile) == SLEY_OK && tile.entries > 0;
}

/* Bytes of the tiles (i, s) of A in one row of ranks, or (s, j) of X in one column, that are multiplied. */
static int64_t panel_bytes(const operands *o, const tile_case *c, bool of_a, int line, int64_t s) {
  const sley_tiled *of = of_a ? o->a : o->x;
  const int64_t tiles = of_a ? c->a.down : c->x.across, others = of_a ? c->x.across : c->a.down;
  int64_t bytes = 0;
  for (int64_t n = line; n < tiles; n += of_a ? c->a.grid_rows : c->a.grid_cols) {
    sley_tile_info tile;
    bool needed = false;
    for (int64_t m = 0; m < others; m++)
      needed |= of_a ? is_filled(o->a, n, s) && is_filled(o->x, s, m)
                     : is_filled(o->a, m, s) && is_filled(o->x, s, n);
    if (needed && sley_tile_info_get(of, of_a ? n : s, of_a ? s : n, &tile) == SLEY_OK)
      bytes += tile.bytes;
  }
  return bytes;
}

/* Checks the traffic of all ranks: each panel reaches every rank of its line but the owner, once. */
static sley_status check_traffic(sl_comm *comm, const sample *s, const operands *o,
                                 const sley_tile_report *report) {
  const tile_case *c = &s->c;
  const sley_traffic *t = &report->counted;
  int64_t sums[] = {t->direct_bytes + t->message_bytes, t->direct_messages + t->message_messages,
                    t->self_bytes};
  int64_t bytes = 0, messages = 0;
  for (int64_t stage = 0; stage < c->a.across; stage++)
    for (int side = 0; side < 2; side++)
      for (int line = 0; line < (side ? c->a.grid_rows : c->a.grid_cols); line++) {
        const int64_t panel = panel_bytes(o, c, side, line, stage);
        const int receivers = (side ? c->a.grid_cols : c->a.grid_rows) - 1;
        bytes += panel * receivers;
        messages += panel > 0 ? receivers : 0;
      }
  EXPECT(memcmp(&report->predicted, t, sizeof *t) == 0);
  SL_TRY(sley_comm_allreduce(comm, SLEY_SUM, sums, 3));
  EXPECT(sums[0] == bytes && sums[1] == messages && sums[2] == 0);
  return SLEY_OK;
}

static sley_status product_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  operands o = {0};
  sley_tile_report report;
  sley_status status = make(comm, s, &o);
  if (status == SLEY_OK)
    status = product(s, &o, &report);
  if (status == SLEY_OK)
    status = check_traffic(comm, s, &o, &report);
  if (status == SLEY_OK && !s->sparse)
    status = compare(s, &o, comm->rank);
  end(&o);
  return status;
}

static rank_case case_of(const shape *s, int workgroup) {
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  const int ranks = s->grid_rows * s->grid_cols;
  return (rank_case){.transport = transport ? transport : "threads",
                     .ranks = ranks,
                     .workgroup = workgroup < ranks ? workgroup : ranks,
                     .threads = 1};
}

/* In workgroups of one rank the broadcasts are trees of several levels, in one workgroup they have one. */
static void traffic_equals_the_formula_on_all_grids(void **state) {
  (void)state;
  if (test_launched())
    skip(); /* made for other numbers of ranks */
  for (uint64_t n = test_first(2 * SHAPES); n < 2 * SHAPES; n += test_share()) {
    const shape *of = &shapes[n / 2];
    const bool sparse = n % 2;
    sample s = draw(50 + n / 2, of, sparse, "tile-summa");
    const rank_case rank = case_of(of, (n / 2 + sparse) % 2 ? 1 : TILE_MOST_RANKS);
    assert_case_ok(&rank, run_case(&rank, product_main, &s));
    drop(&s);
  }
}

/* ---- traffic between workgroups */

/* Whether a tile of A or X is multiplied with an entry by a rank of a workgroup: in row `row`, or with row -1
 * at all. */
static bool meets(const sample *s, const operands *o, int group, bool of_a, int64_t i, int64_t j, int64_t row,
                  int64_t col) {
  const tile_case *c = &s->c;
  const int64_t others = of_a ? c->x.across : c->a.down;
  for (int64_t n = 0; n < others; n++) {
    const int64_t y_i = of_a ? i : n, y_j = of_a ? n : j, l = of_a ? j : i;
    if (sl_workgroup_of(o->a->comm, sl_tile_owner(&c->y, y_i, y_j)) != group || !is_filled(o->a, y_i, l) ||
        !is_filled(o->x, l, y_j))
      continue;
    if (row < 0 || (of_a && !s->sparse))
      return true;
    /* B is A^T: an entry of B in row `col` of its tiles in column y_j is one of A in that column */
    const int64_t at = of_a ? col : row, first = of_a ? sl_tile_col(&c->x, y_j) : sl_tile_row(&c->a, y_i),
                  end = of_a ? sl_tile_col(&c->x, y_j + 1) : sl_tile_row(&c->a, y_i + 1);
    for (int64_t e = 0; e < c->matrix->nnz; e++)
      if (sl_index_at(c->matrix->col, c->matrix->index, e) == at) {
        int64_t of = 0;
        while (c->matrix->rowptr[of + 1] <= e)
          of++;
        if (of >= first && of < end)
          return true;
      }
  }
  return false;
}

/* Bytes of the message section of a tile for a workgroup: only entries that it multiplies. */
static int64_t section_bytes(const sample *s, const operands *o, int group, bool of_a, int64_t i, int64_t j) {
  const tile_case *c = &s->c;
  const sl_tiled *of = of_a ? o->a : o->x;
  const sley_matrix *m = of_a ? c->matrix : s->b;
  const sl_tiling *t = &of->tiling;
  sl_tile_shape part = sl_tile_shape_of(of, i, j);
  int64_t filled = 0, rows = 0, bytes = 0;
  part.entries = 0;
  for (int64_t row = sl_tile_row(t, i); row < sl_tile_row(t, i + 1); row++) {
    const int64_t before = part.entries;
    rows += !of->sparse && meets(s, o, group, of_a, i, j, row, -1);
    for (int64_t e = of->sparse ? m->rowptr[row] : 0; of->sparse && e < m->rowptr[row + 1]; e++) {
      const int64_t col = sl_index_at(m->col, m->index, e);
      part.entries +=
          col >= sl_tile_col(t, j) && col < sl_tile_col(t, j + 1) && meets(s, o, group, of_a, i, j, row, col);
    }
    filled += part.entries > before;
  }
  if (!of->sparse)
    return ((part.rows + 63) / 64 * 8 + rows * part.cols * (int64_t)sley_dtype_bytes(c->dtype) + 7) / 8 * 8;
  part.stored = sl_tile_stored_rows(part.rows, filled);
  return sl_tile_shape_bytes(&part, &bytes) ? bytes : -1;
}

/* Checks the bytes between workgroups of all ranks: each tile that a workgroup multiplies and does not own
 * goes there once. */
static sley_status check_levels(sl_comm *comm, const sample *s, const operands *o,
                                const sley_tile_report *report, int64_t of_summa) {
  int64_t sums[] = {report->counted.message_bytes, report->summa_bytes, of_summa}, bytes = 0;
  for (int side = 0; side < 2; side++) {
    const sl_tiling *t = side ? &o->a->tiling : &o->x->tiling;
    for (int64_t n = 0; n < sl_tiles(t); n++)
      for (int g = 0; g < sl_workgroups(comm); g++)
        if (g != sl_workgroup_of(comm, sl_tile_owner(t, n / t->across, n % t->across)) &&
            meets(s, o, g, side, n / t->across, n % t->across, -1, -1))
          bytes += section_bytes(s, o, g, side, n / t->across, n % t->across);
  }
  EXPECT(memcmp(&report->predicted, &report->counted, sizeof report->counted) == 0);
  SL_TRY(sley_comm_allreduce(comm, SLEY_SUM, sums, 3));
  EXPECT(sums[0] == bytes && sums[1] == sums[2]);
  return SLEY_OK;
}

static sley_status levels_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  operands o = {0};
  sley_tile_report summa, report;
  sley_status status = make(comm, s, &o);
  sample by_summa = *s;
  by_summa.algo = "tile-summa";
  if (status == SLEY_OK)
    status = product(&by_summa, &o, &summa);
  if (status == SLEY_OK)
    status = product(s, &o, &report);
  if (status == SLEY_OK)
    status = check_levels(comm, s, &o, &report, summa.predicted.message_bytes);
  if (status == SLEY_OK && !s->sparse)
    status = compare(s, &o, comm->rank);
  end(&o);
  return status;
}

/* Workgroups of 1, 2 and 3 ranks, so that they are rows of the grid, parts of rows, or neither. */
static void workgroups_receive_what_they_multiply_once(void **state) {
  (void)state;
  if (test_launched())
    skip(); /* made for other numbers of ranks */
  for (uint64_t n = test_first(6 * SHAPES); n < 6 * SHAPES; n += test_share()) {
    const shape *of = &shapes[n / 6];
    sample s = draw(70 + n / 2, of, n % 2, "tile-two-level");
    const rank_case rank = case_of(of, (int)(n / 2 % 3) + 1);
    assert_case_ok(&rank, run_case(&rank, levels_main, &s));
    drop(&s);
  }
}

typedef struct limited {
  sley_matrix *matrix;
  int64_t row_begin[5];
  bool in_blocks; /* X has come in several blocks */
} limited;

/* Multiplies without a limit, then with lower and lower ones, until one is refused. */
static sley_status multiply_limited(sl_comm *comm, limited *l, const sley_tiled *a, const sley_tiled *b,
                                    sley_matrix **first) {
  sley_tile_spgemm_options options = SLEY_TILE_SPGEMM_OPTIONS_INIT;
  int64_t messages = 0;
  options.algo = "tile-two-level";
  for (;; options.mem_limit = options.mem_limit ? options.mem_limit * 15 / 16 : 1 << 20) {
    sley_tile_report report;
    sley_tiled *made;
    sley_matrix *rows = NULL;
    SL_TRY(sley_tile_spgemm(a, b, &options, &made, &report));
    sley_status status = sley_tiled_get_matrix(made, l->row_begin, *first ? &rows : first);
    int64_t sent = report.counted.message_messages;
    if (status == SLEY_OK)
      status = sley_comm_allreduce(comm, SLEY_SUM, &sent, 1);
    const bool same = !rows || (rows->nnz == (*first)->nnz &&
                                memcmp(rows->val, (*first)->val, (size_t)rows->nnz * sizeof(float)) == 0);
    sley_tiled_destroy(made);
    sl_matrix_destroy(rows);
    SL_TRY(status);
    EXPECT(same);
    l->in_blocks |= messages > 0 && sent > messages;
    messages = messages ? messages : sent;
  }
}

static sley_status limited_main(sl_comm *comm, void *arg) {
  limited *l = arg, mine = *l;
  const sley_tiling of_a = {2, 2, 2, 2}, of_b = {2, 2, 2, 64};
  sley_tiled *a = NULL, *b = NULL;
  sley_matrix *first = NULL;
  sley_status status = sley_tiled_create_sparse(comm, l->matrix, NULL, &of_a, &a);
  if (status == SLEY_OK)
    status = sley_tiled_create_sparse(comm, l->matrix, NULL, &of_b, &b);
  if (status == SLEY_OK)
    status = multiply_limited(comm, &mine, a, b, &first);
  if (comm->rank == 0)
    l->in_blocks = mine.in_blocks;
  sl_matrix_destroy(first);
  sley_tiled_destroy(a);
  sley_tiled_destroy(b);
  return status;
}

static void limited_memory_takes_blocks_of_columns(void **state) {
  (void)state;
  if (test_launched())
    skip(); /* made for other numbers of ranks */
  limited l = {0};
  const rank_case rank = case_of(&(shape){.grid_rows = 2, .grid_cols = 2}, 2);
  assert_sley_ok(sl_generate("rmat:scale=11,edgefactor=16", SLEY_F32, 1, NULL, &l.matrix));
  for (int r = 1; r < 5; r++)
    l.row_begin[r] = l.matrix->rows; /* rank 0 has all */
  assert_int_equal(run_case(&rank, limited_main, &l), SLEY_ERR_MEMORY);
  assert_non_null(strstr(sley_last_error(), "mem_limit"));
  share_seen(&l.in_blocks, sizeof l.in_blocks);
  assert_true(l.in_blocks);
  sl_matrix_destroy(l.matrix);
}

/* ---- failures */

/* Swaps two row numbers of one of this rank's tiles. The tile is invalid, but this rank reads nothing outside
 * it. *number: the number of the tile, or -1 if the rank has none with two row numbers. */
static sley_status spoil_one(const sl_tiled *t, int64_t *number) {
  char *own;
  *number = -1;
  SL_TRY(sl_tiled_own_open(t, true, &own));
  for (sl_own_tile at = sl_own_first(&t->tiling, t->comm->rank); sl_own_is(&t->tiling, &at);
       sl_own_next(&t->tiling, &at)) {
    const sl_tile tile = sl_tile_view(t, at.i, at.j, own + sl_tile_at(t, at.i, at.j)->offset);
    int64_t *rows = (int64_t *)(uintptr_t)tile.rowid;
    if (tile.entries == 0 || !rows || tile.stored < 2)
      continue;
    const int64_t first = rows[0];
    rows[0] = rows[1];
    rows[1] = first;
    *number = sl_tile_number(&t->tiling, at.i, at.j);
    break;
  }
  return sl_tiled_own_close(t, own, SLEY_OK);
}

static sley_status spoiled_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  operands o = {0};
  sley_tile_report report;
  int64_t number = -1;
  sley_status status = make(comm, s, &o);
  if (status == SLEY_OK)
    status = spoil_one(o.a, &number);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_MAX, &number, 1);
  if (status == SLEY_OK && number < 0)
    status = sl_fail(SLEY_ERR_INTERNAL, "no tile was spoiled");
  if (status == SLEY_OK)
    status = product(s, &o, &report);
  s->found[comm->rank] = strstr(sley_last_error(), "is not a CSR matrix") != NULL;
  end(&o);
  return status;
}

/* A rank that detects an invalid tile ends, and ranks that wait for it report that it has ended. */
static void tiles_of_other_processes_are_checked(void **state) {
  (void)state;
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  if (!transport || strcmp(transport, "threads") == 0) /* data of threads of one process is not checked */
    skip();
  if (test_launched())
    skip(); /* made for other numbers of ranks */
  static const char *const algos[] = {"tile-summa", "tile-summa", "tile-two-level", "tile-two-level"};
  for (int n = 0; n < 4; n++) {
    sample s = draw(53, &(shape){1, 3, 2, 20, 3, 7}, n % 2, algos[n]);
    const rank_case rank = case_of(&(shape){.grid_rows = 1, .grid_cols = 3}, 1);
    assert_int_equal(run_case(&rank, spoiled_main, &s), SLEY_ERR_PEER);
    int64_t found = 0;
    for (int r = 0; r < rank.ranks; r++)
      found += s.found[r];
    assert_true(found > 0);
    drop(&s);
  }
}

/* Each allocation fails once: an error on some rank, no hang, and all memory is freed. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  const rank_case rank = {.transport = "threads", .ranks = 4, .workgroup = 1, .threads = 1};
  sample s = draw(53, &(shape){1, 4, 2, 5, 4, 7}, false, "tile-summa");
  assert_true(fail_each_allocation(&rank, product_main, &s, SLEY_OK) > 40);
  drop(&s);
  s = draw(53, &(shape){2, 2, 2, 5, 4, 7}, true, "tile-two-level");
  assert_true(fail_each_allocation(&rank, levels_main, &s, SLEY_OK) > 80);
  drop(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(traffic_equals_the_formula_on_all_grids),
                                     cmocka_unit_test(workgroups_receive_what_they_multiply_once),
                                     cmocka_unit_test(limited_memory_takes_blocks_of_columns),
                                     cmocka_unit_test(tiles_of_other_processes_are_checked),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
