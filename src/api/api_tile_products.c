/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in tiles: argument checks. */
#include <string.h>

#include "base/structs.h"
#include "tile/products/tile_spgemm.h"
#include "tile/products/tile_spmm.h"

extern const sl_tile_schedule sl_tile_summa;
extern const sl_tile_schedule sl_tile_two_level;

static const char *const names[] = {"tile-c",
                                    "tile-a",
                                    "tile-b",
                                    "tile-c-steal",
                                    "tile-c-steal-local",
                                    "tile-a-steal",
                                    "tile-a-steal-local",
                                    "tile-b-steal",
                                    "tile-b-steal-local",
                                    "tile-summa",
                                    "tile-two-level",
                                    NULL};
static const struct {
  sl_stationary stationary;
  sl_stealing stealing;
  const char *summary;
  const sl_tile_schedule *schedule;
} algorithms[] = {
    {SL_STATIONARY_C, SL_STEAL_NOTHING, "stationary Y: tiles of A and X are fetched"},
    {SL_STATIONARY_A, SL_STEAL_NOTHING,
     "stationary A: tiles of X are fetched, products are sent to the owners of Y"},
    {SL_STATIONARY_B, SL_STEAL_NOTHING,
     "stationary X: tiles of A are fetched, products are sent to the owners of Y"},
    {SL_STATIONARY_C, SL_STEAL_ANY, "as tile-c, but a rank that is done takes over work of others"},
    {SL_STATIONARY_C, SL_STEAL_LOCAL, "as tile-c-steal, but only if it owns the tile of A or X"},
    {SL_STATIONARY_A, SL_STEAL_ANY, "as tile-a, but a rank that is done takes over work of others"},
    {SL_STATIONARY_A, SL_STEAL_LOCAL, "as tile-a-steal, but only if it owns the tile of X or Y"},
    {SL_STATIONARY_B, SL_STEAL_ANY, "as tile-b, but a rank that is done takes over work of others"},
    {SL_STATIONARY_B, SL_STEAL_LOCAL, "as tile-b-steal, but only if it owns the tile of A or Y"},
    {SL_STATIONARY_C, SL_STEAL_NOTHING,
     "stationary Y: tiles of A and X are broadcast along rows and columns of ranks, in stages",
     &sl_tile_summa},
    {SL_STATIONARY_C, SL_STEAL_NOTHING,
     "stationary Y: each workgroup receives the rows and columns of tiles that it multiplies, once",
     &sl_tile_two_level}};

enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };
_Static_assert(sizeof names / sizeof *names == ALGORITHMS + 1, "each algorithm has a name");

enum { BUFFERS = 4, MOST_BUFFERS = 4096 };

const char *const *sley_tile_algorithms(void) {
  return names;
}

static int find(const char *algo) {
  int found = 0;
  while (found < ALGORITHMS && strcmp(names[found], algo) != 0)
    found++;
  return found;
}

const char *sley_tile_algorithm_summary(const char *algo) {
  const int found = algo ? find(algo) : ALGORITHMS;
  return found < ALGORITHMS ? algorithms[found].summary : NULL;
}

bool sley_tile_algorithm_pushes(const char *algo) {
  const int found = algo ? find(algo) : ALGORITHMS;
  return found < ALGORITHMS && sl_tile_pushes(&(sl_tile_operands){.stationary = algorithms[found].stationary,
                                                                  .stealing = algorithms[found].stealing});
}

/* Returns the operands of an algorithm of the table. */
static sl_tile_operands operands_of(const sley_tiled *a, const sley_tiled *x, int algo) {
  return (sl_tile_operands){.a = a,
                            .x = x,
                            .stationary = algorithms[algo].stationary,
                            .stealing = algorithms[algo].stealing,
                            .schedule = algorithms[algo].schedule};
}

int64_t sley_tile_stages(const sley_tiled *a, const sley_tiled *x, const char *algo) {
  const int found = algo ? find(algo) : 0;
  if (!a || !x || found == ALGORITHMS)
    return 0;
  const sl_tile_operands o = operands_of(a, x, found);
  return sl_tile_stages(&o);
}

static sley_status check_stages(const char *call, const sl_tile_operands *o, const int64_t *flops,
                                int64_t stages) {
  if (flops && stages != sl_tile_stages(o))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: stage_flops has %lld numbers, but there are %lld stages: see sley_tile_stages", call,
                   (long long)stages, (long long)sl_tile_stages(o));
  return SLEY_OK;
}

