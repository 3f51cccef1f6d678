/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in tiles through the public interface: compared with sums in float64; the same bits on
 * every transport and in every run; traffic as predicted; wrong operands; failures. */
#include <math.h>

#include "allocations.h"
#include "base/random.h"
#include "chosen_device.h"
#include "tile/products/tile_spmm.h"
#include "tile_case.h"

enum { PAD = 1, ALGORITHMS = 11 };

typedef struct sample {
  tile_case c;
  const char *algo;
  int buffers;
  double alpha, beta;
  bool real;                      /* values are real numbers, whose sums are not exact */
  uint64_t bits[TILE_MOST_RANKS]; /* hashes of Y's rows, per rank */
} sample;

/* The operands of one rank. */
typedef struct operands {
  sley_matrix *block;
  sley_tiled *a, *x, *y;
  void *x_rows, *y_rows;
  int64_t x_first, y_first, y_last, ld;
} operands;

/* Sets rows of X to real values, whose sums are not exact. */
static void make_real(const sample *s, int64_t first, int64_t last, void *rows) {
  const int64_t ld = s->c.k + PAD;
  for (int64_t i = 0; i < (last - first) * ld; i++)
    sl_value_set(rows, s->c.dtype, i, sl_unit(sl_random(s->c.seed, 99, (uint64_t)(first * ld + i))) - 0.3);
}

static sley_status make(sley_comm *comm, const sample *s, operands *o) {
  const tile_case *c = &s->c;
  const int me = sley_comm_rank(comm);
  const sley_tiling a = tile_public(&c->a), x = tile_public(&c->x), y = tile_public(&c->y);
  o->ld = c->k + PAD;
  o->y_first = c->row_begin[me];
  o->y_last = c->row_begin[me + 1];
  o->x_rows = tile_rows(c->seed + 2, c->dtype, c->col_begin[me], c->col_begin[me + 1], c->k, PAD);
  o->y_rows = tile_rows(c->seed + 3, c->dtype, o->y_first, o->y_last, c->k, PAD);
  if (s->real)
    make_real(s, c->col_begin[me], c->col_begin[me + 1], o->x_rows);
  SL_TRY(tile_block(c, c->matrix, me, &o->block));
  SL_TRY(sley_tiled_create_sparse(comm, o->block, c->whole ? NULL : c->row_begin, &a, &o->a));
  SL_TRY(sley_tiled_create_dense(comm, c->n, c->k, c->dtype, &x, &o->x));
  SL_TRY(sley_tiled_create_dense(comm, c->m, c->k, c->dtype, &y, &o->y));
  SL_TRY(sley_tiled_set_rows(o->x, c->col_begin, o->x_rows, o->ld));
  return sley_tiled_set_rows(o->y, c->row_begin, o->y_rows, o->ld);
}

static void end(operands *o) {
  sley_tiled_destroy(o->a);
  sley_tiled_destroy(o->x);
  sley_tiled_destroy(o->y);
  sl_matrix_destroy(o->block);
  free(o->x_rows);
  free(o->y_rows);
}

/* ---- right results */

/* Checks that Y is factor alpha A X + beta Y0, rounded once; all sums are exact before rounding. */
static sley_status compare(const sample *s, const operands *o, double factor, double beta) {
  const tile_case *c = &s->c;
  for (int64_t i = o->y_first; i < o->y_last; i++)
    for (int64_t j = 0; j < c->k; j++) {
      double sum = beta * tile_value(c->seed + 3, i, j), rounded[1];
      for (int64_t l = 0; l < c->n; l++)
        sum += factor * s->alpha * c->dense[i * c->n + l] * tile_value(c->seed + 2, l, j);
      sl_value_set(rounded, c->dtype, 0, sum);
      EXPECT(sl_value_at(o->y_rows, c->dtype, (i - o->y_first) * o->ld + j) ==
             sl_value_at(rounded, c->dtype, 0));
    }
  return SLEY_OK;
}

/* Checks the reports of one run: each task was done once, and traffic is as predicted unless tasks were
 * stolen. */
