/* SPDX-License-Identifier: Apache-2.0 */
/* Graph networks on every transport: gradients of all parameters equal differences of the loss in f64, with
 * dropout; gradients are the same on any number of ranks; the loss falls; the times of a step are complete;
 * restarted networks equal new ones. */
#include "sley_gnn.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/value.h"
#include "mirror.h"
#include "nonzeros.h"
#include "ranks.h"

enum { ROWS = 23, FEATURES = 5, CLASSES = 3, MOST_RANKS = 8, MOST_VALUES = 4096 };

typedef struct sample {
  sley_gnn_model model;
  int layers, ranks;
  bool compares; /* true: compare with the gradients of one rank */
  uint64_t seed;
  sley_matrix *a;
  int64_t begin[MOST_RANKS + 1];
  double gradient[MOST_VALUES]; /* gradients of one rank */
  double sparse[MOST_VALUES];   /* the same with sparse features, reproducible */
  char path[64];                /* file of a state */
} sample;

/* A rank's network and rows. */
typedef struct here {
  sley_comm *comm;
  sample *s;
  sley_gnn *gnn;
  double x[ROWS * FEATURES];
  int32_t label[ROWS];
  mirror mx, ml;
} here;

static double feature(uint64_t seed, int64_t row, int64_t f) {
  return 2 * sl_unit(sl_random(seed, (uint64_t)row, (uint64_t)f)) - 1;
}

/* Every fourth row has no label. */
static int32_t label(uint64_t seed, int64_t row) {
  return row % 4 == 3 ? -1 : (int32_t)sl_below(sl_random(seed, (uint64_t)row, 100), CLASSES);
}

static sley_gnn_options options_of(const sample *s) {
  sley_gnn_options o = SLEY_GNN_OPTIONS_INIT;
  o.model = s->model;
  o.layers = s->layers;
  o.features = FEATURES;
  o.hidden = 4 + s->seed % 3;
  o.heads = 2;
  o.classes = CLASSES;
  o.dtype = SLEY_F64;
  o.dropout = s->seed % 2 ? 0.25 : 0;
  o.same_x = s->seed % 3 > 0;
  o.seed = s->seed;
  return o;
}

static sley_gnn_model_info model_of(const here *h) {
  sley_gnn_model_info info = {0};
  sley_gnn_model_get(h->s->model, &info);
  return info;
}

static sley_status open(here *h, const sley_matrix *block) {
  const int64_t first = h->s->begin[h->comm->rank], rows = h->s->begin[h->comm->rank + 1] - first;
  const sley_gnn_options o = options_of(h->s);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t f = 0; f < FEATURES; f++)
      h->x[i * FEATURES + f] = (first + i + f) % 3 == 1 ? 0 : feature(h->s->seed, first + i, f);
    h->label[i] = label(h->s->seed, first + i);
  }
  SL_TRY(mirror_open(h->comm, h->x, (int64_t)sizeof h->x, &h->mx));
  SL_TRY(mirror_open(h->comm, h->label, (int64_t)sizeof h->label, &h->ml));
  return sley_gnn_create(h->comm, block, h->s->begin, &o, &h->gnn);
}

static sley_status train(here *h, double rate, int64_t step, double *loss) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  int64_t counted;
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  batch.rate = rate;
  batch.decay = 0;
  batch.step = step;
  SL_TRY(sley_gnn_train(h->gnn, &batch, loss, &counted));
  EXPECT(counted == ROWS - ROWS / 4);
  return SLEY_OK;
}

static sley_status copy(here *h, sl_copy_kind kind, void *to, const void *from, int64_t values) {
  sl_queue *queue = h->comm->queue;
  SL_TRY(queue->ops->copy(queue, kind, to, from, values * (int64_t)sizeof(double)));
  return queue->ops->queue_wait(queue);
}

