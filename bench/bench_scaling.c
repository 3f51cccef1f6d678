/* SPDX-License-Identifier: Apache-2.0 */
/* The time and memory of each rank for reading and planning, with ranks that are processes over tcp.
 *
 *   bench_scaling RANKS K MATRIX [ALGO ...]
 *
 * Prints a JSON object. For reading and for each plan: the processor seconds of the rank with the most; and
 * the bytes at the peak and the bytes kept, of the rank with the most, beyond what the process had before it
 * read. Also the most nonzeros and halo rows of a rank. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sley.h"

typedef struct bench {
  const char *matrix;
  int64_t k;
  int algos;
  char **algo;
} bench;

/* Processor seconds of the process, because there may be more ranks than cores. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Value of a line of /proc/self/status, in bytes. */
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

/* Resets the peak to what the process has now. */
static void reset_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (!file)
    return;
  fputs("5", file);
  fclose(file);
}

typedef struct figures {
  int64_t microseconds, peak, kept;
  int64_t buffers; /* including memory that the plan reports but has not touched yet */
} figures;

/* Takes the maximum of each figure over all ranks. */
static sley_status most(sley_comm *comm, figures *f) {
  int64_t values[4] = {f->microseconds, f->peak, f->kept, f->buffers};
  sley_status status = sley_comm_allreduce(comm, SLEY_MAX, values, 4);
  *f = (figures){values[0], values[1], values[2], values[3]};
  return status;
}

static void print_figures(const figures *f) {
  printf("{\"cpu_seconds\": %.4f, \"peak_bytes\": %" PRId64 ", \"kept_bytes\": %" PRId64
         ", \"plan_bytes\": %" PRId64 "}",
         (double)f->microseconds * 1e-6, f->peak, f->kept, f->buffers);
}

/* Counts the distinct remote columns of a rank's rows. */
static sley_status count_halo(const sley_matrix *block, int64_t first, int64_t end, int64_t *out) {
  sley_csr csr;
  sley_status status = sley_matrix_csr(block, &csr);
  unsigned char *seen = status == SLEY_OK ? calloc((size_t)csr.cols + 1, 1) : NULL;
  *out = 0;
  for (int64_t e = seen ? csr.rowptr[0] : 0; seen && e < csr.rowptr[csr.rows]; e++) {
    int64_t col = csr.index == SLEY_I32 ? ((const int32_t *)csr.col)[e] : ((const int64_t *)csr.col)[e];
    if ((col < first || col >= end) && !seen[col]) {
      seen[col] = 1;
      ++*out;
    }
  }
  free(seen);
  return status == SLEY_OK && !seen ? SLEY_ERR_MEMORY : status;
}

static sley_status plan(sley_comm *comm, const bench *b, const char *algo, const sley_matrix *block,
                        const int64_t *begin, int64_t base, figures *out) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  sley_plan *made = NULL;
  sley_plan_info info;
  sley_status status = sley_comm_barrier(comm);
  reset_peak();
  double start = now();
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, b->k, &options, &made);
  *out = (figures){.microseconds = (int64_t)((now() - start) * 1e6),
                   .peak = status_bytes("VmHWM") - base,
                   .kept = status_bytes("VmRSS") - base};
  if (status == SLEY_OK)
    status = sley_plan_info_get(made, &info);
  if (status == SLEY_OK) {
    out->buffers = info.memory_bytes;
    status = most(comm, out);
  }
  sley_plan_destroy(made);
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  const bench *b = arg;
  int rank = sley_comm_rank(comm), size = sley_comm_size(comm);
  int64_t *begin = calloc((size_t)size + 1, sizeof *begin), sizes[2] = {0, 0};
  sley_matrix *block = NULL;
  sley_matrix_info whole;
  reset_peak();
  int64_t base = status_bytes("VmRSS");
  double start = now();
  sley_status status = sley_matrix_read_rows(comm, b->matrix, NULL, NULL, begin, &whole, &block);
  figures f = {(int64_t)((now() - start) * 1e6), status_bytes("VmHWM") - base, status_bytes("VmRSS") - base};
  if (status == SLEY_OK)
    status = most(comm, &f);
  if (status == SLEY_OK)
    status = count_halo(block, begin[rank], begin[rank + 1], &sizes[1]);
  if (status == SLEY_OK) {
    sley_matrix_info own;
    status = sley_matrix_info_get(block, &own);
    sizes[0] = own.nnz;
  }
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_MAX, sizes, 2);
  if (status == SLEY_OK && rank == 0) {
    printf("{\"matrix\": \"%s\", \"ranks\": %d, \"k\": %" PRId64 ", \"rows\": %" PRId64 ", \"nnz\": %" PRId64
           ", \"rank_nnz\": %" PRId64 ", \"rank_halo\": %" PRId64 ", \"read\": ",
           b->matrix, size, b->k, whole.rows, whole.nnz, sizes[0], sizes[1]);
    print_figures(&f);
    printf(", \"plans\": {");
  }
  for (int a = 0; a < b->algos && status == SLEY_OK; a++) {
    status = plan(comm, b, b->algo[a], block, begin, base, &f);
    if (status == SLEY_OK && rank == 0) {
      printf("%s\"%s\": ", a ? ", " : "", b->algo[a]);
      print_figures(&f);
    }
  }
  if (status == SLEY_OK && rank == 0)
    printf("}}\n");
  fflush(stdout);
  sley_matrix_destroy(block);
  free(begin);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: bench_scaling RANKS K MATRIX [ALGO ...]\n");
    return 2;
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 16); /* freed memory is returned at once, and no longer counts */
  bench b = {.matrix = argv[3], .k = atoll(argv[2]), .algos = argc - 4, .algo = argv + 4};
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = atoi(argv[1]);
  options.threads = 1;
  options.transport = "tcp";
  if (sley_run_ranks(&options, rank_main, &b) == SLEY_OK)
    return 0;
  fprintf(stderr, "bench_scaling: %s\n", sley_last_error());
  return 1;
}
