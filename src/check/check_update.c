/* SPDX-License-Identifier: Apache-2.0 */
/* Compares Z with (alpha A X) W + beta Z0 in float64. With t entries in a row of A, the error of a value of T
 * is at most (t + 5) eps |alpha A||X|, and the error of the sum over k of them is (k + 3) eps times the sum's
 * magnitude, to first order in eps. So |Z - (alpha A X) W - beta Z0| <= (t + k + 8) eps M, M = |alpha
 * A||X||W| + |beta Z0|, for any order of summation. Rounding to 16 bits and values sent in narrower types add
 * the errors described in check.c.
 *
 * If an entry's float64 value or magnitude is not finite, the entry must not be finite either, or may have
 * any value, because the range of the type may be left on the way to a finite sum. */
#include "check/check_update.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/value.h"

typedef struct update_check {
  const sley_matrix *a;
  const sl_updated_product *u;
  sl_rounding rounding;
  double limit;      /* sums from here on may be infinite in the type of sums */
  double *w;         /* W in double precision, k x n */
  double *w_columns; /* sum of |W| for each column */
  double *lists;     /* 3 k + 2 n per thread */
  pthread_mutex_t lock;
  sl_findings found;
} update_check;

/* Arrays for one row: the row of x, and sums and magnitudes of T, k values each; sums and magnitudes of Z, n
   values each. */
typedef struct row_of_z {
  double *x, *t, *t_size, *z, *z_size;
} row_of_z;

static void sum_t(const update_check *c, int64_t row, const row_of_z *r) {
  const sley_matrix *a = c->a;
  const sl_scaled_product *p = &c->u->product;
  for (int64_t l = 0; l < p->k; l++)
    r->t[l] = r->t_size[l] = 0;
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++) {
    double value = p->alpha * sl_value_at(a->val, a->dtype, e);
    size_t at = (size_t)(sl_index_at(a->col, a->index, e) * p->ldx) * sley_dtype_bytes(a->dtype);
    sl_values_convert(a->dtype, (const char *)p->x + at, SLEY_F64, r->x, p->k);
    for (int64_t l = 0; l < p->k; l++) {
      double term = value * r->x[l];
      r->t[l] += term;
      r->t_size[l] += fabs(term);
    }
  }
}

static void sum_z(const update_check *c, int64_t row, const row_of_z *r) {
  const sl_scaled_product *p = &c->u->product;
  const int64_t n = c->u->n;
  for (int64_t j = 0; j < n; j++) {
    r->z[j] = p->beta == 0 ? 0 : p->beta * sl_value_at(p->y0, c->a->dtype, row * p->ldy0 + j);
    r->z_size[j] = fabs(r->z[j]);
  }
  for (int64_t l = 0; l < p->k; l++) {
    const double *restrict w = c->w + l * n;
    double t = r->t[l], size = r->t_size[l], *restrict z = r->z, *restrict z_size = r->z_size;
    for (int64_t j = 0; j < n; j++) {
      z[j] += t * w[j];
      z_size[j] += size * fabs(w[j]);
    }
  }
}

/* The bound includes errors caused by the wire; least: error of a value of T. */
static sl_finding judge_entry(const update_check *c, const row_of_z *r, double bound, double least,
                              int64_t row, int64_t j) {
  const sl_scaled_product *p = &c->u->product;
  double z = sl_value_at(p->y, c->a->dtype, row * p->ldy + j), sum = r->z[j], size = r->z_size[j];
  if (!(size * (1 + bound) < c->limit)) {
    bool right = isfinite(sum) || !isfinite(z);
    return (sl_finding){
        .relative = right ? 0 : INFINITY, .units = right ? 0 : INFINITY, .row = row, .col = j};
  }
  if (sl_rounding_overflows(&c->rounding, bound, z, sum, size))
    z = sum;
  double allowed = sl_rounding_of_sum(&c->rounding, bound, sum, size) + p->wire_bound * (1 + bound);
  allowed += size > 0 ? least * c->w_columns[j] / size : 0;
  sl_finding f = sl_finding_judge(z, sum, size, allowed, row, j);
  if (isnan(f.units))
    f.relative = f.units = INFINITY;
  return f;
}

static sley_status check_rows(void *context, int64_t begin, int64_t end, int thread) {
  update_check *c = context;
  const sl_scaled_product *p = &c->u->product;
  double *list = c->lists + (3 * p->k + 2 * c->u->n) * thread;
  row_of_z r = {list, list + p->k, list + 2 * p->k, list + 3 * p->k, list + 3 * p->k + c->u->n};
  sl_findings found = SL_NO_FINDINGS;
  for (int64_t row = begin; row < end; row++) {
    sum_t(c, row, &r);
    sum_z(c, row, &r);
    double terms = (double)(c->a->rowptr[row + 1] - c->a->rowptr[row] + p->k + 8);
    double bound = sl_sum_bound(p, terms, c->rounding.eps);
    double least = sl_wire_least(c->a, row, p->alpha, p->wire_bound, p->wire);
    for (int64_t j = 0; j < c->u->n; j++) {
      sl_finding f = judge_entry(c, &r, bound, least, row, j);
      if (isfinite(f.relative)) {
        found.largest = fmax(found.largest, fabs(r.z[j]));
        found.largest_error = fmax(found.largest_error, f.relative * r.z_size[j]);
      }
      if (sl_finding_is_worse(&f, &found.worst))
        found.worst = f;
    }
  }
  pthread_mutex_lock(&c->lock);
  sl_findings_add(&c->found, &found);
  pthread_mutex_unlock(&c->lock);
  return SLEY_OK;
}

static sley_status widen_w(update_check *c, int threads) {
  const sl_updated_product *u = c->u;
  int64_t k = u->product.k;
  SL_TRY(SL_NEW(c->w, k * u->n, "the check's W"));
  SL_TRY(SL_NEW_ZERO(c->w_columns, u->n, "the check's W"));
  SL_TRY(SL_NEW(c->lists, (3 * k + 2 * u->n) * threads, "the check's sums"));
  for (int64_t l = 0; l < k; l++)
    for (int64_t j = 0; j < u->n; j++) {
      c->w[l * u->n + j] = sl_value_at(u->w, c->a->dtype, l * u->ldw + j);
      c->w_columns[j] += fabs(c->w[l * u->n + j]);
    }
  return SLEY_OK;
}

sley_status sl_check_update(const sley_matrix *matrix, const sl_updated_product *updated, sl_team *team,
                            sley_check *out) {
  update_check c = {.a = matrix, .u = updated, .found = SL_NO_FINDINGS};
  c.rounding = sl_rounding_of(matrix->dtype);
  c.limit = sl_sum_dtype(matrix->dtype) == SLEY_F32 ? (double)FLT_MAX : DBL_MAX;
  pthread_mutex_init(&c.lock, NULL);
  sley_status status = widen_w(&c, sl_team_size(team));
  if (status == SLEY_OK)
    status = sl_team_for(team, matrix->rows, 128, check_rows, &c);
  pthread_mutex_destroy(&c.lock);
  sl_free(c.lists);
  sl_free(c.w_columns);
  sl_free(c.w);
  *out = sl_findings_sum_up(&c.found);
  return status;
}
