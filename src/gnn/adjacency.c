/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of rows themselves, and normalisation. */
#include "gnn/adjacency.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "plan/colset.h"

/* The entries of row i, with exactly one of column `own`, before the first column that is greater. */
static int64_t copy_row(const sley_matrix *from, int64_t i, int64_t own, void *col, int64_t at) {
  bool there = false;
  for (int64_t e = from->rowptr[i]; e < from->rowptr[i + 1]; e++) {
    const int64_t column = sl_index_at(from->col, from->index, e);
    if (column == own)
      continue;
    if (column > own && !there) {
      sl_index_set(col, from->index, at++, own);
      there = true;
    }
    sl_index_set(col, from->index, at++, column);
  }
  if (!there)
    sl_index_set(col, from->index, at++, own);
  return at;
}

static sley_status copy_entries(const sley_matrix *block, int64_t first, bool loops, sley_dtype dtype,
                                sley_matrix **out) {
  sl_csr_arrays arrays;
  int64_t at = 0;
  SL_TRY(
      sl_csr_arrays_alloc(block->rows, block->nnz + (loops ? block->rows : 0), block->index, dtype, &arrays));
  for (int64_t i = 0; i < block->rows; i++) {
    arrays.rowptr[i] = at;
    if (loops) {
      at = copy_row(block, i, first + i, arrays.col, at);
    } else {
      for (int64_t e = block->rowptr[i]; e < block->rowptr[i + 1]; e++)
        sl_index_set(arrays.col, block->index, at++, sl_index_at(block->col, block->index, e));
    }
  }
  arrays.rowptr[block->rows] = at;
  return sl_matrix_adopt(block->rows, block->cols, block->index, dtype, arrays, at, out);
}

/* ---- degrees: entries of a row, of this rank's and of those that its columns name */

typedef struct degrees {
  sl_comm *comm;
  const sley_matrix *block;
  const int64_t *row_begin;
  sl_colset remote;
  int64_t *column; /* the remote ones, ascending */
  int64_t *degree; /* of their rows */
} degrees;

static int64_t degree_of_own(const degrees *d, int64_t row) {
  const int64_t i = row - d->row_begin[d->comm->rank];
  return d->block->rowptr[i + 1] - d->block->rowptr[i];
}

static bool is_own(const degrees *d, int64_t column) {
  return column >= d->row_begin[d->comm->rank] && column < d->row_begin[d->comm->rank + 1];
}

static int64_t remote_columns(const void *context, int64_t begin, int64_t end, int64_t *out) {
  const degrees *d = context;
  int64_t found = 0;
  for (int64_t e = begin; e < end; e++) {
    const int64_t column = sl_index_at(d->block->col, d->block->index, e);
    if (!is_own(d, column))
      out[found++] = column;
  }
  return found;
}

static sley_status list_remote(degrees *d) {
  const sl_colset_source source = {d->comm->size == 1 ? 0 : d->block->nnz, remote_columns, d};
  SL_TRY(sl_colset_build(d->row_begin[d->comm->size], &source, d->comm->team, &d->remote));
  SL_TRY(SL_NEW(d->column, d->remote.count, "columns of other ranks"));
  sl_colset_list(&d->remote, d->column);
  return SLEY_OK;
}

/* How many of the columns each rank owns. */
static void count_by_owner(const degrees *d, int64_t *count) {
  int owner = 0;
  memset(count, 0, (size_t)d->comm->size * sizeof *count);
  for (int64_t i = 0; i < d->remote.count; i++) {
    while (d->column[i] >= d->row_begin[owner + 1])
      owner++;
    count[owner]++;
  }
}

/* Rows are asked of their owners, who answer with degrees in the same order. Collective, agreed. */
static sley_status ask_owners(degrees *d, int64_t *asks, int64_t *asked, int64_t *answered) {
  void *rows = NULL, *answers = NULL;
  int64_t count = 0;
  count_by_owner(d, asks);
  SL_TRY(sl_exchange_items(d->comm, sizeof(int64_t), d->column, asks, &rows, asked));
  for (int p = 0; p < d->comm->size; p++)
    count += asked[p];
  int64_t *row = rows;
  for (int64_t i = 0; i < count; i++)
    row[i] = is_own(d, row[i]) ? degree_of_own(d, row[i]) : 0;
  const sley_status status = sl_exchange_items(d->comm, sizeof(int64_t), row, asked, &answers, answered);
  sl_free(rows);
  d->degree = answers;
  return status;
}

static sley_status fetch(degrees *d) {
  int64_t *counts = NULL;
  SL_TRY(sl_agree(d->comm, list_remote(d)));
  SL_TRY(sl_agree(d->comm, SL_NEW(counts, 3 * (int64_t)d->comm->size, "degrees")));
  const sley_status status =
      ask_owners(d, counts, counts + d->comm->size, counts + 2 * (int64_t)d->comm->size);
  sl_free(counts);
  return status;
}

static double degree_of(const degrees *d, int64_t column) {
  return (double)(is_own(d, column) ? degree_of_own(d, column)
                                    : d->degree[sl_colset_place(&d->remote, column)]);
}

/* ---- values */

static void set_values(const degrees *d, sl_norm norm, sley_matrix *m) {
  const int64_t first = d->row_begin[d->comm->rank];
  for (int64_t i = 0; i < m->rows; i++) {
    const double own = (double)degree_of_own(d, first + i);
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      sl_value_set((void *)m->val, m->dtype, e,
                   norm == SL_NORM_NONE   ? 1
                   : norm == SL_NORM_MEAN ? 1 / own
                                          : 1 / sqrt(own * degree_of(d, sl_index_at(m->col, m->index, e))));
  }
}

sley_status sl_adjacency_make(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin, bool loops,
                              sl_norm norm, sley_dtype dtype, sley_matrix **out) {
  *out = NULL;
  SL_TRY(sl_agree(comm, copy_entries(block, row_begin[comm->rank], loops, dtype, out)));
  degrees d = {.comm = comm, .block = *out, .row_begin = row_begin};
  const sley_status status = norm == SL_NORM_SYMMETRIC ? fetch(&d) : SLEY_OK;
  if (status == SLEY_OK) {
    set_values(&d, norm, *out);
  } else {
    sley_matrix_destroy(*out);
    *out = NULL;
  }
  sl_free(d.degree);
  sl_free(d.column);
  sl_colset_free(&d.remote);
  return status;
}
