/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline's counts must equal a count of flops and bytes, entry by entry and tile by tile, for random
 * matrices, grids and tilings. The counts of summa-2d must equal those of its plan. */
#include <math.h>

#include "base/memory.h"
#include "kernels.h"
#include "sley_roofline.h"

enum {
  MOST_RANKS = 12,
  SIDE = 40,
  MOST_TILES = 12,
  MOST_ACROSS = 4,
  MOST_STAGES = MOST_TILES * MOST_TILES * MOST_ACROSS
};

/* A matrix as a table, for the oracle, and as CSR. */
typedef struct table {
  int64_t rows, cols;
  bool at[SIDE][SIDE];
  sley_matrix *matrix;
} table;

static void draw_table(int64_t rows, int64_t cols, sley_dtype dtype, table *t) {
  int64_t rowptr[SIDE + 1] = {0}, count = 0;
  static int32_t col[SIDE * SIDE];
  static double val[SIDE * SIDE];
  *t = (table){.rows = rows, .cols = cols};
  for (int64_t i = 0; i < rows; i++) {
    const int64_t share = PICK(0, 0, 1, 3, 9);
    for (int64_t j = 0; j < cols; j++)
      if (draw(10) < share) {
        t->at[i][j] = true;
        col[count++] = (int32_t)j;
      }
    rowptr[i + 1] = count;
  }
  const sley_csr csr = {.rows = rows,
                        .cols = cols,
                        .rowptr = rowptr,
                        .col = col,
                        .val = val,
                        .index = SLEY_I32,
                        .dtype = dtype};
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &t->matrix));
}

/* The tile of row, or column, x of n. Tiles have equal numbers of rows; the first tiles get one more if there
 * is a remainder. */
static int64_t tile_of(int64_t n, int64_t tiles, int64_t x) {
  for (int64_t tile = 0, begin = 0;; tile++) {
    begin += n / tiles + (tile < n % tiles ? 1 : 0);
    if (x < begin)
      return tile;
  }
}

static int64_t width_of(int64_t n, int64_t tiles, int64_t tile) {
  int64_t width = 0;
  for (int64_t x = 0; x < n; x++)
    width += tile_of(n, tiles, x) == tile;
  return width;
}

/* Bytes and stored rows of a sparse tile. */
static double sparse_bytes(const table *t, int64_t down, int64_t across, int64_t i, int64_t j, int64_t value,
                           int64_t *stored) {
  int64_t entries = 0, filled = 0;
  for (int64_t r = 0; r < t->rows; r++) {
    int64_t in_row = 0;
    for (int64_t c = 0; c < t->cols && tile_of(t->rows, down, r) == i; c++)
      in_row += t->at[r][c] && tile_of(t->cols, across, c) == j;
    entries += in_row;
    filled += in_row > 0;
  }
  const int64_t height = width_of(t->rows, down, i);
  const bool numbered = 2 * filled < height;
  *stored = numbered ? filled : height;
  const int64_t bytes = 8 * (*stored + 1) + (numbered ? 8 * *stored : 0) + entries * (4 + value);
  return entries == 0 ? 0 : (double)((bytes + 63) / 64 * 64);
}

typedef struct counted {
  double flops[MOST_RANKS], in[MOST_RANKS], out[MOST_RANKS], inside[MOST_RANKS];
  int64_t messages[MOST_RANKS];
  double stage[MOST_STAGES][MOST_RANKS]; /* flops */
} counted;

static void carry(counted *c, const sley_roofline_options *o, int from, int to, double bytes) {
  if (from == to || bytes == 0)
    return;
  const bool near = from / o->ranks_per_node == to / o->ranks_per_node;
  if (near && o->ranks_per_node < o->ranks) {
    c->inside[to] += bytes;
    return;
  }
  c->in[to] += bytes;
  c->out[from] += bytes;
  c->messages[to]++;
}

