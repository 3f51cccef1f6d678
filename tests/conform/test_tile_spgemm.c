/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two sparse matrices in tiles: entries and values equal sums over all entries, for every
 * semiring, dtype and algorithm, with and without a mask, by handles and by sley_spgemm with a comm; limits
 * of memory; the same bits on every transport; wrong operands; failures. */
#include <math.h>

#include "allocations.h"
#include "base/random.h"
#include "tile_case.h"

enum { SAMPLES = 3, ALGORITHMS = 11, ENOUGH = 1 << 16, TOO_LITTLE = 1000 };

/* A is m x n in tiles, B is A^T. */
typedef struct sample {
  tile_case c;
  sley_matrix *b, *mask; /* mask: m x m, or NULL */
  sl_tiling of_b;
  sley_tile_spgemm_options options;
  uint64_t bits[TILE_MOST_RANKS];
} sample;

static uint64_t semirings(void) {
  uint64_t count = 0;
  while (sley_semirings()[count])
    count++;
  return count;
}

/* Draws a mask. Its values must not affect the product, and its dtype may differ from that of C. */
static sley_matrix *draw_mask(const tile_case *c) {
  sl_csr_arrays arrays;
  sley_matrix *mask;
  int64_t count = 0;
  const sley_dtype dtype = (sley_dtype)(sl_random(c->seed, 8, 10) % 4);
  assert_sley_ok(sl_csr_arrays_alloc(c->m, 2 * c->m * c->m, SLEY_I32, dtype, &arrays));
  arrays.rowptr[0] = 0;
  for (int64_t i = 0; i < c->m; i++) {
    const int64_t share = (int64_t[]){0, 10, 60}[sl_random(c->seed, 12, (uint64_t)i) % 3];
    for (int64_t j = 0; j < c->m; j++) {
      const int64_t drawn = sl_below(sl_random(c->seed, 2000 + (uint64_t)i, (uint64_t)j), 100);
      for (int times = drawn == 0 ? 2 : 1; drawn < share && times > 0; times--) {
        sl_index_set(arrays.col, SLEY_I32, count, j);
        sl_value_set(arrays.val, dtype, count++, NAN);
      }
    }
    arrays.rowptr[i + 1] = count;
  }
  assert_sley_ok(sl_matrix_adopt(c->m, c->m, SLEY_I32, dtype, arrays, -1, &mask));
  return mask;
}

/* Draws a sample. Samples take the algorithms in turn, the first time without a mask, then with one. */
static sample draw(const rank_case *rank, uint64_t n) {
  sample s = {.c = tile_case_draw(rank->seed * 2000 + n, rank->ranks)};
  const sl_tiling *a = &s.c.a;
  assert_sley_ok(sley_matrix_transpose(s.c.matrix, 1, &s.b));
  s.of_b = (sl_tiling){s.c.n, s.c.m, a->across, s.c.y.across, a->grid_rows, a->grid_cols};
  s.options = (sley_tile_spgemm_options)SLEY_TILE_SPGEMM_OPTIONS_INIT;
  s.options.semiring = (sley_semiring)(sl_random(s.c.seed, 8, 8) % semirings());
  s.options.algo = sley_tile_algorithms()[n % ALGORITHMS];
  s.options.buffers = (int)(sl_random(s.c.seed, 8, 9) % 3);
  s.options.mem_limit = n % 2 ? ENOUGH : 0;
  s.mask = n / ALGORITHMS % 2 ? draw_mask(&s.c) : NULL;
  return s;
}

static void drop(sample *s) {
  sley_matrix_destroy(s->b);
  sley_matrix_destroy(s->mask);
  tile_case_free(&s->c);
}

typedef struct factors {
  sley_matrix *block;
  sley_tiled *a, *b, *mask;
  sley_tile_spgemm_options options; /* options that include the mask */
} factors;

