/* SPDX-License-Identifier: Apache-2.0 */
/* The options for rows between the halves of a step, on every transport, for every model and 1 to 7 layers.
 * If rows are recomputed, losses, logits, gradients and weights have the bits of a network that keeps its
 * rows. If rows are stored in a narrower type, the first loss and the gradients of biases have these bits,
 * and gradients of weights differ as sley_gnn.h says. Neither option needs more memory. */
#include "sley_gnn.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "gnn/network.h"
#include "mirror.h"
#include "ranks.h"

enum { ROWS = 29, FEATURES = 9, CLASSES = 3, MOST_RANKS = 8, MOST_LAYERS = 7, MOST_VALUES = 8192, STEPS = 4 };
enum { WAYS = SLEY_GNN_BF16 + 1 };

typedef struct sample {
  sley_gnn_options options;
  bool traced;
  sley_matrix *a;
  int64_t begin[MOST_RANKS + 1];
} sample;

/* A rank's networks and rows. */
typedef struct here {
  sley_comm *comm;
  const sample *s;
  int64_t rows;
  sley_gnn *gnn[WAYS];
  float x[ROWS * FEATURES];
  int32_t label[ROWS];
  mirror mx, ml;
} here;

/* Gradients or weights of all parameters after a step, one after the other. */
typedef struct values {
  int64_t count;
  float at[MOST_VALUES];
} values;

static sley_status open(here *h, const sley_matrix *block) {
  const uint64_t seed = h->s->options.seed;
  const int64_t first = h->s->begin[h->comm->rank];
  h->rows = h->s->begin[h->comm->rank + 1] - first;
  for (int64_t i = 0; i < h->rows; i++) {
    for (int64_t f = 0; f < FEATURES; f++)
      h->x[i * FEATURES + f] = (float)(2 * sl_unit(sl_random(seed, (uint64_t)(first + i), (uint64_t)f)) - 1);
    h->label[i] = (int32_t)sl_below(sl_random(seed, (uint64_t)(first + i), 100), CLASSES);
  }
  SL_TRY(mirror_open(h->comm, h->x, (int64_t)sizeof h->x, &h->mx));
  SL_TRY(mirror_open(h->comm, h->label, (int64_t)sizeof h->label, &h->ml));
  for (int way = 0; way < WAYS; way++) {
    sley_gnn_options o = h->s->options;
    o.memory = (sley_gnn_memory)way;
    SL_TRY(sley_gnn_create(h->comm, block, h->s->begin, &o, &h->gnn[way]));
  }
  return SLEY_OK;
}

static sley_gnn_batch batch_of(const here *h, int64_t step, double rate) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  batch.rate = rate;
  batch.step = step;
  return batch;
}

static sley_status fetch(const here *h, sley_gnn_memory way, bool gradients, values *out) {
  sl_queue *queue = h->comm->queue;
  int count;
  out->count = 0;
  SL_TRY(sley_gnn_parameters(h->gnn[way], &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(h->gnn[way], n, &p));
    EXPECT(out->count + p.rows * p.cols <= MOST_VALUES);
    SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, out->at + out->count, gradients ? p.grad : p.value,
                            p.rows * p.cols * (int64_t)sizeof *out->at));
    out->count += p.rows * p.cols;
  }
  return queue->ops->queue_wait(queue);
}

static bool same(const values *a, const values *b) {
  return a->count == b->count && memcmp(a->at, b->at, (size_t)a->count * sizeof *a->at) == 0;
}

/* ---- steps */

static sley_status logits_of(const here *h, sley_gnn_memory way, float *out) {
  const sley_gnn_batch batch = batch_of(h, 0, 0);
  mirror m = {0};
  SL_TRY(mirror_open(h->comm, out, ROWS * CLASSES * (int64_t)sizeof *out, &m));
  for (int pass = 0; pass < 2; pass++) /* the second pass may use sums of the first */
    SL_TRY(sley_gnn_infer(h->gnn[way], &batch, m.here, CLASSES, NULL));
  SL_TRY(mirror_fetch(&m));
  mirror_close(&m);
  return SLEY_OK;
}

/* Checks steps with inference between them, which uses the same memory. With narrowed rows, losses may differ
 * by 5 %. */