/* Draws parameters. Initial biases would be 0, and relu then has values at 0, where it has no derivative. */
static sley_status draw_parameters(here *h) {
  int count;
  SL_TRY(sley_gnn_parameters(h->gnn, &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    double value[MOST_VALUES];
    SL_TRY(sley_gnn_parameter_get(h->gnn, n, &p));
    EXPECT(p.rows * p.cols <= MOST_VALUES);
    for (int64_t i = 0; i < p.rows * p.cols; i++)
      value[i] = feature(h->s->seed + 7, n, i);
    SL_TRY(copy(h, SL_COPY_TO_DEVICE, p.value, value, p.rows * p.cols));
  }
  return SLEY_OK;
}

static sley_status loss_with(here *h, const sley_gnn_parameter *p, int64_t i, double value, double *loss) {
  SL_TRY(copy(h, SL_COPY_TO_DEVICE, (double *)p->value + i, &value, 1));
  return train(h, 0, 0, loss);
}

/* Compares the gradient of one value of a parameter with the difference of the loss. */
static sley_status check_value(here *h, const sley_gnn_parameter *p, int64_t i, double gradient) {
  const double step = 1e-5;
  double value, above, below;
  SL_TRY(copy(h, SL_COPY_TO_HOST, &value, (double *)p->value + i, 1));
  SL_TRY(loss_with(h, p, i, value + step, &above));
  SL_TRY(loss_with(h, p, i, value - step, &below));
  SL_TRY(copy(h, SL_COPY_TO_DEVICE, (double *)p->value + i, &value, 1));
  const double difference = (above - below) / (2 * step);
  if (fabs(difference - gradient) <= 1e-5 * (fabs(gradient) + 0.01))
    return SLEY_OK;
  return sl_fail(SLEY_ERR_INTERNAL, "model %d, %s[%lld]: gradient %.12g, difference %.12g", (int)h->s->model,
                 p->name, (long long)i, gradient, difference);
}

/* Compares a parameter's gradients with differences of the loss, if requested, and with one rank's gradients.
 */
static sley_status check_parameter(here *h, const sley_gnn_parameter *p, bool differences, int64_t *at) {
  const int64_t values = p->rows * p->cols;
  double gradient[MOST_VALUES];
  EXPECT(*at + values <= MOST_VALUES);
  SL_TRY(copy(h, SL_COPY_TO_HOST, gradient, p->grad, values));
  for (int64_t i = 0; i < values; i++) {
    const double expected = h->s->gradient[*at + i];
    EXPECT(!h->s->compares || fabs(gradient[i] - expected) <= 1e-12 * (fabs(expected) + 1));
    if (h->s->ranks == 1)
      h->s->gradient[*at + i] = gradient[i];
    if (differences && i % 5 == (int64_t)(h->s->seed % 5))
      SL_TRY(check_value(h, p, i, gradient[i]));
  }
  *at += values;
  return SLEY_OK;
}

static sley_status check_gradients(here *h) {
  int count;
  int64_t at = 0;
  double loss;
  SL_TRY(sley_gnn_parameters(h->gnn, &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(train(h, 0, 0, &loss)); /* computing the differences has overwritten the gradients */
    SL_TRY(sley_gnn_parameter_get(h->gnn, n, &p));
    SL_TRY(check_parameter(h, &p, true, &at));
  }
  return SLEY_OK;
}

static sley_status check_training(here *h) {
  double first = 0, last = 0, logits[ROWS * CLASSES], loss;
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  mirror m = {0};
  for (int64_t step = 0; step < 60; step++)
    SL_TRY(train(h, 0.02, step, step == 0 ? &first : &last));
  EXPECT(last < first);
  SL_TRY(mirror_open(h->comm, logits, (int64_t)sizeof logits, &m));
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  SL_TRY(sley_gnn_infer(h->gnn, &batch, m.here, CLASSES, &loss));
  SL_TRY(mirror_fetch(&m));
  const int64_t rows = h->s->begin[h->comm->rank + 1] - h->s->begin[h->comm->rank];
  for (int64_t i = 0; i < rows * CLASSES; i++)
    EXPECT(isfinite(logits[i]));
  EXPECT(loss < first);
  mirror_close(&m);
  return SLEY_OK;
}

static sley_status parameters_of(here *h, double *to, int64_t *count) {
  int number;
  *count = 0;
  SL_TRY(sley_gnn_parameters(h->gnn, &number));
  for (int n = 0; n < number; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(h->gnn, n, &p));
    EXPECT(*count + p.rows * p.cols <= MOST_VALUES);
    SL_TRY(copy(h, SL_COPY_TO_HOST, to + *count, p.value, p.rows * p.cols));
    *count += p.rows * p.cols;
  }
  return SLEY_OK;
}

/* Steps that continue from a state have the same bits. A state of another network is refused. */
static sley_status check_state(here *h, const sley_matrix *block) {
  static _Thread_local double after[MOST_VALUES], again[MOST_VALUES];
  int64_t values;
  double loss;
  sley_gnn_options o;
  SL_TRY(sley_gnn_save(h->gnn, h->s->path, NULL, 0));
  for (int64_t step = 0; step < 3; step++)
    SL_TRY(train(h, 0.02, step, &loss));
  SL_TRY(parameters_of(h, after, &values));
  SL_TRY(sley_gnn_load(h->gnn, h->s->path, NULL));
  for (int64_t step = 0; step < 3; step++)
    SL_TRY(train(h, 0.02, step, &loss));
  SL_TRY(parameters_of(h, again, &values));
  EXPECT(memcmp(after, again, (size_t)values * sizeof *after) == 0);
  SL_TRY(sley_gnn_options_read(h->s->path, &o));
  EXPECT(o.model == h->s->model && o.layers == h->s->layers && o.seed == h->s->seed);
  o.classes++;
  sley_gnn *other = NULL;
  SL_TRY(sley_gnn_create(h->comm, block, h->s->begin, &o, &other));
  EXPECT(sley_gnn_load(other, h->s->path, NULL) == SLEY_ERR_ARG);
  sley_gnn_destroy(other);
  return SLEY_OK;
}

/* Checks a step of gradient descent. */
static sley_status check_descent(here *h) {
  static _Thread_local double before[MOST_VALUES], after[MOST_VALUES];
  const double rate = 0.1, decay = 0.01;
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  int64_t values;
  int count;
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  batch.optimizer = SLEY_GNN_SGD;
  batch.rate = rate;
  batch.decay = decay;
  SL_TRY(parameters_of(h, before, &values));
  SL_TRY(sley_gnn_train(h->gnn, &batch, NULL, NULL));
  SL_TRY(parameters_of(h, after, &values));
  SL_TRY(sley_gnn_parameters(h->gnn, &count));
  for (int64_t n = 0, at = 0; n < count; n++) {
    sley_gnn_parameter p;
    double gradient[MOST_VALUES];
    SL_TRY(sley_gnn_parameter_get(h->gnn, (int)n, &p));
    SL_TRY(copy(h, SL_COPY_TO_HOST, gradient, p.grad, p.rows * p.cols));
    for (int64_t i = 0; i < p.rows * p.cols; i++, at++)
      EXPECT(fabs(after[at] - (before[at] - rate * (gradient[i] + decay * before[at]))) <=
             1e-14 * (1 + fabs(before[at]) + fabs(gradient[i])));
  }
  return SLEY_OK;
}

static double all_of(sley_gnn_time time) {
  return time.forward_ms + time.backward_ms;
}

/* A timed step has the bits of an untimed one, and all its times are present and within the step's time. */
static sley_status check_times(here *h) {
  static _Thread_local double plain[MOST_VALUES], timed[MOST_VALUES];
  const bool attends = model_of(h).heads;
  int64_t values;
  double loss, loss_timed;
  sley_gnn_times t;
  SL_TRY(sley_gnn_save(h->gnn, h->s->path, NULL, 0));
  SL_TRY(train(h, 0.02, 1, &loss));
  EXPECT(sley_gnn_times_get(h->gnn, &t) == SLEY_ERR_ARG);
  SL_TRY(parameters_of(h, plain, &values));
  SL_TRY(sley_gnn_load(h->gnn, h->s->path, NULL));
  SL_TRY(sley_gnn_time_steps(h->gnn, true));
  EXPECT(sley_gnn_times_get(h->gnn, &t) == SLEY_ERR_ARG);
  const double begin = sl_now();
  SL_TRY(train(h, 0.02, 1, &loss_timed));
  const double ms = 1e3 * (sl_now() - begin);
  SL_TRY(parameters_of(h, timed, &values));
  EXPECT(loss == loss_timed && memcmp(plain, timed, (size_t)values * sizeof *plain) == 0);
  SL_TRY(sley_gnn_times_get(h->gnn, &t));
  const sley_gnn_time each[] = {t.exchange, t.spmm, t.attention, t.gemm, t.loss, t.optimizer, t.other};
  double sum = 0;
  for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
    EXPECT(each[i].forward_ms >= 0 && each[i].backward_ms >= 0);
    sum += all_of(each[i]);
  }
  EXPECT(sum <= ms * (1 + 1e-9));
  EXPECT(all_of(t.other) > 0 && t.gemm.forward_ms > 0 && t.gemm.backward_ms > 0);
  EXPECT((t.attention.forward_ms > 0) == attends && (t.attention.backward_ms > 0) == attends);
  EXPECT((t.spmm.forward_ms > 0) == !attends);
  EXPECT(t.loss.forward_ms > 0 && t.loss.backward_ms == 0);
  EXPECT(t.optimizer.backward_ms > 0 && t.optimizer.forward_ms == 0);
  EXPECT(h->s->ranks == 1 || (t.exchange.forward_ms > 0 && t.exchange.backward_ms > 0));
  SL_TRY(sley_gnn_time_steps(h->gnn, false));
  SL_TRY(train(h, 0, 1, &loss));
  EXPECT(sley_gnn_times_get(h->gnn, &t) == SLEY_ERR_ARG);
  return SLEY_OK;
}