static sl_tiling tiling_of_c(const sample *s) {
  return (sl_tiling){s->c.m, s->c.m, s->c.a.down, s->of_b.across, s->c.a.grid_rows, s->c.a.grid_cols};
}

static sley_status make(sley_comm *comm, const sample *s, factors *f) {
  const tile_case *c = &s->c;
  const sl_tiling of_c = tiling_of_c(s);
  const sley_tiling a = tile_public(&c->a), b = tile_public(&s->of_b), mask = tile_public(&of_c);
  SL_TRY(tile_block(c, c->matrix, sley_comm_rank(comm), &f->block));
  SL_TRY(sley_tiled_create_sparse(comm, f->block, c->whole ? NULL : c->row_begin, &a, &f->a));
  SL_TRY(sley_tiled_create_sparse(comm, s->b, NULL, &b, &f->b));
  if (s->mask)
    SL_TRY(sley_tiled_create_sparse(comm, s->mask, NULL, &mask, &f->mask));
  f->options = s->options;
  f->options.mask = f->mask;
  return SLEY_OK;
}

static void end(factors *f) {
  sley_tiled_destroy(f->a);
  sley_tiled_destroy(f->b);
  sley_tiled_destroy(f->mask);
  sl_matrix_destroy(f->block);
}

/* ---- right results */

/* Computes row `row` of C by the definition: each sum and its number of products. All numbers are exact. */
static void oracle_row(const sample *s, int64_t row, double *sum, int64_t *products) {
  const sley_matrix *a = s->c.matrix, *b = s->b;
  for (int64_t j = 0; j < s->c.m; j++)
    products[j] = 0;
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++) {
    const int64_t l = sl_index_at(a->col, a->index, e);
    const double left = sl_value_at(a->val, a->dtype, e);
    for (int64_t f = b->rowptr[l]; f < b->rowptr[l + 1]; f++) {
      const int64_t j = sl_index_at(b->col, b->index, f);
      const double right = sl_value_at(b->val, b->dtype, f);
      const double product = s->options.semiring == SLEY_PLUS_TIMES  ? left * right
                             : s->options.semiring == SLEY_PLUS_PAIR ? 1
                             : s->options.semiring == SLEY_MIN_PLUS  ? left + right
                                                                     : left != 0 && right != 0;
      const bool first = products[j]++ == 0;
      if (first)
        sum[j] = product;
      else if (s->options.semiring == SLEY_MIN_PLUS)
        sum[j] = fmin(sum[j], product);
      else if (s->options.semiring == SLEY_OR_AND)
        sum[j] = fmax(sum[j], product);
      else
        sum[j] += product;
    }
  }
}

static bool allows(const sley_matrix *mask, int64_t i, int64_t j) {
  for (int64_t e = mask ? mask->rowptr[i] : 0; mask && e < mask->rowptr[i + 1]; e++)
    if (sl_index_at(mask->col, mask->index, e) == j)
      return true;
  return !mask;
}

static int64_t part_of(int64_t total, int64_t shares, int64_t at) {
  int64_t share = 0;
  while (sl_share_begin(total, shares, share + 1) <= at)
    share++;
  return share;
}

/* Whether the tile of C with (row, col) is computed: the mask allows at least one of its entries. */
static bool tile_is_made(const sample *s, int64_t row, int64_t col) {
  const sl_tiling t = tiling_of_c(s);
  const int64_t i = part_of(t.rows, t.down, row), j = part_of(t.cols, t.across, col);
  for (int64_t r = sl_tile_row(&t, i); r < sl_tile_row(&t, i + 1); r++)
    for (int64_t c = sl_tile_col(&t, j); c < sl_tile_col(&t, j + 1); c++)
      if (allows(s->mask, r, c))
        return true;
  return false;
}