/* Checks the options that both products share. *found: the algorithm's position in the table. */
static sley_status check_options(const char *call, const char *algo, int buffers, int *found) {
  *found = algo ? find(algo) : 0;
  if (*found == ALGORITHMS)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: there is no algorithm \"%s\": give tile-c, tile-a or tile-b, or one of these with "
                   "-steal or -steal-local, or tile-summa or tile-two-level",
                   call, algo);
  if (buffers < 0 || buffers > MOST_BUFFERS)
    return sl_fail(SLEY_ERR_ARG, "%s: %d buffers: give 1 to %d, or 0 for %d", call, buffers, MOST_BUFFERS,
                   BUFFERS);
  return SLEY_OK;
}

/* ---- Y = alpha A X + beta Y */

static sley_status check_operands(const char *call, const sley_tiled *a, const sley_tiled *x,
                                  const sley_tiled *y) {
  if (!a->sparse || x->sparse || y->sparse || x == y)
    return sl_fail(SLEY_ERR_ARG, "%s: a must be sparse, x and y dense and not the same", call);
  if (x->comm != a->comm || y->comm != a->comm || x->dtype != a->dtype || y->dtype != a->dtype)
    return sl_fail(SLEY_ERR_ARG, "%s: a, x and y must be of one comm and one dtype", call);
  const sl_tiling *of_a = &a->tiling, *of_x = &x->tiling, *of_y = &y->tiling;
  const sl_tiling like_x = {of_a->cols,   of_x->cols,      of_a->across,
                            of_x->across, of_a->grid_rows, of_a->grid_cols};
  const sl_tiling like_y = {of_a->rows,   of_x->cols,      of_a->down,
                            of_x->across, of_a->grid_rows, of_a->grid_cols};
  if (!sl_tiling_same(of_x, &like_x))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: x must have %lld rows in %lld tiles on the grid of a: see sley_tile_complete", call,
                   (long long)like_x.rows, (long long)like_x.down);
  if (!sl_tiling_same(of_y, &like_y))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: y must be %lld x %lld in %lld x %lld tiles on the grid of a: see sley_tile_complete",
                   call, (long long)like_y.rows, (long long)like_y.cols, (long long)like_y.down,
                   (long long)like_y.across);
  return SLEY_OK;
}

sley_status sley_tile_spmm_create(const sley_tiled *a, const sley_tiled *x, sley_tiled *y,
                                  const sley_tile_spmm_options *options, sley_tile_spmm **out) {
  static const char call[] = "sley_tile_spmm_create";
  static const char *const name[] = {"algo", "buffers"};
  sley_tile_spmm_options o = SLEY_TILE_SPMM_OPTIONS_INIT;
  int found = 0;
  if (!a || !x || !y)
    return sl_fail(SLEY_ERR_ARG, "%s: a, x or y is NULL", call);
  sley_status status = out ? check_operands(call, a, x, y) : sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  if (status == SLEY_OK)
    status = sl_struct_take("sley_tile_spmm_options", options, sizeof o, &o);
  if (status == SLEY_OK)
    status = check_options(call, o.algo, o.buffers, &found);
  sl_tile_operands operands = {.y = y};
  if (status == SLEY_OK) {
    operands = operands_of(a, x, found);
    operands.y = y;
    operands.stage_flops = o.stage_flops;
    status = check_stages(call, &operands, o.stage_flops, o.stages);
  }
  SL_TRY(sl_agree(a->comm, status));
  SL_TRY(sl_agree_same(a->comm, call, name, (const int64_t[]){found, o.buffers}, 2));
  return sl_tile_spmm_create(&operands, o.buffers ? o.buffers : BUFFERS, out);
}

sley_status sley_tile_spmm_run(sley_tile_spmm *product, double alpha, double beta) {
  if (!product)
    return sl_fail(SLEY_ERR_ARG, "sley_tile_spmm_run: product is NULL");
  if (product->failed)
    return sl_abort_on_error(
        product->comm,
        sl_fail(SLEY_ERR_ARG, "sley_tile_spmm_run: a run of this product has failed: destroy it"));
  if (product->version != product->operands.a->version)
    return sl_fail(SLEY_ERR_ARG, "sley_tile_spmm_run: tiles of a have been replaced: prepare a new product");
  return sl_tile_spmm_run(product, alpha, beta);
}

