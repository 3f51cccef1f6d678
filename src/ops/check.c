/* SPDX-License-Identifier: Apache-2.0 */
/* Y against a float64 product alpha A X + beta Y0. Each entry of Y may be off by what rounding its sum
 * allows: with t terms, |Y - A X| <= (t + 1) eps |A||X|, to first order in eps, for any order of summation.
 * With alpha and beta four more roundings happen: of alpha, beta, and of each product with them; beta Y0 is a
 * term.
 *
 * Where Y has 16 bits eps is that of f32, in which it is summed, and rounding the sum S adds up to u |S|, u
 * the unit roundoff of Y's type, or half its least subnormal. A sum that reaches what is rounded to infinity
 * may be infinite.
 *
 * Values that have travelled in a type of 16 bits were rounded to it r times at most, as rows of X or as
 * partial sums: that adds ((1 + u)^r - 1) |A||X|, and for the subnormal ones half the least subnormal times
 * the entries of A, and, r times a term, once more by itself.
 *
 * NaN and infinity are values. Where one is a factor of a term, the entry of Y is what IEEE 754 makes of
 * those terms, in any order: a NaN, or an infinity of their sign. Where finite terms reach the largest number
 * of the type that they are summed in, some order of summation passes it, and the entry may be finite or not.
 */
#include "ops/check.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/value.h"

/* Where an entry of Y stands against its bound. */
typedef struct finding {
  double relative; /* |Y - A X| / |A||X|; infinite if |A||X| = 0 but the error is not */
  double units;    /* of the bound; above 1: wrong */
  double bound;
  int64_t row, col;
} finding;

typedef struct check {
  const sley_matrix *a;
  const sl_scaled_product *p;
  double terms; /* beside a row's entries */
  double eps;
  double narrow, least,
      infinite;      /* rounding to Y's type: u, half the least subnormal, what becomes infinite */
  double wire_least; /* half the least subnormal of the type that values travelled in; 0: they were wide */
  double largest_error, largest; /* of all entries that are finite: |Y - A X|, |A X| */
  double limit;                  /* sums from here on are infinite in the type of sums */
  bool factor_overflows;         /* alpha or beta alone does */
  double *sums;                  /* LISTS k a thread, see row_sums */
  pthread_mutex_t lock;
  finding worst;
} check;

/* Half the least subnormal of a type of 16 bits. */
static double least_of(sley_dtype dtype) {
  return dtype == SLEY_F16 ? 0x1p-25 : 0x1p-134;
}

static double roundoff_of(sley_dtype dtype) {
  return dtype == SLEY_F16 ? 0x1p-11 : 0x1p-8;
}

double sl_wire_bound(sley_dtype wire, int roundings) {
  return roundings > 0 ? expm1(roundings * log1p(roundoff_of(wire))) : 0;
}

/* What values too small for the type they travelled in add to a row's error. */
static double least_error(const check *c, int64_t row) {
  const sley_matrix *a = c->a;
  double sum = 0, r = c->p->wire_bound / roundoff_of(c->p->wire);
  if (c->wire_least == 0)
    return 0;
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
    sum += fabs(c->p->alpha * sl_value_at(a->val, a->dtype, e)) + r;
  return 2 * c->wire_least * sum;
}

/* Of a row, k each. */
enum { LISTS = 5 };
typedef struct row_sums {
  double *x;               /* of X or Y0, in double precision */
  double *sum, *magnitude; /* alpha A X + beta Y0, and |alpha A||X| + |beta Y0| */
  double *plain;           /* |A||X| */
  double *special;         /* the sum of the terms with a factor that is not finite; 0: there is none */
} row_sums;

/* Adds the terms of one entry of A; value: alpha times it. */
typedef void (*add_entry)(const row_sums *s, int64_t k, double entry, double value);

/* Where all factors are finite. */
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

/* A row of X or Y0, from its first value on, in double precision. */
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

/* A factor that is not finite shows in |A||X| or in |alpha A||X|; then the row is summed with care. */
static void sum_row(const check *c, int64_t row, const row_sums *s) {
  bool finite = true;
  sum_terms(c, row, s, add_finite);
  for (int64_t j = 0; j < c->p->k; j++)
    finite &= isfinite(s->magnitude[j]) && isfinite(s->plain[j]);
  if (!finite)
    sum_terms(c, row, s, add_any);
}

/* What the sum may be, at most, in size. */
static double reach_of(double bound, double sum, double magnitude) {
  return fabs(sum) + bound * magnitude;
}

/* bound, of the sum relative to its magnitude, with the rounding of the sum to Y's type. */
static double with_rounding(const check *c, double bound, double sum, double magnitude) {
  if (c->narrow == 0 || magnitude == 0)
    return bound;
  double rounding = c->narrow * reach_of(bound, sum, magnitude);
  return bound + (rounding > c->least ? rounding : c->least) / magnitude;
}

/* Whether y is the infinity that the sum may be rounded to. */
static bool is_overflow(const check *c, double bound, double y, double sum, double magnitude) {
  return c->narrow > 0 && isinf(y) && signbit(y) == signbit(sum) &&
         reach_of(bound, sum, magnitude) >= c->infinite;
}

