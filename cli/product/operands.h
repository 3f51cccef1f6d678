/* SPDX-License-Identifier: Apache-2.0 */
/* The dense operands of a run: X, read or random; Y, or Z of an update, before and after; W of an update.
 * Rows are in the matrix's order. Operands are whole, unless spread.h creates them. */
#ifndef SLEY_CLI_PRODUCT_OPERANDS_H
#define SLEY_CLI_PRODUCT_OPERANDS_H

#include "matrix/job.h"

enum { CLI_DEFAULT_K = 32 };

typedef struct cli_operands {
  sley_dtype dtype;
  int64_t k, y_cols; /* columns of X, and of Y or Z; also the leading dimensions */
  int64_t x_rows, y_rows;
  void *w;                  /* W of an update, k x y_cols; else NULL */
  bool vector;              /* X's file has one dimension, so Y's file gets one too */
  int64_t x_first, y_first; /* first row in x and in y; 0 unless they hold only a rank's rows */
  void *x, *y;
  size_t shared; /* bytes of y in shared memory; 0: ordinary memory */
  void *y_start; /* initial values of Y if beta is not 0; else NULL */
} cli_operands;

/* Creates the operands. X is read from the .npy file x_path, whose rows are in the order of the matrix's
 * file; if x_path is NULL, X is random and depends on seed, the row's number in the matrix's file, and the
 * column. k -1: as in x_path, else 32. W is random, and created if the job has an update. with_start: Y gets
 * random initial values. *told: the message of SLEY_ERR_ARG or SLEY_ERR_INPUT has already been printed. Other
 * errors: the library's errors. */
sley_status cli_operands_make(const cli_job *job, const char *x_path, int64_t k, sley_dtype dtype,
                              int64_t seed, bool with_start, cli_operands *out, bool *told);
void cli_operands_free(cli_operands *operands);

/* Sets Y's rows [first, first + count) back to their values before the run. */
void cli_operands_reset(const cli_operands *operands, int64_t first, int64_t count);

/* Address of row `first` of X or Y. */
void *cli_operands_x(const cli_operands *operands, int64_t first);
void *cli_operands_y(const cli_operands *operands, int64_t first);

/* Write a message about X's file to text, of room bytes: a wrong number of rows, or of columns. */
void cli_operands_tell_rows(char *text, size_t room, const char *path, const cli_job *job, int64_t rows,
                            int64_t wanted);
void cli_operands_tell_columns(char *text, size_t room, const char *path, int64_t cols, int64_t k);

/* The columns of Y's file; SLEY_VECTOR: one dimension. */
int64_t cli_operands_file_columns(const cli_operands *operands);

/* Returns true if X's file has one dimension. */
bool cli_x_is_vector(const char *path);

/* Writes Y with the rows in the order of the matrix's file. */
sley_status cli_operands_write(const cli_operands *operands, const cli_job *job, const char *path);

#endif