static sley_status check_report(sl_comm *comm, const sample *s, const sley_tile_spmm *product) {
  sley_tile_report r;
  SL_TRY(sley_tile_spmm_report_get(product, &r));
  const double parts = r.compute_ms + r.communicate_ms + r.accumulate_ms + r.imbalance_ms;
  EXPECT(fabs(parts - r.total_ms) <= 1e-6 * r.total_ms + 1e-9 && r.compute_ms >= 0 && r.imbalance_ms >= 0);
  int64_t sums[] = {r.flops, r.stolen};
  SL_TRY(sley_comm_allreduce(comm, SLEY_SUM, sums, 2));
  EXPECT(sums[0] == 2 * s->c.matrix->nnz * s->c.k);
  EXPECT(sums[1] == 0 || strstr(s->algo, "steal"));
  EXPECT(sums[1] > 0 || memcmp(&r.predicted, &r.counted, sizeof r.counted) == 0);
  return SLEY_OK;
}

static sley_status product_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  const tile_case *c = &s->c;
  const int64_t *rows = c->whole ? NULL : c->row_begin;
  operands o = {0};
  sley_tile_spmm *product = NULL;
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_matrix *renewed = NULL;
  sley_status status = make(comm, s, &o);
  if (status != SLEY_OK)
    goto done;
  options.algo = s->algo;
  options.buffers = s->buffers;
  TRY(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product));
  TRY(sley_tile_spmm_run(product, s->alpha, s->beta));
  TRY(check_report(comm, s, product));
  TRY(sley_tiled_get_rows(o.y, c->row_begin, o.y_rows, o.ld));
  TRY(compare(s, &o, 1, s->beta));
  TRY(sley_tile_spmm_run(product, s->alpha, 0)); /* beta is 0, so Y is not read */
  TRY(tile_block(c, c->renewed, comm->rank, &renewed));
  TRY(sley_tiled_renew(o.a, renewed, rows));
  TRY(sley_tile_spmm_run(product, s->alpha, 0));
  TRY(check_report(comm, s, product));
  TRY(sley_tiled_get_rows(o.y, c->row_begin, o.y_rows, o.ld));
  TRY(compare(s, &o, 2, 0));
done:
  sley_tile_spmm_destroy(product);
  sl_matrix_destroy(renewed);
  end(&o);
  return status;
}

static sample draw(const rank_case *rank, uint64_t n, const char *algo) {
  const uint64_t seed = rank->seed * 1000 + n, bits = sl_random(seed, 9, 9);
  return (sample){.c = tile_case_draw(seed, rank->ranks),
                  .algo = algo,
                  .buffers = (int)(bits % 3),
                  .alpha = bits & 8 ? 1 : -0.5,
                  .beta = (const double[]){0, 1, 0.25, 0}[bits >> 4 & 3]};
}

static void products(const rank_case *rank) {
  for (int a = 0; sley_tile_algorithms()[a]; a++) {
    sample s = draw(rank, (uint64_t)a * 100, sley_tile_algorithms()[a]);
    assert_case_ok(rank, run_case(rank, product_main, &s));
    tile_case_free(&s.c);
  }
}

/* The algorithms of a case of a slow test: two, which differ between cases. */
static const char *algorithm_of(const rank_case *rank, int which) {
  return sley_tile_algorithms()[(rank->seed + 2 * (uint64_t)which) % ALGORITHMS];
}

static void products_are_exact_and_move_what_is_predicted(void **state) {
  (void)state;
  each_case(products);
}

/* ---- the same bits */

/* Checks that the rows of Y are within the bound of their sums in float64. */
static sley_status check_bound(const sample *s, const operands *o) {
  const tile_case *c = &s->c;
  sley_matrix *rows;
  sley_check check;
  void *x = tile_rows(0, c->dtype, 0, c->n, c->k, PAD);
  make_real(s, 0, c->n, x);
  sley_status status = sl_matrix_view(c->matrix, o->y_first, o->y_last - o->y_first, &rows);
  if (status == SLEY_OK)
    status = sley_check_spmm(rows, false, c->k, x, o->ld, o->y_rows, o->ld, 1, &check);
  sl_matrix_destroy(rows);
  free(x);
  SL_TRY(status);
  EXPECT(check.ok);
  return SLEY_OK;
}

