/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of new values for a plan, compared with a new plan.
 *
 *   bench_set_values [MATRIX] [--ranks 2] [--workgroup 0] [--threads 0] [--k 32] [--algo auto] [--device cpu]
 *                    [--transport threads] [--rounds 5]
 *
 * Prints a line for a plan of A and one for a plan of A^T, each with the medians over the rounds of the times
 * of sley_plan_set_values and sley_plan_create, of the slowest rank, until the device has finished, and their
 * ratio; and a line for making both plans one by one and as a pair. If ranks are processes, rank 0 prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sley.h"

enum { MOST_RANKS = 64, MOST_ROUNDS = 101 };

typedef struct settings {
  const char *matrix, *algo;
  sley_rank_options ranks;
  int64_t k;
  int rounds;
  sley_matrix *a;
  int64_t row_begin[MOST_RANKS + 1], col_begin[MOST_RANKS + 1];
} settings;

typedef struct times {
  double create[MOST_ROUNDS], set[MOST_ROUNDS];
} times;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since start of the slowest rank, including its device's work. */
static sley_status since(sley_comm *comm, double start, double *seconds) {
  sley_status status = sley_comm_wait(comm);
  int64_t nanoseconds = (int64_t)((now() - start) * 1e9);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_MAX, &nanoseconds, 1);
  *seconds = 1e-9 * (double)nanoseconds;
  return status;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *seconds, int count) {
  qsort(seconds, (size_t)count, sizeof *seconds, by_value);
  return seconds[count / 2];
}

/* Creates a plan, sets other values, and destroys it. */
static sley_status one_round(sley_comm *comm, const settings *s, const sley_matrix *block, const void *val,
                             bool transpose, double *create, double *set) {
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.renewable = true;
  options.transpose = transpose;
  sley_status status = sley_comm_barrier(comm);
  double start = now();
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, s->row_begin, s->col_begin, s->k, &options, &plan);
  if (status == SLEY_OK)
    status = since(comm, start, create);
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm);
  start = now();
  if (status == SLEY_OK)
    status = sley_plan_set_values(plan, val);
  if (status == SLEY_OK)
    status = since(comm, start, set);
  sley_plan_destroy(plan);
  return status;
}

static sley_status time_values(sley_comm *comm, const settings *s, const sley_matrix *block, const void *val,
                               bool transpose, double *created) {
  times t;
  for (int i = 0; i < s->rounds; i++) {
    sley_status status = one_round(comm, s, block, val, transpose, &t.create[i], &t.set[i]);
    if (status != SLEY_OK)
      return status;
  }
  double create = median(t.create, s->rounds), set = median(t.set, s->rounds);
  if (sley_comm_rank(comm) == 0)
    printf("%-4s set_values %10.3f ms   new plan %10.3f ms   %6.2f %%\n", transpose ? "A^T" : "A", 1e3 * set,
           1e3 * create, 100 * set / create);
  *created += create;
  return SLEY_OK;
}

static sley_status time_pair(sley_comm *comm, const settings *s, const sley_matrix *block, double apart) {
  double seconds[MOST_ROUNDS];
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.renewable = true;
  for (int i = 0; i < s->rounds; i++) {
    sley_plan *plan = NULL, *transposed = NULL;
    sley_status status = sley_comm_barrier(comm);
    double start = now();
    if (status == SLEY_OK)
      status =
          sley_plan_create_pair(comm, block, s->row_begin, s->col_begin, s->k, &options, &plan, &transposed);
    if (status == SLEY_OK)
      status = since(comm, start, &seconds[i]);
    sley_plan_destroy(transposed);
    sley_plan_destroy(plan);
    if (status != SLEY_OK)
      return status;
  }
  double pair = median(seconds, s->rounds);
  if (sley_comm_rank(comm) == 0)
    printf("both pair       %10.3f ms   apart    %10.3f ms   %6.2f %%\n", 1e3 * pair, 1e3 * apart,
           100 * pair / apart);
  return SLEY_OK;
}