static sley_status compare(const sample *s, const sley_matrix *c, int64_t first) {
  double sum[64], rounded[1];
  int64_t products[64];
  EXPECT(c->cols == s->c.m && c->dtype == s->c.dtype);
  for (int64_t i = 0; i < c->rows; i++) {
    int64_t e = c->rowptr[i];
    oracle_row(s, first + i, sum, products);
    for (int64_t j = 0; j < s->c.m; j++) {
      if (products[j] == 0 || !allows(s->mask, first + i, j))
        continue;
      EXPECT(e < c->rowptr[i + 1] && sl_index_at(c->col, c->index, e) == j);
      sl_value_set(rounded, c->dtype, 0, sum[j]);
      EXPECT(sl_value_at(c->val, c->dtype, e) == sl_value_at(rounded, c->dtype, 0));
      e++;
    }
    EXPECT(e == c->rowptr[i + 1]);
  }
  return SLEY_OK;
}

/* Checks the report. Traffic is predicted completely unless products are pushed to other ranks. */
static sley_status check_report(sl_comm *comm, const sample *s, const sley_tile_report *r) {
  const sley_traffic *less = &r->predicted, *more = &r->counted;
  const bool steals = strstr(s->options.algo, "steal") != NULL;
  int64_t sums[] = {r->tasks, r->stolen, 0};
  for (int64_t i = 0; comm->rank == 0 && i < s->c.m; i++) {
    double sum[64];
    int64_t products[64];
    oracle_row(s, i, sum, products);
    for (int64_t j = 0; j < s->c.m; j++)
      sums[2] -= products[j] > 0 && tile_is_made(s, i, j) ? 2 * products[j] : 0;
  }
  sums[2] += r->flops;
  SL_TRY(sley_comm_allreduce(comm, SLEY_SUM, sums, 3));
  EXPECT(sums[2] == 0 && sums[1] <= sums[0] && (steals || sums[1] == 0));
  if (sums[1] == 0 &&
      (strncmp(s->options.algo, "tile-c", 6) == 0 || !sley_tile_algorithm_pushes(s->options.algo)))
    EXPECT(memcmp(less, more, sizeof *more) == 0);
  EXPECT(steals || (less->direct_bytes <= more->direct_bytes && less->message_bytes <= more->message_bytes &&
                    less->self_bytes <= more->self_bytes));
  const double parts = r->compute_ms + r->communicate_ms + r->accumulate_ms + r->imbalance_ms;
  EXPECT(fabs(parts - r->total_ms) <= 1e-6 * r->total_ms + 1e-9);
  return SLEY_OK;
}

static sley_status product_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  factors f = {0};
  sley_tiled *c = NULL;
  sley_matrix *rows = NULL;
  sley_tile_report report;
  sley_status status = make(comm, s, &f);
  if (status != SLEY_OK)
    goto done;
  TRY(sley_tile_spgemm(f.a, f.b, &f.options, &c, &report));
  TRY(check_report(comm, s, &report));
  TRY(sley_tiled_get_matrix(c, s->c.row_begin, &rows));
  CHECK(rows->rows == s->c.row_begin[comm->rank + 1] - s->c.row_begin[comm->rank]);
  TRY(compare(s, rows, s->c.row_begin[comm->rank]));
done:
  sl_matrix_destroy(rows);
  sley_tiled_destroy(c);
  end(&f);
  return status;
}

static void products(const rank_case *rank) {
  for (uint64_t n = 0; n < SAMPLES; n++) { /* numbers continue over all cases */
    sample s = draw(rank, rank->seed * SAMPLES + n);
    assert_case_ok(rank, run_case(rank, product_main, &s));
    drop(&s);
  }
}

static void products_are_exact_and_move_what_is_predicted(void **state) {
  (void)state;
  each_case(products);
}

/* A memory limit below the need of any product of two tiles: the rank that detects it reports it, and all
 * ranks end. */
static int refused; /* number of cases with a product */

