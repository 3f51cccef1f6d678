/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in float64, for the checks of `sley bench ops`: scores, weights and their gradients, as defined
 * in sley_graph.h. The bound of a magnitude includes the error that a score's error causes in its weight: the
 * relative error of the weight is the absolute error of the score. */
#include <math.h>

#include "bench/ops_truth.h"

static double leaky(double t, double slope) {
  return t < 0 ? slope * t : t;
}

static double steepness(double t, double slope) {
  return t < 0 ? slope : 1;
}

static const double *source_of(const cli_op_truth *t, int64_t e) {
  return t->at.source + e * t->c->source_ld;
}

/* The score of entry e and head h. *size: the sum of the absolute values of its terms. */
static double score(const cli_op_truth *t, int64_t e, int64_t h, double *size) {
  const cli_op_case *c = t->c;
  const int64_t k = c->heads * c->width;
  const double *v = source_of(t, e), *q = t->at.query, slope = cli_op_slope(c->op, c->width);
  double sum = 0;
  *size = 0;
  if (c->op->kind == SLEY_ATTENTION_GAT) {
    *size = fabs(q[h]) + fabs(v[k + h]);
    return leaky(q[h] + v[k + h], slope);
  }
  for (int64_t f = h * c->width; f < (h + 1) * c->width; f++) {
    const bool dot = c->op->kind == SLEY_ATTENTION_DOT;
    sum += dot ? slope * q[f] * v[k + f] : t->a[f] * leaky(q[f] + v[f], slope);
    *size += dot ? fabs(slope * q[f] * v[k + f]) : fabs(t->a[f]) * (fabs(q[f]) + fabs(v[f]));
  }
  return sum;
}

static void weigh(cli_op_truth *t, int64_t h) {
  const int64_t heads = t->c->heads, length = t->at.length;
  double *p = t->at.weight, most = -INFINITY, sum = 0, size;
  t->at.score_size[h] = 0;
  for (int64_t e = 0; e < length; e++) {
    p[e * heads + h] = score(t, e, h, &size);
    most = fmax(most, p[e * heads + h]);
    t->at.score_size[h] = fmax(t->at.score_size[h], size);
  }
  for (int64_t e = 0; e < length; e++)
    sum += p[e * heads + h] = exp(p[e * heads + h] - most);
  for (int64_t e = 0; e < length; e++)
    p[e * heads + h] /= sum;
}

/* ds = p (dp - sum p dp), with dp = dY . v. */
static void differentiate(cli_op_truth *t, int64_t h) {
  const cli_op_case *c = t->c;
  const int64_t heads = c->heads, length = t->at.length;
  double sum = 0, sum_size = 0;
  for (int64_t e = 0; e < length; e++) {
    double *ds = &t->at.d_score[e * heads + h], *size = &t->at.d_size[e * heads + h];
    *ds = *size = 0;
    for (int64_t f = h * c->width; f < (h + 1) * c->width; f++) {
      *ds += t->at.d_out[f] * source_of(t, e)[f];
      *size += fabs(t->at.d_out[f] * source_of(t, e)[f]);
    }
    sum += t->at.weight[e * heads + h] * *ds;
    sum_size += t->at.weight[e * heads + h] * *size;
  }
  const double spread = 1 + 2 * t->at.score_size[h];
  for (int64_t e = 0; e < length; e++) {
    const double p = t->at.weight[e * heads + h];
    t->at.d_score[e * heads + h] = p * (t->at.d_score[e * heads + h] - sum);
    t->at.d_size[e * heads + h] = 2 * p * (t->at.d_size[e * heads + h] + sum_size) * spread;
  }
}

void cli_op_scores(cli_op_truth *t, bool gradient) {
  for (int64_t h = 0; h < t->c->heads; h++) {
    weigh(t, h);
    if (gradient)
      differentiate(t, h);
  }
}

void cli_op_scores_query(cli_op_truth *t, int64_t e) {
  const cli_op_case *c = t->c;
  const int64_t k = c->heads * c->width;
  const double *v = source_of(t, e), *q = t->at.query, slope = cli_op_slope(c->op, c->width);
  for (int64_t i = 0; i < c->query_width; i++) {
    const bool gat = c->op->kind == SLEY_ATTENTION_GAT;
    const int64_t h = gat ? i : i / c->width;
    const double factor = gat                                   ? steepness(q[h] + v[k + h], slope)
                          : c->op->kind == SLEY_ATTENTION_GATV2 ? t->a[i] * steepness(q[i] + v[i], slope)
                                                                : slope * v[k + i];
    cli_op_add(&t->out, i, t->at.d_score[e * c->heads + h] * factor,
               t->at.d_size[e * c->heads + h] * fabs(factor));
  }
}

/* Adds entry e's term to the gradient of the features of SOURCE from which its score is computed. */
static void add_key(cli_op_truth *t, int64_t e, int64_t h, int64_t f) {
  const cli_op_case *c = t->c;
  const int64_t k = c->heads * c->width;
  const double ds = t->at.d_score[e * c->heads + h], size = t->at.d_size[e * c->heads + h];
  const double *v = source_of(t, e), *q = t->at.query, slope = cli_op_slope(c->op, c->width);
  if (c->op->kind == SLEY_ATTENTION_GATV2) {
    const double factor = t->a[f] * steepness(q[f] + v[f], slope);
    cli_op_add(&t->out, f, ds * factor, size * fabs(factor));
  } else if (c->op->kind == SLEY_ATTENTION_DOT) {
    cli_op_add(&t->out, k + f, ds * slope * q[f], size * fabs(slope * q[f]));
  } else if (f == h * c->width) {
    const double factor = steepness(q[h] + v[k + h], slope);
    cli_op_add(&t->out, k + h, ds * factor, size * factor);
  }
}

void cli_op_scores_source(cli_op_truth *t, int64_t e) {
  const cli_op_case *c = t->c;
  for (int64_t f = 0; f < c->heads * c->width; f++) {
    const int64_t h = f / c->width;
    const double term = t->at.weight[e * c->heads + h] * t->at.d_out[f];
    cli_op_add(&t->out, f, term, fabs(term) * (1 + 2 * t->at.score_size[h]));
    add_key(t, e, h, f);
  }
}

void cli_op_scores_vector(cli_op_truth *t, int64_t e) {
  const cli_op_case *c = t->c;
  const double slope = cli_op_slope(c->op, c->width);
  for (int64_t f = 0; f < c->heads * c->width; f++) {
    const int64_t at = e * c->heads + f / c->width;
    const double factor = leaky(t->at.query[f] + source_of(t, e)[f], slope);
    cli_op_add(&t->out, f, t->at.d_score[at] * factor, t->at.d_size[at] * fabs(factor));
  }
}
