/* SPDX-License-Identifier: Apache-2.0 */
/* What plans and products take on GPUs, ranks being threads of this process:
 *
 *   bench_plan_gpu [--matrix SPEC] [--ranks N] [--k 32,128] [--algo auto,halo] [--plans 7] [--repeat 20]
 *
 * copy_ms: the rank's columns, values and row pointers from ordinary memory to its GPU; plan_ms: a plan,
 * medians of the slowest rank over --plans; ms: a product's share of --repeat products in a row. f32, equal
 * row blocks. Plans are destroyed in between; the first plan, which loads modules, does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sley.h"

enum { MOST_PLANS = 64, MOST_WIDTHS = 8 };

typedef struct settings {
  const char *matrix_name, *algos;
  int ranks, plans, repeat, widths;
  int64_t k[MOST_WIDTHS];
  sley_matrix *matrix;
  int64_t rows, *begin;
} settings;

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

static sley_status time_copy(sley_comm *comm, const settings *s, const sley_matrix *block) {
  sley_csr csr = {0};
  double ms[MOST_PLANS];
  TRY(sley_matrix_csr(block, &csr));
  sley_matrix_info info = {0};
  TRY(sley_matrix_info_get(block, &info));
  for (int i = 0; i < s->plans; i++) {
    TRY(sley_comm_barrier(comm));
    double start = now_ms();
    TRY(copy_once(comm, &csr, info.rows, info.nnz));
    TRY(slowest(comm, now_ms() - start, &ms[i]));
  }
  qsort(ms, (size_t)s->plans, sizeof *ms, ascending);
  if (sley_comm_rank(comm) == 0)
    printf("%d ranks: copy_ms %.2f (least %.2f)\n", s->ranks, ms[s->plans / 2], ms[0]);
  return SLEY_OK;
}

static sley_status time_products(sley_comm *comm, const settings *s, sley_plan *plan, int64_t k, double *ms) {
  int64_t rows = s->begin[sley_comm_rank(comm) + 1] - s->begin[sley_comm_rank(comm)];
  void *x, *y;
  TRY(sley_comm_alloc(comm, rows * k * 4, &x));
  TRY(sley_comm_alloc(comm, rows * k * 4, &y));
  for (int i = 0; i < 3; i++)
    TRY(sley_spmm(plan, 1, x, k, 0, y, k));
  TRY(sley_comm_wait(comm));
  TRY(sley_comm_barrier(comm));
  double start = now_ms();
  for (int i = 0; i < s->repeat; i++)
    TRY(sley_spmm(plan, 1, x, k, 0, y, k));
  TRY(sley_comm_wait(comm));
  TRY(slowest(comm, (now_ms() - start) / s->repeat, ms));
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
  return SLEY_OK;
}

static sley_status time_plans(sley_comm *comm, const settings *s, const sley_matrix *block, const char *algo,
                              int64_t k) {
  double ms[MOST_PLANS], product = 0;
  char ran[64] = "";
  for (int i = -1; i < s->plans; i++) {
    sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
    sley_plan *plan = NULL;
    sley_plan_info info = {0};
    options.algo = algo;
    TRY(sley_comm_barrier(comm));
    double start = now_ms();
    TRY(sley_plan_create(comm, block, s->begin, s->begin, k, &options, &plan));
    TRY(slowest(comm, now_ms() - start, &ms[i < 0 ? 0 : i]));
    TRY(sley_plan_info_get(plan, &info));
    snprintf(ran, sizeof ran, "%s", info.algo);
    if (i == s->plans - 1 && s->repeat > 0)
      TRY(time_products(comm, s, plan, k, &product));
    sley_plan_destroy(plan);
  }
  qsort(ms, (size_t)s->plans, sizeof *ms, ascending);
  if (sley_comm_rank(comm) == 0)
    printf("%d ranks, k %lld, %s (%s): plan_ms %.2f (least %.2f), ms %.3f\n", s->ranks, (long long)k, algo,
           ran, ms[s->plans / 2], ms[0], product);
  fflush(stdout);
  return SLEY_OK;
}

static sley_status rank_main(sley_comm *comm, void *argument) {
  const settings *s = argument;
  int rank = sley_comm_rank(comm);
  sley_matrix *block;
  TRY(sley_matrix_row_block(s->matrix, s->begin[rank], s->begin[rank + 1] - s->begin[rank], &block));
  TRY(time_copy(comm, s, block));
  char algos[256];
  snprintf(algos, sizeof algos, "%s", s->algos);
  for (char *rest = algos, *algo; (algo = strtok_r(rest, ",", &rest)) != NULL;)
    for (int i = 0; i < s->widths; i++)
      TRY(time_plans(comm, s, block, algo, s->k[i]));
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static int fail(const char *what) {
  fprintf(stderr, "bench_plan_gpu: %s: %s\n", what, sley_last_error());
  return 1;
}

static void read_arguments(int count, char **words, settings *s) {
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(words[i], "--matrix") == 0)
      s->matrix_name = words[i + 1];
    else if (strcmp(words[i], "--ranks") == 0)
      s->ranks = atoi(words[i + 1]);
    else if (strcmp(words[i], "--algo") == 0)
      s->algos = words[i + 1];
    else if (strcmp(words[i], "--repeat") == 0)
      s->repeat = atoi(words[i + 1]);
    else if (strcmp(words[i], "--plans") == 0)
      s->plans = atoi(words[i + 1]) < MOST_PLANS ? atoi(words[i + 1]) : MOST_PLANS;
    else if (strcmp(words[i], "--k") == 0)
      for (char *at = words[i + 1], *end; s->widths < MOST_WIDTHS && *at; at = *end ? end + 1 : end)
        s->k[s->widths++] = strtoll(at, &end, 10);
  }
  if (s->widths == 0)
    s->k[s->widths++] = 32;
}

int main(int count, char **words) {
  settings s = {
      .matrix_name = "er:n=900000,nnz=59000000", .algos = "auto", .ranks = 2, .plans = 7, .repeat = 20};
  read_arguments(count, words, &s);
  if (s.ranks < 1 || s.plans < 1)
    return 2;
  sley_matrix_info info = {0};
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = s.ranks;
  ranks.device = "cuda";
  if (sley_matrix_read(s.matrix_name, NULL, &s.matrix) != SLEY_OK ||
      sley_matrix_info_get(s.matrix, &info) != SLEY_OK)
    return fail(s.matrix_name);
  s.begin = malloc((size_t)(s.ranks + 1) * sizeof *s.begin);
  if (!s.begin || sley_partition_equal(info.rows, s.ranks, s.begin) != SLEY_OK)
    return fail("the partition");
  printf("%s: %lld rows, %lld entries\n", s.matrix_name, (long long)info.rows, (long long)info.nnz);
  sley_status status = sley_run_ranks(&ranks, rank_main, &s);
  free(s.begin);
  sley_matrix_destroy(s.matrix);
  return status == SLEY_OK ? 0 : fail("the ranks");
}
