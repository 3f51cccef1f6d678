/* SPDX-License-Identifier: Apache-2.0 */
/* Networks over a graph in another order, whose rows keep their numbers for dropout, have the losses and
 * gradients of the graph in its own order, on every transport, with dense and with sparse features. */
#include "sley_gnn.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "mirror.h"
#include "nonzeros.h"
#include "ranks.h"

enum { ROWS = 37, FEATURES = 6, CLASSES = 3, STEPS = 3, MOST_RANKS = 8, MOST_VALUES = 1024 };

typedef struct sample {
  sley_gnn_model model;
  uint64_t seed;
  sley_matrix *a, *ordered;
  int64_t name[ROWS]; /* row i of ordered is row name[i] of a */
  int64_t begin[MOST_RANKS + 1];
  bool sparse, reproducible;
} sample;

/* A network over a rank's rows, with their features and labels. */
typedef struct half {
  sley_gnn *gnn;
  double x[ROWS * FEATURES];
  int32_t label[ROWS];
  mirror mx, ml;
} half;

/* A third of the values is 0. */
static double feature(uint64_t seed, int64_t row, int64_t f) {
  return (row + f) % 3 == 1 ? 0 : 2 * sl_unit(sl_random(seed, (uint64_t)row, (uint64_t)f)) - 1;
}

static sley_gnn_options options_of(const sample *s) {
  sley_gnn_options o = SLEY_GNN_OPTIONS_INIT;
  o.model = s->model;
  o.layers = 2 + (int)(s->seed % 2);
  o.features = FEATURES;
  o.hidden = 4 + (int64_t)(s->seed % 4);
  o.heads = 2;
  o.classes = CLASSES;
  o.dtype = SLEY_F64;
  o.dropout = s->seed % 3 == 0 ? 0 : 0.3;
  o.seed = s->seed;
  o.reproducible = s->reproducible;
  return o;
}

/* Opens the network over a, or over ordered if `named`. */
static sley_status open(sl_comm *comm, const sample *s, bool named, half *h) {
  const int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  sley_gnn_options o = options_of(s);
  sley_matrix *block = NULL, *x = NULL;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t row = named ? s->name[first + i] : first + i;
    for (int64_t f = 0; f < FEATURES; f++)
      h->x[i * FEATURES + f] = feature(s->seed, row, f);
    h->label[i] = row % 4 == 3 ? -1 : (int32_t)(sl_random(s->seed, (uint64_t)row, 100) % CLASSES);
  }
  sley_status status = mirror_open(comm, h->x, (int64_t)sizeof h->x, &h->mx);
  if (status == SLEY_OK)
    status = mirror_open(comm, h->label, (int64_t)sizeof h->label, &h->ml);
  if (status == SLEY_OK && s->sparse)
    status = nonzeros_of(h->x, rows, FEATURES, &x);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(named ? s->ordered : s->a, first, rows, &block);
  o.x = x;
  o.row_number = named ? s->name + first : NULL;
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sley_gnn_create(comm, block, s->begin, &o, &h->gnn);
  sley_matrix_destroy(block);
  sley_matrix_destroy(x);
  return status;
}

static void close(half *h) {
  sley_gnn_destroy(h->gnn);
  mirror_close(&h->ml);
  mirror_close(&h->mx);
}

/* Makes a step, and stores all gradients. */
static sley_status train(sl_comm *comm, const half *h, int64_t step, double *loss, double *gradient,
                         int64_t *values) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  int count;
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  batch.step = step;
  batch.rate = 0.02;
  *values = 0;
  SL_TRY(sley_gnn_train(h->gnn, &batch, loss, NULL));
  SL_TRY(sley_gnn_parameters(h->gnn, &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(h->gnn, n, &p));
    const int64_t own = p.rows * p.cols;
    EXPECT(*values + own <= MOST_VALUES);
    SL_TRY(sley_comm_copy(comm, gradient + *values, p.grad, own * (int64_t)sizeof *gradient, SLEY_TO_HOST));
    *values += own;
  }
  return SLEY_OK;
}

static sley_status compare(sl_comm *comm, const half *own, const half *other) {
  double expected[MOST_VALUES], got[MOST_VALUES], loss, again;
  int64_t values, count;
  for (int64_t step = 0; step < STEPS; step++) {
    SL_TRY(train(comm, own, step, &loss, expected, &values));
    SL_TRY(train(comm, other, step, &again, got, &count));
    EXPECT(values == count && values > 0);
    EXPECT(fabs(loss - again) <= 1e-11 * (1 + fabs(loss)));
    for (int64_t i = 0; i < values; i++)
      EXPECT(fabs(got[i] - expected[i]) <= 1e-11 * (1 + fabs(expected[i])));
  }
  return SLEY_OK;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  half own = {0}, other = {0};
  sley_status status = open(comm, s, false, &own);
  if (status == SLEY_OK)
    status = open(comm, s, true, &other);
  if (status == SLEY_OK)
    status = compare(comm, &own, &other);
  close(&other);
  close(&own);
  return status;
}

/* Orders a by one of the library's orders that this build has. */
static void order(sample *s) {
  int64_t place[ROWS];
  int count = 0;
  while (sley_orders()[count])
    count++;
  sley_status status = SLEY_ERR_UNSUPPORTED;
  for (uint64_t n = s->seed; status == SLEY_ERR_UNSUPPORTED; n++)
    status = sley_order(s->a, sley_orders()[n % (uint64_t)count], s->seed, 1, place);
  assert_sley_ok(status);
  assert_sley_ok(sley_matrix_permute(s->a, place, place, 1, &s->ordered));
  for (int64_t i = 0; i < ROWS; i++)
    s->name[place[i]] = i;
}

static void run_samples(const rank_case *c) {
  for (int model = 0; sley_gnn_models()[model]; model++) {
    sley_gnn_model_info info;
    sample s = {.model = (sley_gnn_model)model, .seed = c->seed + (uint64_t)model};
    char source[64];
    assert_sley_ok(sley_gnn_model_get(s.model, &info));
    snprintf(source, sizeof source, "er:rows=%d,cols=%d,nnz=150,seed=%d", ROWS, ROWS, (int)(s.seed % 1000));
    assert_sley_ok(sley_matrix_read(source, NULL, &s.a));
    assert_sley_ok(sley_partition_rows(s.a, "rows", c->ranks, s.begin));
    order(&s);
    for (int way = 0; way < 4; way++) {
      s.sparse = way % 2 == 1;
      s.reproducible = way / 2 == 1;
      if (info.sparse_x || !s.sparse)
        assert_case_ok(c, run_case(c, rank_main, &s));
    }
    sley_matrix_destroy(s.ordered);
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