static int owner(const sley_roofline_options *o, int64_t i, int64_t j) {
  return (int)(i % o->grid_rows * o->grid_cols + j % o->grid_cols);
}

/* B is b, or dense with k columns. */
typedef struct drawn_case {
  table a, b;
  int64_t k;
  bool sparse;
  sley_dtype dtype;
  sley_roofline_options o;
} drawn_case;

static double products_of(const drawn_case *c, int64_t i, int64_t l, int64_t j) {
  const sley_roofline_options *o = &c->o;
  double products = 0;
  for (int64_t row = 0; row < c->a.rows; row++)
    for (int64_t m = 0; m < c->a.cols; m++) {
      if (!c->a.at[row][m] || tile_of(c->a.rows, o->tiles_down, row) != i ||
          tile_of(c->a.cols, o->tiles_between, m) != l)
        continue;
      for (int64_t col = 0; col < c->k; col++)
        products += (!c->sparse || c->b.at[m][col]) && tile_of(c->k, o->tiles_across, col) == j;
    }
  return products;
}

/* Bytes of tile (i, l) of A, and of tile (l, j) of B. */
static double bytes_of_a(const drawn_case *c, int64_t i, int64_t l, int64_t *stored) {
  return sparse_bytes(&c->a, c->o.tiles_down, c->o.tiles_between, i, l, (int64_t)sley_dtype_bytes(c->dtype),
                      stored);
}

static double bytes_of_b(const drawn_case *c, int64_t l, int64_t j) {
  const sley_roofline_options *o = &c->o;
  const int64_t value = (int64_t)sley_dtype_bytes(c->dtype);
  const int64_t width = width_of(c->k, o->tiles_across, j), inner = width_of(c->a.cols, o->tiles_between, l);
  int64_t unused;
  return c->sparse ? sparse_bytes(&c->b, o->tiles_between, o->tiles_across, l, j, value, &unused)
                   : (double)((inner * width * value + 63) / 64 * 64);
}

static bool is_summa(const drawn_case *c) {
  return strcmp(c->o.algo, "tile-summa") == 0;
}

/* A binomial tree: a rank at distance d from the owner receives from the one at d without its highest bit. In
 * one node all receive from the owner. */
static void broadcast(counted *out, const sley_roofline_options *o, int ranks, int first, int apart,
                      int64_t l, double bytes) {
  for (int d = 1; d < ranks; d++) {
    int high = 1;
    while (2 * high <= d)
      high *= 2;
    const int from = o->ranks_per_node >= o->ranks ? 0 : d - high, own = (int)(l % ranks);
    carry(out, o, first + (own + from) % ranks * apart, first + (own + d) % ranks * apart, bytes);
  }
}

/* The broadcasts of tile-summa: all tiles of a row of ranks in column l of A, and of a column of ranks in row
 * l of B, that have anything to multiply. */
static void count_panels(const drawn_case *c, int64_t l, counted *out) {
  const sley_roofline_options *o = &c->o;
  double of_a[MOST_RANKS] = {0}, of_b[MOST_RANKS] = {0};
  bool any_a = false, any_b = false;
  int64_t unused;
  for (int64_t i = 0; i < o->tiles_down; i++)
    any_a |= bytes_of_a(c, i, l, &unused) > 0;
  for (int64_t j = 0; j < o->tiles_across; j++)
    any_b |= bytes_of_b(c, l, j) > 0;
  for (int64_t i = 0; i < o->tiles_down && any_b; i++)
    of_a[i % o->grid_rows] += bytes_of_a(c, i, l, &unused);
  for (int64_t j = 0; j < o->tiles_across && any_a; j++)
    of_b[j % o->grid_cols] += bytes_of_b(c, l, j);
  for (int row = 0; row < o->grid_rows; row++)
    broadcast(out, o, o->grid_cols, row * o->grid_cols, 1, l, of_a[row]);
  for (int col = 0; col < o->grid_cols; col++)
    broadcast(out, o, o->grid_rows, col, o->grid_cols, l, of_b[col]);
}

