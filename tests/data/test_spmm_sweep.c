/* SPDX-License-Identifier: Apache-2.0 */
/* Every algorithm x ranks x workgroup x k x dtype, by default and in column order, on the real matrices:
 * within the rounding bound in every row, the same bits twice, in column order the same bits everywhere, and
 * counted traffic equal to predicted. Up to 100,000 entries all combinations, of larger matrices one in
 * fifty. Then, without column order, the bits of ranks that are threads against those of ranks over sockets:
 * of every matrix and dtype every algorithm, on a share of ranks x workgroup, at least on one.
 *
 * All of it takes about an hour, so a test run draws one combination in SLEY_SWEEP (default 150; 1: all) of
 * one matrix and dtype in test_share(), of large files a quarter as many, and the environment variable
 * SLEY_SWEEP_ONLY names the one matrix to run. SLEY_SWEEP_NNZ leaves out matrices of more entries, and says
 * how many. Each rank checks its own rows. */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/overrides.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

/* A file of LARGE_BYTES takes as long as a hundred small ones. */
enum { WIDTHS = 6, LARGE_NNZ = 100000, LARGE_ROWS = 400000, LARGE_BYTES = 900000, SHOWN = 10 };
static const int64_t widths[WIDTHS] = {0, 1, 3, 32, 33, 128};

/* One matrix in one dtype, with what is true of its products. X's first k columns serve every k. */
typedef struct subject {
  const char *name;
  const sley_matrix *matrix;
  sley_matrix_info info;
  int width_count; /* of widths that are run: matrices of many rows go without the widest */
  int64_t ld;      /* of the operands: the widest */
  char *x, *y, *again;
  double *sum, *magnitude; /* A X and |A||X| */
  uint64_t *in_order;      /* a hash of each row of Y in column order, of the first run, for each width */
  atomic_bool in_order_known[WIDTHS];
  int64_t *row_begin, *col_begin;
  bool multiplied; /* sum and magnitude are computed */
  int sample;      /* one combination in so many is run */
  atomic_long runs, failures;
  long left_out, pairs; /* combinations that the draw left out; products made by both transports */
} subject;

static void complain(subject *s, sley_comm *comm, const char *algo, int64_t k, const char *what) {
  if (atomic_fetch_add(&s->failures, 1) < SHOWN)
    fprintf(stderr, "%s, %s: %s, %d ranks, workgroup %d, k %lld: %s\n", s->name,
            s->info.dtype ? "f64" : "f32", algo, sley_comm_size(comm), sley_comm_workgroup(comm),
            (long long)k, what);
}