static sley_status bits_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  const tile_case *c = &s->c;
  operands o = {0};
  sley_tile_spmm *product = NULL;
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_status status = make(comm, s, &o);
  uint64_t before = 0;
  if (status != SLEY_OK)
    goto done;
  options.algo = s->algo;
  options.buffers = s->buffers;
  TRY(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product));
  for (int repeat = 0; repeat < 3; repeat++) {
    TRY(sley_tile_spmm_run(product, 1, 0));
    TRY(sley_tiled_get_rows(o.y, c->row_begin, o.y_rows, o.ld));
    uint64_t hash = 0; /* a sum over rows, so that it does not depend on the division of the rows */
    for (int64_t i = 0; i < o.y_last - o.y_first; i++) {
      uint64_t row = (uint64_t)(o.y_first + i);
      for (int64_t j = 0; j < c->k; j++) {
        const double value = sl_value_at(o.y_rows, c->dtype, i * o.ld + j);
        uint64_t word;
        memcpy(&word, &value, sizeof word);
        row = sl_mix(row ^ word);
      }
      hash += row;
    }
    CHECK(repeat == 0 || hash == before);
    before = hash;
  }
  s->bits[comm->rank] = before;
  TRY(check_bound(s, &o));
done:
  sley_tile_spmm_destroy(product);
  end(&o);
  return status;
}

/* Compares with the bits of one rank, for algorithms with stationary Y, whose bits depend only on the
 * tiles. */
static void same_bits_of_one_rank(const sample *here) {
  const rank_case alone = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 2};
  sample one = *here;
  sl_tiling *const tilings[] = {&one.c.a, &one.c.x, &one.c.y};
  uint64_t sum = 0;
  for (int t = 0; t < 3; t++)
    tilings[t]->grid_rows = tilings[t]->grid_cols = 1;
  one.c.row_begin[1] = one.c.m;
  one.c.col_begin[1] = one.c.n;
  for (int r = 0; r < here->c.ranks; r++)
    sum += here->bits[r];
  assert_case_ok(&alone, run_case(&alone, bits_main, &one));
  assert_true(one.bits[0] == sum);
}

/* Compares the bits of a case on this transport, in workgroups, with the bits of ranks that are threads, with
 * another number of buffers. */
static void same_bits(const rank_case *rank) {
  for (int a = 0; a < 2; a++) {
    sample here = draw(rank, 500 + (uint64_t)a, algorithm_of(rank, a));
    here.real = true;
    sample there = here;
    there.buffers = 3;
    const rank_case threads = {
        .transport = "threads", .ranks = rank->ranks, .workgroup = rank->ranks, .threads = 1};
    assert_case_ok(rank, run_case(rank, bits_main, &here));
    share_seen(here.bits, sizeof *here.bits);
    assert_case_ok(&threads, run_case(&threads, bits_main, &there));
    assert_memory_equal(here.bits, there.bits, sizeof here.bits);
    if (strncmp(here.algo, "tile-c", 6) == 0 || !sley_tile_algorithm_pushes(here.algo))
      same_bits_of_one_rank(&here);
    tile_case_free(&here.c);
  }
}

static void bits_depend_on_neither_transport_nor_timing(void **state) {
  (void)state;
  each_case(same_bits);
}

/* ---- wrong use */

