/* SPDX-License-Identifier: Apache-2.0 */
/* Operands, check and output of ranks that hold only their own rows. */
#include "product/spread.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/terminal.h"
#include "ranks/agree.h"

static sley_status alloc(int64_t count, int64_t each, void **out) {
  int64_t bytes;
  return sley_buffer_alloc(__builtin_mul_overflow(count, each, &bytes) ? INT64_MAX : bytes, out);
}

/* ---- operands */

/* Checks the shape of X in its file, and reads the rank's rows. */
static sley_status read_x(const cli_job *job, const cli_measure *measure, int64_t first, int64_t count,
                          cli_operands *out, char *message) {
  int64_t rows = 0, cols = 0;
  void *nothing = NULL;
  sley_status status = sley_dense_read_rows(measure->x, out->dtype, NULL, 0, 0, &rows, &cols, &nothing);
  sley_buffer_free(nothing);
  if (status != SLEY_OK)
    return cli_input_status(status, measure->x);
  out->vector = measure->vector;
  if (rows != out->x_rows) {
    cli_operands_tell_rows(message, CLI_REASON, measure->x, job, rows, out->x_rows);
    return SLEY_ERR_ARG;
  }
  if (measure->k >= 0 && measure->k != cols) {
    cli_operands_tell_columns(message, CLI_REASON, measure->x, cols, measure->k);
    return SLEY_ERR_ARG;
  }
  out->k = cols;
  return sley_dense_read_rows(measure->x, out->dtype, NULL, first, count, &rows, &cols, &out->x);
}

sley_status cli_spread_operands(const sley_comm *comm, const cli_job *job, const cli_measure *measure,
                                cli_operands *out, char *message) {
  int rank = sley_comm_rank(comm);
  int64_t x_count = job->col_begin[rank + 1] - job->col_begin[rank];
  int64_t y_count = job->row_begin[rank + 1] - job->row_begin[rank];
  uint64_t seed = (uint64_t)job->settings->common.seed;
  *out = (cli_operands){.dtype = job->info.dtype,
                        .k = measure->k < 0 ? CLI_DEFAULT_K : measure->k,
                        .x_rows = job->x_rows,
                        .y_rows = job->y_rows,
                        .x_first = job->col_begin[rank],
                        .y_first = job->row_begin[rank]};
  message[0] = '\0';
  sley_status status = SLEY_OK;
  if (measure->x)
    status = read_x(job, measure, out->x_first, x_count, out, message);
  int64_t row = out->k * (int64_t)sley_dtype_bytes(out->dtype);
  out->y_cols = out->k;
  if (status == SLEY_OK && !measure->x) {
    status = alloc(x_count, row, &out->x);
    if (status == SLEY_OK)
      status = sley_dense_random(seed, out->x_first, x_count, out->k, NULL, out->dtype, out->x, out->k);
  }
  if (status == SLEY_OK)
    status = alloc(y_count, row, &out->y);
  if (status == SLEY_OK && measure->beta != 0) {
    status = alloc(y_count, row, &out->y_start);
    if (status == SLEY_OK)
      status =
          sley_dense_random(seed + 1, out->y_first, y_count, out->k, NULL, out->dtype, out->y_start, out->k);
  }
  if (status != SLEY_OK)
    cli_operands_free(out);
  return status;
}

/* ---- check */

enum { BITS = 64 };

/* The distinct columns of a block's entries, numbered in ascending order. */
typedef struct columns {
  uint64_t *bits;  /* one bit per column of the matrix: whether the block has entries there */
  int64_t *before; /* for each word of bits, the number of columns set before it */
  int64_t count;
  int64_t *name; /* for each listed column, its number in the matrix */
} columns;

static int64_t column(const sley_csr *csr, int64_t e) {
  return csr->index == SLEY_I32 ? ((const int32_t *)csr->col)[e] : ((const int64_t *)csr->col)[e];
}

static void free_columns(columns *c) {
  sley_buffer_free(c->bits);
  sley_buffer_free(c->before);
  sley_buffer_free(c->name);
}

static sley_status find_columns(const sley_csr *csr, columns *out) {
  int64_t words = csr->cols / BITS + 1;
  *out = (columns){0};
  sley_status status = alloc(words, sizeof *out->bits, (void **)&out->bits);
  if (status == SLEY_OK)
    status = alloc(words, sizeof *out->before, (void **)&out->before);
  if (status != SLEY_OK)
    return status;
  memset(out->bits, 0, (size_t)words * sizeof *out->bits);
  for (int64_t e = csr->rowptr[0]; e < csr->rowptr[csr->rows]; e++)
    out->bits[column(csr, e) / BITS] |= UINT64_C(1) << (column(csr, e) % BITS);
  for (int64_t w = 0; w < words; w++) {
    out->before[w] = out->count;
    out->count += __builtin_popcountll(out->bits[w]);
  }
  status = alloc(out->count, sizeof *out->name, (void **)&out->name);
  for (int64_t w = 0, i = 0; w < words && status == SLEY_OK; w++)
    for (uint64_t bits = out->bits[w]; bits; bits &= bits - 1)
      out->name[i++] = w * BITS + __builtin_ctzll(bits);
  return status;
}

