/* SPDX-License-Identifier: Apache-2.0 */
/* Values that travel in a narrower type than they are summed in, and rows that do not travel again, on every
 * device and transport, by every algorithm: results are within the bound, and traffic is as predicted for the
 * narrower type. */
#include <math.h>

#include "base/value.h"
#include "mirror.h"
#include "ops/spmm.h"
#include "ranks.h"

enum { MOST_K = 33, PAD = 2 };

static const char *const shapes[] = {
    "er:rows=97,cols=97,nnz=700,seed=1", "er:rows=40,cols=151,nnz=300,seed=2", "dense:rows=23,cols=19",
    "rmat:scale=7,edgefactor=6,seed=5",  "er:rows=5,cols=5,nnz=9,seed=4",      "empty:rows=13,cols=11"};
static const int64_t widths[] = {1, 3, 8, 32, MOST_K, 0};
static const char *const wires[] = {"bf16", "f16", "none"};
enum { SHAPES = 6, WIDTHS = 6 };

/* The operands of a case. */
typedef struct job {
  const rank_case *c;
  sley_matrix *matrix;
  sley_matrix_info info;
  int64_t k, ld, row_begin[9], col_begin[9];
  const char *wire;
} job;

/* One rank's operands: X whole and its rows of Y in host memory, and copies in device memory. */
typedef struct part {
  const job *j;
  sley_comm *comm;
  sley_matrix *block;
  void *x, *y, *y0;
  mirror x_there, y_there;
  sley_plan *plan;
  sley_plan_info info;
} part;

static sley_matrix *make_matrix(uint64_t seed, sley_dtype dtype) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = dtype;
  options.threads = 1;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_read(shapes[seed % SHAPES], &options, &matrix));
  return matrix;
}

static job make_job(const rank_case *c, sley_dtype dtype, const char *wire) {
  job j = {.c = c, .matrix = make_matrix(c->seed, dtype), .k = widths[c->seed / 2 % WIDTHS], .wire = wire};
  assert_sley_ok(sley_matrix_info_get(j.matrix, &j.info));
  j.ld = j.k + PAD;
  assert_sley_ok(sley_partition_rows(j.matrix, "rows", c->ranks, j.row_begin));
  assert_sley_ok(sley_partition_equal(j.info.cols, c->ranks, j.col_begin));
  return j;
}

static size_t value_bytes(const part *p) {
  return sley_dtype_bytes(p->j->info.dtype);
}

static int64_t rows_of(const part *p) {
  int rank = sley_comm_rank(p->comm);
  return p->j->row_begin[rank + 1] - p->j->row_begin[rank];
}

static const void *own_x(const part *p) {
  return (const char *)p->x_there.here +
         (size_t)(p->j->col_begin[sley_comm_rank(p->comm)] * p->j->ld) * value_bytes(p);
}

/* Fills X for a generation, with the same values on all ranks. */
static sley_status fill_x(part *p, uint64_t generation) {
  sley_status status =
      sley_dense_random(generation, 0, p->j->info.cols, p->j->k, NULL, p->j->info.dtype, p->x, p->j->ld);
  return status == SLEY_OK ? mirror_send(&p->x_there) : status;
}

static sley_status open_part(part *p) {
  const job *j = p->j;
  int rank = sley_comm_rank(p->comm);
  size_t row = (size_t)j->ld * value_bytes(p);
  p->x = calloc((size_t)j->info.cols + 1, row);
  p->y = calloc((size_t)rows_of(p) + 1, row);
  p->y0 = calloc((size_t)rows_of(p) + 1, row);
  EXPECT(p->x && p->y && p->y0);
  sley_status status = mirror_open(p->comm, p->x, j->info.cols * (int64_t)row, &p->x_there);
  if (status == SLEY_OK)
    status = mirror_open(p->comm, p->y, rows_of(p) * (int64_t)row, &p->y_there);
  if (status == SLEY_OK)
    status = fill_x(p, 1);
  return status == SLEY_OK ? sley_matrix_row_block(j->matrix, j->row_begin[rank], rows_of(p), &p->block)
                           : status;
}

static void close_part(part *p) {
  sley_matrix_destroy(p->block);
  mirror_close(&p->y_there);
  mirror_close(&p->x_there);
  free(p->y0);
  free(p->y);
  free(p->x);
}

static sley_status plan(part *p, const char *algo, const char *wire, bool keep, bool dry) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  options.wire = wire;
  options.keep_input = keep;
  options.dry = dry;
  sley_status status =
      sley_plan_create(p->comm, p->block, p->j->row_begin, p->j->col_begin, p->j->k, &options, &p->plan);
  return status == SLEY_OK ? sley_plan_info_get(p->plan, &p->info) : status;
}

