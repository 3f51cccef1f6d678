/* SPDX-License-Identifier: Apache-2.0 */
/* Y has the same bits on every transport, without an order of summation by columns: for every algorithm, and
 * with equal ranks, workgroups and threads, ranks as threads and ranks of another transport compute equal
 * bits. */
#include "base/overrides.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { MOST_ALGORITHMS = 16, MOST_RANKS = 8, PAD = 1 };

/* Shapes with rows long enough to have many orders of summation. */
static const char *const shapes[] = {"er:rows=97,cols=97,nnz=3000,seed=1",
                                     "er:rows=40,cols=151,nnz=900,seed=2", "dense:rows=23,cols=19",
                                     "rmat:scale=7,edgefactor=9,seed=5", "er:rows=5,cols=5,nnz=9,seed=4"};
static const char *const dtype_names[] = {
    [SLEY_F32] = "f32", [SLEY_F64] = "f64", [SLEY_F16] = "f16", [SLEY_BF16] = "bf16"};
static const int64_t widths[] = {1, 3, 8, 17};
enum { SHAPES = 5, DTYPES = 4, WIDTHS = 4 };

/* The operands and results of a case. */
typedef struct job {
  sley_matrix *matrix;
  sley_matrix_info info;
  int64_t k, ld, row_begin[MOST_RANKS + 1], col_begin[MOST_RANKS + 1];
  double alpha, beta;
  char *x, *start;          /* whole X, and whole Y before the product */
  char *y[MOST_ALGORITHMS]; /* whole Y of each algorithm, computed by ranks that are threads */
} job;

typedef struct jobs {
  job job[DTYPES];
  int first, end; /* range of the dtypes that the case uses */
  bool compare;   /* true: compare with y; false: write y */
  int workgroup;
} jobs;

static size_t row_bytes(const job *j) {
  return (size_t)j->ld * sley_dtype_bytes(j->info.dtype);
}

/* On devices, rowwise reads the memory of peers with a kernel whose order of summation is chosen by timing.
 */
static bool has_an_order(const char *algo) {
  return test_on_cpu() || strcmp(algo, "rowwise") != 0;
}

static sley_status product(sley_comm *comm, const job *j, const sley_matrix *block, const char *algo,
                           bool keep, char *rows) {
  int rank = sley_comm_rank(comm);
  int64_t count = j->row_begin[rank + 1] - j->row_begin[rank],
          x_rows = j->col_begin[rank + 1] - j->col_begin[rank];
  mirror x = {0}, y = {0};
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  options.keep_input = keep;
  memcpy(rows, j->start + (size_t)j->row_begin[rank] * row_bytes(j), (size_t)count * row_bytes(j));
  sley_status status = sley_plan_create(comm, block, j->row_begin, j->col_begin, j->k, &options, &plan);
  if (status == SLEY_OK)
    status = mirror_open(comm, j->x + (size_t)j->col_begin[rank] * row_bytes(j),
                         x_rows * (int64_t)row_bytes(j), &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, rows, count * (int64_t)row_bytes(j), &y);
  if (status == SLEY_OK)
    status = sley_spmm(plan, j->alpha, x.here, j->ld, j->beta, y.here, j->ld);
  if (status == SLEY_OK)
    status = mirror_fetch(&y);
  sley_plan_destroy(plan);
  mirror_close(&x);
  mirror_close(&y);
  return status;
}

static sley_status differs(const job *j, const char *algo, bool keep, const char *rows, const char *expected,
                           int64_t count) {
  int64_t row = 0;
  while (row < count &&
         memcmp(rows + (size_t)row * row_bytes(j), expected + (size_t)row * row_bytes(j), row_bytes(j)) == 0)
    row++;
  if (row == count)
    return SLEY_OK;
  return sl_fail(
      SLEY_ERR_INTERNAL, "%s%s, %s, k %lld, beta %g: not the bits of ranks that are threads in row %lld",
      algo, keep ? " keep_input" : "", dtype_names[j->info.dtype], (long long)j->k, j->beta, (long long)row);
}

