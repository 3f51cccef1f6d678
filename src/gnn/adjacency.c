/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of rows themselves, and normalisation. */
#include "gnn/adjacency.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "plan/colset.h"

enum { GRAIN = 4096 }; /* rows */

/* ---- entries */

typedef struct copying {
  const sley_matrix *from;
  int64_t first; /* of the rows, in the graph */
  bool loops;
  const sl_csr_arrays *to;
} copying;

/* Entries of row i, with exactly one of column `own`. */
static int64_t looped_length(const sley_matrix *from, int64_t i, int64_t own) {
  int64_t length = 1;
  for (int64_t e = from->rowptr[i]; e < from->rowptr[i + 1]; e++)
    length += sl_index_at(from->col, from->index, e) != own;
  return length;
}

static sley_status count_rows(void *context, int64_t begin, int64_t end, int thread) {
  const copying *c = context;
  (void)thread;
  for (int64_t i = begin; i < end; i++)
    c->to->rowptr[i + 1] =
        c->loops ? looped_length(c->from, i, c->first + i) : c->from->rowptr[i + 1] - c->from->rowptr[i];
  return SLEY_OK;
}

/* Row i, with exactly one entry of column `own`, before the first column that is greater. */
static void copy_looped(const sley_matrix *from, int64_t i, int64_t own, void *col, int64_t at) {
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
    sl_index_set(col, from->index, at, own);
}

static sley_status copy_rows(void *context, int64_t begin, int64_t end, int thread) {
  const copying *c = context;
  const size_t bytes = c->from->index == SLEY_I32 ? sizeof(int32_t) : sizeof(int64_t);
  (void)thread;
  if (c->loops)
    for (int64_t i = begin; i < end; i++)
      copy_looped(c->from, i, c->first + i, c->to->col, c->to->rowptr[i]);
  else
    memcpy((char *)c->to->col + (size_t)c->to->rowptr[begin] * bytes,
           (const char *)c->from->col + (size_t)c->from->rowptr[begin] * bytes,
           (size_t)(c->to->rowptr[end] - c->to->rowptr[begin]) * bytes);
  return SLEY_OK;
}

static sley_status copy_entries(sl_team *team, const sley_matrix *block, int64_t first, bool loops,
                                sley_dtype dtype, sley_matrix **out) {
  sl_csr_arrays arrays;
  SL_TRY(
      sl_csr_arrays_alloc(block->rows, block->nnz + (loops ? block->rows : 0), block->index, dtype, &arrays));
  copying c = {.from = block, .first = first, .loops = loops, .to = &arrays};
  arrays.rowptr[0] = 0;
  sley_status status = sl_team_for(team, block->rows, GRAIN, count_rows, &c);
  for (int64_t i = 0; i < block->rows; i++)
    arrays.rowptr[i + 1] += arrays.rowptr[i];
  if (status == SLEY_OK)
    status = sl_team_for(team, block->rows, GRAIN, copy_rows, &c);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&arrays);
    return status;
  }
  return sl_matrix_adopt(block->rows, block->cols, block->index, dtype, arrays, arrays.rowptr[block->rows],
                         out);
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
  return sl_colset_list(&d->remote, d->comm->team, d->column);
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

typedef struct values {
  const degrees *d;
  sl_norm norm;
  sley_matrix *m;
} values;

static sley_status set_rows(void *context, int64_t begin, int64_t end, int thread) {
  const values *v = context;
  const degrees *d = v->d;
  sley_matrix *m = v->m;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const double own = (double)degree_of_own(d, d->row_begin[d->comm->rank] + i);
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      sl_value_set((void *)m->val, m->dtype, e,
                   v->norm == SL_NORM_NONE ? 1
                   : v->norm == SL_NORM_MEAN
                       ? 1 / own
                       : 1 / sqrt(own * degree_of(d, sl_index_at(m->col, m->index, e))));
  }
  return SLEY_OK;
}

sley_status sl_adjacency_make(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin, bool loops,
                              sl_norm norm, sley_dtype dtype, sley_matrix **out) {
  *out = NULL;
  SL_TRY(sl_agree(comm, copy_entries(comm->team, block, row_begin[comm->rank], loops, dtype, out)));
  degrees d = {.comm = comm, .block = *out, .row_begin = row_begin};
  sley_status status = norm == SL_NORM_SYMMETRIC ? fetch(&d) : SLEY_OK;
  if (status == SLEY_OK)
    status = sl_team_for(comm->team, block->rows, GRAIN, set_rows, &(values){&d, norm, *out});
  if (status != SLEY_OK) {
    sley_matrix_destroy(*out);
    *out = NULL;
  }
  sl_free(d.degree);
  sl_free(d.column);
  sl_colset_free(&d.remote);
  return status;
}