static void limits(const rank_case *rank) {
  sample s = draw(rank, 30 + rank->seed);
  s.options.mem_limit = TOO_LITTLE;
  int64_t products[64], made = 0;
  double sum[64];
  for (int64_t i = 0; i < s.c.m; i++) {
    oracle_row(&s, i, sum, products);
    for (int64_t j = 0; j < s.c.m; j++)
      made += products[j] > 0 && tile_is_made(&s, i, j);
  }
  const sley_status status = run_case(rank, product_main, &s);
  assert_int_equal(status, made > 0 ? SLEY_ERR_MEMORY : SLEY_OK);
  if (made > 0)
    assert_true((strstr(sley_last_error(), "the product of tile (") ||
                 strstr(sley_last_error(), "of tiles with other workgroups")) &&
                strstr(sley_last_error(), "mem_limit"));
  refused += made > 0;
  drop(&s);
}

static void a_product_that_exceeds_the_limit_is_refused(void **state) {
  (void)state;
  refused = 0;
  each_case_until(&refused, limits);
  assert_true(refused > 0 || test_launched());
}

/* ---- chains of products, and rows that are read back */

/* (A A^T) A, from the tiles of the first product, equals the product of whole matrices; A's rows are read
 * back unchanged. */
static sley_status chain_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  const tile_case *c = &s->c;
  factors f = {0};
  sley_tiled *square = NULL, *last = NULL, *again = NULL;
  sley_matrix *rows = NULL, *whole = NULL, *expected = NULL;
  const sley_tiling right = {c->a.grid_rows, c->a.grid_cols, s->of_b.across, c->a.across};
  sley_status status = make(comm, s, &f);
  if (status != SLEY_OK)
    goto done;
  TRY(sley_tiled_get_matrix(f.a, c->row_begin, &rows));
  for (int64_t i = 0; i < rows->rows; i++) {
    const int64_t row = c->row_begin[comm->rank] + i, from = c->matrix->rowptr[row];
    CHECK(rows->rowptr[i + 1] - rows->rowptr[i] == c->matrix->rowptr[row + 1] - from);
    for (int64_t e = 0; e < c->matrix->rowptr[row + 1] - from; e++)
      CHECK(sl_index_at(rows->col, rows->index, rows->rowptr[i] + e) ==
                sl_index_at(c->matrix->col, c->matrix->index, from + e) &&
            sl_value_at(rows->val, c->dtype, rows->rowptr[i] + e) ==
                sl_value_at(c->matrix->val, c->dtype, from + e));
  }
  sl_matrix_destroy(rows);
  rows = NULL;
  TRY(sley_tiled_create_sparse(comm, c->matrix, NULL, &right, &again));
  TRY(sley_tile_spgemm(f.a, f.b, NULL, &square, NULL));
  TRY(sley_tile_spgemm(square, again, &s->options, &last, NULL));
  TRY(sley_tiled_get_matrix(last, c->row_begin, &rows));
  TRY(sley_spgemm(c->matrix, s->b, NULL, &whole, NULL));
  TRY(sley_spgemm(whole, c->matrix, NULL, &expected, NULL));
  for (int64_t i = 0; i < rows->rows; i++) {
    const int64_t row = c->row_begin[comm->rank] + i;
    CHECK(rows->rowptr[i + 1] - rows->rowptr[i] == expected->rowptr[row + 1] - expected->rowptr[row]);
  }
done:
  sl_matrix_destroy(rows);
  sl_matrix_destroy(whole);
  sl_matrix_destroy(expected);
  sley_tiled_destroy(last);
  sley_tiled_destroy(square);
  sley_tiled_destroy(again);
  end(&f);
  return status;
}

static void chains(const rank_case *rank) {
  sample s = draw(rank, 50 + rank->seed);
  s.options.semiring = SLEY_PLUS_TIMES;
  assert_case_ok(rank, run_case(rank, chain_main, &s));
  drop(&s);
}