static sley_status run_rank(sley_comm *comm, void *arg) {
  const settings *s = arg;
  int rank = sley_comm_rank(comm);
  sley_matrix *block = NULL;
  sley_csr csr;
  void *val = NULL;
  double apart = 0;
  sley_status status =
      sley_matrix_row_block(s->a, s->row_begin[rank], s->row_begin[rank + 1] - s->row_begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_matrix_csr(block, &csr);
  int64_t nnz = status == SLEY_OK ? csr.rowptr[csr.rows] - csr.rowptr[0] : 0;
  if (status == SLEY_OK)
    status = sley_buffer_alloc(nnz * (int64_t)sizeof(float), &val);
  if (status == SLEY_OK)
    status = sley_dense_random(3, 0, nnz, 1, NULL, SLEY_F32, val, 1);
  for (int transpose = 0; transpose < 2 && status == SLEY_OK; transpose++)
    status = time_values(comm, s, block, val, transpose, &apart);
  if (status == SLEY_OK)
    status = time_pair(comm, s, block, apart);
  sley_matrix_destroy(block);
  sley_buffer_free(val);
  return status;
}

/* The value of an option; NULL: argument i is another option. */
static const char *value_of(int argc, char **argv, int i, const char *option) {
  return strcmp(argv[i], option) == 0 && i + 1 < argc ? argv[i + 1] : NULL;
}

static int read_arguments(int argc, char **argv, settings *s) {
  for (int i = 1; i < argc; i++) {
    const char *value;
    if ((value = value_of(argc, argv, i, "--ranks")))
      s->ranks.ranks = atoi(value);
    else if ((value = value_of(argc, argv, i, "--workgroup")))
      s->ranks.workgroup = atoi(value);
    else if ((value = value_of(argc, argv, i, "--threads")))
      s->ranks.threads = atoi(value);
    else if ((value = value_of(argc, argv, i, "--k")))
      s->k = atoll(value);
    else if ((value = value_of(argc, argv, i, "--algo")))
      s->algo = value;
    else if ((value = value_of(argc, argv, i, "--device")))
      s->ranks.device = value;
    else if ((value = value_of(argc, argv, i, "--transport")))
      s->ranks.transport = value;
    else if ((value = value_of(argc, argv, i, "--rounds")))
      s->rounds = atoi(value);
    else if (argv[i][0] == '-')
      return 0;
    else
      s->matrix = argv[i--];
    i++;
  }
  return s->ranks.ranks >= 1 && s->ranks.ranks <= MOST_RANKS && s->rounds >= 1 && s->rounds <= MOST_ROUNDS;
}

int main(int argc, char **argv) {
  static settings s = {.matrix = "rmat:scale=18,edgefactor=16", .k = 32, .rounds = 5};
  sley_matrix_info info = {0};
  s.ranks = (sley_rank_options)SLEY_RANK_OPTIONS_INIT;
  s.ranks.ranks = 2;
  if (!read_arguments(argc, argv, &s)) {
    fprintf(
        stderr,
        "usage: bench_set_values [MATRIX] [--ranks N] [--workgroup N] [--threads N] [--k N] [--algo NAME] "
        "[--device NAME] [--transport NAME] [--rounds N]\n");
    return 2;
  }
  sley_status status = sley_matrix_read(s.matrix, NULL, &s.a);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(s.a, &info);
  if (status == SLEY_OK)
    status = sley_partition_rows(s.a, "nnz", s.ranks.ranks, s.row_begin);
  if (status == SLEY_OK && info.rows == info.cols)
    memcpy(s.col_begin, s.row_begin, sizeof s.col_begin);
  else if (status == SLEY_OK)
    status = sley_partition_equal(info.cols, s.ranks.ranks, s.col_begin);
  if (status == SLEY_OK)
    status = sley_run_ranks(&s.ranks, run_rank, &s);
  if (status != SLEY_OK)
    fprintf(stderr, "bench_set_values: %s\n", sley_last_error());
  sley_matrix_destroy(s.a);
  return status == SLEY_OK ? 0 : 1;
}
