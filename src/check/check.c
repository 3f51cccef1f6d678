/* SPDX-License-Identifier: Apache-2.0 */
/* Compares Y with a float64 product alpha A X + beta Y0. Each entry of Y may have the error that rounding its
 * sum allows: with t terms, |Y - A X| <= (t + 1) eps |A||X|, to first order in eps, for any order of
 * summation. A plan's kernel may need more: sl_sum_bound. alpha and beta add four roundings: of alpha, of
 * beta, and of each product with them; beta Y0 is one more term.
 *
 * If Y has 16 bits, eps is that of f32, in which it is summed, and rounding the sum S adds up to u |S|, where
 * u is the unit roundoff of Y's type, or half its least subnormal. A sum that may be rounded to infinity may
 * be infinite.
 *
 * Values that have been sent in a 16-bit type were rounded to it at most r times, as rows of X or as partial
 * sums. That adds ((1 + u)^r - 1) |A||X|. For subnormal values it adds half the least subnormal times the
 * entries of A, and r times per term half the least subnormal itself.
 *
 * NaN and infinity are values. If one is a factor of a term, the entry of Y must be what IEEE 754 defines for
 * the sum of those terms, in any order: a NaN, or an infinity of their sign. If finite terms reach the
 * largest number of the type in which they are summed, some order of summation overflows, and the entry may
 * be finite or not. */
#include "check/check.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/value.h"

typedef struct check {
  const sley_matrix *a;
  const sl_scaled_product *p;
  double terms; /* number of terms in addition to the entries of a row */
  sl_rounding rounding;
  double limit;                  /* magnitude from which sums overflow the type of sums */
  bool factor_overflows;         /* alpha or beta alone overflows */
  double *sums;                  /* LISTS k per thread, see row_sums */
  pthread_mutex_t lock;
  sl_findings found;
} check;

/* Half the least subnormal of a 16-bit type. */
static double least_of(sley_dtype dtype) {
  return dtype == SLEY_F16 ? 0x1p-25 : 0x1p-134;
}

static double roundoff_of(sley_dtype dtype) {
  return dtype == SLEY_F16 ? 0x1p-11 : 0x1p-8;
}

double sl_wire_bound(sley_dtype wire, int roundings) {
  return roundings > 0 ? expm1(roundings * log1p(roundoff_of(wire))) : 0;
}

double sl_wire_least(const sley_matrix *a, int64_t row, double alpha, double wire_bound, sley_dtype wire) {
  double sum = 0, r = wire_bound / roundoff_of(wire);
  if (wire_bound <= 0)
    return 0;
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
    sum += fabs(alpha * sl_value_at(a->val, a->dtype, e)) + r;
  return 2 * least_of(wire) * sum;
}

double sl_sum_bound(const sl_scaled_product *product, double terms, double eps) {
  double each = product->term_roundings > 0 ? product->term_roundings : 1;
  return (each * terms + product->more_roundings) * eps;
}

/* Lists of k values per row. */
enum { LISTS = 5 };
typedef struct row_sums {
  double *x;               /* a row of X or Y0, in double precision */
  double *sum, *magnitude; /* alpha A X + beta Y0, and |alpha A||X| + |beta Y0| */
  double *plain;           /* |A||X| */
  double *special;         /* the sum of the terms with a factor that is not finite; 0: there are none */
} row_sums;

/* Adds the terms of one entry of A; value: alpha times the entry. */
typedef void (*add_entry)(const row_sums *s, int64_t k, double entry, double value);

/* Adds the terms of an entry for rows whose factors are all finite. */
static void add_finite(const row_sums *s, int64_t k, double entry, double value) {
  const double *restrict x = s->x;
  double *restrict sum = s->sum, *restrict magnitude = s->magnitude, *restrict plain = s->plain;
  for (int64_t j = 0; j < k; j++) {
    double scaled = value * x[j];
    sum[j] += scaled;
    magnitude[j] += fabs(scaled);
    plain[j] += fabs(entry * x[j]);
  }
}