static bool same_traffic(const sley_traffic *a, const sley_traffic *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

/* Runs one execute. input: SLEY_CHANGED, SLEY_UNCHANGED, or -1 for plain sley_spmm. An execute must not
 * allocate memory. It must not copy between host and device or wait for the device, except for messages
 * between processes, which may pass through the host. */
static sley_status execute(part *p, int input, int64_t generation, double alpha, double beta) {
  const sl_device *device = p->comm->device;
  sl_device_counters before, after;
  device->ops->counters(device, &before);
  sley_status status = input < 0
                           ? sley_spmm(p->plan, alpha, own_x(p), p->j->ld, beta, p->y_there.here, p->j->ld)
                           : sley_spmm_input(p->plan, (sley_input)input, generation, alpha, own_x(p),
                                             p->j->ld, beta, p->y_there.here, p->j->ld);
  device->ops->counters(device, &after);
  bool asked = after.copies != before.copies || after.waits != before.waits;
  if (status == SLEY_OK && (after.allocations != before.allocations || (asked && !p->comm->processes)))
    status = sl_fail(SLEY_ERR_INTERNAL, "%s: %lld allocations, %lld copies and %lld waits in an execute",
                     p->info.algo, (long long)(after.allocations - before.allocations),
                     (long long)(after.copies - before.copies), (long long)(after.waits - before.waits));
  return status;
}

/* Runs and checks one product. */
static sley_status multiply(part *p, int input, int64_t generation, double alpha, double beta,
                            sley_check *check) {
  const job *j = p->j;
  sley_traffic counted;
  static const sley_traffic none;
  sley_status status = sley_dense_random(77, j->row_begin[sley_comm_rank(p->comm)], rows_of(p), j->k, NULL,
                                         j->info.dtype, p->y, j->ld);
  if (status != SLEY_OK)
    return status;
  memcpy(p->y0, p->y, (size_t)(rows_of(p) * j->ld) * value_bytes(p));
  status = mirror_send(&p->y_there);
  if (status == SLEY_OK)
    status = execute(p, input, generation, alpha, beta);
  if (status == SLEY_OK)
    status = mirror_fetch(&p->y_there);
  if (status == SLEY_OK)
    status = sley_plan_counted(p->plan, &counted);
  if (status == SLEY_OK)
    status = sley_check_wire(p->block, false, j->k, alpha, p->x, j->ld, beta, p->y0, j->ld, p->y, j->ld, 1,
                             &p->info, check);
  if (status != SLEY_OK)
    return status;
  if (!check->ok)
    return sl_fail(SLEY_ERR_INTERNAL, "%s, wire %s, input %d: wrong at row %lld, column %lld: %g of %g",
                   p->info.algo, j->wire, input, (long long)check->row, (long long)check->col,
                   check->max_error, check->bound);
  if (!same_traffic(&counted, input == SLEY_UNCHANGED ? &none : &p->info.predicted))
    return sl_fail(SLEY_ERR_INTERNAL, "%s, wire %s, input %d: counted %lld + %lld + %lld bytes", p->info.algo,
                   j->wire, input, (long long)counted.direct_bytes, (long long)counted.message_bytes,
                   (long long)counted.self_bytes);
  return SLEY_OK;
}

/* unit: receives the bytes of which rows of X have whole multiples when they move. */
static sley_traffic traffic_of(part *p, const char *algo, const char *wire, int64_t *unit,
                               sley_status *status) {
  sley_traffic traffic = {0};
  if (*status == SLEY_OK)
    *status = plan(p, algo, wire, false, true);
  if (*status == SLEY_OK) {
    traffic = p->info.predicted;
    *unit = p->plan->plan.x_unit;
  }
  sley_plan_destroy(p->plan);
  p->plan = NULL;
  return traffic;
}

/* Bytes sent between ranks. */
static int64_t moved(const sley_traffic *t) {
  return t->direct_bytes + t->message_bytes;
}

/* Checks with dry plans that a narrower type reduces the bytes in proportion to the size of a value. Where
 * devices move rows of X in whole units, values that do not travel narrower may move more bytes. */
static sley_status compare_volumes(part *p, const char *algo) {
  sley_status status = SLEY_OK;
  int64_t unit = 1, narrow_unit = 1;
  sley_traffic wide = traffic_of(p, algo, "none", &unit, &status),
               narrow = traffic_of(p, algo, p->j->wire, &narrow_unit, &status);
  const int64_t row = p->j->k * (int64_t)value_bytes(p), padded = (row + unit - 1) / unit * unit;
  if (status != SLEY_OK)
    return status;
  int64_t ratio = strcmp(p->j->wire, "none") == 0 ? 1 : (int64_t)value_bytes(p) / 2;
  bool only_values = strcmp(algo, "summa-2d") != 0,
       in_place = strcmp(algo, "halo") == 0 && p->comm->zero_copy && p->comm->workgroup == p->comm->size &&
                  p->comm->device->ops->host_addresses;
  EXPECT(narrow.message_messages == wide.message_messages);
  EXPECT(moved(&narrow) <= moved(&wide));
  if (only_values && !in_place && unit == narrow_unit)
    EXPECT(moved(&narrow) * ratio == moved(&wide));
  if (only_values && unit > narrow_unit) {
    EXPECT(moved(&narrow) * ratio <= moved(&wide));
    EXPECT(moved(&narrow) * ratio * padded >= moved(&wide) * row);
  }
  return SLEY_OK;
}

static sley_status narrower_main(sley_comm *comm, void *arg) {
  part p = {.j = arg, .comm = comm};
  bool narrow = strcmp(p.j->wire, "none") != 0;
  sley_status status = open_part(&p);
  for (const char *const *algo = sley_algorithms(); *algo && status == SLEY_OK; algo++) {
    sley_check check, twice;
    if (strcmp(*algo, "rowwise") == 0)
      continue;
    int64_t unit;
    status = compare_volumes(&p, *algo);
    sley_traffic dry = traffic_of(&p, *algo, p.j->wire, &unit, &status);
    if (status == SLEY_OK)
      status = plan(&p, *algo, p.j->wire, false, false);
    if (status == SLEY_OK && !same_traffic(&dry, &p.info.predicted))
      status = sl_fail(SLEY_ERR_INTERNAL, "%s: a dry plan predicts other traffic", *algo);
    if (status == SLEY_OK)
      status = multiply(&p, -1, 0, 1, 0, &check);
    if (status == SLEY_OK)
      status = multiply(&p, -1, 0, -0.5, 2, &twice);
    /* If many rows are remote, the rounding of their values must be visible in the result. */
    int64_t seen = status == SLEY_OK && check.relative_error > 1e-6;
    if (status == SLEY_OK)
      status = sley_comm_allreduce(comm, SLEY_MAX, &seen, 1);
    bool shows = narrow && p.info.halo_rows > 20 && p.j->k > 2 && moved(&dry) > 0 && p.info.wire_bound > 0;
    if (status == SLEY_OK && (seen != 0) != shows && (shows || !narrow))
      status = sl_fail(SLEY_ERR_INTERNAL, "%s, wire %s: errors of rounding are%s seen", *algo, p.j->wire,
                       seen ? "" : " not");
    sley_plan_destroy(p.plan);
    p.plan = NULL;
  }
  close_part(&p);
  return status;
}

static void narrower(const rank_case *c) {
  sley_dtype dtype = c->seed / 3 % 2 ? SLEY_F64 : SLEY_F32;
  job j = make_job(c, dtype, wires[c->seed % 3]);
  assert_case_ok(c, run_case(c, narrower_main, &j));
  sley_matrix_destroy(j.matrix);
}

static void values_travel_narrower(void **state) {
  (void)state;
  each_case(narrower);
}

/* Checks that all ranks got an error, and that its message has these words on at least one rank. */
static sley_status refused(part *p, sley_status status, const char *words) {
  int64_t told = strstr(sley_last_error(), words) != NULL;
  if (status == SLEY_OK)
    return sl_fail(SLEY_ERR_INTERNAL, "%s: not refused: %s", p->info.algo, words);
  status = sley_comm_allreduce(p->comm, SLEY_MAX, &told, 1);
  if (status == SLEY_OK && !told)
    status = sl_fail(SLEY_ERR_INTERNAL, "%s: refused without the words \"%s\"", p->info.algo, words);
  return status;
}

static sley_status spmm_input(part *p, sley_input input, int64_t generation, double alpha, int64_t shift) {
  const char *x = own_x(p);
  return sley_spmm_input(p->plan, input, generation, alpha, x + shift * (int64_t)value_bytes(p), p->j->ld, 0,
                         p->y_there.here, p->j->ld);
}

/* Wrong uses, each of which leaves plan and comm usable, even if only one rank is wrong. The last execute had
 * generation 2. */
static sley_status misuse(part *p) {
  int last = sley_comm_size(p->comm) - 1;
  bool mine = sley_comm_rank(p->comm) == last;
  sley_status status = refused(p, spmm_input(p, SLEY_CHANGED, mine ? 2 : 3, 1, 0), "raise it each time");
  if (status == SLEY_OK)
    status = refused(p, spmm_input(p, SLEY_UNCHANGED, mine ? 1 : 2, 1, 0), "the last execute was given 2");
  if (status == SLEY_OK)
    status = refused(p, spmm_input(p, SLEY_UNCHANGED, 2, 1, mine), "not where it was");
  if (status == SLEY_OK && last > 0)
    status = refused(p, spmm_input(p, mine ? SLEY_CHANGED : SLEY_UNCHANGED, mine ? 4 : 2, 1, 0),
                     "different states");
  return status;
}

/* Products with X of generation 1, then twice unchanged; with X of generation 2, then once unchanged. After a
 * plain sley_spmm, an unchanged X is refused. */
static sley_status generations(part *p) {
  sley_check check;
  sley_status status = refused(p, spmm_input(p, SLEY_UNCHANGED, 1, 1, 0), "there was no execute");
  if (status == SLEY_OK)
    status = multiply(p, SLEY_CHANGED, 1, 1, 0, &check);
  for (int i = 0; i < 2 && status == SLEY_OK; i++)
    status = multiply(p, SLEY_UNCHANGED, 1, 1, i * 0.5, &check);
  if (status == SLEY_OK)
    status = fill_x(p, 2);
  if (status == SLEY_OK)
    status = multiply(p, SLEY_CHANGED, 2, 1, -1, &check);
  if (status == SLEY_OK)
    status = misuse(p);
  if (status == SLEY_OK)
    status = multiply(p, SLEY_UNCHANGED, 2, 1, 0, &check);
  if (status == SLEY_OK)
    status = multiply(p, -1, 0, 1, 0, &check); /* plain sley_spmm keeps no rows for the next execute */
  if (status == SLEY_OK)
    status = refused(p, spmm_input(p, SLEY_UNCHANGED, 2, 1, 0), "there was no execute");
  return status;
}

static sley_status unchanged_main(sley_comm *comm, void *arg) {
  part p = {.j = arg, .comm = comm};
  sley_status status = open_part(&p);
  for (const char *const *algo = sley_algorithms(); *algo && status == SLEY_OK; algo++) {
    bool rowwise = strcmp(*algo, "rowwise") == 0;
    status = plan(&p, *algo, p.j->wire, true, false);
    if (rowwise) {
      EXPECT(comm->size == 1 || (status == SLEY_ERR_UNSUPPORTED && strstr(sley_last_error(), "rowwise")));
      sley_plan_destroy(p.plan);
      p.plan = NULL;
      status = SLEY_OK;
      continue;
    }
    if (status == SLEY_OK)
      status = fill_x(&p, 1);
    if (status == SLEY_OK)
      status = generations(&p);
    sley_plan_destroy(p.plan);
    p.plan = NULL;
  }
  close_part(&p);
  return status;
}

static void unchanged(const rank_case *c) {
  static const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64, SLEY_BF16, SLEY_F16};
  sley_dtype dtype = dtypes[c->seed / 3 % 4];
  job j = make_job(c, dtype, sl_is_16_bit(dtype) ? "none" : wires[c->seed % 3]);
  assert_case_ok(c, run_case(c, unchanged_main, &j));
  sley_matrix_destroy(j.matrix);
}