static sley_status check_steps(const here *h) {
  static _Thread_local values kept, again;
  float logits[WAYS][ROWS * CLASSES] = {{0}};
  for (int64_t step = 0; step < STEPS; step++) {
    const sley_gnn_batch batch = batch_of(h, step, 0.02);
    double loss[WAYS];
    for (int way = 0; way < WAYS; way++) {
      SL_TRY(sley_gnn_train(h->gnn[way], &batch, &loss[way], NULL));
      if (step % 2 == 1)
        SL_TRY(logits_of(h, (sley_gnn_memory)way, logits[way]));
    }
    EXPECT(fabs(loss[SLEY_GNN_BF16] - loss[SLEY_GNN_KEEP]) <= 0.05 * loss[SLEY_GNN_KEEP]);
    EXPECT(memcmp(&loss[0], &loss[1], sizeof loss[0]) == 0);
    EXPECT(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    for (int gradients = 0; gradients < 2; gradients++) {
      SL_TRY(fetch(h, SLEY_GNN_KEEP, gradients, &kept));
      SL_TRY(fetch(h, SLEY_GNN_RECOMPUTE, gradients, &again));
      EXPECT(same(&kept, &again));
    }
  }
  return SLEY_OK;
}

/* ---- narrowed: the first step */

/* Allowed errors, relative to the norm of all gradients; a rounding is 2^-9. The largest observed errors are
 * 0.0024 and, for GAT, 0.0080. */
static const double OFF = 0x1p-8, GAT_OFF = 0x1p-6;

static double norm_of(const float *at, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += (double)at[i] * (double)at[i];
  return sqrt(sum);
}

/* Checks the gradient of one parameter relative to the norm of all gradients, because |X|^T |D| is not
 * available here, and gradients of GAT's vectors are small differences of large numbers. */
static sley_status check_gradient(const sley_gnn_parameter *p, bool attends, double norm_of_all,
                                  const float *kept, const float *narrow) {
  const int64_t count = p->rows * p->cols;
  float difference[MOST_VALUES];
  for (int64_t i = 0; i < count; i++)
    difference[i] = narrow[i] - kept[i];
  if (strstr(p->name, "bias") && !attends && memcmp(kept, narrow, (size_t)count * sizeof *kept) != 0)
    return sl_fail(SLEY_ERR_INTERNAL, "%s: the gradient of a bias has other bits", p->name);
  const double off = norm_of(difference, count);
  if (off <= (attends ? GAT_OFF : OFF) * norm_of_all)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_INTERNAL, "%s: the gradient is off by %.3g of %.3g", p->name, off, norm_of_all);
}

static sley_status check_narrow(const here *h) {
  static _Thread_local values kept, narrow;
  const sley_gnn_batch batch = batch_of(h, 1, 0);
  const bool attends = sl_layer_kind_of(h->s->options.model)->heads;
  double loss[2];
  int count;
  SL_TRY(sley_gnn_train(h->gnn[SLEY_GNN_KEEP], &batch, &loss[0], NULL));
  SL_TRY(sley_gnn_train(h->gnn[SLEY_GNN_BF16], &batch, &loss[1], NULL));
  EXPECT(memcmp(&loss[0], &loss[1], sizeof loss[0]) == 0);
  SL_TRY(fetch(h, SLEY_GNN_KEEP, true, &kept));
  SL_TRY(fetch(h, SLEY_GNN_BF16, true, &narrow));
  const bool lost = sl_activations_any_lost(&h->gnn[SLEY_GNN_BF16]->activations);
  EXPECT(same(&kept, &narrow) ? !lost || !attends : lost); /* relu may have set all of them to 0 */
  SL_TRY(sley_gnn_parameters(h->gnn[SLEY_GNN_KEEP], &count));
  for (int64_t n = 0, at = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(h->gnn[SLEY_GNN_KEEP], (int)n, &p));
    SL_TRY(check_gradient(&p, attends, norm_of(kept.at, kept.count), kept.at + at, narrow.at + at));
    at += p.rows * p.cols;
  }
  return SLEY_OK;
}

/* ---- memory */

static sley_status check_bytes(const here *h) {
  sley_gnn_bytes bytes[WAYS];
  const bool deep = h->s->options.layers == MOST_LAYERS && h->rows > 0;
  for (int way = 0; way < WAYS; way++) {
    SL_TRY(sley_gnn_bytes_get(h->gnn[way], &bytes[way]));
    EXPECT(bytes[way].rows > 0 || h->rows == 0);
    EXPECT(bytes[way].parameters == bytes[0].parameters && bytes[way].plans == bytes[0].plans);
  }
  EXPECT(bytes[SLEY_GNN_RECOMPUTE].rows < bytes[SLEY_GNN_KEEP].rows + !deep);
  EXPECT(bytes[SLEY_GNN_BF16].rows < bytes[SLEY_GNN_KEEP].rows + !deep);
  EXPECT((bytes[0].plans > 0) == sl_layer_kind_of(h->s->options.model)->sums);
  return SLEY_OK;
}

