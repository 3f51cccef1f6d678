/* SPDX-License-Identifier: Apache-2.0 */
/* The mock device's checks of the operations of graph networks: every array that a kernel reads or writes
 * lies in memory of a device. */
#include "mock.h"

/* An array, where it has any values. */
static sley_status check_some(sl_queue *queue, const void *array, int64_t values, const char *what) {
  return array && values > 0 ? mock_check(queue, array, what) : SLEY_OK;
}

static sley_status check_pattern(sl_queue *queue, const sl_pattern *p) {
  SL_TRY(check_some(queue, p->rowptr, p->rows, "rows of a graph"));
  SL_TRY(check_some(queue, p->col, p->rows, "columns of a graph"));
  SL_TRY(check_some(queue, p->place, p->rows, "places of a graph"));
  SL_TRY(check_some(queue, p->listed, p->listed_rows, "listed rows of a graph"));
  return check_some(queue, p->of_row, p->rows, "rows of a graph");
}

static sley_status check_split(sl_queue *queue, const sl_split_rows *s, int64_t rows, const char *what) {
  SL_TRY(check_some(queue, s->near, s->near_rows, what));
  return check_some(queue, s->far, rows - s->near_rows, what);
}

static sley_status check_aggregate(sl_queue *queue, const sl_aggregate_args *a) {
  const int64_t k = sl_features(&a->shape);
  if (a->pattern.rows == 0 || k == 0)
    return SLEY_OK;
  SL_TRY(check_pattern(queue, &a->pattern));
  SL_TRY(check_split(queue, &a->x, a->pattern.cols, "X"));
  SL_TRY(check_split(queue, &a->y, a->pattern.rows, "Y"));
  SL_TRY(check_some(queue, a->val, k, "values of entries"));
  SL_TRY(check_some(queue, a->factor, k, "values of entries"));
  SL_TRY(check_some(queue, a->scale, a->pattern.cols, "values of rows"));
  SL_TRY(check_some(queue, a->arg, k, "what was chosen"));
  return check_some(queue, a->chosen, k, "what was chosen");
}

static sley_status check_sddmm(sl_queue *queue, const sl_sddmm_args *a) {
  const int64_t k = sl_features(&a->shape);
  if (a->pattern.rows == 0)
    return SLEY_OK;
  SL_TRY(check_pattern(queue, &a->pattern));
  SL_TRY(check_some(queue, a->val, k, "values of entries"));
  SL_TRY(check_some(queue, a->scale, k, "values of rows"));
  SL_TRY(check_some(queue, a->chosen, k, "what was chosen"));
  SL_TRY(check_some(queue, a->u, k, "U"));
  SL_TRY(k > 0 ? check_split(queue, &a->v, a->pattern.cols, "V") : SLEY_OK);
  return check_some(queue, a->s, k, "values of entries");
}

static sley_status check_softmax(sl_queue *queue, const sl_edge_softmax_args *a) {
  if (a->pattern.rows == 0)
    return SLEY_OK;
  SL_TRY(check_pattern(queue, &a->pattern));
  SL_TRY(check_some(queue, a->in, a->heads, "values of entries"));
  SL_TRY(check_some(queue, a->grad, a->heads, "values of entries"));
  return check_some(queue, a->out, a->heads, "values of entries");
}

/* rows: of queries, those of the pattern by rows. */
static sley_status check_attention(sl_queue *queue, const sl_attention_args *a, int64_t rows, int64_t cols) {
  const int64_t k = sl_features(&a->shape);
  SL_TRY(check_pattern(queue, &a->pattern));
  SL_TRY(check_some(queue, a->q, rows, "queries"));
  SL_TRY(check_some(queue, a->stats, rows, "greatest scores"));
  SL_TRY(check_some(queue, a->side, rows, "weighted sums"));
  SL_TRY(a->kind == SL_ATTENTION_GATV2 ? SLEY_OK : check_split(queue, &a->k, cols, "keys"));
  if (k == 0)
    return SLEY_OK;
  SL_TRY(a->kind == SL_ATTENTION_GATV2 ? mock_check(queue, a->a, "a") : SLEY_OK);
  SL_TRY(check_some(queue, a->y, rows, "Y"));
  return check_split(queue, &a->v, cols, "values of sources");
}

static sley_status check_gradients(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_grad_args *a = &args->attention_grad;
  const bool by_columns = args->op == SL_OP_ATTENTION_COLUMNS;
  const sl_pattern *p = &a->of.pattern;
  const int64_t k = sl_features(&a->of.shape), rows = by_columns ? p->cols : p->rows;
  if (p->rows == 0)
    return SLEY_OK;
  SL_TRY(check_attention(queue, &a->of, rows, by_columns ? p->rows : p->cols));
  SL_TRY(check_some(queue, a->delta, rows, "gradients"));
  SL_TRY(check_some(queue, a->dy, k * rows, "gradients"));
  if (!by_columns) {
    SL_TRY(check_some(queue, a->da, k, "gradients"));
    SL_TRY(check_some(queue, a->work, k, "sums of blocks"));
    return check_some(queue, a->dq, rows, "gradients");
  }
  SL_TRY(a->of.kind == SL_ATTENTION_GATV2 ? SLEY_OK : check_split(queue, &a->dk, p->rows, "gradients"));
  return k > 0 ? check_split(queue, &a->dv, p->rows, "gradients") : SLEY_OK;
}

sley_status mock_check_graph(sl_queue *queue, const sl_kernel_args *args) {
  switch (args->op) {
  case SL_OP_AGGREGATE:
    return check_aggregate(queue, &args->aggregate);
  case SL_OP_SDDMM:
    return check_sddmm(queue, &args->sddmm);
  case SL_OP_EDGE_SOFTMAX:
    return check_softmax(queue, &args->edge_softmax);
  case SL_OP_ATTENTION:
    if (args->attention.pattern.rows == 0)
      return SLEY_OK;
    return check_attention(queue, &args->attention, args->attention.pattern.rows,
                           args->attention.pattern.cols);
  default:
    return check_gradients(queue, args);
  }
}