/* If x does not change, logits have the same bits. */
static sley_status check_same_x(here *h) {
  double first[ROWS * CLASSES], second[ROWS * CLASSES];
  const int64_t rows = h->s->begin[h->comm->rank + 1] - h->s->begin[h->comm->rank];
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  mirror m = {0};
  SL_TRY(mirror_open(h->comm, first, (int64_t)sizeof first, &m));
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  for (int pass = 0; pass < 3; pass++) {
    SL_TRY(sley_gnn_infer(h->gnn, &batch, m.here, CLASSES, NULL));
    SL_TRY(mirror_fetch(&m));
    EXPECT(pass == 0 || memcmp(first, second, (size_t)(rows * CLASSES) * sizeof *first) == 0);
    memcpy(second, first, sizeof first);
  }
  mirror_close(&m);
  return SLEY_OK;
}

enum { STEPS = 3 };

/* Makes steps of a network, and stores their losses and the parameters after them. */
static sley_status take_steps(here *h, sley_gnn *gnn, double rate, double *losses, double *parameters,
                              int64_t *values) {
  sley_gnn *const before = h->gnn;
  sley_status status = SLEY_OK;
  h->gnn = gnn;
  for (int64_t step = 0; step < STEPS && status == SLEY_OK; step++)
    status = train(h, rate, step, &losses[step]);
  if (status == SLEY_OK)
    status = parameters_of(h, parameters, values);
  h->gnn = before;
  return status;
}

