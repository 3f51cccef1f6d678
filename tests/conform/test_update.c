/* SPDX-License-Identifier: Apache-2.0 */
/* Updates, Z = (alpha A X) W + beta Z, by every algorithm, type and transport, with unusual shapes: compared
 * with a float64 update; the same bits fused and apart, in each run, and for every number of threads;
 * reproducible updates have the same bits everywhere. Wrong arguments, and plans without an update, are
 * refused. */
#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "mirror.h"
#include "ranks.h"

enum { MOST_RANKS = 8, MOST_K = 67, MOST_N = 70, PAD = 3 };

/* Shapes: square; wide and tall; fewer rows than ranks; empty rows and columns; no entries. */
static const char *const shapes[] = {"er:rows=41,cols=41,nnz=400,seed=3", "er:rows=23,cols=63,nnz=200,seed=4",
                                     "er:rows=63,cols=23,nnz=90,seed=5",  "er:rows=5,cols=40,nnz=60,seed=6",
                                     "rmat:scale=6,edgefactor=3,seed=7",  "empty:rows=13,cols=11"};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A shape in which each of two ranks has enough rows for GPUs to fuse. */
static const char *const large = "er:rows=130000,cols=3000,nnz=400000,seed=8";
enum { LARGE = 60000 };

static const int64_t widths[] = {33, 1, 0, 67, 16}, results[] = {64, 17, 1, 0, 33};
enum { WIDTHS = 5, RESULTS = 5 };

typedef enum variant { PLAIN, REPRODUCIBLE, BLOCKS, RENEWABLE, KEPT, WIRE, VARIANTS } variant;

typedef struct sample {
  int shape;
  sley_matrix *matrix;
  int64_t begin[MOST_RANKS + 1], x_begin[MOST_RANKS + 1];
  const char *algo;
  variant variant;
  int64_t k, n, pad; /* pad: added to leading dimensions */
  double alpha, beta;
  int64_t hash; /* hash of Z, summed over ranks */
} sample;

/* A rank's operands. */
typedef struct share {
  sley_comm *comm;
  const sample *s;
  sley_matrix *block;
  int64_t rows, ldx, ldw, ldz;
  size_t value;
  char *all_x, *w, *z0, *z; /* all_x: the whole X */
  mirror x_there, w_there, z_there;
} share;

static sley_status make_plan(const share *r, sley_update_way way, sley_plan **out) {
  const sample *s = r->s;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.update = way;
  options.reproducible = s->variant == REPRODUCIBLE;
  options.renewable = s->variant == RENEWABLE;
  options.keep_input = s->variant == KEPT;
  options.wire = s->variant == WIRE ? "bf16" : NULL;
  if (s->variant == BLOCKS) {
    sley_plan *dry;
    sley_plan_info info;
    options.dry = true;
    SL_TRY(sley_plan_create(r->comm, r->block, s->begin, s->x_begin, s->k, &options, &dry));
    sley_status status = sley_plan_info_get(dry, &info);
    sley_plan_destroy(dry);
    SL_TRY(status);
    options.dry = false;
    options.mem_limit = info.needed_bytes * 3 / 4;
  }
  sley_status status = sley_plan_create(r->comm, r->block, s->begin, s->x_begin, s->k, &options, out);
  if (s->variant == BLOCKS && status == SLEY_ERR_MEMORY) { /* not even one column fits: use all columns */
    options.mem_limit = 0;
    status = sley_plan_create(r->comm, r->block, s->begin, s->x_begin, s->k, &options, out);
  }
  return status;
}