static void add_any(const row_sums *s, int64_t k, double entry, double value) {
  for (int64_t j = 0; j < k; j++) {
    double scaled = value * s->x[j];
    s->sum[j] += scaled;
    if (!isfinite(entry) || !isfinite(s->x[j])) {
      s->special[j] += scaled;
      continue;
    }
    s->magnitude[j] += fabs(scaled);
    s->plain[j] += fabs(entry * s->x[j]);
  }
}

/* Loads a row of X or Y0, whose first value has index `first`, in double precision. */
static void load(const check *c, const void *values, int64_t first, const row_sums *s) {
  sley_dtype dtype = c->a->dtype;
  sl_values_convert(dtype, (const char *)values + (size_t)first * sley_dtype_bytes(dtype), SLEY_F64, s->x,
                    c->p->k);
}

static void sum_terms(const check *c, int64_t row, const row_sums *s, add_entry add) {
  const sley_matrix *a = c->a;
  const sl_scaled_product *p = c->p;
  for (int64_t j = 0; j < p->k; j++)
    s->sum[j] = s->magnitude[j] = s->plain[j] = s->special[j] = 0;
  if (p->beta != 0) {
    load(c, p->y0, row * p->ldy0, s);
    add(s, p->k, 1, p->beta);
  }
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++) {
    double entry = sl_value_at(a->val, a->dtype, e);
    load(c, p->x, sl_index_at(a->col, a->index, e) * p->ldx, s);
    add(s, p->k, entry, p->alpha * entry);
  }
}

/* Sums a row. A factor that is not finite makes |A||X| or |alpha A||X| infinite or NaN; the row is then
 * summed again with the special terms separate. */
static void sum_row(const check *c, int64_t row, const row_sums *s) {
  bool finite = true;
  sum_terms(c, row, s, add_finite);
  for (int64_t j = 0; j < c->p->k; j++)
    finite &= isfinite(s->magnitude[j]) && isfinite(s->plain[j]);
  if (!finite)
    sum_terms(c, row, s, add_any);
}

/* Returns the greatest magnitude that the computed sum may have. */
static double reach_of(double bound, double sum, double magnitude) {
  return fabs(sum) + bound * magnitude;
}

sl_rounding sl_rounding_of(sley_dtype dtype) {
  sl_rounding r = {.eps = sl_sum_dtype(dtype) == SLEY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON};
  if (sl_is_16_bit(dtype)) {
    r.narrow = roundoff_of(dtype);
    r.least = least_of(dtype);
    r.infinite = dtype == SLEY_F16 ? 65520 : 0x1.ffp127;
  }
  return r;
}

double sl_rounding_of_sum(const sl_rounding *r, double bound, double sum, double magnitude) {
  if (r->narrow == 0 || magnitude == 0)
    return bound;
  double rounding = r->narrow * reach_of(bound, sum, magnitude);
  return bound + (rounding > r->least ? rounding : r->least) / magnitude;
}

bool sl_rounding_overflows(const sl_rounding *r, double bound, double y, double sum, double magnitude) {
  return r->narrow > 0 && isinf(y) && signbit(y) == signbit(sum) &&
         reach_of(bound, sum, magnitude) >= r->infinite;
}

sl_finding sl_finding_judge(double y, double sum, double magnitude, double bound, int64_t row, int64_t col) {
  sl_finding f = {.bound = bound, .row = row, .col = col};
  double error = fabs(y - sum);
  if (error == 0)
    return f;
  f.relative = magnitude > 0 ? error / magnitude : INFINITY;
  f.units = f.relative / bound;
  return f;
}

/* Judges an entry if it, a term or the sum is not finite: right or wrong. overflows: some order of summation
 * leaves the range of the type. */
static sl_finding judge_special(double y, double sum, double special, bool overflows, int64_t row,
                                int64_t col) {
  bool right;
  if (special != 0) /* or NaN */
    right = !isfinite(y) && (overflows || y == special || (isnan(y) && isnan(special)));
  else
    right = overflows || y == sum;
  double wrong = right ? 0 : INFINITY;
  return (sl_finding){.relative = wrong, .units = wrong, .row = row, .col = col};
}

