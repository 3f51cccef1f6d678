/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and its gradients in float64, entry by entry as op_attention.h defines them, with bounds of the
 * rounding errors of a kernel: each sum of n terms errs by n roundings of the sum of their sizes. */
#include <float.h>
#include <math.h>

#include "attention_case.h"

/* Relative rounding errors of sums and of results, and the absolute error below the smallest normal
 * number. */
typedef struct roundings {
  double sum, result, tiny;
} roundings;

static roundings roundings_of(sley_dtype dtype) {
  switch (dtype) {
  case SLEY_F64:
    return (roundings){0x1p-52, 0x1p-52, 1e-300}; /* doubled, since the oracle has rounding errors too */
  case SLEY_F16:
    return (roundings){0x1p-24, 0x1p-11, 0x1p-24};
  case SLEY_BF16:
    return (roundings){0x1p-24, 0x1p-8, 1e-36};
  default:
    return (roundings){0x1p-24, 0x1p-24, 1e-36};
  }
}

/* Values of each entry of one row and head. */
typedef struct entries {
  double *score, *error; /* scores, and bounds of their errors */
  double *p, *p_bound;   /* P */
  double *slope;         /* leaky' of GAT */
  double greatest, total, greatest_bound, total_bound;
} entries;

typedef struct oracle {
  const attention_case *c;
  roundings r;
  attention_results out;
  entries e;
} oracle;

static bounded bounded_of(int64_t count) {
  bounded b = {calloc((size_t)count + 1, sizeof(double)), calloc((size_t)count + 1, sizeof(double))};
  assert_non_null(b.value);
  assert_non_null(b.bound);
  return b;
}

static void bounded_free(bounded *b) {
  free(b->value);
  free(b->bound);
}

static void add(bounded *b, int64_t at, double value, double bound) {
  b->value[at] += value;
  b->bound[at] += bound;
}

/* Rounds all values to the dtype, and adds this error to the bounds. */
static void round_all(bounded *b, int64_t count, double rounding, double tiny) {
  for (int64_t i = 0; i < count; i++)
    b->bound[i] += rounding * fabs(b->value[i]) + tiny;
}

static double leaky(double t, double slope) {
  return t < 0 ? slope * t : t;
}

static double leaky_slope(double t, double slope) {
  return t < 0 ? slope : 1;
}

/* The score of an entry in column n; *error: a bound of its rounding error. */
static double score_of(const oracle *o, int64_t i, int64_t n, int64_t h, double *error) {
  const attention_case *c = o->c;
  const int64_t width = c->shape.width, first = h * width;
  double score = 0, size = 0;
  if (c->kind == SL_ATTENTION_GAT) {
    score = leaky(c->q[i * c->q_width + h] + c->k[n * c->k_width + h], c->slope);
    size = fabs(score);
  }
  for (int64_t f = first; c->kind != SL_ATTENTION_GAT && f < first + width; f++) {
    const double q = c->q[i * c->features + f];
    double term;
    if (c->kind == SL_ATTENTION_DOT)
      term = c->slope * q * c->k[n * c->features + f];
    else
      term = c->a[f] * leaky(q + c->v[n * c->features + f], c->slope);
    score += term;
    size += fabs(term);
  }
  *error = isinf(score) || isnan(score)
               ? 0
               : o->r.sum * (double)(c->kind == SL_ATTENTION_GAT ? 3 : width + 4) * size;
  return score;
}