/* Computes Z with the plan, which must not allocate memory and must not write beyond column n. */
static sley_status update(const share *r, sley_plan *plan, char *out) {
  const sample *s = r->s;
  sl_device_counters before, after;
  sley_update how = SLEY_UPDATE_INIT;
  how.w = r->w_there.here;
  how.n = s->n;
  how.ldw = r->ldw;
  how.alpha = s->alpha;
  how.beta = s->beta;
  memcpy(r->z_there.host, r->z0, (size_t)r->z_there.bytes);
  SL_TRY(mirror_send(&r->z_there));
  r->comm->device->ops->counters(r->comm->device, &before);
  SL_TRY(sley_spmm_update(plan, r->x_there.here, r->ldx, &how, r->z_there.here, r->ldz));
  r->comm->device->ops->counters(r->comm->device, &after);
  EXPECT(after.allocations == before.allocations && after.copies == before.copies);
  SL_TRY(mirror_fetch(&r->z_there));
  memcpy(out, r->z_there.host, (size_t)r->z_there.bytes);
  for (int64_t i = 0; i < r->rows; i++)
    EXPECT(memcmp(out + (size_t)(i * r->ldz + s->n) * r->value,
                  r->z0 + (size_t)(i * r->ldz + s->n) * r->value, (size_t)(r->ldz - s->n) * r->value) == 0);
  return SLEY_OK;
}

static sley_status check(const share *r, const sley_matrix *block, const sley_plan *plan, const char *z) {
  const sample *s = r->s;
  sley_check found;
  sley_plan_info info;
  sley_update how = SLEY_UPDATE_INIT;
  how.w = r->w;
  how.n = s->n;
  how.ldw = r->ldw;
  how.alpha = s->alpha;
  how.beta = s->beta;
  SL_TRY(sley_plan_info_get(plan, &info));
  SL_TRY(sley_check_update(block, false, s->k, r->all_x, r->ldx, &how, r->z0, r->ldz, z, r->ldz, 1, &info,
                           &found));
  if (!found.ok)
    return sl_fail(SLEY_ERR_INTERNAL, "%s: wrong at row %lld, column %lld: error %g, bound %g", s->algo,
                   (long long)found.row, (long long)found.col, found.max_error, found.bound);
  return SLEY_OK;
}

static bool same_bits(const share *r, const char *a, const char *b) {
  for (int64_t i = 0; i < r->rows; i++)
    if (memcmp(a + (size_t)(i * r->ldz) * r->value, b + (size_t)(i * r->ldz) * r->value,
               (size_t)r->s->n * r->value) != 0)
      return false;
  return true;
}

/* Whether fused and separate updates may have different bits, because each kernel has its own order of
 * summation. */
static bool orders_differ(const sample *s) {
  return !test_on_cpu() && s->variant != REPRODUCIBLE;
}

/* Whether the device must fuse a product of all columns on one rank. GPUs fuse large parts; the mock device
 * fuses few columns. */
static bool fuses(const sample *s) {
  if (test_on_cpu())
    return s->k > 0;
  return s->variant != REPRODUCIBLE && s->matrix->dtype != SLEY_F64 && s->matrix->rows >= LARGE && s->k <= 33;
}

/* Whether the device must keep product and update apart: devices other than the CPU do so if fusing would be
 * slower. */
static bool keeps_apart(const sample *s) {
  return s->k == 0 || (!test_on_cpu() && s->matrix->rows < LARGE && s->k > 33);
}

/* Computes Z with new values, twice the old ones, in a renewable plan. */
static sley_status renew(const share *r, sley_plan *plan, char *z) {
  const sley_matrix *block = r->block;
  int64_t entries = block->nnz;
  char *val = malloc((size_t)entries * r->value + 1);
  sley_matrix doubled = *block;
  for (int64_t e = 0; e < entries; e++)
    sl_value_set(val, block->dtype, e, 2 * sl_value_at(block->val, block->dtype, block->rowptr[0] + e));
  doubled.val = (void *)((uintptr_t)val - (uintptr_t)block->rowptr[0] * r->value);
  sley_status status = sley_plan_set_values(plan, val);
  if (status == SLEY_OK)
    status = update(r, plan, z);
  if (status == SLEY_OK)
    status = check(r, &doubled, plan, z);
  if (status == SLEY_OK) /* the plan no longer refers to val */
    status = sley_plan_set_values(plan, (const char *)block->val + (size_t)block->rowptr[0] * r->value);
  free(val);
  return status;
}