static void products_can_be_multiplied(void **state) {
  (void)state;
  each_case(chains);
}

/* ---- the same bits */

/* Sets real values, whose sums are not exact, and zeros of both signs. */
static void make_real(const sley_matrix *m, uint64_t seed) {
  for (int64_t e = 0; e < m->nnz; e++) {
    const double real = sl_unit(sl_random(seed, 4, (uint64_t)e)) - 0.3;
    sl_value_set((void *)m->val, m->dtype, e, real > 0.2 ? -0.0 : real);
  }
}

static sley_status bits_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  factors f = {0};
  sley_tiled *c = NULL;
  sley_matrix *rows = NULL;
  sley_status status = make(comm, s, &f);
  uint64_t sum = 0;
  if (status != SLEY_OK)
    goto done;
  TRY(sley_tile_spgemm(f.a, f.b, &f.options, &c, NULL));
  TRY(sley_tiled_get_matrix(c, s->c.row_begin, &rows));
  for (int64_t i = 0; i < rows->rows; i++) {
    uint64_t row = (uint64_t)(s->c.row_begin[comm->rank] + i);
    for (int64_t e = rows->rowptr[i]; e < rows->rowptr[i + 1]; e++) {
      const double value = sl_value_at(rows->val, rows->dtype, e);
      uint64_t word;
      memcpy(&word, &value, sizeof word);
      row = sl_mix(row ^ word);
    }
    sum += row;
  }
  s->bits[comm->rank] = sum;
done:
  sl_matrix_destroy(rows);
  sley_tiled_destroy(c);
  end(&f);
  return status;
}

/* Compares with the bits of one rank without work stealing, on the CPU. */
static void same_bits(const rank_case *rank) {
  const rank_case alone = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 2, .device = "cpu"};
  sample here = draw(rank, 80 + rank->seed);
  here.options.semiring = sl_random(rank->seed, 9, 9) % 2 ? SLEY_MIN_PLUS : SLEY_PLUS_TIMES;
  uint64_t sum = 0;
  make_real(here.c.matrix, 1);
  make_real(here.b, 2);
  assert_case_ok(rank, run_case(rank, bits_main, &here));
  share_seen(here.bits, sizeof *here.bits);
  for (int r = 0; r < here.c.ranks; r++)
    sum += here.bits[r];
  sample one = here;
  one.options.algo = NULL;
  one.c.a.grid_rows = one.c.a.grid_cols = one.of_b.grid_rows = one.of_b.grid_cols = 1;
  one.c.row_begin[1] = one.c.m;
  assert_case_ok(&alone, run_case(&alone, bits_main, &one));
  assert_true(one.bits[0] == sum);
  drop(&here);
}

static void bits_depend_on_the_tiles_alone(void **state) {
  (void)state;
  each_case(same_bits);
}

/* ---- one call */

/* Multiplies by sley_spgemm with the grid, tiles and options of the product by handles. transpose: the call
 * transposes B; named: the caller names the ranks' rows of C. */
static sley_status call_once(sl_comm *comm, const sample *s, sley_tile_spgemm_options given, bool transpose,
                             bool named, sley_matrix **out) {
  const tile_case *c = &s->c;
  const sley_tiling tiling = tile_public(&c->a);
  sley_matrix *a = NULL, *mask = NULL;
  sley_spgemm_info info;
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  options.semiring = given.semiring;
  options.mem_limit = given.mem_limit;
  options.comm = comm;
  options.algo = given.algo;
  options.buffers = given.buffers;
  options.tiling = &tiling;
  options.columns = s->of_b.across;
  options.transpose_b = transpose;
  options.a_begin = c->whole ? NULL : c->row_begin;
  options.c_begin = named ? c->row_begin : NULL;
  sley_status status = tile_block(c, c->matrix, comm->rank, &a);
  if (status == SLEY_OK && s->mask)
    status = tile_block(c, s->mask, comm->rank, &mask);
  options.mask = mask;
  if (status == SLEY_OK)
    status = sley_spgemm(a, transpose ? c->matrix : s->b, &options, out, &info);
  if (status == SLEY_OK && (info.nnz != (*out)->nnz || info.passes != 0))
    status = sl_fail(SLEY_ERR_INTERNAL, "info is of another product");
  sl_matrix_destroy(mask);
  sl_matrix_destroy(a);
  return status;
}