/* Computes P for the entries [begin, end) of row i and one head. */
static void weigh(oracle *o, int64_t i, int64_t h, int64_t begin, int64_t end) {
  entries *e = &o->e;
  const attention_case *c = o->c;
  const double u = o->r.sum, count = (double)(end - begin);
  double worst = 0, greatest = -(double)INFINITY, total = 0, total_bound = 0;
  for (int64_t j = begin; j < end; j++) {
    const int64_t n = c->pattern.col[j];
    e->score[j] = score_of(o, i, n, h, &e->error[j]);
    greatest = fmax(greatest, e->score[j]);
    worst = fmax(worst, e->error[j]);
    if (c->kind == SL_ATTENTION_GAT)
      e->slope[j] = leaky_slope(c->q[i * c->q_width + h] + c->k[n * c->k_width + h], c->slope);
  }
  for (int64_t j = begin; j < end; j++) {
    const double x = e->score[j] - greatest;
    e->p[j] = exp(x);
    e->p_bound[j] = e->p[j] > 0 ? expm1(e->error[j] + worst + u * (fabs(x) + 12 + count)) : 0;
    total += e->p[j];
    total_bound += e->p[j] * e->p_bound[j];
  }
  total_bound = total_bound / total + count * u;
  for (int64_t j = begin; j < end; j++) {
    e->p[j] /= total;
    e->p_bound[j] = fmin(1, e->p[j] * (e->p_bound[j] + total_bound)) + o->r.tiny;
  }
  e->greatest = greatest;
  e->greatest_bound = worst;
  e->total = total;
  e->total_bound = total * (total_bound + expm1(2 * worst)) + o->r.tiny;
}

/* Computes Y, side, m and s for a row and head. */
static void forward(oracle *o, int64_t i, int64_t h, int64_t begin, int64_t end) {
  const attention_case *c = o->c;
  const int64_t width = c->shape.width, side = i * (c->features + c->shape.heads);
  const double u = o->r.sum * (double)(end - begin + 3);
  if (begin == end)
    return;
  add(&o->out.greatest, i * c->shape.heads + h, o->e.greatest, o->e.greatest_bound);
  add(&o->out.total, i * c->shape.heads + h, o->e.total, o->e.total_bound);
  for (int64_t j = begin; j < end; j++) {
    const double p = o->e.p[j], bound = o->e.p_bound[j] + u * p, slope = o->e.slope[j];
    for (int64_t f = h * width; f < (h + 1) * width; f++) {
      const double v = c->v[c->pattern.col[j] * c->features + f];
      add(&o->out.y, i * c->features + f, p * v, bound * fabs(v));
      add(&o->out.side, side + f, p * slope * v, bound * fabs(slope * v));
    }
    add(&o->out.side, side + c->features + h, p * slope, bound * fabs(slope));
  }
}

/* Adds the gradients of entry j, from dS and its bound. u: relative rounding error of sums over the entries
 * of this row and column, whose terms have the magnitude dS_size. */
static void entry_gradients(oracle *o, int64_t i, int64_t h, int64_t j, double ds, double ds_size,
                            double ds_bound) {
  const attention_case *c = o->c;
  const int64_t n = c->pattern.col[j], width = c->shape.width, heads = c->shape.heads;
  const double terms = (double)(c->pattern.rowptr[i + 1] - c->pattern.rowptr[i] + c->pattern.rowptr_t[n + 1] -
                                c->pattern.rowptr_t[n] + width + 8),
               u = o->r.sum * terms, p = o->e.p[j], bound = ds_bound + u * ds_size,
               da_bound = ds_bound + o->r.sum * (double)(c->pattern.entries + 8) * ds_size;
  if (c->kind == SL_ATTENTION_GAT) {
    const double slope = o->e.slope[j];
    add(&o->out.dq, i * heads + h, ds * slope, bound * fabs(slope));
    add(&o->out.dk, n * heads + h, ds * slope, bound * fabs(slope));
  }
  for (int64_t f = h * width; f < (h + 1) * width; f++) {
    const int64_t of_row = i * c->features + f, of_column = n * c->features + f;
    const double dy = c->dy[of_row];
    add(&o->out.dv, of_column, p * dy, (2 * o->e.p_bound[j] + u * p) * fabs(dy));
    if (c->kind == SL_ATTENTION_DOT) {
      const double k = c->slope * c->k[of_column], q = c->slope * c->q[of_row];
      add(&o->out.dq, of_row, ds * k, bound * fabs(k));
      add(&o->out.dk, of_column, ds * q, bound * fabs(q));
    } else if (c->kind == SL_ATTENTION_GATV2) {
      const double t = c->q[of_row] + c->v[of_column], slope = c->a[f] * leaky_slope(t, c->slope);
      add(&o->out.dq, of_row, ds * slope, bound * fabs(slope));
      add(&o->out.dv, of_column, ds * slope, bound * fabs(slope));
      add(&o->out.da, f, ds * leaky(t, c->slope), da_bound * fabs(leaky(t, c->slope)));
    }
  }
}

