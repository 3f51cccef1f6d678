/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `sley bench` share: who is compared, a case and its times. */
#ifndef SLEY_CLI_BENCH_BENCH_H
#define SLEY_CLI_BENCH_BENCH_H

#include "bench/mkl.h"
#include "product/kernels.h"
#include "sley.h"

enum { CLI_CONTENDERS = 24, CLI_MATRIX_NAME = 256 };

/* Who multiplies: Sley with the kernel of that name ("auto": as it chooses), or MKL. */
typedef struct cli_contender {
  char name[CLI_KERNEL_NAME];
  bool rival; /* not Sley's own */
  bool mkl;
} cli_contender;

/* One contender's time on one case. */
typedef struct cli_time {
  bool ran;    /* else it does not serve the case */
  bool wrong;  /* its product is: the times are not there */
  bool shared; /* auto has taken this kernel: the times are auto's */
  int64_t repeats;
  double median_ms, p10_ms, p90_ms; /* of a product */
  double copied;                    /* the share of entries that the kernels have in layouts of their own */
} cli_time;

typedef struct cli_case {
  char matrix[CLI_MATRIX_NAME];
  int64_t rows, cols, nnz, k;
  cli_kernels kernels; /* that auto has taken */
  cli_time time[CLI_CONTENDERS];
  int rival, fastest; /* the contender: the fastest rival, the fastest of Sley's kernels; -1: none */
  double ratio;       /* the fastest rival's time by auto's; 0: there is none */
} cli_case;

typedef struct cli_bench {
  sley_comm *comm; /* of the one rank */
  const char *device;
  int threads;
  sley_dtype dtype;
  uint64_t seed;
  int64_t repeat, mem_limit;
  const char *precision;
  double budget; /* seconds of a contender's products on a case, after which it runs 3 times at least */
  const cli_mkl *mkl;
  int contenders; /* the first is auto */
  cli_contender contender[CLI_CONTENDERS];
} cli_bench;

/* Fills in the contenders: the device's kernels that serve a small matrix, those of libraries as rivals, and
 * MKL where it is loaded and the device is the CPU. */
sley_status cli_bench_contenders(cli_bench *bench);

/* Measures one case: every contender's product is checked once, then they take turns. name: of the matrix.
 * Errors: those of the plans and products of auto; of memory; interrupted. A wrong product is told on stderr
 * and in *out. */
sley_status cli_bench_case(const cli_bench *bench, const char *name, const sley_matrix *matrix, int64_t k,
                           cli_case *out);

#endif