static sley_status check_refused(const here *h, const sley_matrix *block) {
  sley_gnn_options o = h->s->options;
  sley_gnn *none = NULL;
  o.dtype = SLEY_F64;
  o.memory = SLEY_GNN_BF16;
  EXPECT(sley_gnn_create(h->comm, block, h->s->begin, &o, &none) == SLEY_ERR_ARG && !none);
  o.memory = (sley_gnn_memory)WAYS;
  EXPECT(sley_gnn_create(h->comm, block, h->s->begin, &o, &none) == SLEY_ERR_ARG && !none);
  return SLEY_OK;
}

/* Lets each allocation fail while one rank creates a network: memory must not leak. Not with a trace, which
 * keeps its events. */
static sley_status check_short(const here *h, const sley_matrix *block) {
  sley_gnn_options o = h->s->options;
  if (h->comm->size > 1 || h->s->traced || !h->comm->device->ops->host_addresses)
    return SLEY_OK;
  for (int way = SLEY_GNN_RECOMPUTE; way < WAYS; way++) {
    const int64_t before = sl_memory_now();
    sley_status status = SLEY_ERR_MEMORY;
    o.memory = (sley_gnn_memory)way;
    for (int64_t nth = 1; status == SLEY_ERR_MEMORY; nth++) {
      sley_gnn *gnn = NULL;
      sl_memory_fail_at(nth);
      status = sley_gnn_create(h->comm, block, h->s->begin, &o, &gnn);
      sl_memory_fail_at(0);
      EXPECT((gnn != NULL) == (status == SLEY_OK));
      sley_gnn_destroy(gnn);
      EXPECT(sl_memory_now() == before);
    }
    SL_TRY(status);
  }
  return SLEY_OK;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  here h = {.comm = comm, .s = arg};
  const int64_t first = h.s->begin[comm->rank];
  sley_matrix *block = NULL;
  sley_status status =
      sl_agree(comm, sley_matrix_row_block(h.s->a, first, h.s->begin[comm->rank + 1] - first, &block));
  if (status == SLEY_OK)
    status = open(&h, block);
  if (status == SLEY_OK)
    status = check_narrow(&h);
  if (status == SLEY_OK)
    status = check_steps(&h);
  if (status == SLEY_OK)
    status = check_bytes(&h);
  if (status == SLEY_OK)
    status = check_refused(&h, block);
  if (status == SLEY_OK)
    status = check_short(&h, block);
  for (int way = 0; way < WAYS; way++)
    sley_gnn_destroy(h.gnn[way]);
  mirror_close(&h.ml);
  mirror_close(&h.mx);
  sley_matrix_destroy(block);
  return status;
}

/* Every model is tested with all numbers of layers within that many cases. */
static void run_samples(const rank_case *c) {
  for (int model = 0; sley_gnn_models()[model]; model++) {
    static sample s;
    const uint64_t seed = c->seed + (uint64_t)model;
    char source[64];
    s = (sample){.options = SLEY_GNN_OPTIONS_INIT, .traced = c->traced};
    s.options.model = (sley_gnn_model)model;
    s.options.layers = 1 + (int)(seed % MOST_LAYERS);
    s.options.features = FEATURES;
    s.options.hidden = 4 + (int64_t)(seed / 2 % 3) * 4;
    s.options.heads = 1 + (int64_t)(seed % 2);
    s.options.classes = CLASSES;
    s.options.dropout = c->seed / 2 % 3 > 0 ? 0.25 : 0;
    s.options.same_x = c->seed % 2;
    s.options.seed = seed;
    snprintf(source, sizeof source, "er:rows=%d,cols=%d,nnz=110,seed=%d", ROWS, ROWS, (int)(seed % 1000));
    assert_sley_ok(sley_matrix_read(source, NULL, &s.a));
    assert_sley_ok(sley_partition_rows(s.a, "rows", c->ranks, s.begin));
    assert_case_ok(c, run_case(c, rank_main, &s));
    sley_matrix_destroy(s.a);
  }
}

static void test_on_all_ranks(void **state) {
  (void)state;
  each_case(run_samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_all_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
