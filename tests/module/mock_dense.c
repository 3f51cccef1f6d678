/* SPDX-License-Identifier: Apache-2.0 */
/* The mock device's checks of the dense parts of graph networks, and of arrays that are compressed: every
 * array that a kernel reads or writes lies in memory of a device. */
#include "mock.h"

typedef struct place {
  const void *address;
  const char *what;
} place;

/* Those that are there. */
static sley_status check_places(sl_queue *queue, const place *all, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (all[i].address)
      SL_TRY(mock_check(queue, all[i].address, all[i].what));
  return SLEY_OK;
}
#define CHECK_PLACES(queue, ...)                                                                             \
  check_places(queue, (const place[]){__VA_ARGS__}, sizeof((const place[]){__VA_ARGS__}) / sizeof(place))

static sley_status check_gemm(sl_queue *queue, const sl_gemm_args *a) {
  if (a->n > 0 && a->column_sums)
    SL_TRY(CHECK_PLACES(queue, {a->k > 0 ? a->b : NULL, "B"}, {a->column_sums, "sums of columns"}));
  if (a->m == 0 || a->n == 0)
    return SLEY_OK;
  if (a->k > 0 && a->alpha != 0)
    SL_TRY(CHECK_PLACES(queue, {a->a, "A"}, {a->b, "B"}));
  return CHECK_PLACES(queue, {a->c, "C"}, {a->bias, "a bias"}, {a->gate, "a gate"});
}

/* Of operations on no values nothing is asked. */
sley_status mock_check_dense(sl_queue *queue, const sl_kernel_args *args) {
  const sl_column_sums_args *c = &args->column_sums;
  const sl_activate_grad_args *g = &args->activate_grad;
  const sl_dropout_args *d = &args->dropout;
  const sl_nll_args *l = &args->nll;
  const sl_adam_args *a = &args->adam;
  if (args->op == SL_OP_GEMM)
    return check_gemm(queue, &args->gemm);
  if (args->op == SL_OP_COLUMN_SUMS && c->cols > 0)
    return CHECK_PLACES(queue, {c->rows > 0 ? c->x : NULL, "X"}, {c->out, "sums of columns"});
  if (args->op == SL_OP_ACTIVATE_GRAD && g->rows > 0 && g->cols > 0)
    return CHECK_PLACES(queue, {g->y, "Y"}, {g->dy, "dY"}, {g->dx, "dX"}, {g->sums, "sums of columns"});
  if (args->op == SL_OP_DROPOUT && d->rows > 0 && d->cols > 0)
    return CHECK_PLACES(queue, {d->in, "values"}, {d->out, "kept values"}, {d->row, "numbers of rows"},
                        {d->column, "numbers of columns"},
                        {d->device_seed, "a seed"}, {d->bias, "a bias"});
  if (args->op == SL_OP_NLL && l->rows > 0)
    return CHECK_PLACES(queue, {l->logits, "logits"}, {l->label, "labels"}, {l->row_loss, "losses"},
                        {l->sums, "sums"}, {l->grad, "gradients"}, {l->log_probs, "logarithms"},
                        {l->device_scale, "a factor"});
  if (args->op == SL_OP_ADAM && a->count > 0)
    return CHECK_PLACES(queue, {a->param, "parameters"}, {a->grad, "gradients"}, {a->m, "moments"},
                        {a->v, "moments"}, {a->master, "parameters"});
  return SLEY_OK;
}

sley_status mock_check_compressed(sl_queue *queue, const sl_kernel_args *args) {
  const sl_nonzeros_args *n = &args->nonzeros;
  const sl_compress_args *c = &args->compress;
  const sl_decompress_args *d = &args->decompress;
  const sl_sparse_sum_args *s = &args->sparse_sum;
  const sl_threshold_args *t = &args->threshold;
  const sl_sparsify_args *k = &args->sparsify;
  if (args->op == SL_OP_NONZEROS)
    return CHECK_PLACES(queue, {n->count > 0 ? n->src : NULL, "values"}, {n->nonzeros, "a count"});
  for (int p = 0; args->op == SL_OP_COMPRESS && p < c->parts; p++)
    SL_TRY(CHECK_PLACES(queue, {c->part[p].count > 0 ? c->part[p].src : NULL, "values"},
                        {c->part[p].dst, "a compressed array"},
                        {c->part[p].count > 0 ? c->part[p].copy : NULL, "values"}));
  if (args->op == SL_OP_COMPRESS)
    return CHECK_PLACES(queue, {c->work, "working memory"});
  if (args->op == SL_OP_THRESHOLD)
    return CHECK_PLACES(queue, {t->rank > 0 ? t->src : NULL, "values"},
                        {t->rank > 0 ? t->residual : NULL, "a residual"},
                        {t->rank > 0 ? t->work : NULL, "working memory"}, {t->threshold, "a threshold"});
  if (args->op == SL_OP_SPARSIFY)
    return CHECK_PLACES(queue, {k->count > 0 ? k->src : NULL, "values"},
                        {k->count > 0 ? k->dst : NULL, "values"},
                        {k->count > 0 ? k->residual : NULL, "a residual"}, {k->threshold, "a threshold"},
                        {k->kept, "a count"});
  for (int p = 0; args->op == SL_OP_DECOMPRESS && p < d->parts; p++)
    SL_TRY(CHECK_PLACES(queue, {d->part[p].room > 0 ? d->part[p].src : NULL, "a compressed array"},
                        {d->part[p].count > 0 ? d->part[p].dst : NULL, "values"}));
  if (args->op == SL_OP_DECOMPRESS)
    return CHECK_PLACES(queue, {d->wrong, "a verdict"});
  for (int p = 0; p < s->parts; p++)
    SL_TRY(CHECK_PLACES(queue, {s->room > 0 && p != s->own ? s->src[p] : NULL, "a compressed array"}));
  return CHECK_PLACES(queue, {s->own >= 0 && s->count > 0 ? s->own_src : NULL, "values"},
                      {s->count > 0 ? s->dst : NULL, "sums"}, {s->wrong, "a verdict"});
}