static sley_status one_call_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  const bool named = s->c.seed % 2, transpose = s->c.seed / 2 % 2;
  int64_t begin[TILE_MOST_RANKS + 1];
  factors f = {0};
  sley_tiled *c = NULL;
  sley_matrix *rows = NULL, *wanted = NULL;
  sley_status status = make(comm, s, &f);
  if (status != SLEY_OK)
    goto done;
  memcpy(begin, s->c.row_begin, sizeof begin);
  if (!named && s->c.whole)
    TRY(sley_partition_equal(s->c.m, comm->size, begin));
  TRY(call_once(comm, s, s->options, transpose, named, &rows));
  TRY(sley_tile_spgemm(f.a, f.b, &f.options, &c, NULL));
  TRY(sley_tiled_get_matrix(c, begin, &wanted));
  CHECK(rows->nnz == wanted->nnz && rows->rows == wanted->rows);
  CHECK(memcmp(rows->val, wanted->val, (size_t)rows->nnz * sley_dtype_bytes(rows->dtype)) == 0);
done:
  sl_matrix_destroy(rows);
  sl_matrix_destroy(wanted);
  sley_tiled_destroy(c);
  end(&f);
  return status;
}

static void one_call(const rank_case *rank) {
  for (uint64_t n = 0; n < SAMPLES; n++) {
    sample s = draw(rank, 7 + rank->seed * SAMPLES + n);
    make_real(s.c.matrix, 1);
    sley_matrix_destroy(s.b);
    assert_sley_ok(sley_matrix_transpose(s.c.matrix, 1, &s.b));
    assert_case_ok(rank, run_case(rank, one_call_main, &s));
    drop(&s);
  }
}

static void one_call_multiplies_as_handles_do(void **state) {
  (void)state;
  each_case(one_call);
}

/* ---- wrong use, and failures */