/* The stage of a task: each rank takes its stationary tiles row by row, and the tasks of tile (row, col) from
 * row + col on. Ranks with fewer tiles in a row wait. */
static int64_t stage_of(const drawn_case *c, int64_t i, int64_t l, int64_t j) {
  const sley_roofline_options *o = &c->o;
  const char stays = o->algo[5];
  const int64_t down = stays == 'b' ? o->tiles_between : o->tiles_down;
  const int64_t across = stays == 'a' ? o->tiles_between : o->tiles_across;
  const int64_t steps = stays == 'a' ? o->tiles_across : stays == 'b' ? o->tiles_down : o->tiles_between;
  const int64_t my_row = stays == 'b' ? l : i, my_col = stays == 'a' ? l : j;
  const int64_t my_other = stays == 'a' ? j : stays == 'b' ? i : l;
  int64_t stage = 0;
  for (int64_t row = my_row % o->grid_rows; row < down; row += o->grid_rows)
    for (int64_t first = 0; first < across; first += o->grid_cols)
      for (int64_t step = 0; step < steps; step++, stage++)
        if (row == my_row && first + my_col % o->grid_cols == my_col &&
            (row + my_col + step) % steps == my_other)
          return is_summa(c) ? l : stage;
  fail_msg("no rank has this task");
  return 0;
}

/* Flops of the stages, each as many as of its busiest rank. */
static double staged_flops(const counted *c) {
  double sum = 0;
  for (int s = 0; s < MOST_STAGES; s++) {
    double most = 0;
    for (int r = 0; r < MOST_RANKS; r++)
      most = fmax(most, c->stage[s][r]);
    sum += most;
  }
  return sum;
}

static void count_task(const drawn_case *c, int64_t i, int64_t l, int64_t j, counted *out) {
  const sley_roofline_options *o = &c->o;
  const int64_t value = (int64_t)sley_dtype_bytes(c->dtype), wide = value < 4 ? 4 : value;
  const int64_t width = width_of(c->k, o->tiles_across, j);
  int64_t stored;
  const double a = bytes_of_a(c, i, l, &stored), b = bytes_of_b(c, l, j);
  if (a == 0 || b == 0)
    return;
  const int64_t height = width_of(c->a.rows, o->tiles_down, i);
  const double product = (double)((stored * width * wide + 7) / 8 * 8 + (stored < height ? 8 * stored : 0));
  const int me = owner(o, o->algo[5] == 'b' ? l : i, o->algo[5] == 'a' ? l : j);
  out->flops[me] += 2 * products_of(c, i, l, j);
  out->stage[stage_of(c, i, l, j)][me] += 2 * products_of(c, i, l, j);
  if (is_summa(c))
    return; /* count_panels */
  carry(out, o, owner(o, i, l), me, a);
  carry(out, o, owner(o, l, j), me, b);
  carry(out, o, me, owner(o, i, j), product);
}

static void draw_case(bool sparse, drawn_case *c) {
  static const char *const algos[] = {"tile-c", "tile-summa", "tile-a", "tile-b"};
  *c = (drawn_case){.sparse = sparse,
                    .k = sparse ? draw(SIDE) : PICK(0, 1, 2, 7, 16),
                    .dtype = (sley_dtype)PICK(SLEY_F32, SLEY_F64, SLEY_F16, SLEY_BF16),
                    .o = SLEY_ROOFLINE_OPTIONS_INIT};
  const int64_t rows = draw(SIDE), inner = draw(SIDE);
  draw_table(rows, inner, c->dtype, &c->a);
  if (sparse)
    draw_table(inner, c->k, c->dtype, &c->b);
  c->o.algo = algos[draw(sparse ? 2 : 4)];
  c->o.grid_rows = (int)PICK(1, 2, 3, 4);
  c->o.grid_cols = (int)PICK(1, 2, 3);
  c->o.ranks = c->o.grid_rows * c->o.grid_cols;
  c->o.ranks_per_node = 1 + (int)draw(c->o.ranks);
  c->o.tiles_down = 1 + draw(MOST_TILES);
  c->o.tiles_between = 1 + draw(MOST_TILES);
  c->o.tiles_across = 1 + draw(MOST_ACROSS);
  c->o.compression = sparse ? 2 : 0;
}