/* Runs every algorithm, with the job's options and with keep_input. */
static sley_status run_job(sley_comm *comm, const job *j, bool compare, const sley_matrix *block,
                           char *rows) {
  int64_t first = j->row_begin[sley_comm_rank(comm)], count = j->row_begin[sley_comm_rank(comm) + 1] - first;
  for (int a = 0; sley_algorithms()[a]; a++) {
    const char *algo = sley_algorithms()[a];
    char *expected = j->y[a] + (size_t)first * row_bytes(j);
    if (!has_an_order(algo))
      continue;
    for (int keep = 0; keep < 1 + (strcmp(algo, "rowwise") != 0); keep++) {
      sley_status status = product(comm, j, block, algo, keep, rows);
      if (status == SLEY_OK && (compare || keep))
        status = differs(j, algo, keep, rows, expected, count);
      if (status != SLEY_OK)
        return status;
      memcpy(expected, rows, (size_t)count * row_bytes(j));
    }
  }
  return SLEY_OK;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  const jobs *all = arg;
  sley_status status = SLEY_OK;
  /* If GPUs of several processes cannot read each other's memory, each is a workgroup of its own. */
  if (sley_comm_workgroup(comm) != all->workgroup)
    return test_on_cpu() ? sl_fail(SLEY_ERR_INTERNAL, "a workgroup of %d ranks", sley_comm_workgroup(comm))
                         : SLEY_OK;
  for (int d = all->first; d < all->end && status == SLEY_OK; d++) {
    const job *j = &all->job[d];
    int64_t first = j->row_begin[sley_comm_rank(comm)],
            count = j->row_begin[sley_comm_rank(comm) + 1] - first;
    sley_matrix *block = NULL;
    char *rows = malloc((size_t)count * row_bytes(j) + 1);
    EXPECT(rows);
    status = sley_matrix_row_block(j->matrix, first, count, &block);
    if (status == SLEY_OK)
      status = run_job(comm, j, all->compare, block, rows);
    sley_matrix_destroy(block);
    free(rows);
  }
  return status;
}

static job make_job(const rank_case *c, sley_dtype dtype) {
  uint64_t draw = sl_random(c->seed, (uint64_t)dtype, 0);
  job j = {.alpha = 1.25, .beta = draw % 2 ? 0 : -0.75, .k = widths[draw / 2 % WIDTHS]};
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = dtype;
  options.threads = 1;
  assert_sley_ok(sley_matrix_read(shapes[c->seed % SHAPES], &options, &j.matrix));
  assert_sley_ok(sley_matrix_info_get(j.matrix, &j.info));
  j.ld = j.k + PAD;
  assert_sley_ok(sley_partition_rows(j.matrix, c->seed % 2 ? "rows" : "nnz", c->ranks, j.row_begin));
  assert_sley_ok(sley_partition_equal(j.info.cols, c->ranks, j.col_begin));
  j.x = calloc((size_t)j.info.cols + 1, row_bytes(&j));
  j.start = calloc((size_t)j.info.rows + 1, row_bytes(&j));
  assert_true(j.x && j.start);
  assert_sley_ok(sley_dense_random(3, 0, j.info.cols, j.k, NULL, j.info.dtype, j.x, j.ld));
  assert_sley_ok(sley_dense_random(4, 0, j.info.rows, j.k, NULL, j.info.dtype, j.start, j.ld));
  for (int a = 0; sley_algorithms()[a]; a++) {
    assert_true(a < MOST_ALGORITHMS);
    j.y[a] = calloc((size_t)j.info.rows + 1, row_bytes(&j));
    assert_non_null(j.y[a]);
  }
  return j;
}

static void end_job(job *j) {
  for (int a = 0; a < MOST_ALGORITHMS; a++)
    free(j->y[a]);
  free(j->start);
  free(j->x);
  sley_matrix_destroy(j->matrix);
}

static const char *other_transport(void) {
  const char *given = getenv("SLEY_TEST_TRANSPORT");
  return given ? given : "tcp";
}

/* Three of four cases divide each rank's rows into as many slices as possible; matrices of this size would
 * otherwise have one slice. */
static void same_bits(const rank_case *c) {
  sl_overrides.stage_bytes = c->seed % 4 != 0 ? 40 : 0;
  rank_case threads = *c, other = *c;
  threads.transport = "threads";
  other.transport = other_transport();
  jobs all = {.workgroup = c->workgroup, .end = DTYPES};
  if (!test_on_cpu()) { /* devices are slower, so they test one dtype per case */
    all.first = (int)(c->seed / 4 % DTYPES);
    all.end = all.first + 1;
  }
  for (int d = all.first; d < all.end; d++)
    all.job[d] = make_job(c, (sley_dtype)d);
  assert_case_ok(&threads, run_case(&threads, rank_main, &all));
  all.compare = true;
  assert_case_ok(&other, run_case(&other, rank_main, &all));
  for (int d = all.first; d < all.end; d++)
    end_job(&all.job[d]);
}

static void bits_do_not_depend_on_the_transport(void **state) {
  (void)state;
  each_case(same_bits);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bits_do_not_depend_on_the_transport)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
