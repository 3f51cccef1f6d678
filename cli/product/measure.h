/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms on one job: plan, warm up, repeat, count, check. */
#ifndef SLEY_CLI_PRODUCT_MEASURE_H
#define SLEY_CLI_PRODUCT_MEASURE_H

#include "product/algos.h"
#include "product/kernels.h"
#include "product/operands.h"

typedef struct cli_measure {
  const cli_algos *algos;
  int64_t repeat, warmup;
  double budget; /* seconds for the products of one algorithm, after which no more are begun than a warming
                    one and CLI_LEAST timed ones; 0: no limit */
  double alpha, beta;
  bool reproducible, transpose, verify;
  int64_t mem_limit;     /* bytes a rank may take on its device, X and Y included; 0: what is free */
  const char *local;     /* whose kernels; NULL: Sley's own */
  const char *kernel;    /* the one that multiplies; NULL or "auto": the cheapest */
  const char *precision; /* "full" or "tf32" */
  const char *wire;      /* type that values travel in */
  bool unchanged;        /* all products but the first call X unchanged */
  /* Where ranks read and write their own rows: */
  int64_t k;     /* -1: as X's file has it, else 32 */
  const char *x; /* X's file; NULL: random values */
  bool vector;   /* which has one dimension, as Y's shall have */
  const char *out;
  bool covers; /* the least covers' size is wanted */
} cli_measure;

enum { CLI_NAME = 128, CLI_REASON = SLEY_ERROR_BYTES, CLI_DEVICE = 16, CLI_TRIALS = 32, CLI_LEAST = 3 };

typedef struct cli_result {
  char algo[CLI_NAME]; /* that ran, with the parameters that were given */
  char reason[CLI_REASON];
  char device[CLI_DEVICE], transport[CLI_DEVICE]; /* that it ran on */
  char note[CLI_REASON];                          /* what the device was not as asked for; "" */
  char network[CLI_REASON];                       /* sley_comm_network_note */
  sley_plan_info info;                            /* its texts are not valid any more: use the two above */
  sley_traffic counted;
  sley_trial trial[CLI_TRIALS]; /* the shapes that rank 0 timed while it planned */
  int trials;
  cli_kernels kernels;
  double plan_ms;
  int64_t repeats;
  double min_ms, median_ms, p95_ms; /* over the repetitions, of the slowest rank each */
  double gflops;                    /* 2 nnz k per median time */
  int64_t y_values, not_finite;     /* Y's values, and those that are NaN or infinite */
  bool ran, verified;
  bool impossible; /* with this transport or device: reason says why */
  bool unchanged;  /* the last product called X unchanged */
  int workgroup;   /* of the comm */
  int64_t plan;    /* of an ablation: cli_plan_number, summed over the ranks */
  bool told;       /* why the run failed is told already: the job differs, or what cli_found says */
  sley_check check;
  int64_t update;  /* columns of an update's W; 0: there was none */
  double apart_ms; /* the median time of the product and the update after it; those above are of the two in
                      one */
} cli_result;

/* The update of a run that has one; w in the host's memory. */
sley_update cli_update(const cli_operands *operands, const cli_measure *measure);

/* What the ranks of a spread job tell of it. */
typedef struct cli_found {
  sley_matrix_info info; /* of the whole matrix */
  sley_matrix_source source;
  int64_t k, cover_rows;
  double load_ms;
  sley_status status; /* that reading or writing failed with, on all ranks, with this message */
  char message[CLI_REASON];
} cli_found;

/* Whether the transport counted what the plan predicted. */
bool cli_result_as_predicted(const cli_result *result);

/* Runs the algorithms in turn on ranks that are started once; rank 0 checks each one's Y, if asked to, before
 * the next begins. results, one for each algorithm, are zeroed and shared memory where ranks are processes;
 * under a launcher only rank 0's are checked. Y of the last is left in operands (under a launcher: rank 0's).
 * One of several algorithms may be impossible. On devices other than the CPU X and Y are copied there and
 * back outside the times, and a product's time ends when the device is done. Where the device does not hold
 * all columns beside the plan, X and Y stay in the host's memory and one block of columns is copied at a
 * time, within the times. After an error those results hold that have run. Of a spread job operands is not
 * looked at, and Y is written as measure says; found, shared memory too, receives what is known then. */
sley_status cli_measure_run(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                            cli_result *results, cli_found *found);

/* The least covers' size (sley_plan_info.cover_rows) by a dry plan, for algorithms that do not compute it. */
sley_status cli_measure_cover_rows(const cli_job *job, int64_t k, bool transpose, int64_t *out);

/* Checks Y against alpha A X + beta Y0 in float64; fills result->check. */
sley_status cli_measure_verify(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                               cli_result *result);

#endif
