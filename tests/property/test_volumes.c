/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted volumes compared with brute force on small matrices: E_R, N_R, smallest covers, and volumes
 * between workgroups. */
#include "support.h"

#include "dry_plan.h"

enum { N = 12, RANKS = 4, K = 2 };

typedef struct volumes {
  int64_t begin[RANKS + 1];
  const sley_matrix *matrix;
  int row_weight; /* weight of a partial row of Y, in rows of X */
  sley_plan_info info;
} volumes;

static void make_plan(volumes *v, const char *algo, int workgroup) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  options.workgroup = workgroup;
  options.threads = 1;
  v->info = dry_plan(&options, v->matrix, v->begin, v->begin, K, algo);
}

/* Marks of the positions (row, col) with an entry. */
typedef struct pattern {
  bool at[N][N];
} pattern;

static int owner(const volumes *v, int row) {
  int r = 0;
  while (row >= v->begin[r + 1])
    r++;
  return r;
}

/* The least weight of a set of rows and columns that touches every entry of rows x columns, found by trying
 * all sets of rows. */
static int least_cover(const pattern *p, int row_weight, const int *rows, int row_count, const int *cols,
                       int col_count) {
  int best = row_weight * row_count;
  for (unsigned set = 0; set < 1u << row_count; set++) {
    int size = row_weight * __builtin_popcount(set);
    for (int c = 0; c < col_count; c++) {
      bool needed = false;
      for (int r = 0; r < row_count; r++)
        needed |= !(set >> r & 1) && p->at[rows[r]][cols[c]];
      size += needed;
    }
    best = size < best ? size : best;
  }
  return best;
}

/* Lists the rows owned by ranks first .. last - 1. */
static int rows_of(const volumes *v, int first, int last, int *rows) {
  int count = 0;
  for (int i = (int)v->begin[first]; i < v->begin[last]; i++)
    rows[count++] = i;
  return count;
}

/* Sum of the smallest covers of all blocks between different groups of `group` ranks. */
static int sum_covers(const volumes *v, const pattern *p, int group) {
  int sum = 0, rows[N], cols[N];
  for (int i = 0; i < RANKS; i += group)
    for (int j = 0; j < RANKS; j += group)
      if (i != j) {
        int row_count = rows_of(v, i, i + group, rows), col_count = rows_of(v, j, j + group, cols);
        sum += least_cover(p, v->row_weight, rows, row_count, cols, col_count);
      }
  return sum;
}

/* Number of distinct columns that groups of `group` ranks need from others. */
static int count_halo(const volumes *v, const pattern *p, int group) {
  int sum = 0;
  for (int g = 0; g < RANKS; g += group)
    for (int c = 0; c < N; c++) {
      bool needed = false;
      for (int r = (int)v->begin[g]; r < v->begin[g + group]; r++)
        needed |= p->at[r][c];
      sum += needed && owner(v, c) / group != g / group;
    }
  return sum;
}

static void check_matrix(uint64_t seed) {
  char text[80];
  snprintf(text, sizeof text, "er:rows=%d,cols=%d,nnz=%d,seed=%d", N, N, 5 + (int)(seed % 60), (int)seed);
  sley_matrix *matrix;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = (sley_dtype)(seed / 2 % 4);
  assert_sley_ok(sley_matrix_read(text, &options, &matrix));
  bool narrow = options.dtype == SLEY_F16 || options.dtype == SLEY_BF16; /* summed in f32 */
  volumes v = {.matrix = matrix, .row_weight = narrow ? 2 : 1};
  assert_sley_ok(sley_partition_rows(matrix, seed % 2 ? "rows" : "nnz", RANKS, v.begin));
  pattern p = {0};
  int remote = 0;
  sley_csr a;
  assert_sley_ok(sley_matrix_csr(matrix, &a));
  for (int r = 0; r < N; r++)
    for (int64_t e = a.rowptr[r]; e < a.rowptr[r + 1]; e++) {
      int c = ((const int32_t *)a.col)[e];
      p.at[r][c] = true;
      remote += owner(&v, r) != owner(&v, c);
    }
  const int row_bytes = K * (int)sley_dtype_bytes(options.dtype);
  make_plan(&v, "halo", 1);
  assert_int_equal(v.info.remote_nnz, remote);
  assert_int_equal(v.info.halo_rows, count_halo(&v, &p, 1));
  assert_int_equal(v.info.predicted.message_bytes, count_halo(&v, &p, 1) * row_bytes);
  assert_int_equal(v.info.predicted.message_messages, count_halo(&v, &p, 1));
  int across_halo = 0; /* of the halo algorithm's rows, those between workgroups of two */
  make_plan(&v, "halo", 2);
  across_halo = (int)v.info.predicted.message_bytes / row_bytes;
  make_plan(&v, "halo-pipelined", 2);
  assert_int_equal(v.info.predicted.message_bytes, count_halo(&v, &p, 2) * row_bytes);
  assert_true(v.info.predicted.message_bytes <= across_halo * row_bytes);
  make_plan(&v, "cover", 1);
  assert_int_equal(v.info.cover_rows, sum_covers(&v, &p, 1));
  assert_int_equal(v.info.predicted.message_bytes, sum_covers(&v, &p, 1) * row_bytes);
  make_plan(&v, "cover", 2);
  assert_int_equal(v.info.cover_rows, sum_covers(&v, &p, 1));
  assert_int_equal(v.info.predicted.message_bytes, sum_covers(&v, &p, 2) * row_bytes);
  make_plan(&v, "cover", RANKS);
  assert_int_equal(v.info.predicted.direct_bytes, sum_covers(&v, &p, 1) * row_bytes);
  sley_matrix_destroy(matrix);
}

static void volumes_equal_brute_force(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 150; seed++)
    check_matrix(seed);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(volumes_equal_brute_force)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