static sley_status wrong_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  const tile_case *c = &s->c;
  operands o = {0};
  sley_tile_spmm *product = NULL;
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_tiling other = tile_public(&c->a);
  sley_tiled *none;
  sley_status status = make(comm, s, &o);
  if (status != SLEY_OK)
    goto done;
  CHECK(sley_tile_spmm_create(o.x, o.x, o.y, NULL, &product) == SLEY_ERR_ARG);
  CHECK(sley_tile_spmm_create(o.a, o.x, o.x, NULL, &product) == SLEY_ERR_ARG);
  CHECK(sley_tile_spmm_create(o.a, o.y, o.x, NULL, &product) == SLEY_ERR_ARG);
  CHECK(strstr(sley_last_error(), "sley_tile_complete"));
  options.algo = "tile-d";
  CHECK(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product) == SLEY_ERR_ARG);
  CHECK(strstr(sley_last_error(), "tile-d") && strstr(sley_last_error(), "tile-b"));
  options.algo = comm->rank == 0 ? "tile-a" : "tile-b";
  CHECK(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product) == SLEY_ERR_ARG);
  options = (sley_tile_spmm_options)SLEY_TILE_SPMM_OPTIONS_INIT;
  options.buffers = -1;
  CHECK(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product) == SLEY_ERR_ARG);
  int64_t flops = 0;
  options = (sley_tile_spmm_options)SLEY_TILE_SPMM_OPTIONS_INIT;
  options.stage_flops = &flops;
  options.stages = sley_tile_stages(o.a, o.x, NULL) + 1;
  CHECK(options.stages > 1 && sley_tile_stages(o.a, o.x, "tile-d") == 0);
  CHECK(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product) == SLEY_ERR_ARG);
  CHECK(strstr(sley_last_error(), "sley_tile_stages"));
  CHECK(sley_tiled_set_rows(o.a, c->row_begin, o.y_rows, o.ld) == SLEY_ERR_ARG);
  CHECK(sley_tiled_set_rows(o.y, c->row_begin, o.y_rows, c->k - 1) == SLEY_ERR_ARG);
  CHECK(sley_tiled_get_rows(o.y, c->col_begin, o.y_rows, o.ld) == SLEY_ERR_ARG);
  CHECK(sley_tiled_renew(o.x, o.block, NULL) == SLEY_ERR_ARG);
  other.grid_cols++;
  CHECK(sley_tiled_create_sparse(comm, o.block, c->whole ? NULL : c->row_begin, &other, &none) ==
        SLEY_ERR_ARG);
  other.grid_cols--;
  other.tiles_down += comm->rank == 1;
  CHECK(sley_tiled_create_sparse(comm, o.block, c->whole ? NULL : c->row_begin, &other, &none) ==
        SLEY_ERR_ARG);
  CHECK(strstr(sley_last_error(), "tiles_down"));
  TRY(sley_tile_spmm_create(o.a, o.x, o.y, NULL, &product)); /* the comm and the operands stay usable */
  TRY(sley_tile_spmm_run(product, s->alpha, 0));
  TRY(sley_tiled_get_rows(o.y, c->row_begin, o.y_rows, o.ld));
  TRY(compare(s, &o, 1, 0));
done:
  sley_tile_spmm_destroy(product);
  end(&o);
  return status;
}

static void wrong_operands_are_refused_on_all_ranks(void **state) {
  (void)state;
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  rank_case rank = {.transport = transport ? transport : "threads", .ranks = 2, .workgroup = 2, .threads = 1};
  if (test_launched())
    skip(); /* made for another number of ranks */
  sample s = draw(&rank, 7, "tile-c");
  while (s.c.m == s.c.n || s.c.k == 0) { /* until X has the wrong shape for Y */
    tile_case_free(&s.c);
    rank.seed++;
    s = draw(&rank, 7, "tile-c");
  }
  assert_case_ok(&rank, run_case(&rank, wrong_main, &s));
  tile_case_free(&s.c);
}

static void tilings_are_completed(void **state) {
  (void)state;
  sley_tiling a = {0}, x, y;
  assert_sley_ok(sley_tile_complete(6, 0, &a, &x, &y));
  assert_memory_equal(&a, &((sley_tiling){3, 2, 3, 6}), sizeof a);
  assert_memory_equal(&x, &((sley_tiling){3, 2, 6, 2}), sizeof a);
  assert_memory_equal(&y, &((sley_tiling){3, 2, 3, 2}), sizeof a);
  a = (sley_tiling){.grid_cols = 6, .tiles_down = 5};
  assert_sley_ok(sley_tile_complete(6, 4, &a, &x, &y));
  assert_memory_equal(&a, &((sley_tiling){1, 6, 5, 6}), sizeof a);
  assert_memory_equal(&y, &((sley_tiling){1, 6, 5, 4}), sizeof a);
  a = (sley_tiling){.grid_cols = 4};
  assert_int_equal(sley_tile_complete(6, 0, &a, &x, &y), SLEY_ERR_ARG);
  a = (sley_tiling){0};
  assert_int_equal(sley_tile_complete(6, -1, &a, &x, &y), SLEY_ERR_ARG);
  a = (sley_tiling){.grid_rows = 7};
  assert_int_equal(sley_tile_complete(6, 0, &a, &x, &y), SLEY_ERR_ARG);
  assert_int_equal(sley_tile_complete(6, 0, NULL, &x, &y), SLEY_ERR_ARG);
}

static void every_algorithm_has_a_summary(void **state) {
  (void)state;
  int count = 0;
  while (sley_tile_algorithms()[count])
    assert_non_null(sley_tile_algorithm_summary(sley_tile_algorithms()[count++]));
  assert_int_equal(count, ALGORITHMS);
  assert_null(sley_tile_algorithm_summary("tile-d"));
  assert_true(sley_tile_algorithm_pushes("tile-a") && sley_tile_algorithm_pushes("tile-c-steal"));
  assert_false(sley_tile_algorithm_pushes("tile-c") || sley_tile_algorithm_pushes("tile-summa") ||
               sley_tile_algorithm_pushes("tile-d") || sley_tile_algorithm_pushes(NULL));
}

