/* SPDX-License-Identifier: Apache-2.0 */
/* Adds diagonal entries, and normalizes values. */
#include "gnn/adjacency.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "plan/colset.h"

enum { GRAIN = 4096 }; /* in rows */

/* ---- entries */

typedef struct copying {
  const sley_matrix *from;
  int64_t first; /* global number of the first row */
  bool loops, values;
  sley_dtype dtype; /* type of the values in `to` */
  const sl_csr_arrays *to;
} copying;

/* Number of entries of row i, with exactly one in column `own`. */
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

static double value_at(const copying *c, int64_t e) {
  return c->values ? sl_value_at(c->from->val, c->from->dtype, e) : 1;
}

/* Value of the entry in column `own`: the sum of its repeats; 1 if row i has none. */
static double value_of_own(const copying *c, int64_t i, int64_t own) {
  double sum = 0;
  bool there = false;
  for (int64_t e = c->from->rowptr[i]; c->values && e < c->from->rowptr[i + 1]; e++)
    if (sl_index_at(c->from->col, c->from->index, e) == own) {
      sum += value_at(c, e);
      there = true;
    }
  return there ? sum : 1;
}

static void put(const copying *c, int64_t at, int64_t column, double value) {
  sl_index_set(c->to->col, c->from->index, at, column);
  sl_value_set(c->to->val, c->dtype, at, value);
}

/* Copies row i, with exactly one entry in column `own`, before the first greater column. */
static void copy_looped(const copying *c, int64_t i, int64_t own) {
  const sley_matrix *from = c->from;
  const double own_value = value_of_own(c, i, own);
  int64_t at = c->to->rowptr[i];
  bool there = false;
  for (int64_t e = from->rowptr[i]; e < from->rowptr[i + 1]; e++) {
    const int64_t column = sl_index_at(from->col, from->index, e);
    if (column == own)
      continue;
    if (column > own && !there) {
      put(c, at++, own, own_value);
      there = true;
    }
    put(c, at++, column, value_at(c, e));
  }
  if (!there)
    put(c, at, own, own_value);
}

static sley_status copy_rows(void *context, int64_t begin, int64_t end, int thread) {
  const copying *c = context;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    if (c->loops) {
      copy_looped(c, i, c->first + i);
      continue;
    }
    int64_t at = c->to->rowptr[i];
    for (int64_t e = c->from->rowptr[i]; e < c->from->rowptr[i + 1]; e++)
      put(c, at++, sl_index_at(c->from->col, c->from->index, e), value_at(c, e));
  }
  return SLEY_OK;
}

static sley_status copy_entries(sl_team *team, const sley_matrix *block, int64_t first, bool loops,
                                bool values, sley_dtype dtype, sley_matrix **out) {
  sl_csr_arrays arrays;
  SL_TRY(
      sl_csr_arrays_alloc(block->rows, block->nnz + (loops ? block->rows : 0), block->index, dtype, &arrays));
  copying c = {
      .from = block, .first = first, .loops = loops, .values = values, .dtype = dtype, .to = &arrays};
  arrays.rowptr[0] = 0;
  sley_status status = sl_team_for(team, block->rows, GRAIN, count_rows, &c);
  sl_team_sum_up(team, arrays.rowptr + 1, block->rows);
  if (status == SLEY_OK)
    status = sl_team_for(team, block->rows, GRAIN, copy_rows, &c);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&arrays);
    return status;
  }
  return sl_matrix_adopt(block->rows, block->cols, block->index, dtype, arrays, arrays.rowptr[block->rows],
                         out);
}

/* ---- degrees: the sum of the values of each row, for this rank's rows and the rows that its columns name */

typedef struct degrees {
  sl_comm *comm;
  const sley_matrix *block; /* matrix whose values are the values of A, or 1 */
  const int64_t *row_begin;
  double *own; /* degrees of this rank's rows */
  sl_colset remote;
  int64_t *column; /* remote columns, ascending */
  double *degree;  /* degrees of the rows that its columns name */
} degrees;

static double degree_of_own(const degrees *d, int64_t row) {
  return d->own[row - d->row_begin[d->comm->rank]];
}

/* The sums of this rank's rows. Nothing is divided by the sum of a row without entries, so that sum does not
 * matter. */
typedef struct summing {
  degrees *d;
  _Atomic int64_t wrong; /* first row with a sum that nothing can be divided by; the number of rows: none */
} summing;

