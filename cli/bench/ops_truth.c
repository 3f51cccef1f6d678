/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ops_truth.h"

#include <math.h>
#include <string.h>

enum { MOST_VALUES = 1 << 20, ROUNDINGS = 16 };

static sley_status take(int64_t count, size_t bytes, void *out) {
  void *block = NULL;
  sley_status status = sley_buffer_alloc(count * (int64_t)bytes, &block);
  memcpy(out, &block, sizeof block);
  return status;
}

/* The largest number of values per row of the operands. */
static int64_t widest(const cli_op_case *c) {
  int64_t most = c->heads * (c->width > 0 ? c->width : 1);
  most = c->source_ld > most ? c->source_ld : most;
  return c->query_width > most ? c->query_width : most;
}

bool cli_op_truth_takes(const cli_op_truth *t, int64_t length) {
  return length <= MOST_VALUES / widest(t->c);
}

/* Computes rows [first, first + count) of an operand, as doubles. */
static sley_status fetch(cli_op_truth *t, cli_op_array array, int64_t first, int64_t count, double *out) {
  const cli_op_case *c = t->c;
  const int64_t cols = c->data[array].cols;
  sley_status status =
      sley_dense_random(c->seed + (uint64_t)array, first, count, cols, NULL, c->dtype, t->raw, cols);
  return status == SLEY_OK ? sley_convert(c->dtype, t->raw, SLEY_F64, out, count * cols) : status;
}

sley_status cli_op_truth_make(const cli_op_case *c, cli_op_truth *t) {
  *t = (cli_op_truth){.c = c, .at.row = -1};
  const int64_t most = MOST_VALUES, wide = widest(c);
  double **arrays[] = {&t->at.source,  &t->at.val,    &t->at.d_out,  &t->at.weight,
                       &t->at.d_score, &t->at.d_size, &t->out.value, &t->out.size};
  double **rows[] = {&t->at.query, &t->at.score_size, &t->a};
  sley_status status = take(most, sizeof(double), &t->raw);
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == SLEY_OK; i++)
    status = take(most, sizeof(double), arrays[i]);
  for (size_t i = 0; i < sizeof rows / sizeof *rows && status == SLEY_OK; i++)
    status = take(wide, sizeof(double), rows[i]);
  if (status == SLEY_OK)
    status = take(wide, sizeof(int32_t), &t->at.arg);
  if (status == SLEY_OK && c->data[CLI_OP_A].cols > 0)
    status = fetch(t, CLI_OP_A, 0, 1, t->a);
  return status;
}

void cli_op_truth_free(cli_op_truth *t) {
  void *blocks[] = {t->raw,       t->at.source,  t->at.val,    t->at.query,      t->at.d_out,
                    t->at.weight, t->at.d_score, t->at.d_size, t->at.score_size, t->at.arg,
                    t->out.value, t->out.size,   t->a};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    sley_buffer_free(blocks[i]);
}

static int64_t column_at(const sley_csr *csr, int64_t e) {
  return csr->index == SLEY_I64 ? ((const int64_t *)csr->col)[e] : ((const int32_t *)csr->col)[e];
}

static void clear(cli_op_truth *t, int64_t count, int64_t terms) {
  memset(t->out.value, 0, (size_t)count * sizeof(double));
  memset(t->out.size, 0, (size_t)count * sizeof(double));
  t->out.count = count;
  t->out.terms = terms + t->c->width + ROUNDINGS;
}

/* ---- rows */

/* Loads the values of the row's entries: from the array VAL, from the matrix, or 1. */
static sley_status load_values(cli_op_truth *t) {
  const cli_op_case *c = t->c;
  cli_op_row *r = &t->at;
  if (c->op->reads[CLI_FORWARD] & (1U << CLI_OP_VAL))
    return fetch(t, CLI_OP_VAL, r->begin, r->length, r->val);
  if (c->op == &cli_op_product)
    return sley_convert(c->dtype, (const char *)c->csr.val + (size_t)r->begin * sley_dtype_bytes(c->dtype),
                        SLEY_F64, r->val, r->length);
  for (int64_t i = 0; i < r->length * c->heads; i++)
    r->val[i] = 1;
  return SLEY_OK;
}