/* ---- failures */

/* A rank ends early while the others run: all get an error, and none waits for ever. */
static sley_status early_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  operands o = {0};
  sley_tile_spmm *product = NULL;
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_status status = make(comm, s, &o);
  if (status != SLEY_OK)
    goto done;
  options.algo = s->algo;
  options.buffers = s->buffers;
  TRY(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product));
  if (comm->rank == comm->size - 1)
    TRY(sl_fail(SLEY_ERR_INPUT, "ends early"));
  TRY(sley_tile_spmm_run(product, 1, 0));
done:
  sley_tile_spmm_destroy(product);
  end(&o);
  return status;
}

static void early_ends(const rank_case *rank) {
  for (int a = 0; a < 2; a++) {
    sample s = draw(rank, 700 + (uint64_t)a, algorithm_of(rank, a));
    assert_int_equal(run_case(rank, early_main, &s), SLEY_ERR_INPUT);
    assert_non_null(strstr(sley_last_error(), "ends early"));
    tile_case_free(&s.c);
  }
}

static void a_rank_that_fails_ends_all(void **state) {
  (void)state;
  each_case(early_ends);
}

/* Entries in a rank's queue are checked: entries without a task, of a tile of another rank, or repeated
 * entries are errors. */
typedef struct wrong_entry {
  sample s;
  int64_t entry;
} wrong_entry;

static int found_wrong; /* number of cases in which the entry was detected */

static sley_status wrong_entry_main(sl_comm *comm, void *arg) {
  const wrong_entry *w = arg;
  const sample *s = &w->s;
  operands o = {0};
  sley_tile_spmm *product = NULL;
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_status status = make(comm, s, &o);
  if (status != SLEY_OK)
    goto done;
  options.algo = s->algo;
  TRY(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product));
  if (comm->rank == comm->size - 1)
    TRY(sl_tile_queue_push(product->sums->queue, 0, w->entry));
  TRY(sley_comm_barrier(comm));
  TRY(sley_tile_spmm_run(product, 1, 0));
done:
  sley_tile_spmm_destroy(product);
  end(&o);
  return status;
}

static void wrong_entries(const rank_case *rank) {
  const int64_t entries[] = {INT64_MAX, -1, INT64_MIN, INT64_C(1) << 40};
  uint64_t which = rank->seed;
  while (!sley_tile_algorithm_pushes(sley_tile_algorithms()[which % ALGORITHMS])) /* others have no queue */
    which++;
  wrong_entry w = {.s = draw(rank, 800, sley_tile_algorithms()[which % ALGORITHMS]),
                   .entry = entries[rank->seed % 4]};
  const sley_status status = run_case(rank, wrong_entry_main, &w);
  if (status == SLEY_ERR_INTERNAL)
    assert_non_null(strstr(sley_last_error(), "not a product that it waits for"));
  else /* rank 0 owns no tile of Y with products, and does not read its queue */
    assert_int_equal(status, SLEY_OK);
  found_wrong += status == SLEY_ERR_INTERNAL;
  tile_case_free(&w.s.c);
}

static void entries_that_cannot_be_are_an_error(void **state) {
  (void)state;
  found_wrong = 0;
  each_case_until(&found_wrong, wrong_entries);
  assert_true(found_wrong > 0 || test_launched()); /* a launcher's single number of ranks has few cases */
}

/* A product from another process that names rows which its tile does not have. */
typedef struct spoiled_product {
  int64_t maker, i, j, l; /* maker -1: this rank receives no product that it would check */
} spoiled_product;

static int found_spoiled; /* number of cases with such a product */

/* Finds the first product for one of this rank's tiles if another process makes it and its rows are checked,
 * because only some of them are stored; see sums.c. */