static sley_status sum_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  summing *s = context;
  const sley_matrix *m = s->d->block;
  double *own = s->d->own;
  for (int64_t i = begin; i < end; i++) {
    own[i] = 0;
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      own[i] += sl_value_at(m->val, m->dtype, e);
    int64_t wrong = atomic_load(&s->wrong);
    if (m->rowptr[i + 1] > m->rowptr[i] && !(own[i] > 0 && own[i] <= DBL_MAX))
      while (i < wrong && !atomic_compare_exchange_weak(&s->wrong, &wrong, i)) {
      }
  }
  return SLEY_OK;
}

static sley_status sum_own(degrees *d) {
  const int64_t rows = d->block->rows;
  summing s = {.d = d};
  atomic_init(&s.wrong, rows);
  SL_TRY(SL_NEW(d->own, rows, "degrees"));
  SL_TRY(sl_team_for(d->comm->team, rows, GRAIN, sum_rows, &s));
  const int64_t wrong = atomic_load(&s.wrong);
  if (wrong == rows)
    return SLEY_OK;
  return sl_fail(
      SLEY_ERR_INPUT,
      "a graph's weights: the weights of row %lld add up to %g: this model divides by the sum, which must be "
      "above 0",
      (long long)(d->row_begin[d->comm->rank] + wrong + 1), d->own[wrong]);
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

/* Counts the columns that each rank owns. */
static void count_by_owner(const degrees *d, int64_t *count) {
  int owner = 0;
  memset(count, 0, (size_t)d->comm->size * sizeof *count);
  for (int64_t i = 0; i < d->remote.count; i++) {
    while (d->column[i] >= d->row_begin[owner + 1])
      owner++;
    count[owner]++;
  }
}

/* Sends column numbers to their owners, who answer with degrees in the same order. Collective, agreed. */
static sley_status ask_owners(degrees *d, int64_t *asks, int64_t *asked, int64_t *answered) {
  void *rows = NULL, *answers = NULL;
  int64_t count = 0;
  count_by_owner(d, asks);
  SL_TRY(sl_exchange_items(d->comm, sizeof(int64_t), d->column, asks, &rows, asked));
  for (int p = 0; p < d->comm->size; p++)
    count += asked[p];
  const int64_t *row = rows;
  double *answer = rows; /* degrees replace the row numbers, which have the same size */
  for (int64_t i = 0; i < count; i++)
    answer[i] = is_own(d, row[i]) ? degree_of_own(d, row[i]) : 0;
  const sley_status status = sl_exchange_items(d->comm, sizeof(double), answer, asked, &answers, answered);
  sl_free(rows);
  d->degree = answers;
  return status;
}

static sley_status fetch(degrees *d) {
  int64_t *counts = NULL;
  SL_TRY(sl_agree(d->comm, list_remote(d)));
  sley_status status = sl_agree(d->comm, SL_NEW(counts, 3 * (int64_t)d->comm->size, "degrees"));
  if (status == SLEY_OK)
    status = ask_owners(d, counts, counts + d->comm->size, counts + 2 * (int64_t)d->comm->size);
  sl_free(counts);
  return status;
}

static double degree_of(const degrees *d, int64_t column) {
  return is_own(d, column) ? degree_of_own(d, column) : d->degree[sl_colset_place(&d->remote, column)];
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
    const double own = d->own[i];
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      sl_value_set(
          (void *)m->val, m->dtype, e,
          sl_value_at(m->val, m->dtype, e) /
              (v->norm == SL_NORM_MEAN ? own : sqrt(own * degree_of(d, sl_index_at(m->col, m->index, e)))));
  }
  return SLEY_OK;
}

static sley_status normalise(degrees *d, sl_norm norm, sley_matrix *m) {
  sl_comm_begin_work(d->comm, "weighing entries", norm == SL_NORM_SYMMETRIC && d->comm->size > 1 ? 4 : 2);
  SL_TRY(sl_agree(d->comm, sum_own(d)));
  if (norm == SL_NORM_SYMMETRIC)
    SL_TRY(fetch(d));
  return sl_team_for(d->comm->team, m->rows, GRAIN, set_rows, &(values){d, norm, m});
}

sley_status sl_adjacency_make(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin, bool loops,
                              bool weights, sl_norm norm, sley_dtype dtype, sley_matrix **out) {
  *out = NULL;
  sl_comm_begin_work(comm, "copying the graph", 2);
  sley_status status =
      sl_agree(comm, copy_entries(comm->team, block, row_begin[comm->rank], loops, weights, dtype, out));
  degrees d = {.comm = comm, .block = *out, .row_begin = row_begin};
  if (status == SLEY_OK && norm != SL_NORM_NONE)
    status = normalise(&d, norm, *out);
  if (status != SLEY_OK) {
    sl_matrix_destroy(*out);
    *out = NULL;
  }
  sl_free(d.degree);
  sl_free(d.column);
  sl_free(d.own);
  sl_colset_free(&d.remote);
  return status;
}
