/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in float64. See graph_oracle.h. */
#include "graph_oracle.h"

#include <math.h>

oracle_result oracle_result_of(int64_t count) {
  return (oracle_result){.value = calloc((size_t)count + 1, sizeof(double)),
                         .size = calloc((size_t)count + 1, sizeof(double)),
                         .count = count};
}

void oracle_result_free(oracle_result *r) {
  free(r->size);
  free(r->value);
  *r = (oracle_result){0};
}

static void add(oracle_result *r, int64_t at, double term) {
  r->value[at] += term;
  r->size[at] += fabs(term);
}

/* An entry of the matrix: its number, counted from 0, its row and its column. */
typedef struct entry {
  int64_t number, place, row, col, length; /* length: entries of the row */
} entry;

typedef void visit(const oracle_graph *g, const entry *e, int64_t h, int64_t f, void *context);

/* Calls a function for each entry, head and feature of the head, in the order of the entries. */
static void each_feature(const oracle_graph *g, visit *call, void *context) {
  const sley_matrix *a = g->a;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t j = a->rowptr[i]; j < a->rowptr[i + 1]; j++) {
      const entry e = {.number = j - a->rowptr[0],
                       .place = j - a->rowptr[i],
                       .row = i,
                       .col = sl_index_at(a->col, a->index, j),
                       .length = a->rowptr[i + 1] - a->rowptr[i]};
      for (int64_t f = 0; f < g->heads * g->width; f++)
        call(g, &e, f / g->width, f, context);
    }
}

typedef struct aggregation {
  sley_aggregate kind;
  const double *val, *x, *dy;
  const int32_t *chosen;
  int32_t *arg;
  oracle_result *y, *dx, *dval;
} aggregation;

static double weight(const oracle_graph *g, const double *val, const entry *e, int64_t h) {
  return val ? val[e->number * g->heads + h] : 1;
}

static void aggregate_term(const oracle_graph *g, const entry *e, int64_t h, int64_t f, void *context) {
  aggregation *c = context;
  const int64_t k = g->heads * g->width, at = e->row * k + f;
  const double term = weight(g, c->val, e, h) * c->x[e->col * k + f];
  if (c->kind == SLEY_AGGREGATE_SUM || c->kind == SLEY_AGGREGATE_MEAN) {
    add(c->y, at, c->kind == SLEY_AGGREGATE_MEAN ? term / (double)e->length : term);
    return;
  }
  const double best = c->y->value[at];
  if (e->place == 0 || (c->kind == SLEY_AGGREGATE_MIN ? term < best : term > best)) {
    c->y->value[at] = term;
    c->y->size[at] = fabs(term);
    c->arg[at] = (int32_t)e->place;
  }
}

void oracle_aggregate(const oracle_graph *g, sley_aggregate kind, const double *val, const double *x,
                      oracle_result *y, int32_t *arg) {
  aggregation c = {.kind = kind, .val = val, .x = x, .y = y, .arg = arg};
  for (int64_t i = 0; arg && i < y->count; i++)
    arg[i] = -1;
  each_feature(g, aggregate_term, &c);
}

static void aggregate_gradient(const oracle_graph *g, const entry *e, int64_t h, int64_t f, void *context) {
  const aggregation *c = context;
  const int64_t k = g->heads * g->width, at = e->row * k + f;
  double dy = c->dy[at];
  if (c->kind == SLEY_AGGREGATE_MEAN)
    dy /= (double)e->length;
  else if (c->kind != SLEY_AGGREGATE_SUM && c->chosen[at] != e->place)
    return;
  add(c->dx, e->col * k + f, weight(g, c->val, e, h) * dy);
  add(c->dval, e->number * g->heads + h, dy * c->x[e->col * k + f]);
}

void oracle_aggregate_gradients(const oracle_graph *g, sley_aggregate kind, const double *val,
                                const double *x, const int32_t *arg, const double *dy, oracle_result *dx,
                                oracle_result *dval) {
  aggregation c = {.kind = kind, .val = val, .x = x, .dy = dy, .chosen = arg, .dx = dx, .dval = dval};
  each_feature(g, aggregate_gradient, &c);
}