static sley_status compare(const share *r, sley_plan *fused, sley_plan *apart) {
  size_t bytes = (size_t)r->z_there.bytes;
  char *z = malloc(3 * bytes + 1), *again = z + bytes, *other = again + bytes;
  sley_status status = update(r, fused, z);
  if (status == SLEY_OK)
    status = update(r, fused, again);
  if (status == SLEY_OK)
    status = update(r, apart, other);
  if (status == SLEY_OK)
    status = check(r, r->block, fused, z);
  if (status == SLEY_OK && orders_differ(r->s))
    status = check(r, r->block, apart, other);
  if (status == SLEY_OK && !same_bits(r, z, again))
    status = sl_fail(SLEY_ERR_INTERNAL, "%s: the second update gave other bits", r->s->algo);
  if (status == SLEY_OK && !orders_differ(r->s) && !same_bits(r, z, other))
    status = sl_fail(SLEY_ERR_INTERNAL, "%s: fused and apart differ", r->s->algo);
  if (status == SLEY_OK && r->s->variant == RENEWABLE)
    status = renew(r, fused, z);
  if (status == SLEY_OK && r->s->variant == RENEWABLE)
    status = renew(r, apart, z);
  uint64_t hash = 0;
  for (int64_t i = 0; status == SLEY_OK && i < r->rows; i++)
    for (int64_t j = 0; j < r->s->n * (int64_t)r->value; j++)
      hash += (uint64_t)(unsigned char)z[(size_t)(i * r->ldz) * r->value + (size_t)j] *
              sl_random(8, (uint64_t)(r->s->begin[r->comm->rank] + i), (uint64_t)j);
  int64_t sum = (int64_t)(hash >> 8);
  status = sl_agree(r->comm, status);
  if (status == SLEY_OK)
    status = r->comm->ops->allreduce(r->comm, SL_SUM, &sum, 1);
  if (r->comm->rank == 0)
    ((sample *)r->s)->hash = sum;
  free(z);
  return status;
}

static sley_status run_plans(const share *r) {
  sley_plan *fused = NULL, *apart = NULL;
  sley_plan_info info[2] = {{0}, {0}};
  sley_status status = make_plan(r, SLEY_UPDATE_FUSED, &fused);
  if (status == SLEY_OK)
    status = make_plan(r, SLEY_UPDATE_APART, &apart);
  if (status == SLEY_OK)
    status = compare(r, fused, apart);
  if (status == SLEY_OK)
    status = sley_plan_info_get(fused, &info[0]);
  if (status == SLEY_OK)
    status = sley_plan_info_get(apart, &info[1]);
  if (status == SLEY_OK &&
      (info[1].update_fused ||
       (r->comm->size == 1 && r->s->variant != BLOCKS && strcmp(r->s->algo, "halo") == 0 &&
        (info[0].update_fused ? keeps_apart(r->s) : fuses(r->s)))))
    status = sl_fail(SLEY_ERR_INTERNAL, "%s: fused where it cannot be, or not where it can", r->s->algo);
  status = sl_agree(r->comm, status);
  sley_plan_destroy(apart);
  sley_plan_destroy(fused);
  return status;
}

/* Fills the operands; columns beyond theirs, and Z if it must not be read, are NaN. */
static sley_status fill(share *r) {
  const sample *s = r->s;
  size_t x_bytes = (size_t)(s->matrix->cols * r->ldx) * r->value,
         w_bytes = (size_t)(s->k * r->ldw) * r->value, z_bytes = (size_t)(r->rows * r->ldz) * r->value;
  int64_t first = s->x_begin[r->comm->rank], own = s->x_begin[r->comm->rank + 1] - first;
  r->all_x = malloc(x_bytes + w_bytes + 2 * z_bytes + 1);
  r->w = r->all_x + x_bytes;
  r->z0 = r->w + w_bytes;
  r->z = r->z0 + z_bytes;
  memset(r->all_x, 0xff, x_bytes + w_bytes + 2 * z_bytes);
  sley_dtype dtype = s->matrix->dtype;
  SL_TRY(sley_dense_random(5, 0, s->matrix->cols, s->k, NULL, dtype, r->all_x, r->ldx));
  SL_TRY(sley_dense_random(6, 0, s->k, s->n, NULL, dtype, r->w, r->ldw));
  if (s->beta != 0)
    SL_TRY(sley_dense_random(7, s->begin[r->comm->rank], r->rows, s->n, NULL, dtype, r->z0, r->ldz));
  SL_TRY(mirror_open(r->comm, r->all_x + (size_t)(first * r->ldx) * r->value,
                     own * r->ldx * (int64_t)r->value, &r->x_there));
  SL_TRY(mirror_open(r->comm, r->w, (int64_t)w_bytes, &r->w_there));
  return mirror_open(r->comm, r->z, (int64_t)z_bytes, &r->z_there);
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  share r = {.comm = comm, .s = s, .ldx = s->k + s->pad, .ldw = s->n + s->pad, .ldz = s->n + s->pad};
  int64_t first = s->begin[comm->rank];
  r.rows = s->begin[comm->rank + 1] - first;
  r.value = sley_dtype_bytes(s->matrix->dtype);
  sley_status status = sley_matrix_row_block(s->matrix, first, r.rows, &r.block);
  if (status == SLEY_OK)
    status = fill(&r);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = run_plans(&r);
  mirror_close(&r.z_there);
  mirror_close(&r.w_there);
  mirror_close(&r.x_there);
  sley_matrix_destroy(r.block);
  free(r.all_x);
  return status;
}