static void backward(oracle *o, const double *y, int64_t i, int64_t h, int64_t begin, int64_t end) {
  const attention_case *c = o->c;
  const int64_t width = c->shape.width, at = i * c->features + h * width;
  const double u = o->r.sum * (double)(width + 8);
  double d = 0, d_size = 0;
  for (int64_t f = 0; f < width; f++) {
    d += c->dy[at + f] * y[at + f];
    d_size += fabs(c->dy[at + f] * y[at + f]);
  }
  add(&o->out.delta, i * c->shape.heads + h, d, u * d_size);
  for (int64_t j = begin; j < end; j++) {
    const double *v = c->v + c->pattern.col[j] * c->features + h * width, p = o->e.p[j];
    double g = 0, size = d_size;
    for (int64_t f = 0; f < width; f++) {
      g += c->dy[at + f] * v[f];
      size += fabs(c->dy[at + f] * v[f]);
    }
    entry_gradients(o, i, h, j, p * (g - d), p * size, (2 * o->e.p_bound[j] + u * p) * size);
  }
}

static void for_rows(oracle *o, const double *y) {
  const drawn_pattern *p = &o->c->pattern;
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t h = 0; h < o->c->shape.heads; h++) {
      weigh(o, i, h, p->rowptr[i], p->rowptr[i + 1]);
      if (!y)
        forward(o, i, h, p->rowptr[i], p->rowptr[i + 1]);
      else
        backward(o, y, i, h, p->rowptr[i], p->rowptr[i + 1]);
    }
}

static void round_results(oracle *o) {
  const attention_case *c = o->c;
  const int64_t rows = c->pattern.rows, cols = c->pattern.cols, heads = c->shape.heads;
  const roundings r = o->r;
  attention_results *out = &o->out;
  round_all(&out->y, rows * c->features, r.result, r.tiny);
  round_all(&out->side, rows * (c->features + heads), r.sum, r.tiny);
  round_all(&out->greatest, rows * heads, r.sum, r.tiny);
  round_all(&out->total, rows * heads, r.sum, r.tiny);
  round_all(&out->delta, rows * heads, r.sum, r.tiny);
  round_all(&out->dq, rows * c->q_width, r.result, r.tiny);
  round_all(&out->da, c->features, r.sum, r.tiny);
  round_all(&out->dk, cols * c->k_width, r.result, r.tiny);
  round_all(&out->dv, cols * c->features, r.result, r.tiny);
}

attention_results attention_oracle(const attention_case *c, const double *y) {
  const int64_t rows = c->pattern.rows, cols = c->pattern.cols, heads = c->shape.heads;
  oracle o = {.c = c,
              .r = roundings_of(c->dtype),
              .out = {.y = bounded_of(rows * c->features),
                      .side = bounded_of(rows * (c->features + heads)),
                      .greatest = bounded_of(rows * heads),
                      .total = bounded_of(rows * heads),
                      .delta = bounded_of(rows * heads),
                      .dq = bounded_of(rows * c->q_width),
                      .da = bounded_of(c->features),
                      .dk = bounded_of(cols * c->k_width),
                      .dv = bounded_of(cols * c->features)}};
  double **const arrays[] = {&o.e.score, &o.e.error, &o.e.p, &o.e.p_bound, &o.e.slope};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    *arrays[i] = calloc((size_t)c->pattern.entries + 1, sizeof(double));
    assert_non_null(*arrays[i]);
  }
  for_rows(&o, NULL);
  for_rows(&o, y ? y : o.out.y.value);
  round_results(&o);
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    free(*arrays[i]);
  return o.out;
}

void results_free(attention_results *r) {
  bounded *const all[] = {&r->y,  &r->side, &r->greatest, &r->total, &r->delta,
                          &r->dq, &r->da,   &r->dk,       &r->dv};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    bounded_free(all[i]);
}