sley_status sley_tile_spmm_report_get(const sley_tile_spmm *product, sley_tile_report *out) {
  if (!product || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_tile_spmm_report_get: product or out is NULL");
  *out = product->report;
  return SLEY_OK;
}

void sley_tile_spmm_destroy(sley_tile_spmm *product) {
  sl_tile_spmm_destroy(product);
}

/* ---- C = A B */

static sley_status check_factors(const char *call, const sley_tiled *a, const sley_tiled *b) {
  const sl_tiling *of_a = &a->tiling, *of_b = &b->tiling;
  if (!a->sparse || !b->sparse)
    return sl_fail(SLEY_ERR_ARG, "%s: a and b must be sparse", call);
  if (a->comm != b->comm || a->dtype != b->dtype)
    return sl_fail(SLEY_ERR_ARG, "%s: a and b must be of one comm and one dtype", call);
  if (of_a->cols != of_b->rows || of_a->across != of_b->down || of_a->grid_rows != of_b->grid_rows ||
      of_a->grid_cols != of_b->grid_cols)
    return sl_fail(SLEY_ERR_ARG, "%s: b must have %lld rows in %lld tiles on the grid of a", call,
                   (long long)of_a->cols, (long long)of_a->across);
  return SLEY_OK;
}

static sley_status check_mask(const char *call, const sley_tiled *a, const sley_tiled *b,
                              const sley_tiled *mask) {
  const sl_tiling like = {a->tiling.rows,   b->tiling.cols,      a->tiling.down,
                          b->tiling.across, a->tiling.grid_rows, a->tiling.grid_cols};
  if (!mask->sparse || mask->comm != a->comm)
    return sl_fail(SLEY_ERR_ARG, "%s: the mask must be sparse, and of the comm of a and b", call);
  if (!sl_tiling_same(&mask->tiling, &like))
    return sl_fail(
        SLEY_ERR_ARG,
        "%s: the mask must be %lld x %lld in %lld x %lld tiles on the grid of a, as the product is", call,
        (long long)like.rows, (long long)like.cols, (long long)like.down, (long long)like.across);
  return SLEY_OK;
}

sley_status sley_tile_spgemm(const sley_tiled *a, const sley_tiled *b,
                             const sley_tile_spgemm_options *options, sley_tiled **out,
                             sley_tile_report *report) {
  static const char call[] = "sley_tile_spgemm";
  static const char *const name[] = {"semiring", "algo", "buffers", "mem_limit", "whether there is a mask"};
  sley_tile_spgemm_options o = SLEY_TILE_SPGEMM_OPTIONS_INIT;
  sley_tile_report unused;
  int found = 0;
  if (!a || !b)
    return sl_fail(SLEY_ERR_ARG, "%s: a or b is NULL", call);
  sley_status status = out ? check_factors(call, a, b) : sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  if (status == SLEY_OK)
    status = sl_struct_take("sley_tile_spgemm_options", options, sizeof o, &o);
  if (status == SLEY_OK && !sley_semiring_name(o.semiring))
    status = sl_fail(SLEY_ERR_ARG, "%s: there is no semiring %d", call, (int)o.semiring);
  if (status == SLEY_OK && o.mem_limit < 0)
    status = sl_fail(SLEY_ERR_ARG, "%s: a mem_limit of %lld bytes: it must not be negative", call,
                     (long long)o.mem_limit);
  if (status == SLEY_OK && o.mask)
    status = check_mask(call, a, b, o.mask);
  if (status == SLEY_OK)
    status = check_options(call, o.algo, o.buffers, &found);
  sl_tile_operands factors = {0};
  if (status == SLEY_OK) {
    factors = operands_of(a, b, found);
    factors.mask = o.mask;
    factors.limit = o.mem_limit;
    factors.stage_flops = o.stage_flops;
    status = check_stages(call, &factors, o.stage_flops, o.stages);
  }
  SL_TRY(sl_agree(a->comm, status));
  SL_TRY(sl_agree_same(a->comm, call, name,
                       (const int64_t[]){o.semiring, found, o.buffers, o.mem_limit, o.mask != NULL}, 5));
  return sl_tile_spgemm(&factors, o.semiring, o.buffers ? o.buffers : BUFFERS, out,
                        report ? report : &unused);
}
