/* SPDX-License-Identifier: Apache-2.0 */
/* Times of plans and products on GPUs, with ranks as threads of this process:
 *
 *   bench_plan_gpu [--matrix SPEC]... [--ranks 1,4] [--k 32,128] [--algo auto,halo] [--plans 7] [--repeat 20]
 *                  [--json FILE]
 *
 * copy_ms: copy of the rank's columns, values and row pointers from ordinary memory to its GPU. plan_ms: time
 * of a plan. Both are medians of the slowest rank over --plans. ms: time per product of --repeat products in
 * a row. f32, equal row blocks. Plans are destroyed in between; the first plan, which loads modules, does not
 * count. FILE receives a line of JSON for each line that is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sley.h"

enum { MOST_PLANS = 64, MOST_OF_A_LIST = 8 };

typedef struct settings {
  const char *names[MOST_OF_A_LIST], *algos, *json;
  int matrices, numbers, widths, plans, repeat;
  int64_t ranks[MOST_OF_A_LIST], k[MOST_OF_A_LIST];
} settings;

/* Shared by all ranks of a run. */
typedef struct run {
  const settings *s;
  const char *name;
  int ranks;
  const sley_matrix *matrix;
  sley_matrix_info info;
  int64_t *begin; /* ranks + 1 */
  FILE *json;     /* or NULL */
} run;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

#define TRY(call)                                                                                            \
  do {                                                                                                       \
    sley_status status_ = (call);                                                                            \
    if (status_ != SLEY_OK)                                                                                  \
      return status_;                                                                                        \
  } while (0)