/* Finds for each feature the entry whose value min or max chooses: the first one of equal values. */
static void choose(cli_op_truth *t) {
  const int64_t k = t->c->source_width;
  const double *x = t->at.source;
  for (int64_t f = 0; f < k; f++) {
    int64_t best = 0;
    for (int64_t e = 1; e < t->at.length; e++)
      if (t->c->op->kind == SLEY_AGGREGATE_MIN ? x[e * k + f] < x[best * k + f]
                                               : x[e * k + f] > x[best * k + f])
        best = e;
    t->at.arg[f] = t->at.length > 0 ? (int32_t)best : -1;
  }
}

static bool chooses(const cli_op *op) {
  return op->form == CLI_OP_SUMS && (op->kind == SLEY_AGGREGATE_MIN || op->kind == SLEY_AGGREGATE_MAX);
}

/* Loads the operands of row i, and computes the parts that its results share. */
static sley_status load(cli_op_truth *t, int64_t i) {
  const cli_op_case *c = t->c;
  cli_op_row *r = &t->at;
  if (r->row == i)
    return SLEY_OK;
  r->row = i;
  r->begin = c->csr.rowptr[i];
  r->length = c->csr.rowptr[i + 1] - r->begin;
  sley_status status = load_values(t);
  for (int64_t e = 0; e < r->length && c->source_width > 0 && status == SLEY_OK; e++)
    status = fetch(t, CLI_OP_SOURCE, column_at(&c->csr, r->begin + e), 1, r->source + e * c->source_ld);
  if (status == SLEY_OK && c->query_width > 0)
    status = fetch(t, CLI_OP_QUERY, i, 1, r->query);
  const bool of_entries = cli_op_of_entries(c->op, CLI_OP_D_OUT), backward = c->data[CLI_OP_D_OUT].cols > 0;
  if (status == SLEY_OK && backward)
    status = fetch(t, CLI_OP_D_OUT, of_entries ? r->begin : i, of_entries ? r->length : 1, r->d_out);
  if (status != SLEY_OK)
    r->row = -1;
  else if (c->op->form == CLI_OP_ATTENTION)
    cli_op_scores(t, backward);
  else if (chooses(c->op))
    choose(t);
  return status;
}

/* ---- results of rows */

static void sum_out(cli_op_truth *t) {
  const cli_op_case *c = t->c;
  const int64_t k = c->heads * c->width;
  clear(t, k, t->at.length);
  for (int64_t e = 0; e < t->at.length; e++)
    for (int64_t f = 0; f < k; f++) {
      const int64_t h = e * c->heads + f / c->width;
      double w = c->op->form == CLI_OP_ATTENTION ? t->at.weight[h] : t->at.val[h], spread = 1;
      if (c->op->form == CLI_OP_ATTENTION)
        spread = 1 + 2 * t->at.score_size[f / c->width];
      else if (c->op->kind == SLEY_AGGREGATE_MEAN)
        w /= (double)t->at.length;
      const double term = w * t->at.source[e * c->source_ld + f];
      if (!chooses(c->op) || t->at.arg[f] == e)
        cli_op_add(&t->out, f, term, fabs(term) * spread);
    }
}

/* Dot product of each entry's row of sources with a row, for each head. */
static void multiply(cli_op_truth *t, const double *row) {
  const cli_op_case *c = t->c;
  clear(t, t->at.length * c->heads, 0);
  for (int64_t e = 0; e < t->at.length; e++)
    for (int64_t f = 0; f < c->heads * c->width; f++) {
      const double term = row[f] * t->at.source[e * c->source_ld + f];
      cli_op_add(&t->out, e * c->heads + f / c->width, term, fabs(term));
    }
}

static void softmax_out(cli_op_truth *t) {
  const int64_t heads = t->c->heads, length = t->at.length;
  clear(t, length * heads, length);
  for (int64_t h = 0; h < heads; h++) {
    double most = -INFINITY, sum = 0;
    for (int64_t e = 0; e < length; e++)
      most = fmax(most, t->at.val[e * heads + h]);
    for (int64_t e = 0; e < length; e++)
      sum += exp(t->at.val[e * heads + h] - most);
    for (int64_t e = 0; e < length; e++) {
      const double s = t->at.val[e * heads + h], p = exp(s - most) / sum;
      cli_op_add(&t->out, e * heads + h, p, p * (1 + fabs(s) + fabs(most)));
    }
  }
}