static double value_at(const subject *s, const char *data, int64_t i) {
  return s->info.dtype == SLEY_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* Whether this rank's rows are within their bounds. */
static bool within_bounds(const subject *s, int64_t first, int64_t end, int64_t k) {
  double eps = s->info.dtype == SLEY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON;
  sley_csr csr;
  if (sley_matrix_csr(s->matrix, &csr) != SLEY_OK)
    return false;
  for (int64_t row = first; row < end; row++) {
    double bound = (double)(csr.rowptr[row + 1] - csr.rowptr[row] + 1) * eps;
    for (int64_t j = 0; j < k; j++) {
      int64_t i = row * s->ld + j;
      double y = value_at(s, s->y, i);
      bool right = isfinite(s->magnitude[i]) ? fabs(y - s->sum[i]) <= bound * s->magnitude[i]
                                             : y == s->sum[i] || (isnan(y) && isnan(s->sum[i]));
      if (!right)
        return false;
    }
  }
  return true;
}

static bool same_rows(const subject *s, const char *a, const char *b, int64_t first, int64_t end, int64_t k) {
  size_t value = sley_dtype_bytes(s->info.dtype);
  for (int64_t row = first; row < end; row++)
    if (memcmp(a + (size_t)row * (size_t)s->ld * value, b + (size_t)row * (size_t)s->ld * value,
               (size_t)k * value) != 0)
      return false;
  return true;
}

static uint64_t hash_row(const subject *s, const char *data, int64_t row, int64_t k) {
  size_t value = sley_dtype_bytes(s->info.dtype);
  const unsigned char *bytes = (const unsigned char *)data + (size_t)row * (size_t)s->ld * value;
  uint64_t hash = UINT64_C(1469598103934665603);
  for (size_t b = 0; b < (size_t)k * value; b += value) {
    uint64_t word = 0;
    memcpy(&word, bytes + b, value);
    hash = (hash ^ word) * UINT64_C(1099511628211);
    hash ^= hash >> 29;
  }
  return hash;
}

/* Whether this rank's rows have the bits of the first run in column order, which are noted if this is it. */
static bool same_in_order(subject *s, int64_t first, int64_t end, int w) {
  bool known = atomic_load(&s->in_order_known[w]), same = true;
  for (int64_t row = first; row < end; row++) {
    uint64_t *noted = &s->in_order[(int64_t)w * s->info.rows + row], hash = hash_row(s, s->y, row, widths[w]);
    same = same && (!known || *noted == hash);
    if (!known)
      *noted = hash;
  }
  return same;
}

static void check_traffic(subject *s, sley_comm *comm, const char *algo, int64_t k,
                          const sley_plan_info *info, const sley_traffic *n, bool reproducible) {
  const sley_traffic *p = &info->predicted;
  if (p->direct_bytes != n->direct_bytes || p->message_bytes != n->message_bytes ||
      p->direct_messages != n->direct_messages || p->message_messages != n->message_messages)
    complain(s, comm, algo, k, "counted traffic differs from predicted");
  int64_t row_bytes = k * (int64_t)sley_dtype_bytes(s->info.dtype),
          bytes = n->direct_bytes + n->message_bytes;
  bool flat = sley_comm_workgroup(comm) == 1 || sley_comm_workgroup(comm) == sley_comm_size(comm);
  if (strcmp(algo, "halo") == 0 && bytes != info->halo_rows * row_bytes)
    complain(s, comm, algo, k, "halo is not k rows of the halo");
  if (strcmp(algo, "cover") == 0 && !reproducible &&
      (info->cover_rows > info->halo_rows || (flat && bytes != info->cover_rows * row_bytes)))
    complain(s, comm, algo, k, "cover is not the sum of least covers");
}

/* One combination on this rank's rows. */
static sley_status run_one(subject *s, sley_comm *comm, const char *algo, int w, bool reproducible) {
  int rank = sley_comm_rank(comm);
  int64_t k = widths[w], first = s->row_begin[rank], end = s->row_begin[rank + 1];
  size_t stride = (size_t)s->ld * sley_dtype_bytes(s->info.dtype);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  options.reproducible = reproducible;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_plan_info info;
  sley_traffic counted;
  int64_t x_rows = s->col_begin[rank + 1] - s->col_begin[rank];
  mirror x = {0}, y = {0}, again = {0};
  sley_status status = sley_matrix_row_block(s->matrix, first, end - first, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, s->row_begin, s->col_begin, k, &options, &plan);
  if (status == SLEY_OK)
    status = mirror_open(comm, s->x + (size_t)s->col_begin[rank] * stride, x_rows * (int64_t)stride, &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, s->y + (size_t)first * stride, (end - first) * (int64_t)stride, &y);
  if (status == SLEY_OK)
    status = mirror_open(comm, s->again + (size_t)first * stride, (end - first) * (int64_t)stride, &again);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1, x.here, s->ld, 0, y.here, s->ld);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1, x.here, s->ld, 0, again.here, s->ld);
  if (status == SLEY_OK)
    status = mirror_fetch(&y);
  if (status == SLEY_OK)
    status = mirror_fetch(&again);
  if (status == SLEY_OK)
    status = sley_plan_counted(plan, &counted);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK) {
    if (!within_bounds(s, first, end, k))
      complain(s, comm, algo, k, "beyond the rounding bound");
    if (!same_rows(s, s->y, s->again, first, end, k))
      complain(s, comm, algo, k, "other bits the second time");
    if (rank == 0)
      check_traffic(s, comm, algo, k, &info, &counted, reproducible);
    if (reproducible && !same_in_order(s, first, end, w))
      complain(s, comm, algo, k, "not the bits of other ranks or algorithms");
    status = sley_comm_barrier(comm);
    if (reproducible && rank == 0)
      atomic_store(&s->in_order_known[w], true);
    if (status == SLEY_OK)
      status = sley_comm_barrier(comm);
  }
  sley_plan_destroy(plan);
  mirror_close(&x);
  mirror_close(&y);
  mirror_close(&again);
  sley_matrix_destroy(block);
  if (rank == 0)
    atomic_fetch_add(&s->runs, 1);
  return status;
}

/* Of matrix, dtype and the run's seed. */
static uint64_t name_hash(const subject *s) {
  uint64_t hash = test_stream();
  for (const char *c = s->name; *c; c++)
    hash = hash * 31 + (unsigned char)*c;
  return hash + (uint64_t)s->info.dtype;
}