static void end_case(drawn_case *c) {
  sley_matrix_destroy(c->a.matrix);
  sley_matrix_destroy(c->b.matrix);
}

static sley_status roofline_of(const drawn_case *c, sley_roofline *line, sley_roofline_rank *rank) {
  return c->sparse ? sley_roofline_spgemm(c->a.matrix, c->b.matrix, &c->o, line, rank)
                   : sley_roofline_spmm(c->a.matrix, c->k, &c->o, line, rank);
}

static void check_case(const drawn_case *c) {
  static counted expected;
  sley_roofline line;
  expected = (counted){0};
  sley_roofline_rank rank[MOST_RANKS];
  for (int64_t i = 0; i < c->o.tiles_down; i++)
    for (int64_t l = 0; l < c->o.tiles_between; l++)
      for (int64_t j = 0; j < c->o.tiles_across; j++)
        count_task(c, i, l, j, &expected);
  for (int64_t l = 0; l < c->o.tiles_between && is_summa(c); l++)
    count_panels(c, l, &expected);
  assert_sley_ok(roofline_of(c, &line, rank));
  double flops = 0, bytes = 0;
  for (int r = 0; r < c->o.ranks; r++) {
    if (rank[r].flops != expected.flops[r] || rank[r].network_in != expected.in[r] ||
        rank[r].network_out != expected.out[r] || rank[r].inside_in != expected.inside[r] ||
        rank[r].messages != (double)expected.messages[r])
      fail_msg(
          "%s, %d x %d ranks, %d a node, %d x %d x %d tiles, rank %d: %g flops, %g in, %g out, %g inside; "
          "expected %g, %g, %g, %g",
          c->o.algo, c->o.grid_rows, c->o.grid_cols, c->o.ranks_per_node, (int)c->o.tiles_down,
          (int)c->o.tiles_between, (int)c->o.tiles_across, r, rank[r].flops, rank[r].network_in,
          rank[r].network_out, rank[r].inside_in, expected.flops[r], expected.in[r], expected.out[r],
          expected.inside[r]);
    flops += expected.flops[r];
    bytes += expected.in[r];
    assert_true(rank[r].predicted_ms >= rank[r].local_ms && line.predicted_ms >= rank[r].predicted_ms);
  }
  assert_true(line.flops == flops && line.network_bytes == bytes);
  const double staged = flops > 0 ? staged_flops(&expected) * c->o.ranks / flops : 0;
  if (fabs(line.stage_imbalance - staged) > 1e-12 * staged)
    fail_msg("%s: imbalance by stages %.15g, expected %.15g", c->o.algo, line.stage_imbalance, staged);
  assert_true(line.stage_imbalance >= line.flops_imbalance * (1 - 1e-12));
  assert_true(line.attainable <= line.local_roof && line.attainable <= line.network_roof);
}

static void dense_products_are_counted(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(150); repeat++) {
    drawn_case c;
    draw_case(false, &c);
    check_case(&c);
    end_case(&c);
  }
}

static void sparse_products_are_counted(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(100); repeat++) {
    drawn_case c;
    draw_case(true, &c);
    check_case(&c);
    end_case(&c);
  }
}