/* dS = P (dP - sum P dP), with this rank's own result P. */
static sley_status softmax_gradient(cli_op_truth *t) {
  const cli_op_case *c = t->c;
  const cli_op_data *out = &c->data[CLI_OP_OUT];
  const int64_t heads = c->heads, length = t->at.length;
  const char *p = (const char *)out->host + (size_t)((t->at.begin - out->first) * heads) * out->value;
  sley_status status = sley_convert(c->dtype, p, SLEY_F64, t->at.weight, length * heads);
  clear(t, length * heads, length);
  for (int64_t h = 0; h < heads && status == SLEY_OK; h++) {
    double sum = 0, size = 0;
    for (int64_t e = h; e < length * heads; e += heads) {
      sum += t->at.weight[e] * t->at.d_out[e];
      size += fabs(t->at.weight[e] * t->at.d_out[e]);
    }
    for (int64_t e = h; e < length * heads; e += heads)
      cli_op_add(&t->out, e, t->at.weight[e] * (t->at.d_out[e] - sum),
                 fabs(t->at.weight[e]) * (fabs(t->at.d_out[e]) + size));
  }
  return status;
}

static void query_gradient(cli_op_truth *t) {
  const cli_op_case *c = t->c;
  clear(t, c->query_width, t->at.length);
  for (int64_t e = 0; e < t->at.length; e++) {
    if (c->op->form == CLI_OP_ATTENTION) {
      cli_op_scores_query(t, e);
      continue;
    }
    for (int64_t f = 0; f < c->query_width; f++) {
      const double term = t->at.d_out[e * c->heads + f / c->width] * t->at.source[e * c->source_ld + f];
      cli_op_add(&t->out, f, term, fabs(term));
    }
  }
}

sley_status cli_op_truth_row(cli_op_truth *t, cli_op_array array, int64_t i, const cli_op_sums **out) {
  const cli_op_form form = t->c->op->form;
  sley_status status = load(t, i);
  *out = &t->out;
  if (status != SLEY_OK)
    return status;
  if (array == CLI_OP_D_QUERY)
    query_gradient(t);
  else if (array == CLI_OP_D_VAL && form == CLI_OP_SOFTMAX)
    return softmax_gradient(t);
  else if (array == CLI_OP_D_VAL)
    multiply(t, t->at.d_out);
  else if (form == CLI_OP_PRODUCTS)
    multiply(t, t->at.query);
  else if (form == CLI_OP_SOFTMAX)
    softmax_out(t);
  else
    sum_out(t);
  return SLEY_OK;
}

/* ---- results of columns */

/* Adds the term of entry e of the loaded row to a row of D_SOURCE: val dY for sums, dS U for SDDMM. */
static void add_entry(cli_op_truth *t, int64_t e) {
  const cli_op_case *c = t->c;
  if (c->op->form == CLI_OP_ATTENTION) {
    cli_op_scores_source(t, e);
    return;
  }
  for (int64_t f = 0; f < c->source_width; f++) {
    const int64_t h = e * c->heads + f / c->width;
    double term =
        c->op->form == CLI_OP_SUMS ? t->at.val[h] * t->at.d_out[f] : t->at.d_out[h] * t->at.query[f];
    if (c->op->form == CLI_OP_SUMS && c->op->kind == SLEY_AGGREGATE_MEAN)
      term /= (double)t->at.length;
    if (!chooses(c->op) || t->at.arg[f] == e)
      cli_op_add(&t->out, f, term, fabs(term));
  }
}

sley_status cli_op_truth_column(cli_op_truth *t, const cli_op_entry *entry, int64_t count,
                                const cli_op_sums **out) {
  int64_t longest = 0;
  clear(t, t->c->source_width, count);
  *out = &t->out;
  for (int64_t i = 0; i < count; i++) {
    sley_status status = load(t, entry[i].row);
    if (status != SLEY_OK)
      return status;
    longest = t->at.length > longest ? t->at.length : longest;
    add_entry(t, entry[i].place);
  }
  t->out.terms += longest;
  return SLEY_OK;
}

sley_status cli_op_truth_vector(cli_op_truth *t, int64_t begin, int64_t end, const cli_op_sums **out) {
  clear(t, t->c->heads * t->c->width, t->c->csr.rowptr[end] - t->c->csr.rowptr[begin]);
  *out = &t->out;
  for (int64_t i = begin; i < end; i++) {
    sley_status status = load(t, i);
    if (status != SLEY_OK)
      return status;
    for (int64_t e = 0; e < t->at.length; e++)
      cli_op_scores_vector(t, e);
  }
  return SLEY_OK;
}