/* Whether a combination is run; a and w are the numbers of the algorithm and of the width. */
static bool is_drawn(const subject *s, int ranks, int workgroup, int a, int w, int reproducible) {
  const uint64_t stream = sl_random(name_hash(s), (uint64_t)ranks, (uint64_t)workgroup);
  return sl_below(sl_random(stream, (uint64_t)a, (uint64_t)(2 * w + reproducible)), s->sample) == 0;
}

/* Number of combinations that are run by these ranks; the others are added to left_out. */
static int count_drawn(subject *s, int ranks, int workgroup) {
  int drawn = 0, all = 0;
  for (int a = 0; sley_algorithms()[a]; a++)
    for (int w = 0; w < s->width_count; w++)
      for (int reproducible = 0; reproducible < 2; reproducible++, all++)
        drawn += is_drawn(s, ranks, workgroup, a, w, reproducible);
  s->left_out += all - drawn;
  return drawn;
}

static sley_status run_rank(sley_comm *comm, void *argument) {
  subject *s = argument;
  sley_status status = SLEY_OK;
  for (int a = 0; sley_algorithms()[a]; a++)
    for (int w = 0; w < s->width_count; w++)
      for (int reproducible = 0; reproducible < 2 && status == SLEY_OK; reproducible++)
        if (is_drawn(s, sley_comm_size(comm), sley_comm_workgroup(comm), a, w, reproducible))
          status = run_one(s, comm, sley_algorithms()[a], w, reproducible);
  return status;
}

/* Who owns which rows. */
static void split(subject *s, int ranks, const char *partition) {
  assert_sley_ok(sley_partition_rows(s->matrix, partition, ranks, s->row_begin));
  assert_sley_ok(s->info.rows == s->info.cols ? sley_partition_rows(s->matrix, partition, ranks, s->col_begin)
                                              : sley_partition_equal(s->info.cols, ranks, s->col_begin));
}

/* ---- the same bits on every transport */

/* Every algorithm at one k, without column order. noted: a hash of each row of Y by algorithm, of ranks that
 * are threads. */
typedef struct bits_run {
  subject *s;
  int w;
  bool compare;
  uint64_t *noted;
} bits_run;

static sley_status note_or_compare(const bits_run *r, sley_comm *comm, int a) {
  subject *s = r->s;
  int rank = sley_comm_rank(comm);
  int64_t k = widths[r->w], first = s->row_begin[rank], count = s->row_begin[rank + 1] - first;
  size_t stride = (size_t)s->ld * sley_dtype_bytes(s->info.dtype);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = sley_algorithms()[a];
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  mirror x = {0}, y = {0};
  sley_status status = sley_matrix_row_block(s->matrix, first, count, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, s->row_begin, s->col_begin, k, &options, &plan);
  if (status == SLEY_OK)
    status = mirror_open(comm, s->x + (size_t)s->col_begin[rank] * stride,
                         (s->col_begin[rank + 1] - s->col_begin[rank]) * (int64_t)stride, &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, s->y + (size_t)first * stride, count * (int64_t)stride, &y);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1, x.here, s->ld, 0, y.here, s->ld);
  if (status == SLEY_OK)
    status = mirror_fetch(&y);
  int64_t wrong = 0;
  for (int64_t row = first; row < first + count && status == SLEY_OK; row++) {
    uint64_t *noted = &r->noted[a * s->info.rows + row], hash = hash_row(s, s->y, row, k);
    wrong += r->compare && *noted != hash;
    *noted = hash;
  }
  if (wrong > 0)
    complain(s, comm, options.algo, k, "not the bits of ranks that are threads");
  sley_plan_destroy(plan);
  mirror_close(&x);
  mirror_close(&y);
  sley_matrix_destroy(block);
  return status;
}

static sley_status every_algorithm(sley_comm *comm, void *argument) {
  bits_run *r = argument;
  sley_status status = SLEY_OK;
  for (int a = 0; sley_algorithms()[a] && status == SLEY_OK; a++) {
    /* Of devices with memory of their own rowwise is a kernel whose order is settled by timing. */
    if (!test_on_cpu() && strcmp(sley_algorithms()[a], "rowwise") == 0)
      continue;
    status = note_or_compare(r, comm, a);
    if (r->compare && sley_comm_rank(comm) == 0)
      r->s->pairs++;
  }
  return status;
}

/* With slices of all that pipelined algorithms bring, on two of three, as also small matrices get them then.
 */
