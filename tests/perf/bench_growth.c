/* SPDX-License-Identifier: Apache-2.0 */
/* What plans and products take of time and memory, beside the matrix itself:
 *
 *   bench_growth [--ranks P] [--threads T] [--device cpu|cuda] [--k 32,8] [--algo auto,halo]
 *                [--seconds S] [--gather] MATRIX ...
 *
 * A line of JSON for each matrix, algorithm and width, whose product is first compared with float64 sums in
 * some rows. Ranks are threads of this process with equal row blocks; f32. Times are of the slowest rank: the
 * least and the median of plans, and of products, made until S seconds are over, at least 3 of each. Memory
 * is of all ranks together, beyond what there was before the plan: at the peak of planning and kept by the
 * plan, as the library's allocations count it, and what is gone of a GPU's free memory; beside it the most
 * that the process has held of the system's memory while it planned, matrix included. --gather: also the
 * least time of reading the row of X of every entry with nothing else done, which caches and memory limit
 * too. */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sley.h"

#include "base/memory.h"
#include "base/team.h"

enum { MOST_TIMES = 200, LEAST_TIMES = 3, MOST_WIDTHS = 8, FILL_BYTES = 1 << 22 };

typedef struct settings {
  const char *matrix, *device, *algos;
  int ranks, threads, widths;
  int64_t k[MOST_WIDTHS];
  double seconds;
  bool gathers;
  const sley_matrix *whole;
  sley_matrix_info info;
  double load_s;
  int64_t *begin;
} settings;

/* Times in ms, of the slowest rank. */
typedef struct times {
  double ms[MOST_TIMES], begun;
  int count;
} times;

typedef struct memory {
  int64_t peak, kept, system_peak, device;
} memory;

#define TRY(call)                                                                                            \
  do {                                                                                                       \
    sley_status status_ = (call);                                                                            \
    if (status_ != SLEY_OK)                                                                                  \
      return status_;                                                                                        \
  } while (0)

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* A line of /proc/self/status, in bytes. */
static int64_t status_bytes(const char *name) {
  char line[256];
  long long kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0)
      sscanf(line + strlen(name), ": %lld", &kib);
  if (file)
    fclose(file);
  return kib * 1024;
}

/* The system's peak becomes what the process holds now. */
static void reset_system_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (!file)
    return;
  fputs("5", file);
  fclose(file);
}

/* Free bytes of the calling thread's GPU; 0 without one. */
static int64_t device_free(void) {
  static int (*ask)(size_t *, size_t *);
  void *driver = ask ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver)
    *(void **)&ask = dlsym(driver, "cuMemGetInfo_v2");
  size_t free = 0, total = 0;
  return ask && ask(&free, &total) == 0 ? (int64_t)free : 0;
}