/* Hashes of reproducible results, by the parameters on which their bits may depend. */
static int64_t seen_hash[SHAPES][WIDTHS][RESULTS];
static bool seen[SHAPES][WIDTHS][RESULTS];

static void check_everywhere(const rank_case *c, const sample *s, int width, int result) {
  if (s->variant != REPRODUCIBLE)
    return;
  if (seen[s->shape][width][result] && seen_hash[s->shape][width][result] != s->hash)
    fail_msg("%s on %d ranks: not the bits of other ranks or algorithms", s->algo, c->ranks);
  seen[s->shape][width][result] = true;
  seen_hash[s->shape][width][result] = s->hash;
}

static bool is_refused(const sample *s, const rank_case *c) {
  return (s->variant == RENEWABLE && entries_travel(s->algo, false, c->ranks)) ||
         ((s->variant == KEPT || s->variant == WIRE) && strcmp(s->algo, "rowwise") == 0);
}

static void run_sample(const rank_case *c, uint64_t number) {
  uint64_t draw = sl_random(c->seed, number, 0) >> 8;
  sample s = {.shape = (int)(draw % SHAPES), .variant = (variant)(draw / SHAPES % VARIANTS)};
  int width = (int)(draw / 64 % WIDTHS), result = (int)(draw / 512 % RESULTS);
  /* Reproducible bits are compared, so all parameters that they depend on follow from the shape, k and n. */
  sley_dtype dtype = (sley_dtype)((s.shape + width + result) % 4);
  if (s.variant == BLOCKS || s.variant == WIRE)
    dtype = (sley_dtype)(draw % 2); /* f32, f64 */
  s.k = widths[width];
  s.n = results[result];
  s.pad = draw / 4096 % 2 ? PAD : 0; /* bundles are only used without padding */
  s.alpha = (s.shape + width) % 2 ? 1 : 0.75;
  s.beta = (width + result) % 3 ? 0 : -1.5;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = dtype;
  assert_sley_ok(sley_matrix_read(shapes[s.shape], &options, &s.matrix));
  assert_sley_ok(sley_partition_rows(s.matrix, "nnz", c->ranks, s.begin));
  assert_sley_ok(sley_partition_equal(s.matrix->cols, c->ranks, s.x_begin));
  const int algorithms = count_algorithms();
  const int step = (int)test_share_of((uint64_t)algorithms);
  for (int a = (int)test_first((uint64_t)algorithms); a < algorithms; a += step) {
    s.algo = sley_algorithms()[a];
    sley_status status = run_case(c, rank_main, &s);
    if (is_refused(&s, c) && status == SLEY_ERR_UNSUPPORTED)
      continue;
    if (status != SLEY_OK)
      fail_msg("%s, %d ranks, workgroup %d, shape %d, variant %d, dtype %d, k %lld, n %lld: %s", s.algo,
               c->ranks, c->workgroup, s.shape, (int)s.variant, (int)dtype, (long long)s.k, (long long)s.n,
               sley_last_error());
    if (!test_launched())
      check_everywhere(c, &s, width, result);
  }
  sley_matrix_destroy(s.matrix);
}