/* Sets weights to NaN and makes a step, which leaves NaN in all memory that it writes. */
static sley_status spoil(here *h, sley_gnn *gnn) {
  static _Thread_local double spoilt[MOST_VALUES];
  double losses[STEPS];
  int64_t values;
  int count;
  for (int i = 0; i < MOST_VALUES; i++)
    spoilt[i] = NAN;
  SL_TRY(sley_gnn_parameters(gnn, &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(gnn, n, &p));
    SL_TRY(copy(h, SL_COPY_TO_DEVICE, p.value, spoilt, p.rows * p.cols));
  }
  return take_steps(h, gnn, 0.02, losses, spoilt, &values);
}

/* Compares gnn, restarted with `seed`, with `fresh`, a new network created with `seed`. gnn was created with
 * another seed. */
static sley_status compare_restarted(here *h, sley_gnn *gnn, sley_gnn *fresh, uint64_t seed) {
  static _Thread_local double expected[MOST_VALUES], got[MOST_VALUES];
  double losses[STEPS], again[STEPS];
  int64_t values;
  SL_TRY(take_steps(h, fresh, 0.02, losses, expected, &values));
  SL_TRY(spoil(h, gnn));
  SL_TRY(sley_gnn_restart(gnn, seed));
  SL_TRY(take_steps(h, gnn, 0.02, again, got, &values));
  EXPECT(memcmp(losses, again, sizeof losses) == 0);
  EXPECT(memcmp(expected, got, (size_t)values * sizeof *got) == 0);
  return SLEY_OK;
}

