/* SPDX-License-Identifier: Apache-2.0 */
/* Types and functions shared by the files of `sley bench`: contenders, a case and its times. */
#ifndef SLEY_CLI_BENCH_BENCH_H
#define SLEY_CLI_BENCH_BENCH_H

#include "output/times.h"
#include "product/kernels.h"
#include "sley.h"

enum { CLI_CONTENDERS = 24, CLI_MATRIX_NAME = 256 };

/* A contender: the named kernel ("auto": Sley chooses the kernel). */
typedef struct cli_contender {
  char name[CLI_KERNEL_NAME];
  bool rival; /* true: the kernel belongs to another library */
} cli_contender;

/* One contender's time on one case. */
typedef struct cli_time {
  bool ran;      /* false: the contender does not support the case */
  bool wrong;    /* the product was wrong; there are no times */
  bool shared;   /* auto chose this same kernel; the times are auto's */
  cli_times ms;  /* times of one product */
  double copied; /* share of entries that the kernels copied to other layouts, 0 to 1 */
} cli_time;

typedef struct cli_case {
  char matrix[CLI_MATRIX_NAME];
  int64_t rows, cols, nnz, k;
  cli_kernels kernels; /* the kernels that auto chose */
  cli_time time[CLI_CONTENDERS];
  int rival, fastest; /* indices of the fastest rival and of the fastest of Sley's kernels; -1: none */
  double ratio;       /* time of the fastest rival / time of auto; 0: no rival */
} cli_case;

typedef struct cli_bench {
  sley_comm *comm; /* comm of the only rank */
  const char *device;
  int threads;
  sley_dtype dtype;
  uint64_t seed;
  int64_t repeat, mem_limit;
  const char *precision;
  double budget;  /* seconds that a contender may spend on one case; it runs at least 3 turns */
  int contenders; /* the first is auto */
  cli_contender contender[CLI_CONTENDERS];
} cli_bench;

/* Fills in the contenders: the device's kernels that can multiply a small matrix, the kernels of other
 * libraries as rivals. */
sley_status cli_bench_contenders(cli_bench *bench);

/* Measures one case: checks each contender's product once, then times the contenders in turns. name: the
 * matrix's name in reports. A wrong product is reported on stderr and in *out, and is not an error. Errors:
 * the errors of auto's plans and products; SLEY_ERR_MEMORY; SLEY_ERR_INTERRUPTED. */
sley_status cli_bench_case(const cli_bench *bench, const char *name, const sley_matrix *matrix, int64_t k,
                           cli_case *out);

#endif
