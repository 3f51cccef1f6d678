/* SPDX-License-Identifier: Apache-2.0 */
/* Y against a float64 product. Each entry of Y may be off by what rounding its sum allows: with t terms,
 * |Y - A X| <= (t + 1) eps |A||X|, to first order in eps, for any order of summation. */
#include "ops/check.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "base/memory.h"

/* Where an entry of Y stands against its bound. */
typedef struct finding {
  double relative; /* |Y - A X| / |A||X|; infinite if |A||X| = 0 but the error is not */
  double units;    /* of the bound; above 1: wrong */
  double bound;
  int64_t row, col;
} finding;

typedef struct check {
  const sley_matrix *a;
  int64_t k, ldx, ldy;
  const void *x, *y;
  double eps;
  double *sums; /* 2 k a thread: A X and |A||X| of a row */
  pthread_mutex_t lock;
  finding worst;
} check;

static double value_at(const void *array, sley_dtype dtype, int64_t i) {
  return dtype == SLEY_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* A X and |A||X| of one row, in double. */
static void sum_row(const check *c, int64_t row, double *sum, double *magnitude) {
  const sley_matrix *a = c->a;
  for (int64_t j = 0; j < c->k; j++)
    sum[j] = magnitude[j] = 0;
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++) {
    double value = value_at(a->val, a->dtype, e);
    int64_t at = sl_index_at(a->col, a->index, e) * c->ldx;
    for (int64_t j = 0; j < c->k; j++) {
      double term = value * value_at(c->x, a->dtype, at + j);
      sum[j] += term;
      magnitude[j] += fabs(term);
    }
  }
}

static finding judge(double y, double sum, double magnitude, double bound, int64_t row, int64_t col) {
  finding f = {.bound = bound, .row = row, .col = col};
  double error = fabs(y - sum);
  if (error == 0)
    return f;
  f.relative = magnitude > 0 ? error / magnitude : INFINITY;
  f.units = f.relative / bound;
  if (isnan(f.units)) /* a NaN or infinity on either side */
    f.relative = f.units = y == sum || (isnan(y) && isnan(sum)) ? 0 : INFINITY;
  return f;
}

/* Of equal findings the one in the earlier place, so that the answer does not depend on threads. */
static bool is_worse(const finding *a, const finding *b) {
  if (a->units != b->units)
    return a->units > b->units;
  return a->row < b->row || (a->row == b->row && a->col < b->col);
}

static sley_status check_rows(void *context, int64_t begin, int64_t end, int thread) {
  check *c = context;
  double *sum = c->sums + 2 * c->k * thread, *magnitude = sum + c->k;
  finding worst = {.units = -1};
  for (int64_t row = begin; row < end; row++) {
    sum_row(c, row, sum, magnitude);
    double bound = ((double)(c->a->rowptr[row + 1] - c->a->rowptr[row]) + 1) * c->eps;
    for (int64_t j = 0; j < c->k; j++) {
      finding f = judge(value_at(c->y, c->a->dtype, row * c->ldy + j), sum[j], magnitude[j], bound, row, j);
      if (is_worse(&f, &worst))
        worst = f;
    }
  }
  pthread_mutex_lock(&c->lock);
  if (worst.units >= 0 && is_worse(&worst, &c->worst))
    c->worst = worst;
  pthread_mutex_unlock(&c->lock);
  return SLEY_OK;
}

sley_status sl_check_spmm(const sley_matrix *matrix, int64_t k, const void *x, int64_t ldx, const void *y,
                          int64_t ldy, sl_team *team, sley_check *out) {
  check c = {.a = matrix, .k = k, .ldx = ldx, .ldy = ldy, .x = x, .y = y, .worst = {.units = -1}};
  /* Unit roundoff; twice that in float64, where the oracle rounds as well. */
  c.eps = matrix->dtype == SLEY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON;
  SL_TRY(SL_NEW(c.sums, 2 * k * sl_team_size(team), "the check's sums"));
  pthread_mutex_init(&c.lock, NULL);
  sley_status status = sl_team_for(team, matrix->rows, 512, check_rows, &c);
  pthread_mutex_destroy(&c.lock);
  sl_free(c.sums);
  *out = (sley_check){.max_error = c.worst.relative,
                      .bound = c.worst.bound,
                      .ok = c.worst.units <= 1,
                      .row = c.worst.row,
                      .col = c.worst.col};
  return status;
}