static sley_status wrong_call_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  const sley_matrix *a = s->c.matrix, *b = s->b;
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  sley_matrix *c = NULL;
  sley_status status = SLEY_OK;
  options.comm = comm;
  CHECK(sley_spgemm(comm->rank == 0 ? NULL : a, b, &options, &c, NULL) ==
        (comm->rank == 0 ? SLEY_ERR_ARG : SLEY_ERR_PEER));
  CHECK(sley_spgemm(a, a, &options, &c, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "must be equal"));
  options.device = "cpu";
  CHECK(sley_spgemm(a, b, &options, &c, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "leave"));
  options.device = NULL;
  options.algo = "rows";
  CHECK(sley_spgemm(a, b, &options, &c, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "rows"));
  options.algo = "tile-d";
  CHECK(sley_spgemm(a, b, &options, &c, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "tile-d"));
  options.algo = "auto";
  options.c_begin = comm->rank == 0 ? NULL : s->c.row_begin;
  CHECK(sley_spgemm(a, b, &options, &c, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "c_begin"));
  options.c_begin = NULL;
  options.columns = -1;
  CHECK(sley_spgemm(a, b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.columns = 0;
  options.transpose_b = true;
  options.b_begin = s->c.row_begin;
  CHECK(sley_spgemm(a, a, &options, &c, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "transpose_b"));
  options.b_begin = NULL;
  TRY(sley_spgemm(a, a, &options, &c, NULL)); /* the comm stays usable */
done:
  sl_matrix_destroy(c);
  return status;
}

static sley_status wrong_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  factors f = {0};
  sley_tiled *c = NULL, *dense = NULL;
  sley_matrix *rows = NULL;
  const sley_tiling tiling = tile_public(&s->c.y);
  sley_tile_spgemm_options options = SLEY_TILE_SPGEMM_OPTIONS_INIT;
  sley_status status = make(comm, s, &f);
  if (status != SLEY_OK)
    goto done;
  TRY(sley_tiled_create_dense(comm, s->c.m, s->c.k, s->c.dtype, &tiling, &dense));
  CHECK(sley_tile_spgemm(f.a, f.a, NULL, &c, NULL) == SLEY_ERR_ARG);
  CHECK(sley_tile_spgemm(f.a, dense, NULL, &c, NULL) == SLEY_ERR_ARG);
  CHECK(sley_tile_spgemm(NULL, f.b, NULL, &c, NULL) == SLEY_ERR_ARG);
  options.semiring = (sley_semiring)semirings();
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.semiring = (sley_semiring)comm->rank;
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  CHECK(sley_tiled_get_matrix(dense, s->c.row_begin, &rows) == SLEY_ERR_ARG);
  CHECK(sley_tiled_get_matrix(f.a, NULL, &rows) == SLEY_ERR_ARG);
  options.semiring = SLEY_PLUS_TIMES;
  options.algo = "tile-d";
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.algo = comm->rank == 0 ? "tile-c-steal" : "tile-a";
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.algo = NULL;
  options.buffers = -1;
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.buffers = 0;
  options.mem_limit = -1;
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.mem_limit = ENOUGH + comm->rank;
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.mem_limit = 0;
  options.mask = f.a; /* has another size */
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  CHECK(strstr(sley_last_error(), "the mask must be"));
  options.mask = dense;
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  options.mask = comm->rank == 0 ? f.mask : NULL;
  CHECK(sley_tile_spgemm(f.a, f.b, &options, &c, NULL) == SLEY_ERR_ARG);
  TRY(sley_tile_spgemm(f.a, f.b, NULL, &c, NULL)); /* the comm and the operands stay usable */
done:
  sley_tiled_destroy(c);
  sley_tiled_destroy(dense);
  end(&f);
  return status;
}

static void wrong_operands_are_refused_on_all_ranks(void **state) {
  (void)state;
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  rank_case rank = {.transport = transport ? transport : "threads", .ranks = 2, .workgroup = 2, .threads = 1};
  if (test_launched())
    skip(); /* made for another number of ranks */
  sample s = draw(&rank, ALGORITHMS);
  while (s.c.m == s.c.n) { /* until A has the wrong shape for B */
    drop(&s);
    rank.seed++;
    s = draw(&rank, ALGORITHMS);
  }
  assert_case_ok(&rank, run_case(&rank, wrong_main, &s));
  assert_case_ok(&rank, run_case(&rank, wrong_call_main, &s));
  drop(&s);
}

/* Each allocation fails once: an error on some rank, no hang, and all memory is freed. Products are pushed
 * but not stolen, because with stealing the number of allocations depends on timing. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  const rank_case rank = {.transport = "threads", .ranks = 3, .workgroup = 2, .threads = 1, .seed = 3};
  sample s = draw(&rank, ALGORITHMS + 1); /* tile-a, with a mask */
  assert_true(fail_each_allocation(&rank, bits_main, &s, SLEY_OK) > 60);
  assert_true(fail_each_allocation(&rank, one_call_main, &s, SLEY_OK) > 60);
  drop(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_exact_and_move_what_is_predicted),
                                     cmocka_unit_test(a_product_that_exceeds_the_limit_is_refused),
                                     cmocka_unit_test(products_can_be_multiplied),
                                     cmocka_unit_test(bits_depend_on_the_tiles_alone),
                                     cmocka_unit_test(one_call_multiplies_as_handles_do),
                                     cmocka_unit_test(wrong_operands_are_refused_on_all_ranks),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