static sley_status check_refusals(here *h, const sley_matrix *block, sley_gnn *gnn) {
  sley_gnn *shared = NULL;
  SL_TRY(sley_gnn_create_shared(gnn, block, h->s->begin, &shared));
  const sley_status status = sley_gnn_restart(shared, 1);
  sley_gnn_destroy(shared);
  EXPECT(status == SLEY_ERR_ARG);
  EXPECT(sley_gnn_restart(NULL, 1) == SLEY_ERR_ARG);
  EXPECT(h->comm->size == 1 || sley_gnn_restart(gnn, (uint64_t)h->comm->rank) == SLEY_ERR_ARG);
  return SLEY_OK;
}

/* A restarted network makes the same steps as a new one, whatever it did before. */
static sley_status check_restart(here *h, const sley_matrix *block, sley_gnn_memory memory) {
  sley_gnn *gnn = NULL, *fresh = NULL;
  sley_gnn_options o = options_of(h->s);
  o.memory = memory;
  sley_status status = sley_gnn_create(h->comm, block, h->s->begin, &o, &gnn);
  o.seed++;
  if (status == SLEY_OK)
    status = sley_gnn_create(h->comm, block, h->s->begin, &o, &fresh);
  if (status == SLEY_OK)
    status = compare_restarted(h, gnn, fresh, o.seed);
  if (status == SLEY_OK)
    status = check_refusals(h, block, gnn);
  sley_gnn_destroy(fresh);
  sley_gnn_destroy(gnn);
  return status;
}

/* ---- sparse features */

static sley_status gradients_of(here *h, sley_gnn *gnn, int64_t step, double *loss, double *out,
                                int64_t *values) {
  sley_gnn *const before = h->gnn;
  int count = 0;
  *values = 0;
  h->gnn = gnn;
  sley_status status = train(h, 0, step, loss);
  h->gnn = before;
  if (status == SLEY_OK)
    status = sley_gnn_parameters(gnn, &count);
  for (int n = 0; n < count && status == SLEY_OK; n++) {
    sley_gnn_parameter p;
    status = sley_gnn_parameter_get(gnn, n, &p);
    if (status == SLEY_OK)
      status = copy(h, SL_COPY_TO_HOST, out + *values, p.grad, p.rows * p.cols);
    *values += p.rows * p.cols;
  }
  return status;
}

static sley_status loss_of(here *h, sley_gnn *gnn, double *loss) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  return sley_gnn_infer(gnn, &batch, NULL, CLASSES, loss);
}

/* Steps with sparse features have the losses and gradients of dense ones, with the same dropout; afterwards
 * inference drops nothing. */
static sley_status compare_sparse(here *h, sley_gnn *dense, sley_gnn *sparse, bool reproducible) {
  static _Thread_local double expected[MOST_VALUES], got[MOST_VALUES];
  double loss = 0, again = 0;
  int64_t values = 0;
  for (int64_t step = 0; step < STEPS; step++) {
    SL_TRY(gradients_of(h, dense, step, &loss, expected, &values));
    SL_TRY(gradients_of(h, sparse, step, &again, got, &values));
    EXPECT(fabs(loss - again) <= 1e-13 * (1 + fabs(loss)));
    for (int64_t i = 0; i < values; i++)
      EXPECT(fabs(got[i] - expected[i]) <= 1e-13 * (1 + fabs(expected[i])));
  }
  SL_TRY(loss_of(h, dense, &loss));
  SL_TRY(loss_of(h, sparse, &again));
  EXPECT(fabs(loss - again) <= 1e-13 * (1 + fabs(loss)));
  if (reproducible && h->s->ranks == 1)
    memcpy(h->s->sparse, got, sizeof got);
  EXPECT(!reproducible || !h->s->compares || memcmp(h->s->sparse, got, (size_t)values * sizeof *got) == 0);
  return SLEY_OK;
}