bool sl_finding_is_worse(const sl_finding *a, const sl_finding *b) {
  if (a->units != b->units)
    return a->units > b->units;
  return a->row < b->row || (a->row == b->row && a->col < b->col);
}

void sl_findings_add(sl_findings *all, const sl_findings *some) {
  if (some->worst.units >= 0 && sl_finding_is_worse(&some->worst, &all->worst))
    all->worst = some->worst;
  all->largest = fmax(all->largest, some->largest);
  all->largest_error = fmax(all->largest_error, some->largest_error);
}

sley_check sl_findings_sum_up(const sl_findings *all) {
  return (sley_check){.max_error = all->worst.relative,
                      .bound = all->worst.bound,
                      .ok = all->worst.units <= 1,
                      .row = all->worst.row,
                      .col = all->worst.col,
                      .relative_error = all->largest_error == 0 ? 0 : all->largest_error / all->largest};
}

static sley_status check_rows(void *context, int64_t begin, int64_t end, int thread) {
  check *c = context;
  const sl_scaled_product *p = c->p;
  double *lists = c->sums + LISTS * p->k * thread;
  row_sums s = {lists, lists + p->k, lists + 2 * p->k, lists + 3 * p->k, lists + 4 * p->k};
  sl_findings found = SL_NO_FINDINGS;
  for (int64_t row = begin; row < end; row++) {
    sum_row(c, row, &s);
    double terms = (double)(c->a->rowptr[row + 1] - c->a->rowptr[row]) + c->terms;
    double bound = sl_sum_bound(p, terms, c->rounding.eps);
    double least = sl_wire_least(c->a, row, p->alpha, p->wire_bound, p->wire);
    for (int64_t j = 0; j < p->k; j++) {
      double y = sl_value_at(p->y, c->a->dtype, row * p->ldy + j), sum = s.sum[j], magnitude = s.magnitude[j];
      if (s.special[j] == 0 && sl_rounding_overflows(&c->rounding, bound, y, sum, magnitude))
        y = sum;
      sl_finding f;
      if (s.special[j] != 0 || !isfinite(y) || !isfinite(sum)) {
        bool overflows = c->factor_overflows || !(fmax(magnitude, s.plain[j]) * (1 + bound) < c->limit);
        f = judge_special(y, sum, s.special[j], overflows, row, j);
      } else {
        double allowed =
            sl_rounding_of_sum(&c->rounding, bound, sum, magnitude) + p->wire_bound * (1 + bound);
        allowed += magnitude > 0 ? least / magnitude : 0;
        f = sl_finding_judge(y, sum, magnitude, allowed, row, j);
        found.largest = fmax(found.largest, fabs(sum));
        found.largest_error = fmax(found.largest_error, fabs(y - sum));
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

sley_status sl_check_spmm(const sley_matrix *matrix, const sl_scaled_product *product, sl_team *team,
                          sley_check *out) {
  bool plain = product->alpha == 1 && product->beta == 0;
  check c = {.a = matrix, .p = product, .terms = plain ? 1 : 6, .found = SL_NO_FINDINGS};
  c.rounding = sl_rounding_of(matrix->dtype);
  bool narrow_sums = sl_sum_dtype(matrix->dtype) == SLEY_F32;
  c.limit = narrow_sums ? (double)FLT_MAX : DBL_MAX;
  c.factor_overflows = fabs(product->alpha) > c.limit || fabs(product->beta) > c.limit;
  SL_TRY(SL_NEW(c.sums, LISTS * product->k * sl_team_size(team), "the check's sums"));
  pthread_mutex_init(&c.lock, NULL);
  sley_status status = sl_team_for(team, matrix->rows, 512, check_rows, &c);
  pthread_mutex_destroy(&c.lock);
  sl_free(c.sums);
  *out = sl_findings_sum_up(&c.found);
  return status;
}