/* One rank, which fuses everything and starts quickly, gets more samples. */
static void run_samples(const rank_case *c) {
  int count = test_share() > 1 || test_launched() ? 1 : c->ranks == 1 ? 40 : 2;
  for (int number = 0; number < count; number++)
    run_sample(c, (uint64_t)number);
}

static void updates_are_right_fused_and_apart(void **state) {
  (void)state;
  each_case(run_samples);
}

/* On one rank, and on two, with rows of X that another rank owns. */
static void large_updates_are_right(void **state) {
  (void)state;
  if (test_launched())
    return;
  for (int number = (int)test_first(6); number < 6; number += (int)test_share_of(6)) {
    rank_case c = {.transport = "threads", .ranks = 1 + number / 3, .workgroup = 1, .threads = 1};
    sample s = {.algo = "halo",
                .variant = number % 3 == 1 ? RENEWABLE : PLAIN,
                .k = (int64_t[]){16, 33, 8}[number % 3],
                .n = (int64_t[]){17, 8, 33}[number % 3],
                .pad = number % 2 ? PAD : 0,
                .alpha = 0.75,
                .beta = number % 2 ? -1.5 : 0};
    sley_read_options options = SLEY_READ_OPTIONS_INIT;
    options.dtype = number % 3 == 2 ? SLEY_BF16 : SLEY_F32;
    assert_sley_ok(sley_matrix_read(large, &options, &s.matrix));
    assert_sley_ok(sley_partition_rows(s.matrix, "nnz", c.ranks, s.begin));
    assert_sley_ok(sley_partition_equal(s.matrix->cols, c.ranks, s.x_begin));
    assert_case_ok(&c, run_case(&c, rank_main, &s));
    sley_matrix_destroy(s.matrix);
  }
}

/* The number of threads of a rank changes no bits, even if blocks are divided for them. */
static sley_status threads_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  int64_t rows = s->matrix->rows;
  float *x = malloc((size_t)(rows * s->k) * sizeof *x), *w = malloc((size_t)(s->k * s->n) * sizeof *w),
        *z = malloc((size_t)(rows * s->n) * sizeof *z);
  mirror x_there = {0}, w_there = {0}, z_there = {0};
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_update how = SLEY_UPDATE_INIT;
  options.update = SLEY_UPDATE_FUSED;
  sley_status status = sley_dense_random(5, 0, rows, s->k, NULL, SLEY_F32, x, s->k);
  if (status == SLEY_OK)
    status = sley_dense_random(6, 0, s->k, s->n, NULL, SLEY_F32, w, s->n);
  if (status == SLEY_OK)
    status = mirror_open(comm, x, rows * s->k * (int64_t)sizeof *x, &x_there);
  if (status == SLEY_OK)
    status = mirror_open(comm, w, s->k * s->n * (int64_t)sizeof *w, &w_there);
  if (status == SLEY_OK)
    status = mirror_open(comm, z, rows * s->n * (int64_t)sizeof *z, &z_there);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, s->matrix, s->begin, s->begin, s->k, &options, &plan);
  how.w = w_there.here;
  how.n = how.ldw = s->n;
  if (status == SLEY_OK)
    status = sley_spmm_update(plan, x_there.here, s->k, &how, z_there.here, s->n);
  if (status == SLEY_OK)
    status = mirror_fetch(&z_there);
  uint64_t hash = 0;
  for (int64_t i = 0; status == SLEY_OK && i < rows * s->n; i++) {
    uint32_t bits;
    memcpy(&bits, &z[i], sizeof bits);
    hash = (hash ^ bits) * UINT64_C(1099511628211);
  }
  s->hash = (int64_t)hash;
  sley_plan_destroy(plan);
  mirror_close(&z_there);
  mirror_close(&w_there);
  mirror_close(&x_there);
  free(z);
  free(w);
  free(x);
  return status;
}

