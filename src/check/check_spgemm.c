/* SPDX-License-Identifier: Apache-2.0 */
/* Compares C = A B with sums in float64, row by row: for each column a sum, a magnitude and a count of
 * products. It shares no code with the products that it checks. */
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "check/check.h"

typedef struct checking {
  const sley_matrix *a, *b, *mask, *c;
  sley_semiring semiring;
  sl_rounding rounding;
  sl_findings *found; /* one per thread */
} checking;

/* Expected entry in a column of a row. */
typedef struct oracle_sum {
  double value, magnitude;
  int64_t terms; /* number of terms; 0: C has no entry there */
} oracle_sum;

static double product_of(sley_semiring semiring, double a, double b) {
  switch (semiring) {
  case SLEY_PLUS_TIMES:
    return a * b;
  case SLEY_PLUS_PAIR:
    return 1;
  case SLEY_MIN_PLUS:
    return a + b;
  case SLEY_OR_AND:
    return a != 0 && b != 0;
  }
  return 0;
}

static void add(oracle_sum *s, sley_semiring semiring, double p, double magnitude) {
  if (semiring == SLEY_PLUS_TIMES || semiring == SLEY_PLUS_PAIR)
    s->value += p;
  else if (s->terms == 0 || isnan(p) || (semiring == SLEY_MIN_PLUS ? p < s->value : p > s->value))
    s->value = p;
  const bool sums = semiring == SLEY_PLUS_TIMES || semiring == SLEY_PLUS_PAIR;
  s->magnitude = sums ? s->magnitude + magnitude : fmax(s->magnitude, magnitude);
  s->terms++;
}

static void sum_row(const checking *self, int64_t i, oracle_sum *sums) {
  const sley_matrix *a = self->a, *b = self->b;
  for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
    const int64_t k = sl_index_at(a->col, a->index, e);
    const double x = sl_value_at(a->val, a->dtype, e);
    for (int64_t j = b->rowptr[k]; j < b->rowptr[k + 1]; j++) {
      const double y = sl_value_at(b->val, b->dtype, j), p = product_of(self->semiring, x, y);
      add(&sums[sl_index_at(b->col, b->index, j)], self->semiring, p,
          self->semiring == SLEY_MIN_PLUS ? fabs(x) + fabs(y) : fabs(p));
    }
  }
}

/* Finding for an entry that is missing, superfluous or out of order. */
static sl_finding misplaced(int64_t row, int64_t col) {
  return (sl_finding){.relative = INFINITY, .units = INFINITY, .row = row, .col = col};
}

static void take(sl_findings *all, const sl_finding *one, double error, double value) {
  sl_findings some = {.worst = *one, .largest_error = error, .largest = value};
  sl_findings_add(all, &some);
}

/* Compares entry e of C with its sum, and then clears the sum. */
static void judge(const checking *self, int64_t i, int64_t e, oracle_sum *s, sl_findings *all) {
  const int64_t col = sl_index_at(self->c->col, self->c->index, e);
  const double got = sl_value_at(self->c->val, self->c->dtype, e);
  const sl_rounding *r = &self->rounding;
  if (s->terms == 0) {
    const sl_finding wrong = misplaced(i, col);
    take(all, &wrong, INFINITY, 0);
    return;
  }
  const double bound = sl_rounding_of_sum(r, ((double)s->terms + 1) * r->eps, s->value, s->magnitude);
  const bool same = (isnan(got) && isnan(s->value)) || got == s->value;
  if (!same && (isfinite(s->value) || isfinite(got))) {
    const bool overflows = isinf(got) && sl_rounding_overflows(r, bound, got, s->value, s->magnitude);
    const sl_finding found =
        sl_finding_judge(overflows ? s->value : got, s->value, s->magnitude, bound, i, col);
    take(all, &found, fabs(got - s->value), fabs(s->value));
  } else if (!same) {
    const sl_finding wrong = misplaced(i, col);
    take(all, &wrong, INFINITY, 0);
  } else {
    const sl_finding right = {.bound = bound, .row = i, .col = col};
    take(all, &right, 0, isfinite(s->value) ? fabs(s->value) : 0);
  }
  *s = (oracle_sum){0};
}

