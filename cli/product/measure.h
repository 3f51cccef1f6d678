/* SPDX-License-Identifier: Apache-2.0 */
/* Runs algorithms on one job: planning, untimed and timed products, counting, checking. */
#ifndef SLEY_CLI_PRODUCT_MEASURE_H
#define SLEY_CLI_PRODUCT_MEASURE_H

#include "product/algos.h"
#include "product/kernels.h"
#include "product/operands.h"

typedef struct cli_measure {
  const cli_algos *algos;
  int64_t repeat, warmup;
  double budget; /* seconds for the products of one algorithm; when they are spent, only products that
                    complete one warmup and CLI_LEAST timed products are begun; 0: no limit */
  double alpha, beta;
  bool reproducible, transpose, verify;
  int64_t mem_limit;     /* maximum number of bytes per rank on its device, including X and Y; 0: the free
                            memory */
  const char *local;     /* library whose kernels multiply; NULL: Sley's own */
  const char *kernel;    /* name of the kernel; NULL or "auto": the cheapest kernel */
  const char *precision; /* "full" or "tf32" */
  const char *wire;      /* data type in which values travel */
  bool unchanged;        /* true: all products except the first declare that X is unchanged */
  /* The next fields are for jobs whose ranks read and write their own rows. */
  int64_t k;     /* columns of X; -1: as in X's file, else 32 */
  const char *x; /* file of X; NULL: random values */
  bool vector;   /* true: X's file has one dimension, so Y's file gets one too */
  const char *out;
  bool covers; /* true: compute sley_plan_info.cover_rows */
} cli_measure;

enum { CLI_NAME = 128, CLI_REASON = SLEY_ERROR_BYTES, CLI_DEVICE = 16, CLI_TRIALS = 32, CLI_LEAST = 3 };

typedef struct cli_result {
  char algo[CLI_NAME]; /* name of the algorithm that ran, with the parameters that were given */
  char reason[CLI_REASON];
  char device[CLI_DEVICE], transport[CLI_DEVICE]; /* device and transport in use */
  char note[CLI_REASON];    /* how the device differs from the requested one; "": it does not */
  char network[CLI_REASON]; /* sley_comm_network_note */
  sley_plan_info info;      /* info of the plan; algo and reason are NULL: use the two fields above */
  sley_traffic counted;
  sley_trial trial[CLI_TRIALS]; /* kernel shapes that rank 0 timed during planning */
  int trials;
  cli_kernels kernels;
  double plan_ms;
  int64_t repeats;
  double min_ms, median_ms, p95_ms; /* statistics over the repetitions of the slowest rank's time */
  double gflops;                    /* 2 nnz k / median time, plus the flops of an update */
  int64_t y_values, not_finite;     /* number of values of Y, and of NaN and infinite values among them */
  bool ran, verified;
  bool impossible; /* not possible with this transport or device; the field reason has the cause */
  bool unchanged;  /* the last product declared that X was unchanged */
  int workgroup;   /* ranks per workgroup of the comm */
  int64_t plan;    /* in an ablation: cli_plan_number, summed over the ranks */
  bool told;       /* true: the error has already been printed (different options on ranks, or the error in
                      cli_found) */
  sley_check check;
  int64_t update;  /* columns of W of an update; 0: there was none */
  double apart_ms; /* median time of a product followed by a separate update; the times above are of the fused
                      operation */
} cli_result;

/* The update of a run with operands->w, which is in host memory. */
sley_update cli_update(const cli_operands *operands, const cli_measure *measure);

/* What the ranks of a spread job (cli_job.spread) report about it. */
typedef struct cli_found {
  sley_matrix_info info; /* information about the whole matrix */
  sley_matrix_source source;
  int64_t k, cover_rows;
  double load_ms;
  sley_status status; /* error of reading or writing, which all ranks have, with its message */
  char message[CLI_REASON];
} cli_found;

/* Returns true if the transport counted the traffic that the plan predicted. */
bool cli_result_as_predicted(const cli_result *result);

/* Runs the algorithms one after the other on ranks that are started once. If asked to, rank 0 checks each Y
 * before the next algorithm begins.
 *
 * results has one zeroed element per algorithm, in shared memory if ranks are processes; under a launcher
 * only rank 0's elements are checked. Afterwards operands holds the Y of the last algorithm (under a
 * launcher: only on rank 0). One of several algorithms may be impossible.
 *
 * On devices other than the CPU, X and Y are copied to the device and back outside the times, and a product's
 * time ends when the device has finished. If the device's memory does not hold all columns beside the plan, X
 * and Y stay in host memory and one block of columns is copied at a time, within the times.
 *
 * After an error, the results of the algorithms that ran are valid. In a spread job operands is not used and
 * Y is written as measure says; found, also shared memory, receives what the ranks report. */
sley_status cli_measure_run(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                            cli_result *results, cli_found *found);

/* Computes the size of the least covers (sley_plan_info.cover_rows) with a dry plan, for algorithms that do
 * not compute it. */
sley_status cli_measure_cover_rows(const cli_job *job, int64_t k, bool transpose, int64_t *out);

/* Compares Y with alpha A X + beta Y0 in float64; sets result->check. */
sley_status cli_measure_verify(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                               cli_result *result);

#endif