static void threads_do_not_change_bits(void **state) {
  (void)state;
  for (int width = 0; width < 3; width++) {
    sample s = {.k = (int64_t[]){16, 67, 32}[width], .n = (int64_t[]){70, 33, 16}[width]};
    int64_t first = 0;
    assert_sley_ok(sley_matrix_read("rmat:scale=11,edgefactor=9,seed=2", NULL, &s.matrix));
    s.begin[1] = s.matrix->rows;
    for (int threads = 1; threads <= 5; threads++) {
      rank_case c = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = threads};
      assert_case_ok(&c, run_case(&c, threads_main, &s));
      first = threads == 1 ? s.hash : first;
      assert_int_equal(s.hash, first);
    }
    sley_matrix_destroy(s.matrix);
  }
}

/* ---- refused calls; each ends its comm, so each gets a comm of its own */

typedef struct refusal {
  const sample *s;
  int number;
} refusal;

static sley_status refuse(sley_plan *plan, int number, const float *x, float *z) {
  sley_update how = SLEY_UPDATE_INIT;
  how.w = x;
  how.n = how.ldw = 4;
  switch (number) {
  case 0:
    return sley_spmm_update(plan, x, 8, NULL, z, 4);
  case 1:
    how.n = -1;
    return sley_spmm_update(plan, x, 8, &how, z, 4);
  case 2:
    how.ldw = 3;
    return sley_spmm_update(plan, x, 8, &how, z, 4);
  case 3:
    how.w = NULL;
    return sley_spmm_update(plan, x, 8, &how, z, 4);
  case 4:
    return sley_spmm_update(plan, x, 7, &how, z, 4);
  case 5:
    return sley_spmm_update(plan, x, 8, &how, z, 3);
  case 6:
    return sley_spmm_update(plan, x, 8, &how, NULL, 4);
  case 7:
    how.struct_size = sizeof how + 8;
    return sley_spmm_update(plan, x, 8, &how, z, 4);
  default:
    return sley_spmm_update(plan, x, 8, &how, z, 4);
  }
}

static const char *const complaints[] = {"update is NULL",
                                         "n is -1",
                                         "leading dimension of W is 3",
                                         "W is NULL",
                                         "dimension of X",
                                         "dimension of Z is 3",
                                         "Z is NULL",
                                         "struct_size",
                                         "option update",
                                         "dry"};
enum { WITHOUT_OPTION = 8, DRY, REFUSALS };

static sley_status refuse_main(sl_comm *comm, void *arg) {
  const refusal *r = arg;
  float x[20 * 8] = {0}, z[20 * 4];
  sley_plan *plan;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.update = r->number == WITHOUT_OPTION ? SLEY_UPDATE_NONE : SLEY_UPDATE_FUSED;
  options.dry = r->number == DRY;
  SL_TRY(sley_plan_create(comm, r->s->matrix, r->s->begin, r->s->begin, 8, &options, &plan));
  sley_status status = refuse(plan, r->number, x, z);
  EXPECT(status == SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), complaints[r->number]));
  sley_plan_destroy(plan);
  return SLEY_OK;
}

static sley_status refuse_way(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_plan *plan;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.update = (sley_update_way)4;
  EXPECT(sley_plan_create(comm, s->matrix, s->begin, s->begin, 8, &options, &plan) == SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "update"));
  return SLEY_OK;
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  sample s = {.begin = {0, 20}};
  rank_case c = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 1};
  assert_sley_ok(sley_matrix_read("er:n=20,nnz=60", NULL, &s.matrix));
  for (int number = 0; number < REFUSALS; number++) {
    refusal r = {&s, number};
    if (run_case(&c, refuse_main, &r) ==
        SLEY_ERR_INTERNAL) /* otherwise the run ends with the refused call's error, or without one */
      fail_msg("%s: %s", complaints[number], sley_last_error());
  }
  assert_case_ok(&c, run_case(&c, refuse_way, &s));
  assert_int_equal(sley_spmm_update(NULL, NULL, 0, NULL, NULL, 0), SLEY_ERR_ARG);
  sley_matrix_destroy(s.matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates_are_right_fused_and_apart), cmocka_unit_test(large_updates_are_right),
      cmocka_unit_test(threads_do_not_change_bits), cmocka_unit_test(wrong_calls_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