static sley_status check_sparse(here *h, const sley_matrix *block, bool reproducible) {
  sley_gnn *dense = NULL, *sparse = NULL;
  sley_matrix *x = NULL;
  sley_gnn_options o = options_of(h->s);
  o.reproducible = reproducible;
  o.memory = h->s->seed % 2 ? SLEY_GNN_RECOMPUTE : SLEY_GNN_KEEP;
  sley_status status = sl_agree(
      h->comm, nonzeros_of(h->x, h->s->begin[h->comm->rank + 1] - h->s->begin[h->comm->rank], FEATURES, &x));
  if (status == SLEY_OK)
    status = sley_gnn_create(h->comm, block, h->s->begin, &o, &dense);
  o.x = x;
  if (status == SLEY_OK)
    status = sley_gnn_create(h->comm, block, h->s->begin, &o, &sparse);
  sley_matrix_destroy(x);
  if (!model_of(h).sparse_x && dense)
    status = status == SLEY_ERR_ARG ? SLEY_OK : SLEY_ERR_INTERNAL;
  else if (status == SLEY_OK)
    status = compare_sparse(h, dense, sparse, reproducible);
  sley_gnn_destroy(sparse);
  sley_gnn_destroy(dense);
  return status;
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
    status = draw_parameters(&h);
  if (status == SLEY_OK)
    status = check_gradients(&h);
  if (status == SLEY_OK)
    status = check_training(&h);
  if (status == SLEY_OK)
    status = check_same_x(&h);
  if (status == SLEY_OK)
    status = check_descent(&h);
  if (status == SLEY_OK)
    status = check_times(&h);
  if (status == SLEY_OK)
    status = check_state(&h, block);
  if (status == SLEY_OK)
    status = check_restart(&h, block, h.s->seed % 2 ? SLEY_GNN_KEEP : SLEY_GNN_RECOMPUTE);
  if (status == SLEY_OK)
    status = check_sparse(&h, block, false);
  if (status == SLEY_OK)
    status = check_sparse(&h, block, true);
  sley_gnn_destroy(h.gnn);
  mirror_close(&h.ml);
  mirror_close(&h.mx);
  sley_matrix_destroy(block);
  return status;
}

static void run_samples(const rank_case *c) {
  for (int model = 0; sley_gnn_models()[model]; model++) {
    static sample s;
    char source[64];
    s = (sample){.model = (sley_gnn_model)model, .seed = c->seed + (uint64_t)model, .ranks = 1};
    s.layers = 1 + (int)(s.seed % 3);
    snprintf(s.path, sizeof s.path, "/tmp/sley-gnn-%s%d.npz", c->transport,
             (int)(test_launched() ? getppid() : getpid()));
    snprintf(source, sizeof source, "er:rows=%d,cols=%d,nnz=70,seed=%d", ROWS, ROWS, (int)(s.seed % 1000));
    assert_sley_ok(sley_matrix_read(source, NULL, &s.a));
    if (!test_launched()) {
      rank_case one = *c;
      one.ranks = one.workgroup = 1;
      one.transport = "threads";
      assert_sley_ok(sley_partition_rows(s.a, "rows", 1, s.begin));
      assert_case_ok(&one, run_case(&one, rank_main, &s));
    }
    s.ranks = c->ranks;
    s.compares = !test_launched();
    assert_sley_ok(sley_partition_rows(s.a, "rows", c->ranks, s.begin));
    if (c->ranks > 1 || test_launched())
      assert_case_ok(c, run_case(c, rank_main, &s));
    sley_matrix_destroy(s.a);
    unlink(s.path);
  }
}

/* The table of models and the constants agree, and there are no other models. */
static void test_models(void **state) {
  static const char *const known[] = {[SLEY_GNN_GCN] = "gcn",
                                      [SLEY_GNN_GIN] = "gin",
                                      [SLEY_GNN_SAGE] = "sage",
                                      [SLEY_GNN_SAGE_MAX] = "sage-max",
                                      [SLEY_GNN_GAT] = "gat"};
  const char *const *names = sley_gnn_models();
  sley_gnn_model_info info;
  int count = 0;
  (void)state;
  for (; names[count]; count++) {
    assert_sley_ok(sley_gnn_model_get((sley_gnn_model)count, &info));
    assert_string_equal(info.name, names[count]);
    assert_true(*info.summary && info.hops >= 1);
    for (int other = 0; other < count; other++)
      assert_string_not_equal(names[other], names[count]);
  }
  assert_true(count >= (int)(sizeof known / sizeof *known));
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_string_equal(names[i], known[i]);
  for (int wrong = -1; wrong <= count; wrong += count + 1)
    assert_int_equal(sley_gnn_model_get((sley_gnn_model)wrong, &info), SLEY_ERR_ARG);
  assert_int_equal(sley_gnn_model_get(SLEY_GNN_GCN, NULL), SLEY_ERR_ARG);
}

static void test_on_all_ranks(void **state) {
  (void)state;
  each_case(run_samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_models), cmocka_unit_test(test_on_all_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
