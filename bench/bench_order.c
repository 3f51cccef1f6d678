/* SPDX-License-Identifier: Apache-2.0 */
/* Times orderings and counts what they save: the halo rows N_R of equal row blocks, and V_FC = 4 N_R k bytes;
 * and the intensity of windows, entries per distinct column of 16 rows.
 *
 *   bench_order MATRIX [--ranks 16] [--k 32] [--threads 2] [--seed 1] [--shuffle] [--json FILE|-] [ORDER ...]
 *
 * Without ORDER: rabbit, rcm and degree. With --shuffle the matrix is shuffled first, because generated
 * graphs already have the order that a good ordering should find. The orders are checked to be permutations.
 * Peak memory is the process's peak so far, including the matrix. CPU seconds are also printed, because other
 * work on the machine affects them less. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sley.h"

typedef struct settings {
  const char *matrix, *json;
  int ranks, threads;
  int64_t k;
  uint64_t seed;
  bool shuffle;
  const char *orders[16];
  int order_count;
} settings;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *need(void *block) {
  if (!block) {
    fprintf(stderr, "bench_order: out of memory\n");
    exit(1);
  }
  return block;
}

static void need_ok(sley_status status) {
  if (status != SLEY_OK) {
    fprintf(stderr, "bench_order: %s\n", sley_last_error());
    exit(status == SLEY_ERR_ARG || status == SLEY_ERR_INPUT ? 2 : 1);
  }
}

static int64_t column(const sley_csr *a, int64_t e) {
  return a->index == SLEY_I32 ? ((const int32_t *)a->col)[e] : ((const int64_t *)a->col)[e];
}

/* Distinct remote columns, summed over equal blocks of the rows in the order perm (checked). */
static int64_t count_halo(const sley_csr *a, const int64_t *perm, int ranks) {
  int64_t *row_at = need(malloc(((size_t)a->rows + 1) * sizeof *row_at));
  int64_t *begin = need(malloc(((size_t)ranks + 1) * sizeof *begin));
  int *seen = need(calloc((size_t)a->rows + 1, sizeof *seen));
  int64_t halo = 0;
  for (int64_t i = 0; i < a->rows; i++)
    row_at[i] = -1;
  for (int64_t i = 0; i < a->rows; i++) {
    if (perm[i] < 0 || perm[i] >= a->rows || row_at[perm[i]] >= 0) {
      fprintf(stderr, "bench_order: the order is no permutation at row %lld\n", (long long)i);
      exit(1);
    }
    row_at[perm[i]] = i;
  }
  need_ok(sley_partition_equal(a->rows, ranks, begin));
  for (int r = 0; r < ranks; r++)
    for (int64_t p = begin[r]; p < begin[r + 1]; p++)
      for (int64_t e = a->rowptr[row_at[p]]; e < a->rowptr[row_at[p] + 1]; e++) {
        int64_t col = column(a, e);
        if (perm[col] >= begin[r] && perm[col] < begin[r + 1])
          continue;
        halo += seen[col] != r + 1;
        seen[col] = r + 1;
      }
  free(seen);
  free(begin);
  free(row_at);
  return halo;
}

/* Intensity of the windows of the matrix in the order perm (checked). */
static double intensity(const sley_matrix *matrix, const int64_t *perm, int64_t rows, int threads) {
  int64_t *row_at = need(malloc(((size_t)rows + 1) * sizeof *row_at));
  sley_window_info info;
  for (int64_t i = 0; i < rows; i++)
    row_at[perm[i]] = i;
  need_ok(sley_matrix_windows(matrix, row_at, threads, &info));
  free(row_at);
  return info.columns > 0 ? (double)info.entries / (double)info.columns : 0;
}

static long peak_mib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

static json_t *measure(const settings *s, const sley_matrix *matrix, const sley_csr *a, const char *order,
                       int64_t halo_before) {
  int64_t *perm = need(malloc(((size_t)a->rows + 1) * sizeof *perm));
  double start = seconds(CLOCK_MONOTONIC), cpu_start = seconds(CLOCK_PROCESS_CPUTIME_ID);
  need_ok(sley_order(matrix, order, s->seed, s->threads, perm));
  double taken = seconds(CLOCK_MONOTONIC) - start, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
  long peak = peak_mib();
  int64_t halo = count_halo(a, perm, s->ranks);
  double dense = intensity(matrix, perm, a->rows, s->threads);
  free(perm);
  double ratio = halo > 0 ? (double)halo_before / (double)halo : 0;
  double mib = 4.0 * (double)halo * (double)s->k / (1 << 20);
  fprintf(
      stderr,
      "%-8s %8.2f s %8.2f CPU s %12lld halo rows %10.2f MiB %6.2f x lower, intensity %5.2f, peak %ld MiB\n",
      order, taken, cpu, (long long)halo, mib, ratio, dense, peak);
  return json_pack("{s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:I}", "order", order, "seconds", taken,
                   "cpu_seconds", cpu, "halo_rows", (json_int_t)halo, "v_fc_bytes",
                   (json_int_t)(4 * halo * s->k), "times_lower", ratio, "intensity", dense, "peak_mib",
                   (json_int_t)peak);
}