static spoiled_product first_of_another(const sl_tile_sums *s) {
  const sl_tiling *t = &s->o->y->tiling;
  for (sl_own_tile at = sl_own_first(t, s->comm->rank); sl_own_is(t, &at); sl_own_next(t, &at)) {
    const sl_expected *e = &s->tiles[at.local];
    if (e->count == 0)
      continue;
    const sl_tile_task task = {.i = at.i, .j = at.j, .l = s->l[e->first]};
    const int maker = sl_task_rank(s->o, &task);
    if (maker != s->comm->rank && sl_tile_at(s->o->a, task.i, task.l)->stored < sl_tile_height(t, at.i) &&
        (s->comm->device->ops->host_addresses || !s->queue->blocks[maker]))
      return (spoiled_product){maker, task.i, task.j, task.l};
  }
  return (spoiled_product){.maker = -1};
}

static sley_status push_spoiled(sl_tile_sums *s, const spoiled_product *p) {
  const sl_tile_task task = {.i = p->i, .j = p->j, .l = p->l};
  const int64_t stored = sl_tile_at(s->o->a, p->i, p->l)->stored;
  int buffer;
  SL_TRY(sl_tile_sums_buffer(s, true, &buffer));
  int64_t *rows = sl_product_rows(s, &task, sl_tile_queue_contents(s->queue, buffer));
  const int64_t wrong = sl_tile_height(&s->o->y->tiling, p->i);
  for (int64_t n = 0; n < stored; n++)
    SL_TRY(s->comm->device->ops->copy(s->comm->queue, SL_COPY_TO_DEVICE, rows + n, &wrong, sizeof wrong));
  SL_TRY(sl_tile_sums_push(s, &task, buffer));
  return sl_tile_queue_settle(s->queue);
}

static sley_status spoiled_product_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  operands o = {0};
  sley_tile_spmm *product = NULL;
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  spoiled_product all[TILE_MOST_RANKS];
  sley_status status = make(comm, s, &o);
  int owner = 0;
  if (status != SLEY_OK)
    goto done;
  options.algo = s->algo;
  TRY(sley_tile_spmm_create(o.a, o.x, o.y, &options, &product));
  const spoiled_product mine = first_of_another(product->sums);
  TRY(comm->ops->allgather(comm, &mine, sizeof mine, all));
  while (owner < comm->size && all[owner].maker < 0)
    owner++;
  if (owner == comm->size)
    goto done;
  if (comm->rank == owner)
    found_spoiled++;
  TRY(sl_tile_sums_begin(product->sums, 0));
  if (comm->rank == all[owner].maker)
    TRY(push_spoiled(product->sums, &all[owner]));
  TRY(sley_comm_barrier(comm));
  if (comm->rank == owner)
    CHECK(sl_tile_sums_drain(product->sums, NULL) == SLEY_ERR_PEER &&
          strstr(sley_last_error(), "names rows that are not in the tile"));
  TRY(sley_comm_barrier(comm));
done:
  sley_tile_spmm_destroy(product);
  end(&o);
  return status;
}

static void spoiled_products(const rank_case *rank) {
  for (uint64_t n = 0; n < 3; n++) {
    sample s = draw(rank, 900 + n, n % 2 ? "tile-a" : "tile-b");
    assert_case_ok(rank, run_case(rank, spoiled_product_main, &s));
    tile_case_free(&s.c);
  }
}

static void products_of_other_processes_are_checked(void **state) {
  (void)state;
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  if (!transport || strcmp(transport, "threads") == 0) /* data of threads of one process is not checked */
    skip();
  found_spoiled = 0;
  if (test_on_cpu())
    each_case_until(&found_spoiled, spoiled_products);
  else
    each_case(spoiled_products);
  assert_true(found_spoiled > 0 || test_launched() || !test_on_cpu()); /* devices may share memory */
}

/* Each allocation fails once: an error on some rank, no hang, and all memory is freed. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  const rank_case rank = {.transport = "threads", .ranks = 3, .workgroup = 2, .threads = 1, .seed = 3};
  sample s = draw(&rank, 0, "tile-a");
  assert_true(fail_each_allocation(&rank, early_main, &s, SLEY_ERR_INPUT) > 40);
  tile_case_free(&s.c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tilings_are_completed),
                                     cmocka_unit_test(every_algorithm_has_a_summary),
                                     cmocka_unit_test(products_are_exact_and_move_what_is_predicted),
                                     cmocka_unit_test(bits_depend_on_neither_transport_nor_timing),
                                     cmocka_unit_test(wrong_operands_are_refused_on_all_ranks),
                                     cmocka_unit_test(a_rank_that_fails_ends_all),
                                     cmocka_unit_test(entries_that_cannot_be_are_an_error),
                                     cmocka_unit_test(products_of_other_processes_are_checked),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