static void compare_transports_on(subject *s, int ranks, int workgroup, uint64_t draw) {
  const int algorithms = count_algorithms();
  rank_case c = {.transport = "threads", .ranks = ranks, .workgroup = workgroup, .threads = 1, .seed = draw};
  bits_run r = {.s = s, .w = 1 + (int)(draw % (uint64_t)(s->width_count - 1))};
  r.noted = malloc((size_t)algorithms * (size_t)s->info.rows * sizeof *r.noted + 1);
  assert_non_null(r.noted);
  sl_overrides.stage_bytes = draw / 8 % 3 != 0 ? 40 : 0;
  split(s, ranks, draw / 32 % 2 ? "nnz" : "rows");
  assert_case_ok(&c, run_case(&c, every_algorithm, &r));
  c.transport = "tcp";
  r.compare = true;
  assert_case_ok(&c, run_case(&c, every_algorithm, &r));
  sl_overrides.stage_bytes = 0;
  free(r.noted);
}

/* The share of configurations is larger than that of single products, for the bits of small matrices have
 * little to differ in. */
static void compare_transports(subject *s) {
  static const struct {
    int ranks, workgroup;
  } configurations[] = {{4, 2}, {8, 4}, {7, 2}, {3, 3}, {2, 1}, {8, 2}, {4, 4}, {7, 4},
                        {3, 2}, {2, 2}, {8, 8}, {4, 1}, {3, 1}, {7, 7}, {7, 1}, {8, 1}};
  enum { ALL = sizeof configurations / sizeof *configurations, MORE = 10 };
  int runs = ALL * MORE / s->sample;
  runs = runs < 1 ? 1 : runs > ALL ? ALL : runs;
  uint64_t draw = name_hash(s);
  for (int i = 0; i < runs; i++) {
    uint64_t at = (draw + (uint64_t)i) % ALL;
    compare_transports_on(s, configurations[at].ranks, configurations[at].workgroup,
                          sl_random(draw, 1, (uint64_t)i));
  }
}

/* Computes A X and |A||X| in double, once. */
static void multiply(subject *s) {
  sley_csr a;
  if (s->multiplied)
    return;
  s->multiplied = true;
  assert_sley_ok(sley_matrix_csr(s->matrix, &a));
  for (int64_t row = 0; row < a.rows; row++) {
    double *sum = s->sum + row * s->ld, *magnitude = s->magnitude + row * s->ld;
    for (int64_t e = a.rowptr[row]; e < a.rowptr[row + 1]; e++) {
      int64_t col = a.index == SLEY_I32 ? ((const int32_t *)a.col)[e] : ((const int64_t *)a.col)[e];
      double value = value_at(s, a.val, e);
      for (int64_t j = 0; j < s->ld; j++) {
        double term = value * value_at(s, s->x, col * s->ld + j);
        sum[j] += term;
        magnitude[j] += fabs(term);
      }
    }
  }
}

static void run_all_ranks(subject *s) {
  static const int rank_counts[] = {1, 2, 3, 4, 7, 8}, workgroups[] = {1, 2, 4, 0};
  for (size_t r = 0; r < sizeof rank_counts / sizeof *rank_counts; r++)
    for (size_t g = 0; g < sizeof workgroups / sizeof *workgroups; g++) {
      sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
      options.ranks = rank_counts[r];
      options.workgroup = workgroups[g];
      options.threads = 1;
      options.device = test_device();
      if (workgroups[g] >= options.ranks)
        continue; /* 0, all, comes last */
      if (count_drawn(s, options.ranks, workgroups[g] > 0 ? workgroups[g] : options.ranks) == 0)
        continue;
      multiply(s);
      split(s, options.ranks, r % 2 ? "nnz" : "rows");
      sley_status status = sley_run_ranks(&options, run_rank, s);
      if (status != SLEY_OK)
        fail_msg("%s: %s", s->name, sley_last_error());
    }
}

/* Of all matrices. */
typedef struct totals {
  int64_t most_nnz; /* larger ones are left out */
  long larger, runs, left_out, pairs, drawn, not_drawn;
} totals;

static void add_up(totals *sums, subject *s) {
  sums->runs += atomic_load(&s->runs);
  sums->left_out += s->left_out;
  sums->pairs += s->pairs;
}