static sley_matrix *load(const settings *s) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  sley_matrix *matrix, *shuffled;
  options.threads = s->threads;
  need_ok(sley_matrix_read(s->matrix, &options, &matrix));
  if (!s->shuffle)
    return matrix;
  sley_matrix_info info;
  need_ok(sley_matrix_info_get(matrix, &info));
  int64_t *perm = need(malloc(((size_t)info.rows + 1) * sizeof *perm));
  need_ok(sley_order(matrix, "random", s->seed, s->threads, perm));
  need_ok(sley_matrix_permute(matrix, perm, perm, s->threads, &shuffled));
  free(perm);
  sley_matrix_destroy(matrix);
  return shuffled;
}

static void usage(void) {
  fprintf(stderr, "usage: bench_order MATRIX [--ranks 16] [--k 32] [--threads 2] [--seed 1] [--shuffle]\n"
                  "                   [--json FILE|-] [ORDER ...]\n");
  exit(2);
}

static int64_t number(const char *text, int64_t least, int64_t most) {
  char *end;
  long long value = strtoll(text, &end, 10);
  if (!*text || *end || value < least || value > most) {
    fprintf(stderr, "bench_order: %s is not a number from %lld to %lld\n", text, (long long)least,
            (long long)most);
    exit(2);
  }
  return value;
}

static settings parse(int argc, char **argv) {
  settings s = {.ranks = 16, .threads = 2, .k = 32, .seed = 1};
  enum { ORDERS = sizeof s.orders / sizeof *s.orders };
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--shuffle") == 0)
      s.shuffle = true;
    else if (strncmp(argv[i], "--", 2) == 0 && !value)
      usage();
    else if (strcmp(argv[i], "--ranks") == 0)
      s.ranks = (int)number(argv[++i], 1, 1 << 20);
    else if (strcmp(argv[i], "--k") == 0)
      s.k = number(argv[++i], 0, 1 << 20);
    else if (strcmp(argv[i], "--threads") == 0)
      s.threads = (int)number(argv[++i], 0, 4096);
    else if (strcmp(argv[i], "--seed") == 0)
      s.seed = (uint64_t)number(argv[++i], 0, INT64_MAX);
    else if (strcmp(argv[i], "--json") == 0)
      s.json = argv[++i];
    else if (argv[i][0] == '-')
      usage();
    else if (!s.matrix)
      s.matrix = argv[i];
    else if (s.order_count < ORDERS)
      s.orders[s.order_count++] = argv[i];
    else
      usage();
  }
  if (!s.matrix)
    usage();
  static const char *const usual[] = {"rabbit", "rcm", "degree"};
  for (int i = 0; s.order_count == 0 && i < 3; i++)
    s.orders[i] = usual[i];
  s.order_count = s.order_count ? s.order_count : 3;
  return s;
}

int main(int argc, char **argv) {
  settings s = parse(argc, argv);
  sley_matrix *matrix = load(&s);
  sley_csr a;
  need_ok(sley_matrix_csr(matrix, &a));
  if (a.rows != a.cols) {
    fprintf(stderr, "bench_order: only a square matrix can be ordered\n");
    return 2;
  }
  fprintf(stderr, "%s%s: %lld rows, %lld nonzeros, %d ranks, k %lld, %d threads\n", s.matrix,
          s.shuffle ? ", shuffled" : "", (long long)a.rows, (long long)(a.rowptr[a.rows] - a.rowptr[0]),
          s.ranks, (long long)s.k, s.threads);
  int64_t *none = need(malloc(((size_t)a.rows + 1) * sizeof *none));
  need_ok(sley_order(matrix, "none", s.seed, s.threads, none));
  int64_t before = count_halo(&a, none, s.ranks);
  double dense = intensity(matrix, none, a.rows, s.threads);
  free(none);
  fprintf(stderr, "%-8s %8s   %8s       %12lld halo rows %10.2f MiB               intensity %5.2f\n",
          "before", "", "", (long long)before, 4.0 * (double)before * (double)s.k / (1 << 20), dense);
  json_t *orders = json_array();
  for (int i = 0; i < s.order_count; i++)
    json_array_append_new(orders, measure(&s, matrix, &a, s.orders[i], before));
  json_t *report =
      json_pack("{s:s, s:b, s:I, s:I, s:i, s:I, s:i, s:I, s:I, s:f, s:o}", "matrix", s.matrix, "shuffled",
                s.shuffle, "rows", (json_int_t)a.rows, "nnz", (json_int_t)(a.rowptr[a.rows] - a.rowptr[0]),
                "ranks", s.ranks, "k", (json_int_t)s.k, "threads", s.threads, "halo_rows", (json_int_t)before,
                "v_fc_bytes", (json_int_t)(4 * before * s.k), "intensity", dense, "orders", orders);
  int failed = 0;
  if (s.json && strcmp(s.json, "-") == 0)
    failed = json_dumpf(report, stdout, JSON_INDENT(2)) != 0 || puts("") < 0;
  else if (s.json)
    failed = json_dump_file(report, s.json, JSON_INDENT(2)) != 0;
  if (failed)
    fprintf(stderr, "bench_order: cannot write %s\n", s.json);
  json_decref(report);
  sley_matrix_destroy(matrix);
  return failed;
}