typedef struct products {
  sley_sddmm_form form;
  const double *val, *u, *v, *ds;
  oracle_result *s, *du, *dv;
} products;

static void product_term(const oracle_graph *g, const entry *e, int64_t h, int64_t f, void *context) {
  const products *c = context;
  const int64_t k = g->heads * g->width, at = e->number * g->heads + h;
  const double u = c->u[e->row * k + f], v = c->v[e->col * k + f], w = weight(g, c->val, e, h);
  if (c->form == SLEY_SDDMM_DOT) {
    add(c->s, at, w * u * v);
    return;
  }
  add(c->s, at, w * u);
  add(c->s, at, w * v);
}

void oracle_sddmm(const oracle_graph *g, sley_sddmm_form form, const double *val, const double *u,
                  const double *v, oracle_result *s) {
  each_feature(g, product_term, &(products){.form = form, .val = val, .u = u, .v = v, .s = s});
}

static void product_gradient(const oracle_graph *g, const entry *e, int64_t h, int64_t f, void *context) {
  const products *c = context;
  const int64_t k = g->heads * g->width;
  const double w = c->ds[e->number * g->heads + h] * weight(g, c->val, e, h);
  const bool dot = c->form == SLEY_SDDMM_DOT;
  add(c->du, e->row * k + f, dot ? w * c->v[e->col * k + f] : w);
  add(c->dv, e->col * k + f, dot ? w * c->u[e->row * k + f] : w);
}

void oracle_sddmm_gradients(const oracle_graph *g, sley_sddmm_form form, const double *val, const double *u,
                            const double *v, const double *ds, oracle_result *du, oracle_result *dv) {
  each_feature(g, product_gradient,
               &(products){.form = form, .val = val, .u = u, .v = v, .ds = ds, .du = du, .dv = dv});
}

/* Function to call for each row and head, with the index of its first value and the index after its last
 * value. */
typedef void visit_row(int64_t begin, int64_t end, int64_t step, void *context);

static void each_row(const oracle_graph *g, visit_row *call, void *context) {
  const int64_t *rowptr = g->a->rowptr;
  for (int64_t i = 0; i < g->a->rows; i++)
    for (int64_t h = 0; h < g->heads; h++)
      call((rowptr[i] - rowptr[0]) * g->heads + h, (rowptr[i + 1] - rowptr[0]) * g->heads + h, g->heads,
           context);
}

typedef struct softmax {
  const double *in, *grad;
  oracle_result *out;
} softmax;

static void softmax_row(int64_t begin, int64_t end, int64_t step, void *context) {
  const softmax *c = context;
  double most = -INFINITY, sum = 0;
  for (int64_t j = begin; j < end; j += step)
    most = fmax(most, c->in[j]);
  for (int64_t j = begin; j < end; j += step)
    sum += exp(c->in[j] - most);
  for (int64_t j = begin; j < end;
       j += step) /* an error of the exponent is one of the result's relative error */
    c->out->value[j] = exp(c->in[j] - most) / sum,
    c->out->size[j] = c->out->value[j] * (4 + fabs(c->in[j]) + fabs(most));
}

void oracle_softmax(const oracle_graph *g, const double *s, oracle_result *p) {
  each_row(g, softmax_row, &(softmax){.in = s, .out = p});
}

static void softmax_gradient_row(int64_t begin, int64_t end, int64_t step, void *context) {
  const softmax *c = context;
  double sum = 0, size = 0;
  for (int64_t j = begin; j < end; j += step) {
    sum += c->in[j] * c->grad[j];
    size += fabs(c->in[j] * c->grad[j]);
  }
  for (int64_t j = begin; j < end; j += step) {
    c->out->value[j] = c->in[j] * (c->grad[j] - sum);
    c->out->size[j] = fabs(c->in[j]) * (fabs(c->grad[j]) + size);
  }
}

void oracle_softmax_gradient(const oracle_graph *g, const double *p, const double *dp, oracle_result *ds) {
  each_row(g, softmax_gradient_row, &(softmax){.in = p, .grad = dp, .out = ds});
}