static void an_unchanged_x_does_not_travel(void **state) {
  (void)state;
  each_case(unchanged);
}

static sley_status refusals_main(sley_comm *comm, void *arg) {
  part p = {.j = arg, .comm = comm};
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_status status = open_part(&p);
  const struct {
    const char *wire, *algo;
    bool reproducible;
    const char *words;
  } refusals[] = {{"bf16", "halo", true, "reproducible"},
                  {"f8", "halo", false, "none, bf16 and f16"},
                  {"f16", "rowwise", false, "rowwise"}};
  bool narrow = sl_is_16_bit(p.j->info.dtype);
  for (size_t i = 0; i < 3 && status == SLEY_OK; i++) {
    if (i == 2 && comm->size == 1)
      continue;
    options.wire = refusals[i].wire;
    options.algo = refusals[i].algo;
    options.reproducible = refusals[i].reproducible;
    status = refused(
        &p, sley_plan_create(comm, p.block, p.j->row_begin, p.j->col_begin, p.j->k, &options, &p.plan),
        narrow && i != 1 ? "16 bits" : refusals[i].words);
  }
  /* auto does not choose algorithms that cannot */
  options = (sley_plan_options)SLEY_PLAN_OPTIONS_INIT;
  options.wire = narrow ? "none" : "bf16";
  options.keep_input = true;
  if (status == SLEY_OK)
    status = sley_plan_create(comm, p.block, p.j->row_begin, p.j->col_begin, p.j->k, &options, &p.plan);
  sley_plan_destroy(p.plan);
  close_part(&p);
  return status;
}

static void refusals(const rank_case *c) {
  job j = make_job(c, c->seed % 2 ? SLEY_F32 : SLEY_F16, "none");
  if (!c->traced)
    assert_case_ok(c, run_case(c, refusals_main, &j));
  sley_matrix_destroy(j.matrix);
}

static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  each_case(refusals);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_travel_narrower),
                                     cmocka_unit_test(an_unchanged_x_does_not_travel),
                                     cmocka_unit_test(what_makes_no_sense_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