static finding judge(double y, double sum, double magnitude, double bound, int64_t row, int64_t col) {
  finding f = {.bound = bound, .row = row, .col = col};
  double error = fabs(y - sum);
  if (error == 0)
    return f;
  f.relative = magnitude > 0 ? error / magnitude : INFINITY;
  f.units = f.relative / bound;
  return f;
}

/* The same where the entry of Y, a term or the sum is not finite: right or wrong. overflows: some order of
 * summation leaves the range of the type. */
static finding judge_special(double y, double sum, double special, bool overflows, int64_t row, int64_t col) {
  bool right;
  if (special != 0) /* or NaN */
    right = !isfinite(y) && (overflows || y == special || (isnan(y) && isnan(special)));
  else
    right = overflows || y == sum;
  double wrong = right ? 0 : INFINITY;
  return (finding){.relative = wrong, .units = wrong, .row = row, .col = col};
}

/* Of equal findings the one in the earlier place, so that the answer does not depend on threads. */
static bool is_worse(const finding *a, const finding *b) {
  if (a->units != b->units)
    return a->units > b->units;
  return a->row < b->row || (a->row == b->row && a->col < b->col);
}

static sley_status check_rows(void *context, int64_t begin, int64_t end, int thread) {
  check *c = context;
  const sl_scaled_product *p = c->p;
  double *lists = c->sums + LISTS * p->k * thread;
  row_sums s = {lists, lists + p->k, lists + 2 * p->k, lists + 3 * p->k, lists + 4 * p->k};
  finding worst = {.units = -1};
  double largest_error = 0, largest = 0;
  for (int64_t row = begin; row < end; row++) {
    sum_row(c, row, &s);
    double bound = ((double)(c->a->rowptr[row + 1] - c->a->rowptr[row]) + c->terms) * c->eps;
    double least = least_error(c, row);
    for (int64_t j = 0; j < p->k; j++) {
      double y = sl_value_at(p->y, c->a->dtype, row * p->ldy + j), sum = s.sum[j], magnitude = s.magnitude[j];
      if (s.special[j] == 0 && is_overflow(c, bound, y, sum, magnitude))
        y = sum;
      finding f;
      if (s.special[j] != 0 || !isfinite(y) || !isfinite(sum)) {
        bool overflows = c->factor_overflows || !(fmax(magnitude, s.plain[j]) * (1 + bound) < c->limit);
        f = judge_special(y, sum, s.special[j], overflows, row, j);
      } else {
        double allowed = with_rounding(c, bound, sum, magnitude) + p->wire_bound * (1 + bound);
        allowed += magnitude > 0 ? least / magnitude : 0;
        f = judge(y, sum, magnitude, allowed, row, j);
        largest = fmax(largest, fabs(sum));
        largest_error = fmax(largest_error, fabs(y - sum));
      }
      if (is_worse(&f, &worst))
        worst = f;
    }
  }
  pthread_mutex_lock(&c->lock);
  if (worst.units >= 0 && is_worse(&worst, &c->worst))
    c->worst = worst;
  c->largest = fmax(c->largest, largest);
  c->largest_error = fmax(c->largest_error, largest_error);
  pthread_mutex_unlock(&c->lock);
  return SLEY_OK;
}

sley_status sl_check_spmm(const sley_matrix *matrix, const sl_scaled_product *product, sl_team *team,
                          sley_check *out) {
  bool plain = product->alpha == 1 && product->beta == 0;
  check c = {.a = matrix, .p = product, .terms = plain ? 1 : 6, .worst = {.units = -1}};
  /* Unit roundoff; twice that in float64, where the oracle rounds as well. */
  c.eps = sl_sum_dtype(matrix->dtype) == SLEY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON;
  if (sl_is_16_bit(matrix->dtype)) {
    c.narrow = roundoff_of(matrix->dtype);
    c.least = least_of(matrix->dtype);
    c.infinite = matrix->dtype == SLEY_F16 ? 65520 : 0x1.ffp127;
  }
  bool narrow_sums = sl_sum_dtype(matrix->dtype) == SLEY_F32;
  c.limit = narrow_sums ? (double)FLT_MAX : DBL_MAX;
  c.factor_overflows = fabs(product->alpha) > c.limit || fabs(product->beta) > c.limit;
  c.wire_least = product->wire_bound > 0 ? least_of(product->wire) : 0;
  SL_TRY(SL_NEW(c.sums, LISTS * product->k * sl_team_size(team), "the check's sums"));
  pthread_mutex_init(&c.lock, NULL);
  sley_status status = sl_team_for(team, matrix->rows, 512, check_rows, &c);
  pthread_mutex_destroy(&c.lock);
  sl_free(c.sums);
  *out = (sley_check){.max_error = c.worst.relative,
                      .bound = c.worst.bound,
                      .ok = c.worst.units <= 1,
                      .row = c.worst.row,
                      .col = c.worst.col,
                      .relative_error = c.largest_error == 0 ? 0 : c.largest_error / c.largest};
  return status;
}