static int ascending(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

/* The slowest rank's time. Collective. */
static sley_status slowest(sley_comm *comm, double ms, double *out) {
  int64_t microseconds = (int64_t)(1e3 * ms);
  TRY(sley_comm_allreduce(comm, SLEY_MAX, &microseconds, 1));
  *out = 1e-3 * (double)microseconds;
  return SLEY_OK;
}

static sley_status copy_once(sley_comm *comm, const sley_csr *csr, int64_t rows, int64_t nnz) {
  void *at[3] = {NULL};
  const int64_t first = 4 * csr->rowptr[0];
  const void *from[3] = {csr->rowptr, (const char *)csr->col + first, (const char *)csr->val + first};
  int64_t bytes[3] = {(rows + 1) * 8, nnz * 4, nnz * 4};
  for (int i = 0; i < 3; i++) {
    TRY(sley_comm_alloc(comm, bytes[i], &at[i]));
    TRY(sley_comm_copy(comm, at[i], from[i], bytes[i], SLEY_TO_DEVICE));
  }
  TRY(sley_comm_wait(comm));
  for (int i = 0; i < 3; i++)
    sley_comm_free(comm, at[i]);
  return SLEY_OK;
}

/* Writes the start of a line of JSON. Matrices have plain names: names with quotes are refused. */
static void begin_line(const run *r, const char *record) {
  if (r->json)
    fprintf(
        r->json,
        "{\"record\": \"%s\", \"bench\": \"plan_gpu\", \"matrix\": \"%s\", \"rows\": %lld, \"nnz\": %lld, "
        "\"ranks\": %d, \"plans\": %d, ",
        record, r->name, (long long)r->info.rows, (long long)r->info.nnz, r->ranks, r->s->plans);
}

/* Writes figures of ms, which ascends. */
static void write_times(const run *r, const char *name, const double *ms) {
  const int plans = r->s->plans;
  if (r->json)
    fprintf(r->json, "\"%s\": {\"median\": %.4f, \"min\": %.4f, \"max\": %.4f}", name, ms[plans / 2], ms[0],
            ms[plans - 1]);
}

static sley_status time_copy(sley_comm *comm, const run *r, const sley_matrix *block) {
  const int plans = r->s->plans;
  sley_csr csr = {0};
  double ms[MOST_PLANS];
  TRY(sley_matrix_csr(block, &csr));
  sley_matrix_info info = {0};
  TRY(sley_matrix_info_get(block, &info));
  for (int i = 0; i < plans; i++) {
    TRY(sley_comm_barrier(comm));
    double start = now_ms();
    TRY(copy_once(comm, &csr, info.rows, info.nnz));
    TRY(slowest(comm, now_ms() - start, &ms[i]));
  }
  qsort(ms, (size_t)plans, sizeof *ms, ascending);
  if (sley_comm_rank(comm) > 0)
    return SLEY_OK;
  printf("%d ranks: copy_ms %.2f (least %.2f)\n", r->ranks, ms[plans / 2], ms[0]);
  begin_line(r, "copy");
  write_times(r, "copy_ms", ms);
  if (r->json)
    fputs("}\n", r->json);
  return SLEY_OK;
}

static sley_status time_products(sley_comm *comm, const run *r, sley_plan *plan, int64_t k, double *ms) {
  const int repeat = r->s->repeat;
  int64_t rows = r->begin[sley_comm_rank(comm) + 1] - r->begin[sley_comm_rank(comm)];
  void *x, *y;
  TRY(sley_comm_alloc(comm, rows * k * 4, &x));
  TRY(sley_comm_alloc(comm, rows * k * 4, &y));
  for (int i = 0; i < 3; i++)
    TRY(sley_spmm(plan, 1, x, k, 0, y, k));
  TRY(sley_comm_wait(comm));
  TRY(sley_comm_barrier(comm));
  double start = now_ms();
  for (int i = 0; i < repeat; i++)
    TRY(sley_spmm(plan, 1, x, k, 0, y, k));
  TRY(sley_comm_wait(comm));
  TRY(slowest(comm, (now_ms() - start) / repeat, ms));
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
  return SLEY_OK;
}

static sley_status time_plans(sley_comm *comm, const run *r, const sley_matrix *block, const char *algo,
                              int64_t k) {
  const int plans = r->s->plans;
  double ms[MOST_PLANS], product = 0;
  char ran[64] = "";
  for (int i = -1; i < plans; i++) {
    sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
    sley_plan *plan = NULL;
    sley_plan_info info = {0};
    options.algo = algo;
    TRY(sley_comm_barrier(comm));
    double start = now_ms();
    TRY(sley_plan_create(comm, block, r->begin, r->begin, k, &options, &plan));
    TRY(slowest(comm, now_ms() - start, &ms[i < 0 ? 0 : i]));
    TRY(sley_plan_info_get(plan, &info));
    snprintf(ran, sizeof ran, "%s", info.algo);
    if (i == plans - 1)
      TRY(time_products(comm, r, plan, k, &product));
    sley_plan_destroy(plan);
  }
  qsort(ms, (size_t)plans, sizeof *ms, ascending);
  if (sley_comm_rank(comm) > 0)
    return SLEY_OK;
  printf("%d ranks, k %lld, %s (%s): plan_ms %.2f (least %.2f), ms %.3f\n", r->ranks, (long long)k, algo, ran,
         ms[plans / 2], ms[0], product);
  fflush(stdout);
  begin_line(r, "plan");
  write_times(r, "plan_ms", ms);
  if (r->json)
    fprintf(r->json, ", \"k\": %lld, \"asked\": \"%s\", \"algo\": \"%s\", \"ms\": %.6f}\n", (long long)k,
            algo, ran, product);
  return SLEY_OK;
}

static sley_status rank_main(sley_comm *comm, void *argument) {
  const run *r = argument;
  int rank = sley_comm_rank(comm);
  sley_matrix *block;
  TRY(sley_matrix_row_block(r->matrix, r->begin[rank], r->begin[rank + 1] - r->begin[rank], &block));
  TRY(time_copy(comm, r, block));
  char algos[256];
  snprintf(algos, sizeof algos, "%s", r->s->algos);
  for (char *rest = algos, *algo; (algo = strtok_r(rest, ",", &rest)) != NULL;)
    for (int i = 0; i < r->s->widths; i++)
      TRY(time_plans(comm, r, block, algo, r->s->k[i]));
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static int refuse(const char *word, const char *what) {
  fprintf(stderr, "bench_plan_gpu: %s: %s\n", word, what);
  return 2;
}

/* Reads positive integers separated by commas; returns their number, 0 if the list is invalid. */
static int read_list(const char *text, int64_t *out) {
  int count = 0;
  for (char *end;; text = end + 1) {
    if (count == MOST_OF_A_LIST || (out[count++] = strtoll(text, &end, 10)) < 1 || end == text)
      return 0;
    if (!*end)
      return count;
    if (*end != ',')
      return 0;
  }
}

/* Returns 0 if the text is not a number from 1 to most. */
static int read_number(const char *text, int64_t most) {
  int64_t number[MOST_OF_A_LIST];
  return read_list(text, number) == 1 && number[0] <= most ? (int)number[0] : 0;
}

static int read_arguments(int count, char **words, settings *s) {
  for (int i = 1; i < count; i += 2) {
    const char *word = words[i], *value = words[i + 1];
    if (!value)
      return refuse(word, "a value is missing");
    if (strcmp(word, "--matrix") == 0) {
      if (s->matrices == MOST_OF_A_LIST || strpbrk(value, "\"\\"))
        return refuse(value, "at most 8 matrices, without quotes and backslashes in their names");
      s->names[s->matrices++] = value;
    } else if (strcmp(word, "--algo") == 0) {
      s->algos = value;
    } else if (strcmp(word, "--json") == 0) {
      s->json = value;
    } else if (strcmp(word, "--ranks") == 0) {
      s->numbers = read_list(value, s->ranks);
    } else if (strcmp(word, "--k") == 0) {
      s->widths = read_list(value, s->k);
    } else if (strcmp(word, "--plans") == 0) {
      s->plans = read_number(value, MOST_PLANS);
    } else if (strcmp(word, "--repeat") == 0) {
      s->repeat = read_number(value, 1000000);
    } else {
      return refuse(word, "there is no such option");
    }
    if (s->numbers == 0 || s->widths == 0 || s->plans == 0 || s->repeat == 0)
      return refuse(
          value,
          "whole numbers from 1 on, of --ranks and --k up to 8, separated by commas; 64 plans at most");
  }
  return 0;
}

/* Measures one matrix on one number of ranks. */
static int measure(run *r) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = r->ranks;
  options.device = "cuda";
  r->begin = malloc((size_t)(r->ranks + 1) * sizeof *r->begin);
  if (!r->begin || sley_partition_equal(r->info.rows, r->ranks, r->begin) != SLEY_OK) {
    free(r->begin);
    return refuse("the partition", sley_last_error());
  }
  sley_status status = sley_run_ranks(&options, rank_main, r);
  free(r->begin);
  if (status == SLEY_OK)
    return 0;
  fprintf(stderr, "bench_plan_gpu: %s\n", sley_last_error());
  return 1;
}

static int measure_all(const settings *s, FILE *json) {
  int failed = 0;
  for (int m = 0; m < s->matrices && !failed; m++) {
    sley_matrix *matrix = NULL;
    run r = {.s = s, .name = s->names[m], .json = json};
    if (sley_matrix_read(r.name, NULL, &matrix) != SLEY_OK ||
        sley_matrix_info_get(matrix, &r.info) != SLEY_OK)
      return refuse(r.name, sley_last_error());
    printf("%s: %lld rows, %lld entries\n", r.name, (long long)r.info.rows, (long long)r.info.nnz);
    r.matrix = matrix;
    for (int n = 0; n < s->numbers && !failed; n++) {
      r.ranks = (int)s->ranks[n];
      failed = measure(&r);
    }
    sley_matrix_destroy(matrix);
  }
  return failed;
}

int main(int count, char **words) {
  settings s = {
      .algos = "auto", .ranks = {2}, .numbers = 1, .k = {32}, .widths = 1, .plans = 7, .repeat = 20};
  FILE *json = NULL;
  int failed = read_arguments(count, words, &s);
  if (failed)
    return failed;
  if (s.matrices == 0)
    s.names[s.matrices++] = "er:n=900000,nnz=59000000";
  if (s.json && !(json = fopen(s.json, "w")))
    return refuse(s.json, "it cannot be written");
  failed = measure_all(&s, json);
  if (json && fclose(json) != 0)
    return refuse(s.json, "it could not be written whole");
  return failed;
}
