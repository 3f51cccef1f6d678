/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that spmm and plan share: load a matrix, order it, partition it, and take a rank's row block. */
#ifndef SLEY_CLI_MATRIX_JOB_H
#define SLEY_CLI_MATRIX_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common.h"
#include "matrix/source.h"
#include "options.h"
#include "sley.h"

/* The settings that both commands have, as the first member of their own settings. */
typedef struct cli_job_settings {
  cli_common common;
  int64_t k;              /* -1: not given, see CLI_DEFAULT_K */
  int64_t update;         /* columns of W of an update after the product; 0: no update */
  const char *algo;       /* NULL: auto */
  const char *dtype_from; /* file that stores f64, because of which dtype was chosen; NULL: none */
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

/* The common options that both commands take; bits of common.h. */
enum {
  CLI_JOB_COMMON = CLI_TAKES_RANKS | CLI_TAKES_WORKGROUP | CLI_TAKES_THREADS | CLI_TAKES_DEVICE |
                   CLI_TAKES_KERNEL | CLI_TAKES_PRECISION | CLI_TAKES_WIRE | CLI_TAKES_REPRODUCIBLE |
                   CLI_TAKES_DTYPE | CLI_TAKES_ORDER | CLI_TAKES_PARTITION | CLI_TAKES_SEED |
                   CLI_TAKES_READING | CLI_TAKES_BRIEF | CLI_TAKES_PLOT | CLI_TAKES_JSON
};

extern const cli_option cli_job_options[];

sley_dtype cli_dtype(const char *name);

/* Chooses the dtype if none was given: f64 if the matrix or X (NULL: none) is stored in f64, else f32. */
void cli_settle_dtype(cli_job_settings *settings, const char *matrix, const char *x);

/* Chooses the dtype for any command: asked, or, if that is NULL, f64 if one of the two files (NULL: none)
 * stores f64, else f32. *from: the file that stores f64 and decided the choice; NULL: none. */
const char *cli_settled_dtype(const char *asked, const char *matrix, const char *other, const char **from);

typedef struct cli_job {
  const char *name;    /* name of the matrix, as given */
  sley_matrix *matrix; /* the whole matrix, in the requested order; NULL if spread */
  sley_matrix_info info;
  int64_t *place; /* row i of the file is row place[i] of matrix; NULL: unordered */
  int64_t
      *row_name; /* the inverse of place: row j of matrix is row row_name[j] of the file; NULL: unordered */
  /* ranks + 1 elements each: rank r owns rows row_begin[r] to row_begin[r + 1] of A and Y, and rows
   * col_begin[r] to col_begin[r + 1] of X */
  int64_t *row_begin, *col_begin;
  int64_t x_rows, y_rows; /* rows of the whole operands; a transposed product swaps them */
  sley_rank_options ranks;
  double load_ms, order_ms;
  /* true: ranks are processes that read only their own rows. Then matrix is NULL, and the other data about
   * the matrix is only in each rank's copy of the job, after cli_job_read. */
  bool spread;
  const cli_job_settings *settings;
  sley_matrix *block;        /* the rank's own rows, if spread */
  sley_matrix_source source; /* the format and base of the file that was read */
} cli_job;

/* Returns the time of a monotonic clock in ms. */
double cli_now_ms(void);

/* Changes SLEY_ERR_IO of reading a file to SLEY_ERR_INPUT if the file does not exist, because that is wrong
 * usage. */
sley_status cli_input_status(sley_status status, const char *name);

/* Returns the maximum number of bytes of standard input: the memory limit of all ranks together; 0: no limit
   was given. */
int64_t cli_stdin_limit(const cli_job_settings *settings);

/* Loads a matrix, shows progress, and notes the format and base of the file for reports. threads 0: all
 * cores; unpack_limit: most bytes of a compressed file or a pipe, 0: no limit; reading NULL: the file
 * determines format and base. */
sley_status cli_load(const char *name, const char *dtype, int64_t threads, int64_t seed, int64_t unpack_limit,
                     const cli_reading *reading, sley_matrix **out);

/* Computes an order and replaces *matrix by the matrix in that order of rows and columns. *place receives the
 * order (one element per row; freed with sley_buffer_free). */
sley_status cli_apply_order(sley_matrix **matrix, const char *order, int64_t threads, int64_t seed,
                            int64_t **place);

/* Makes the inverse of an order of `rows` rows: (*out)[place[i]] = i; freed with sley_buffer_free. */
sley_status cli_invert_order(const int64_t *place, int64_t rows, int64_t **out);

/* Partitions a matrix among ranks: sets *row_begin and *col_begin, freed with sley_buffer_free. Columns of a
 * square matrix are divided like its rows, columns of other matrices equally. */
sley_status cli_partition(const sley_matrix *matrix, const char *partition, int ranks, int64_t **row_begin,
                          int64_t **col_begin);

/* Threads for work on the whole matrix: the sum over the ranks; 0: all cores. */
int64_t cli_job_threads(const cli_job *job);

/* Partitions the job's matrix again, for another number of ranks. */
sley_status cli_job_divide(cli_job *job, const cli_job_settings *settings, int ranks);

/* Loads, orders and partitions a matrix for ranks on a transport (NULL: threads). If ranks are processes and
 * nothing needs the whole matrix, as orders, --transpose and updates do, the job is spread: the ranks read
 * the matrix themselves. After an error nothing must be freed. */
sley_status cli_job_start(const char *name, const cli_job_settings *settings, const char *transport,
                          const char *trace, cli_job *job);
void cli_job_end(cli_job *job);

/* Sets *out to a rank's rows of the matrix, as a view that the job must outlive. */
sley_status cli_job_block(const cli_job *job, sley_comm *comm, sley_matrix **out);

/* Creates one rank's copy of a spread job, and reads its rows. The caller calls cli_job_end. Collective. */
sley_status cli_job_read(const cli_job *job, sley_comm *comm, cli_job *out);

/* Checks before any work that the requested device exists; if not, returns the library's error. With a
 * transport between processes, another process looks for it; under a launcher, it is checked when the ranks
 * meet. */
sley_status cli_check_device(const char *device, const char *transport);

/* Returns true if X and Y count as memory of a plan on the rank's device: if they are copied there, or if a
 * limit was given. */
bool cli_counts_operands(const sley_comm *comm, int64_t mem_limit);

#endif
