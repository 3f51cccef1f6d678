/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a matrix that spmm and plan share: load, order, partition, and a rank's row block. */
#ifndef SLEY_CLI_MATRIX_JOB_H
#define SLEY_CLI_MATRIX_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common.h"
#include "matrix/source.h"
#include "options.h"
#include "sley.h"

/* The settings both commands have; they are the first member of their own. */
typedef struct cli_job_settings {
  cli_common common;
  int64_t k;              /* -1: not given */
  int64_t update;         /* columns of W, of an update after the product; 0: there is none */
  const char *algo;       /* NULL: auto */
  const char *dtype_from; /* the file that stores f64, for which dtype was chosen; NULL: it was not */
  bool transpose;
  bool whole; /* every process needs the whole matrix */
} cli_job_settings;

#define CLI_JOB_DEFAULTS                                                                                     \
  {                                                                                                          \
    .common = {.ranks = 4,                                                                                   \
               .seed = 1,                                                                                    \
               .order = "none",                                                                              \
               .partition = "rows",                                                                          \
               .wire = "none",                                                                               \
               .device = "auto",                                                                             \
               .kernel = "auto",                                                                             \
               .precision = "full",                                                                          \
               .reading.base = -1},                                                                          \
    .k = -1                                                                                                  \
  }

/* The common options that both take; bits of common.h. */
enum {
  CLI_JOB_COMMON = CLI_TAKES_RANKS | CLI_TAKES_WORKGROUP | CLI_TAKES_THREADS | CLI_TAKES_DEVICE |
                   CLI_TAKES_KERNEL | CLI_TAKES_PRECISION | CLI_TAKES_WIRE | CLI_TAKES_REPRODUCIBLE |
                   CLI_TAKES_DTYPE | CLI_TAKES_ORDER | CLI_TAKES_PARTITION | CLI_TAKES_SEED |
                   CLI_TAKES_READING | CLI_TAKES_BRIEF | CLI_TAKES_PLOT | CLI_TAKES_JSON
};

extern const cli_option cli_job_options[];

sley_dtype cli_dtype(const char *name);

/* Chooses the dtype where none was given: f64 if the matrix or X (NULL: none) is stored in it, else f32. */
void cli_settle_dtype(cli_job_settings *settings, const char *matrix, const char *x);

/* The same for any command: asked, or where that is NULL f64 if one of the two files (NULL: none) stores it,
 * which *from then names, else f32. *from NULL: none does. */
const char *cli_settled_dtype(const char *asked, const char *matrix, const char *other, const char **from);

typedef struct cli_job {
  const char *name;    /* of the matrix, as given */
  sley_matrix *matrix; /* in the order asked for */
  sley_matrix_info info;
  int64_t *place;    /* row i of the file is row place[i] of matrix; NULL: unordered */
  int64_t *row_name; /* its inverse: row j of matrix is row row_name[j] of the file; NULL: unordered */
  int64_t *row_begin,
      *col_begin;         /* ranks + 1 each: who owns which rows of A, and which rows of its columns */
  int64_t x_rows, y_rows; /* of the whole operands, which a transposed product swaps */
  sley_rank_options ranks;
  double load_ms, order_ms;
  /* Ranks are processes, each of which reads its own rows: matrix stays NULL, and what is known of it is what
   * a rank's copy of the job holds, once it has read. */
  bool spread;
  const cli_job_settings *settings;
  sley_matrix *block;        /* a rank's own rows, if spread */
  sley_matrix_source source; /* what they were read as */
} cli_job;

/* Milliseconds of a monotonic clock. */
double cli_now_ms(void);

/* The status of reading a file that failed so: one that does not exist is a wrong word, not a failure at
 * work. */
sley_status cli_input_status(sley_status status, const char *name);

/* Bytes that standard input may have: what all ranks may take; 0: no limit was given. */
int64_t cli_stdin_limit(const cli_job_settings *settings);

/* Loads a matrix with progress, and notes what it was read as. threads 0: all cores; unpack_limit: of a
 * compressed file or a pipe, 0: any; reading NULL: as the file says. */
sley_status cli_load(const char *name, const char *dtype, int64_t threads, int64_t seed, int64_t unpack_limit,
                     const cli_reading *reading, sley_matrix **out);

/* Finds the order and replaces *matrix by the matrix in that order, rows and columns alike. *place (rows
 * entries, freed by sley_buffer_free) receives the order. */
sley_status cli_apply_order(sley_matrix **matrix, const char *order, int64_t threads, int64_t seed,
                            int64_t **place);

/* Partitions a matrix for ranks: *row_begin and *col_begin, freed by sley_buffer_free. A square matrix's
 * columns go as its rows do, another's equally. */
sley_status cli_partition(const sley_matrix *matrix, const char *partition, int ranks, int64_t **row_begin,
                          int64_t **col_begin);

/* Threads for work on the whole matrix: those of all ranks; 0: all cores. */
int64_t cli_job_threads(const cli_job *job);

/* Partitions the job's matrix anew, for other ranks. */
sley_status cli_job_divide(cli_job *job, const cli_job_settings *settings, int ranks);

/* Load, order, partition for ranks on a transport (NULL: threads). Where ranks are processes, and nothing
 * needs the whole matrix, as orders and --transpose do, they read it themselves. On an error nothing is left
 * behind.
 */
sley_status cli_job_start(const char *name, const cli_job_settings *settings, const char *transport,
                          const char *trace, cli_job *job);
void cli_job_end(cli_job *job);

/* A rank's rows of the matrix as a view; the job outlives it. */
sley_status cli_job_block(const cli_job *job, sley_comm *comm, sley_matrix **out);

/* What a spread job is to one rank, which reads its rows; ended by cli_job_end. Collective. */
sley_status cli_job_read(const cli_job *job, sley_comm *comm, cli_job *out);

/* A device asked for by name must be there before any work begins: one that is not gives the library's error.
 * On a transport between processes the ranks' own processes look for it. */
sley_status cli_check_device(const char *device, const char *transport);

/* Whether X and Y count with a plan on the rank's device: where they are copied there, or a limit was given.
 */
bool cli_counts_operands(const sley_comm *comm, int64_t mem_limit);

#endif