/* The block with renumbered columns, and the corresponding rows of X. */
typedef struct oracle {
  int64_t *rowptr, *col;
  sley_matrix *matrix;
  void *x;
} oracle;

static void free_oracle(oracle *o) {
  sley_matrix_destroy(o->matrix);
  sley_buffer_free(o->rowptr);
  sley_buffer_free(o->col);
  sley_buffer_free(o->x);
}

static sley_status renumber(const sley_csr *csr, const columns *c, oracle *out) {
  int64_t start = csr->rowptr[0], nnz = csr->rowptr[csr->rows] - start;
  sley_status status = alloc(csr->rows + 1, sizeof *out->rowptr, (void **)&out->rowptr);
  if (status == SLEY_OK)
    status = alloc(nnz, sizeof *out->col, (void **)&out->col);
  if (status != SLEY_OK)
    return status;
  for (int64_t i = 0; i <= csr->rows; i++)
    out->rowptr[i] = csr->rowptr[i] - start;
  for (int64_t e = 0; e < nnz; e++) {
    int64_t col = column(csr, start + e), word = col / BITS;
    uint64_t below = c->bits[word] & ((UINT64_C(1) << (col % BITS)) - 1);
    out->col[e] = c->before[word] + __builtin_popcountll(below);
  }
  sley_csr compact = {.rows = csr->rows,
                      .cols = c->count,
                      .rowptr = out->rowptr,
                      .col = out->col,
                      .val = (const char *)csr->val + (size_t)start * sley_dtype_bytes(csr->dtype),
                      .index = SLEY_I64,
                      .dtype = csr->dtype};
  return sley_matrix_from_csr(&compact, SLEY_BORROW, &out->matrix);
}

static sley_status make_oracle(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                               oracle *out) {
  sley_csr csr;
  columns c = {0};
  int64_t rows, cols;
  *out = (oracle){0};
  sley_status status = sley_matrix_csr(job->block, &csr);
  if (status == SLEY_OK)
    status = find_columns(&csr, &c);
  if (status == SLEY_OK)
    status = renumber(&csr, &c, out);
  if (status == SLEY_OK && measure->x) {
    status = sley_dense_read_rows(measure->x, operands->dtype, c.name, 0, c.count, &rows, &cols, &out->x);
  } else if (status == SLEY_OK) {
    status = alloc(c.count, operands->k * (int64_t)sley_dtype_bytes(operands->dtype), &out->x);
    if (status == SLEY_OK)
      status = sley_dense_random((uint64_t)job->settings->common.seed, 0, c.count, operands->k, c.name,
                                 operands->dtype, out->x, operands->k);
  }
  free_columns(&c);
  return status;
}

/* Threads of this rank's check: the ranks of a host share its cores. */
static int threads_of(const sley_comm *comm, const cli_job *job) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN) / sley_comm_workgroup(comm);
  return job->ranks.threads > 0 ? job->ranks.threads : cores > 1 ? (int)cores : 1;
}

sley_status cli_spread_verify(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                              const cli_measure *measure, cli_result *result) {
  oracle o;
  int64_t k = operands->k;
  double beta = operands->y_start ? measure->beta : 0; /* without initial values Y was zero */
  if (sley_comm_rank(comm) == 0)
    cli_progress("verifying", 0, 0);
  sley_status status = make_oracle(job, operands, measure, &o);
  if (status == SLEY_OK)
    status = sley_check_wire(o.matrix, false, k, measure->alpha, o.x, k, beta, operands->y_start, k,
                             operands->y, k, threads_of(comm, job), &result->info, &result->check);
  free_oracle(&o);
  result->check.row += operands->y_first;
  if (status == SLEY_OK)
    status = cli_agree_check(comm, &result->check);
  if (sley_comm_rank(comm) == 0)
    cli_progress_clear();
  result->verified = status == SLEY_OK;
  return status;
}

/* ---- covers, and Y */

sley_status cli_spread_cover_rows(sley_comm *comm, const cli_job *job, int64_t k, int64_t *out) {
  sley_plan *plan = NULL;
  sley_plan_info info;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "cover";
  options.dry = true;
  sley_status status = sley_plan_create(comm, job->block, job->row_begin, job->col_begin, k, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK)
    *out = info.cover_rows;
  sley_plan_destroy(plan);
  return status;
}

sley_status cli_spread_write(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                             const char *path, bool wanted) {
  int rank = sley_comm_rank(comm);
  int64_t write = rank == 0 && wanted, first = job->row_begin[rank];
  sley_status status = sley_comm_allreduce(comm, SLEY_MAX, &write, 1);
  if (status != SLEY_OK || !write)
    return status;
  return sley_dense_write_rows(comm, path ? path : "Y", operands->dtype, operands->y_rows,
                               cli_operands_file_columns(operands), first, job->row_begin[rank + 1] - first,
                               operands->y, operands->k);
}
