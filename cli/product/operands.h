/* SPDX-License-Identifier: Apache-2.0 */
/* The dense operands of a run, in the matrix's order, whole unless spread.h makes them: X read or random, W
 * of an update, Y, or Z, before and after. */
#ifndef SLEY_CLI_PRODUCT_OPERANDS_H
#define SLEY_CLI_PRODUCT_OPERANDS_H

#include "matrix/job.h"

enum { CLI_DEFAULT_K = 32 };

typedef struct cli_operands {
  sley_dtype dtype;
  int64_t k, y_cols; /* columns and leading dimensions: of X, and of Y, or Z in its place */
  int64_t x_rows, y_rows;
  void *w;                  /* k x y_cols, of an update; else NULL */
  bool vector;              /* X has one dimension, and so shall Y's file */
  int64_t x_first, y_first; /* the rows that x and y begin with: 0 unless they are a rank's rows alone */
  void *x, *y;
  size_t shared; /* y is so many bytes of shared memory; 0: ordinary memory */
  void *y_start; /* what Y holds before a run with beta other than 0; else NULL */
} cli_operands;

/* Makes W of random values, if the job is to have an update, and X of the .npy at x_path (rows given in the
 * file's order), or of random values that depend on seed, the row's number in the file, and the column. k -1:
 * as x_path has it, else 32. with_start: Y starts from random values. Errors: SLEY_ERR_ARG and SLEY_ERR_INPUT
 * with their message on stderr already (*told set), else the library's. */
sley_status cli_operands_make(const cli_job *job, const char *x_path, int64_t k, sley_dtype dtype,
                              int64_t seed, bool with_start, cli_operands *out, bool *told);
void cli_operands_free(cli_operands *operands);

/* Puts Y's rows [first, first + count) back to what they were before the run. */
void cli_operands_reset(const cli_operands *operands, int64_t first, int64_t count);

/* Row first of X or Y. */
void *cli_operands_x(const cli_operands *operands, int64_t first);
void *cli_operands_y(const cli_operands *operands, int64_t first);

/* What is wrong with X's file: its rows, its columns. */
void cli_operands_tell_rows(char *text, size_t room, const char *path, const cli_job *job, int64_t rows,
                            int64_t wanted);
void cli_operands_tell_columns(char *text, size_t room, const char *path, int64_t cols, int64_t k);

/* The columns of Y's file. */
int64_t cli_operands_file_columns(const cli_operands *operands);

/* Whether X's file has one dimension. */
bool cli_x_is_vector(const char *path);

/* Writes Y in the file's order. */
sley_status cli_operands_write(const cli_operands *operands, const cli_job *job, const char *path);

#endif