static int ascending(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

/* Adds the slowest rank's time; *more: whether another is to be taken, the same on all ranks. Collective. */
static sley_status add_time(sley_comm *comm, const settings *s, double ms, times *t, bool *more) {
  int64_t both[2] = {(int64_t)(1e6 * ms), now_ms() - t->begun > 1e3 * s->seconds};
  TRY(sley_comm_allreduce(comm, SLEY_MAX, both, 2));
  t->ms[t->count++] = 1e-6 * (double)both[0];
  *more = t->count < MOST_TIMES && (!both[1] || t->count < LEAST_TIMES);
  if (!*more)
    qsort(t->ms, (size_t)t->count, sizeof *t->ms, ascending);
  return SLEY_OK;
}

/* Makes plans and keeps the last. The first of all plans, which also loads modules, is not timed. */
static sley_status time_plans(sley_comm *comm, const settings *s, const sley_matrix *block, const char *algo,
                              int64_t k, times *t, memory *m, sley_plan **out) {
  const bool first_rank = sley_comm_rank(comm) == 0;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  *t = (times){0};
  *out = NULL;
  TRY(sley_plan_create(comm, block, s->begin, s->begin, k, &options, out));
  for (bool more = true; more;) {
    sley_plan_destroy(*out);
    *out = NULL;
    TRY(sley_comm_barrier(comm));
    int64_t before = sl_memory_now(), free = device_free();
    if (first_rank) {
      sl_memory_peak_reset();
      reset_system_peak();
    }
    TRY(sley_comm_barrier(comm));
    double start = now_ms();
    if (t->count == 0)
      t->begun = start;
    TRY(sley_plan_create(comm, block, s->begin, s->begin, k, &options, out));
    double ms = now_ms() - start;
    TRY(sley_comm_barrier(comm));
    *m = (memory){sl_memory_peak() - before, sl_memory_now() - before, status_bytes("VmHWM"),
                  free - device_free()};
    TRY(add_time(comm, s, ms, t, &more));
  }
  return SLEY_OK;
}

/* Value i of a rank's X. */
static float value_of_x(int64_t i) {
  return (float)(i % (FILL_BYTES / (int64_t)sizeof(float)) % 1021) / 1021 - 0.5F;
}

/* Memory of the rank's device with an X in it. */
static sley_status filled(sley_comm *comm, int64_t bytes, void **out) {
  void *block;
  TRY(sley_comm_alloc(comm, bytes, out));
  TRY(sley_buffer_alloc(FILL_BYTES, &block));
  float *values = block;
  for (size_t i = 0; i < FILL_BYTES / sizeof *values; i++)
    values[i] = value_of_x((int64_t)i);
  sley_status status = SLEY_OK;
  for (int64_t at = 0; at < bytes && status == SLEY_OK; at += FILL_BYTES) {
    int64_t some = bytes - at < FILL_BYTES ? bytes - at : FILL_BYTES;
    status = sley_comm_copy(comm, (char *)*out + at, block, some, SLEY_TO_DEVICE);
  }
  sley_buffer_free(block);
  return status;
}

static sley_status time_products(sley_comm *comm, const settings *s, sley_plan *plan, int64_t k,
                                 const void *x, void *y, times *t) {
  *t = (times){0};
  TRY(sley_spmm(plan, 1, x, k, 0, y, k));
  TRY(sley_comm_wait(comm));
  t->begun = now_ms();
  for (bool more = true; more;) {
    TRY(sley_comm_barrier(comm));
    double start = now_ms();
    TRY(sley_spmm(plan, 1, x, k, 0, y, k));
    TRY(sley_comm_wait(comm));
    TRY(add_time(comm, s, now_ms() - start, t, &more));
  }
  return SLEY_OK;
}

/* ---- checking */

/* One row of Y beside a sum in float64: every value within its rounding. */
static bool row_is_right(const settings *s, const sley_csr *a, int64_t row, int64_t k, const float *y) {
  const int64_t begin = a->rowptr[row], end = a->rowptr[row + 1];
  for (int64_t f = 0; f < k; f++) {
    double sum = 0, size = 0;
    for (int64_t e = begin, owner = 0; e < end; e++) {
      int64_t col = a->index == SLEY_I32 ? ((const int32_t *)a->col)[e] : ((const int64_t *)a->col)[e];
      while (col < s->begin[owner] || col >= s->begin[owner + 1])
        owner = (owner + 1) % s->ranks;
      double term = (double)((const float *)a->val)[e] * value_of_x((col - s->begin[owner]) * k + f);
      sum += term;
      size += fabs(term);
    }
    if (!(fabs(sum - y[f]) <= (double)(end - begin + 2) * 0x1p-24 * size))
      return false;
  }
  return true;
}

/* Rows from the first to the last, evenly spaced. */
static sley_status check_rows(sley_comm *comm, const settings *s, const sley_matrix *block, int64_t k,
                              const float *y, bool *right) {
  enum { ROWS = 400 };
  sley_csr a = {0};
  void *row;
  TRY(sley_matrix_csr(block, &a));
  TRY(sley_buffer_alloc(k * (int64_t)sizeof(float), &row));
  int64_t wrong = 0, count = a.rows < ROWS ? a.rows : ROWS;
  sley_status status = SLEY_OK;
  for (int64_t i = 0; i < count && status == SLEY_OK; i++) {
    int64_t r = count > 1 ? (a.rows - 1) * i / (count - 1) : 0;
    status = sley_comm_copy(comm, row, y + r * k, k * (int64_t)sizeof(float), SLEY_TO_HOST);
    wrong += status == SLEY_OK && !row_is_right(s, &a, r, k, row);
  }
  sley_buffer_free(row);
  TRY(status);
  TRY(sley_comm_allreduce(comm, SLEY_MAX, &wrong, 1));
  *right = wrong == 0;
  return SLEY_OK;
}

/* ---- gathering alone */

typedef struct gathering {
  const int32_t *col;
  const float *x;
  int64_t k;
  float sum; /* so that the loads are not left out */
} gathering;

/* Four values, which every processor that Sley is built for loads at once. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* Loads the row of X of each entry, the lines of one a few entries further on their way. */
static sley_status gather_rows(void *context, int64_t begin, int64_t end, int thread) {
  enum { AHEAD = 16, LINE = 16 };
  gathering *g = context;
  const int64_t k = g->k, whole = k / LINE * LINE;
  four a = {0}, b = {0}, c = {0}, d = {0};
  float sum = 0;
  (void)thread;
  for (int64_t e = begin; e < end; e++) {
    const float *row = g->x + g->col[e] * k;
    const float *next = g->x + g->col[e + AHEAD < end ? e + AHEAD : e] * k;
    for (int64_t f = 0; f < k; f += LINE)
      __builtin_prefetch(next + f);
    for (int64_t f = 0; f < whole; f += LINE) {
      a += *(const four *)(row + f);
      b += *(const four *)(row + f + 4);
      c += *(const four *)(row + f + 8);
      d += *(const four *)(row + f + 12);
    }
    for (int64_t f = whole; f < k; f++)
      sum += row[f];
  }
  a += b + c + d;
  sum += a[0] + a[1] + a[2] + a[3];
  __atomic_store(&g->sum, &sum, __ATOMIC_RELAXED);
  return SLEY_OK;
}

/* The least of 3; below 0 where it is not asked for. One rank's X. */
static sley_status time_gather(const settings *s, const float *x, int64_t k, double *least) {
  sley_csr csr = {0};
  sl_team *team;
  *least = -1;
  if (!s->gathers)
    return SLEY_OK;
  TRY(sley_matrix_csr(s->whole, &csr));
  if (csr.index != SLEY_I32)
    return SLEY_OK;
  TRY(sl_team_create(s->threads, &team));
  gathering g = {.col = csr.col, .x = x, .k = k};
  sley_status status = SLEY_OK;
  for (int i = 0; i < 3 && status == SLEY_OK; i++) {
    double start = now_ms();
    status = sl_team_for(team, s->info.nnz, 1 << 14, gather_rows, &g);
    double ms = now_ms() - start;
    *least = i == 0 || ms < *least ? ms : *least;
  }
  sl_team_destroy(team);
  return status;
}

/* ---- one line */

static void print_times(const char *name, const times *t) {
  printf(", \"%s_ms\": {\"least\": %.6f, \"median\": %.6f, \"count\": %d}", name, t->ms[0],
         t->ms[t->count / 2], t->count);
}

static void print_line(const settings *s, const sley_comm *comm, const char *algo, int64_t k,
                       const sley_plan_info *info, const times *plans, const memory *m, const times *products,
                       double gather) {
  int64_t csr = 8 * (s->info.rows + 1) + 8 * s->info.nnz;
  printf("{\"matrix\": \"%s\", \"rows\": %" PRId64 ", \"nnz\": %" PRId64 ", \"csr_bytes\": %" PRId64
         ", \"load_s\": %.3f, \"device\": \"%s\", \"ranks\": %d, \"asked\": \"%s\", \"algo\": \"%s\", "
         "\"k\": %" PRId64,
         s->matrix, s->info.rows, s->info.nnz, csr, s->load_s, sley_comm_device(comm), s->ranks, algo,
         info->algo, k);
  print_times("plan", plans);
  print_times("product", products);
  printf(", \"peak_bytes\": %" PRId64 ", \"kept_bytes\": %" PRId64 ", \"system_peak_bytes\": %" PRId64
         ", \"device_bytes\": %" PRId64 ", \"needed_bytes\": %" PRId64 ", \"column_blocks\": %" PRId64,
         m->peak, m->kept, m->system_peak, m->device, info->needed_bytes, info->column_blocks);
  if (gather >= 0)
    printf(", \"gather_ms\": %.6f", gather);
  printf("}\n");
  fflush(stdout);
}

static sley_status measure(sley_comm *comm, const settings *s, const sley_matrix *block, const char *algo,
                           int64_t k, bool *wrong) {
  const int rank = sley_comm_rank(comm);
  const int64_t bytes = (s->begin[rank + 1] - s->begin[rank]) * k * (int64_t)sizeof(float);
  times plans, products;
  memory m = {0};
  sley_plan *plan;
  sley_plan_info info;
  void *x, *y;
  double gather = -1;
  bool right;
  TRY(time_plans(comm, s, block, algo, k, &plans, &m, &plan));
  TRY(sley_plan_info_get(plan, &info));
  TRY(filled(comm, bytes, &x));
  TRY(sley_comm_alloc(comm, bytes, &y));
  TRY(time_products(comm, s, plan, k, x, y, &products));
  TRY(check_rows(comm, s, block, k, y, &right));
  if (!right)
    fprintf(stderr, "bench_growth: rank %d: %s, %s, k %" PRId64 ": the product is WRONG\n", rank, s->matrix,
            algo, k);
  if (s->ranks == 1 && strcmp(s->device, "cpu") == 0)
    TRY(time_gather(s, x, k, &gather));
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
  sley_plan_destroy(plan);
  if (rank == 0 && right)
    print_line(s, comm, algo, k, &info, &plans, &m, &products, gather);
  *wrong |= !right;
  return SLEY_OK;
}

static sley_status rank_main(sley_comm *comm, void *argument) {
  const settings *s = argument;
  const int rank = sley_comm_rank(comm);
  sley_matrix *block;
  bool wrong = false;
  TRY(sley_matrix_row_block(s->whole, s->begin[rank], s->begin[rank + 1] - s->begin[rank], &block));
  char algos[256];
  snprintf(algos, sizeof algos, "%s", s->algos);
  for (char *rest = algos, *algo; (algo = strtok_r(rest, ",", &rest)) != NULL;)
    for (int i = 0; i < s->widths; i++)
      TRY(measure(comm, s, block, algo, s->k[i], &wrong));
  sley_matrix_destroy(block);
  return wrong ? SLEY_ERR_INTERNAL : SLEY_OK;
}

/* One matrix, which has to be square. */
static sley_status run_matrix(settings *s) {
  sley_matrix *matrix = NULL;
  double start = now_ms();
  TRY(sley_matrix_read(s->matrix, NULL, &matrix));
  s->load_s = 1e-3 * (now_ms() - start);
  s->whole = matrix;
  TRY(sley_matrix_info_get(matrix, &s->info));
  TRY(sley_partition_equal(s->info.rows, s->ranks, s->begin));
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = s->ranks;
  options.threads = s->threads;
  options.device = s->device;
  sley_status status = sley_run_ranks(&options, rank_main, s);
  sley_matrix_destroy(matrix);
  return status;
}

static void read_widths(const char *text, settings *s) {
  s->widths = 0;
  for (char *end; s->widths < MOST_WIDTHS && *text; text = *end ? end + 1 : end)
    s->k[s->widths++] = strtoll(text, &end, 10);
}

/* The options; returns the place of the first matrix. */
static int read_options(int count, char **words, settings *s) {
  int i = 1;
  for (; i < count && words[i][0] == '-'; i++) {
    const char *value = i + 1 < count ? words[i + 1] : "";
    if (strcmp(words[i], "--gather") == 0) {
      s->gathers = true;
      continue;
    }
    if (strcmp(words[i], "--ranks") == 0)
      s->ranks = atoi(value);
    else if (strcmp(words[i], "--threads") == 0)
      s->threads = atoi(value);
    else if (strcmp(words[i], "--device") == 0)
      s->device = value;
    else if (strcmp(words[i], "--k") == 0)
      read_widths(value, s);
    else if (strcmp(words[i], "--algo") == 0)
      s->algos = value;
    else if (strcmp(words[i], "--seconds") == 0)
      s->seconds = atof(value);
    else
      return count;
    i++;
  }
  return i;
}

int main(int count, char **words) {
  settings s = {.device = "cpu", .algos = "auto", .ranks = 1, .widths = 1, .k = {32}, .seconds = 0.3};
  int first = read_options(count, words, &s);
  if (first >= count || s.ranks < 1 || s.widths < 1) {
    fprintf(stderr, "usage: bench_growth [--ranks P] [--threads T] [--device cpu|cuda] [--k K,...] "
                    "[--algo NAME,...] [--seconds S] [--gather] MATRIX ...\n");
    return 2;
  }
  int failed = 0;
  s.begin = calloc((size_t)s.ranks + 1, sizeof *s.begin);
  for (int i = first; i < count && s.begin; i++) {
    s.matrix = words[i];
    if (run_matrix(&s) == SLEY_OK)
      continue;
    fprintf(stderr, "bench_growth: %s: %s\n", s.matrix, sley_last_error());
    failed = 1;
  }
  free(s.begin);
  return failed;
}