/* The number of entries of C must equal that of the computed pattern. */
static void compression_is_that_of_the_product(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(40); repeat++) {
    drawn_case c;
    sley_roofline line;
    sley_matrix *product;
    sley_spgemm_info info;
    draw_case(true, &c);
    c.o.compression = 0;
    assert_sley_ok(roofline_of(&c, &line, NULL));
    assert_sley_ok(sley_spgemm(c.a.matrix, c.b.matrix, NULL, &product, &info));
    assert_true(line.compression == info.compression && line.flops == 2 * (double)info.products);
    sley_matrix_destroy(product);
    end_case(&c);
  }
}

static void failing_allocations_leave_nothing(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(10); repeat++) {
    drawn_case c;
    sley_roofline line;
    draw_case(draw(2) == 0, &c);
    const int64_t before = sl_memory_now();
    sley_status status = SLEY_ERR_MEMORY;
    for (int64_t nth = 1; status != SLEY_OK; nth++) {
      sl_memory_fail_at(nth);
      status = roofline_of(&c, &line, NULL);
      sl_memory_fail_at(0);
      assert_true(status == SLEY_OK || status == SLEY_ERR_MEMORY);
      if (nth > 1) /* the first may have looked the machine up, which stays */
        assert_true(sl_memory_now() <= before + 65536);
    }
    end_case(&c);
  }
}

/* ---- summa-2d */

typedef struct summa_case {
  sley_matrix *matrix;
  int64_t k, begin[MOST_RANKS + 1];
  sley_plan_info info;
} summa_case;

static sley_status plan_summa(sley_comm *comm, void *arg) {
  summa_case *c = arg;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan_info info;
  sley_plan *plan = NULL;
  sley_matrix *rows = NULL;
  const int rank = sley_comm_rank(comm);
  options.algo = "summa-2d";
  options.dry = true;
  sley_status status =
      sley_matrix_row_block(c->matrix, c->begin[rank], c->begin[rank + 1] - c->begin[rank], &rows);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, rows, c->begin, c->begin, c->k, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && rank == 0)
    c->info = info;
  sley_plan_destroy(plan);
  sley_matrix_destroy(rows);
  return status;
}

/* Every rank has the same number of rows, so that tiles begin at the beginnings of row blocks. */
static void summa_is_counted_as_by_its_plan(void **state) {
  (void)state;
  static const int ranks[] = {1, 2, 3, 4, 6, 9, 12};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    summa_case c = {.k = PICK(1, 5, 16)};
    sley_rank_options r = SLEY_RANK_OPTIONS_INIT;
    sley_roofline_options o = SLEY_ROOFLINE_OPTIONS_INIT;
    sley_roofline line;
    r.ranks = o.ranks = ranks[i];
    r.workgroup = o.ranks_per_node = 1 + (int)draw(ranks[i]);
    r.threads = 1;
    r.device = "cpu";
    o.algo = "summa-2d";
    assert_sley_ok(sley_matrix_read("er:n=180,nnz=900", NULL, &c.matrix));
    assert_sley_ok(sley_partition_rows(c.matrix, "rows", ranks[i], c.begin));
    assert_sley_ok(sley_run_ranks(&r, plan_summa, &c));
    assert_sley_ok(sley_roofline_spmm(c.matrix, c.k, &o, &line, NULL));
    const double direct = (double)c.info.predicted.direct_bytes;
    const double message = (double)c.info.predicted.message_bytes;
    const bool nodes = line.nodes > 1;
    if (line.network_bytes != (nodes ? message : direct) || line.inside_bytes != (nodes ? direct : 0))
      fail_msg("%d ranks, %d a node: %g and %g bytes inside, expected %g and %g", ranks[i], o.ranks_per_node,
               line.network_bytes, line.inside_bytes, message, direct);
    assert_true(line.flops == 2.0 * (double)c.info.nnz * (double)c.k);
    sley_matrix_destroy(c.matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dense_products_are_counted), cmocka_unit_test(sparse_products_are_counted),
      cmocka_unit_test(compression_is_that_of_the_product),
      cmocka_unit_test(failing_allocations_leave_nothing), cmocka_unit_test(summa_is_counted_as_by_its_plan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