/* Finds sums of the row that have no entry in C, which is right only if the mask has no entry there. */
static void find_missing(const checking *self, int64_t i, oracle_sum *sums, sl_findings *all) {
  const sley_matrix *a = self->a, *b = self->b, *mask = self->mask;
  for (int64_t e = mask ? mask->rowptr[i] : 0; mask && e < mask->rowptr[i + 1]; e++) {
    oracle_sum *s = &sums[sl_index_at(mask->col, mask->index, e)];
    if (s->terms > 0) {
      const sl_finding wrong = misplaced(i, s - sums);
      take(all, &wrong, INFINITY, 0);
    }
  }
  for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
    const int64_t k = sl_index_at(a->col, a->index, e);
    for (int64_t j = b->rowptr[k]; j < b->rowptr[k + 1]; j++) {
      oracle_sum *s = &sums[sl_index_at(b->col, b->index, j)];
      if (s->terms > 0 && !mask) {
        const sl_finding wrong = misplaced(i, s - sums);
        take(all, &wrong, INFINITY, 0);
      }
      *s = (oracle_sum){0};
    }
  }
}

/* Returns whether the mask's row, which ascends, has the column; *at: position in the row; the function
 * advances it. */
static bool allowed(const sley_matrix *mask, int64_t i, int64_t col, int64_t *at) {
  while (*at < mask->rowptr[i + 1] && sl_index_at(mask->col, mask->index, *at) < col)
    ++*at;
  return *at < mask->rowptr[i + 1] && sl_index_at(mask->col, mask->index, *at) == col;
}

static void check_row(const checking *self, int64_t i, oracle_sum *sums, sl_findings *all) {
  const sley_matrix *c = self->c;
  int64_t last = -1, at = self->mask ? self->mask->rowptr[i] : 0;
  sum_row(self, i, sums);
  for (int64_t e = c->rowptr[i]; e < c->rowptr[i + 1]; e++) {
    const int64_t col = sl_index_at(c->col, c->index, e);
    if (col <= last || (self->mask && !allowed(self->mask, i, col, &at))) {
      const sl_finding wrong = misplaced(i, col);
      take(all, &wrong, INFINITY, 0);
    }
    judge(self, i, e, &sums[col], all);
    last = col;
  }
  find_missing(self, i, sums, all);
}

static sley_status check_share(void *context, int thread, int threads) {
  const checking *self = context;
  oracle_sum *sums;
  sley_status status = SLEY_OK;
  SL_TRY(SL_NEW_ZERO(sums, self->c->cols, "sums of a row in float64"));
  for (int64_t i = thread; i < self->c->rows && status == SLEY_OK; i += threads) {
    check_row(self, i, sums, &self->found[thread]);
    status = sl_interrupted();
  }
  sl_free(sums);
  return status;
}

sley_status sl_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                            const sley_matrix *c, sl_team *team, sley_check *out) {
  sley_matrix *transposed = NULL;
  checking self = {.a = a,
                   .b = b,
                   .mask = options->mask,
                   .c = c,
                   .semiring = options->semiring,
                   .rounding = sl_rounding_of(a->dtype)};
  sley_status status = SL_NEW(self.found, sl_team_size(team), "findings");
  if (status == SLEY_OK && options->transpose_b) {
    status = sl_matrix_transpose(b, team, &transposed);
    self.b = transposed;
  }
  for (int t = 0; status == SLEY_OK && t < sl_team_size(team); t++)
    self.found[t] = SL_NO_FINDINGS;
  if (status == SLEY_OK)
    status = sl_team_run(team, check_share, &self);
  if (status == SLEY_OK) {
    sl_findings all = SL_NO_FINDINGS;
    for (int t = 0; t < sl_team_size(team); t++)
      sl_findings_add(&all, &self.found[t]);
    *out = sl_findings_sum_up(&all);
  }
  sl_matrix_destroy(transposed);
  sl_free(self.found);
  return status;
}