/* Runs the combinations drawn of one file; false if it is no matrix that can be read. */
static bool run_file(const char *path, const char *name, sley_dtype dtype, int sample, totals *sums) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = dtype;
  sley_matrix *matrix;
  if (sley_matrix_read(path, &options, &matrix) != SLEY_OK)
    return false;
  subject s = {.name = name, .matrix = matrix, .sample = sample};
  assert_sley_ok(sley_matrix_info_get(matrix, &s.info));
  if (s.info.nnz > sums->most_nnz) {
    sums->larger++;
    sley_matrix_destroy(matrix);
    return true;
  }
  if (s.info.nnz > LARGE_NNZ)
    s.sample = sample * 50;
  s.width_count = s.info.rows + s.info.cols > LARGE_ROWS ? WIDTHS - 1 : WIDTHS;
  s.ld = widths[s.width_count - 1];
  size_t row = (size_t)s.ld * sley_dtype_bytes(dtype), rows = (size_t)s.info.rows;
  s.row_begin = malloc(9 * sizeof(int64_t));
  s.col_begin = malloc(9 * sizeof(int64_t));
  s.x = malloc((size_t)s.info.cols * row + 1);
  s.y = malloc(rows * row + 1);
  s.again = malloc(rows * row + 1);
  s.in_order = malloc(WIDTHS * rows * sizeof *s.in_order + 1);
  s.sum = calloc(rows * (size_t)s.ld + 1, sizeof(double));
  s.magnitude = calloc(rows * (size_t)s.ld + 1, sizeof(double));
  if (!s.row_begin || !s.col_begin || !s.x || !s.y || !s.again || !s.in_order || !s.sum || !s.magnitude)
    fail_msg("%s: too little memory", name);
  assert_sley_ok(sley_dense_random(3, 0, s.info.cols, s.ld, NULL, dtype, s.x, s.ld));
  run_all_ranks(&s);
  compare_transports(&s);
  add_up(sums, &s);
  free(s.magnitude);
  free(s.sum);
  free(s.in_order);
  free(s.again);
  free(s.y);
  free(s.x);
  free(s.col_begin);
  free(s.row_begin);
  sley_matrix_destroy(matrix);
  if (atomic_load(&s.failures) > 0)
    fail_msg("%s: %ld failures", name, atomic_load(&s.failures));
  return true;
}

/* Runs the dtypes that are drawn. Whether the file was read. */
static bool run_drawn(const char *path, const char *name, int sample, totals *sums) {
  static const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64};
  struct stat file;
  const bool large = stat(path, &file) == 0 && file.st_size > LARGE_BYTES;
  const uint64_t share = test_share() > 1 && large ? 4 * test_share() : test_share();
  bool read = false;
  for (int d = 0; d < 2; d++) {
    if (test_draw(share) != 0) {
      sums->not_drawn++;
      continue;
    }
    sums->drawn++;
    if (run_file(path, name, dtypes[d], sample, sums))
      read = true;
    else
      printf("not read: %s\n", name);
  }
  return read;
}

static void products_of_real_matrices(void **state) {
  (void)state;
  static const char *const folders[] = {"mtx",      "mtx-lagraph", "hb",  "metis",
                                        "edgelist", "snap",        "npz", "gnn"};
  const char *data = test_data_dir(), *draw = getenv("SLEY_SWEEP"), *only = getenv("SLEY_SWEEP_ONLY"),
             *most = getenv("SLEY_SWEEP_NNZ");
  if (!data)
    skip();
  int sample = draw && atoi(draw) > 0 ? atoi(draw) : 150;
  long matrices = 0;
  totals sums = {.most_nnz = most && atoll(most) > 0 ? atoll(most) : INT64_MAX};
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    char folder[1024], path[2048];
    snprintf(folder, sizeof folder, "%s/%s", data, folders[f]);
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
      snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
      if (entries[i]->d_name[0] != '.' && (!only || strcmp(only, entries[i]->d_name) == 0)) {
        matrices += run_drawn(path, entries[i]->d_name, sample, &sums);
      }
      free(entries[i]);
    }
    if (count >= 0)
      free(entries);
  }
  printf("%ld combinations on %ld matrices (one in %d; %ld not drawn; %ld matrices of a dtype not drawn)\n",
         sums.runs, matrices, sample, sums.left_out, sums.not_drawn);
  if (sums.larger > 0)
    printf("%ld of more than %lld entries left out\n", sums.larger, (long long)sums.most_nnz);
  printf("%ld products by ranks that are threads and over sockets, compared bit by bit\n", sums.pairs);
  if (sums.drawn == 0 && sums.not_drawn > 0)
    skip();
  assert_true(matrices > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_real_matrices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
