/* SPDX-License-Identifier: Apache-2.0 */
/* Networks over drawn neighbourhoods, of every model, in f64. Where all entries are drawn, as many hops as
 * there are layers (of GCN one more: a norm is also by the entries of the row at the other end), the loss
 * over a batch of all rows to train on and the gradients of all parameters are those of the whole graph, and
 * so are the means over smaller batches. Networks that share parameters make the same steps as one, to the
 * bit. */
#include "sley_gnn.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "gnn/layer.h"
#include "mirror.h"
#include "ranks.h"

enum {
  ROWS = 40,
  FEATURES = 5,
  CLASSES = 3,
  MOST_LAYERS = 3,
  MOST_RANKS = 3,
  MOST_VALUES = 1024,
  MOST_HOPS = 16
};

typedef struct sample {
  uint64_t seed;
  sley_gnn_options options;
  sley_matrix *a;
  double x[ROWS * FEATURES];
  int32_t label[ROWS]; /* -1: not to train on */
  int64_t row[ROWS], rows, begin[MOST_RANKS + 1];
  char path[64];
} sample;

/* Rows of a network's graph. */
typedef struct data {
  double x[ROWS * FEATURES];
  int32_t label[ROWS];
  mirror mx, ml;
} data;

/* Results of a step. */
typedef struct given {
  double loss, grad[MOST_VALUES];
  int64_t counted, values;
} given;

static void draw(sample *s, sley_gnn_model model, uint64_t seed) {
  char source[64];
  *s = (sample){.seed = seed, .options = SLEY_GNN_OPTIONS_INIT};
  s->options.model = model;
  s->options.layers = 1 + (int)(seed % MOST_LAYERS);
  s->options.features = FEATURES;
  s->options.hidden = 4 + (int64_t)(seed / 3 % 3);
  s->options.heads = 2;
  s->options.classes = CLASSES;
  s->options.dtype = SLEY_F64;
  s->options.dropout = 0;
  s->options.same_x = seed / 2 % 2;
  s->options.seed = seed;
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t f = 0; f < FEATURES; f++)
      s->x[i * FEATURES + f] = 2 * sl_unit(sl_random(seed, (uint64_t)i, (uint64_t)f)) - 1;
    s->label[i] = i % 3 == 1 ? -1 : (int32_t)sl_below(sl_random(seed, (uint64_t)i, 100), CLASSES);
    if (s->label[i] >= 0)
      s->row[s->rows++] = i;
  }
  snprintf(s->path, sizeof s->path, "/tmp/sley-gnn-batches-%d.npz", (int)getpid());
  snprintf(source, sizeof source, "er:rows=%d,cols=%d,nnz=90,seed=%d", ROWS, ROWS, (int)(seed % 1000));
  assert_sley_ok(sley_matrix_read(source, NULL, &s->a));
}

static sley_status place(sley_comm *comm, data *d) {
  SL_TRY(mirror_open(comm, d->x, (int64_t)sizeof d->x, &d->mx));
  return mirror_open(comm, d->label, (int64_t)sizeof d->label, &d->ml);
}

static void give_back(data *d) {
  mirror_close(&d->ml);
  mirror_close(&d->mx);
}

static sley_status step(sley_gnn *gnn, const data *d, double rate, given *out) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = d->mx.here;
  batch.ldx = FEATURES;
  batch.label = d->ml.here;
  batch.rate = rate;
  return sley_gnn_train(gnn, &batch, &out->loss, &out->counted);
}

/* Reads the gradients, or the values, of all parameters, one after the other. */
static sley_status read_all(sley_comm *comm, const sley_gnn *gnn, bool values, given *out) {
  int count;
  out->values = 0;
  SL_TRY(sley_gnn_parameters(gnn, &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(gnn, n, &p));
    EXPECT(out->values + p.rows * p.cols <= MOST_VALUES);
    SL_TRY(sley_comm_copy(comm, out->grad + out->values, values ? p.value : p.grad,
                          p.rows * p.cols * (int64_t)sizeof(double), SLEY_TO_HOST));
    out->values += p.rows * p.cols;
  }
  return SLEY_OK;
}

static sley_status check_near(const sample *s, const given *a, const given *b) {
  const int model = (int)s->options.model;
  EXPECT(a->values == b->values && a->counted == b->counted);
  if (!(fabs(a->loss - b->loss) <= 1e-12 * (1 + fabs(a->loss))))
    return sl_fail(SLEY_ERR_INTERNAL, "model %d: loss %.15g, %.15g", model, a->loss, b->loss);
  for (int64_t i = 0; i < a->values; i++)
    if (!(fabs(a->grad[i] - b->grad[i]) <= 1e-12 * (1 + fabs(a->grad[i]))))
      return sl_fail(SLEY_ERR_INTERNAL, "model %d: gradient %lld is %.15g, %.15g", model, (long long)i,
                     a->grad[i], b->grad[i]);
  return SLEY_OK;
}

/* ---- a drawn neighbourhood against the whole graph */

/* Adds a batch's part of means over all training rows. */
static sley_status add_batch(sley_comm *comm, const sample *s, const sley_gnn *of,
                             const sley_gnn_drawn *drawn, given *sum) {
  data d = {0};
  given one;
  sley_gnn *gnn = NULL;
  for (int64_t i = 0; i < drawn->rows; i++) {
    memcpy(d.x + i * FEATURES, s->x + drawn->row[i] * FEATURES, FEATURES * sizeof(double));
    d.label[i] = i < drawn->seeds ? s->label[drawn->row[i]] : -1;
  }
  sley_status status = place(comm, &d);
  if (status == SLEY_OK)
    status = sley_gnn_create_shared(of, drawn->graph, (const int64_t[]){0, drawn->rows}, &gnn);
  if (status == SLEY_OK)
    status = step(gnn, &d, 0, &one);
  if (status == SLEY_OK)
    status = read_all(comm, of, false, &one);
  sley_gnn_destroy(gnn);
  give_back(&d);
  SL_TRY(status);
  EXPECT(one.counted == drawn->seeds);
  sum->loss += one.loss * (double)one.counted / (double)s->rows;
  for (int64_t i = 0; i < one.values; i++)
    sum->grad[i] += one.grad[i] * (double)one.counted / (double)s->rows;
  sum->counted += one.counted;
  sum->values = one.values;
  return SLEY_OK;
}

/* The means over an epoch of batches. */
static sley_status run_batches(sley_comm *comm, const sample *s, const sley_gnn *of, int64_t batch, int hops,
                               int64_t fan_out, given *sum) {
  int64_t fan_outs[MOST_HOPS], batches;
  sley_gnn_sampler_options o = SLEY_GNN_SAMPLER_OPTIONS_INIT;
  sley_gnn_sampler *sampler = NULL;
  EXPECT(hops <= MOST_HOPS);
  for (int hop = 0; hop < hops; hop++)
    fan_outs[hop] = fan_out;
  o.row = s->row;
  o.rows = s->rows;
  o.batch = batch;
  o.fan_out = fan_outs;
  o.hops = hops;
  *sum = (given){0};
  SL_TRY(sley_gnn_sampler_create(s->a, &o, &sampler));
  sley_status status = sley_gnn_sampler_batches(sampler, &batches);
  for (int64_t b = 0; b < batches && status == SLEY_OK; b++) {
    sley_gnn_drawn drawn;
    status = sley_gnn_sampler_draw(sampler, 0, b, &drawn);
    if (status == SLEY_OK)
      status = add_batch(comm, s, of, &drawn, sum);
  }
  sley_gnn_sampler_destroy(sampler);
  return status;
}

/* Compares batches with the whole graph. Symmetric norms also depend on the entries of the rows that the last
 * hop reaches. */
static sley_status compare(sley_comm *comm, const sample *s, sley_gnn *gnn, const data *d) {
  const sl_layer_kind *kind = sl_layer_kind_of(s->options.model);
  const int hops = s->options.layers * kind->hops + (kind->norm == SL_NORM_SYMMETRIC);
  given whole, drawn;
  SL_TRY(step(gnn, d, 0, &whole));
  SL_TRY(read_all(comm, gnn, false, &whole));
  for (int64_t batch = s->rows; batch > 0; batch = batch > 5 ? 5 : 0) {
    SL_TRY(run_batches(comm, s, gnn, batch, hops, SLEY_GNN_ALL, &drawn));
    SL_TRY(check_near(s, &whole, &drawn));
  }
  SL_TRY(run_batches(comm, s, gnn, s->rows, hops, 1, &drawn)); /* one entry per row: the loss differs */
  EXPECT(s->options.model == SLEY_GNN_GIN || fabs(whole.loss - drawn.loss) > 1e-9); /* GIN's relus may be 0 */
  return SLEY_OK;
}

static sley_status compare_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  data d = {0};
  sley_gnn *gnn = NULL;
  memcpy(d.x, s->x, sizeof d.x);
  memcpy(d.label, s->label, sizeof d.label);
  sley_status status = place(comm, &d);
  if (status == SLEY_OK)
    status = sley_gnn_create(comm, s->a, s->begin, &s->options, &gnn);
  for (int64_t i = 0; i < 3 && status == SLEY_OK; i++) { /* biases are no longer 0 */
    given ignored;
    status = step(gnn, &d, 0.05, &ignored);
  }
  if (status == SLEY_OK)
    status = compare(comm, s, gnn, &d);
  sley_gnn_destroy(gnn);
  give_back(&d);
  return status;
}

/* ---- shared parameters */

enum { STEPS = 6 };

/* Runs steps of two networks in turn, which share the parameters of one of them; the last step is by the
 * owner. */
static sley_status step_in_turn(sley_comm *comm, const sample *s, const sley_matrix *block, sley_gnn *gnn,
                                const data *d, given *out) {
  sley_gnn *other = NULL;
  EXPECT(sley_gnn_create_shared(gnn, NULL, s->begin, &other) == SLEY_ERR_ARG && !other);
  sley_status status = sley_gnn_create_shared(gnn, block, s->begin, &other);
  for (int i = 0; i < STEPS - 1 && status == SLEY_OK; i++)
    status = step(i % 2 ? gnn : other, d, 0.05, out);
  if (status == SLEY_OK)
    status = sley_gnn_save(other, s->path, NULL, 0);
  sley_gnn_destroy(other);
  if (status == SLEY_OK)
    status = step(gnn, d, 0.05, out);
  return status == SLEY_OK ? read_all(comm, gnn, true, out) : status;
}

static sley_status check_saved_step(const sample *s) {
  int64_t rows, cols;
  void *saved = NULL;
  SL_TRY(sley_array_read(s->path, "step", SLEY_TYPE_I64, &rows, &cols, &saved));
  const int64_t steps = *(const int64_t *)saved;
  sley_buffer_free(saved);
  EXPECT(steps == STEPS - 1);
  return SLEY_OK;
}

static sley_status compare_steps(sley_comm *comm, const sample *s, const sley_matrix *block, const data *d) {
  given alone = {0}, shared = {0};
  sley_gnn *one = NULL, *two = NULL;
  sley_status status = sley_gnn_create(comm, block, s->begin, &s->options, &one);
  if (status == SLEY_OK)
    status = sley_gnn_create(comm, block, s->begin, &s->options, &two);
  for (int i = 0; i < STEPS && status == SLEY_OK; i++)
    status = step(one, d, 0.05, &alone);
  if (status == SLEY_OK)
    status = read_all(comm, one, true, &alone);
  if (status == SLEY_OK)
    status = step_in_turn(comm, s, block, two, d, &shared);
  sley_gnn_destroy(two);
  sley_gnn_destroy(one);
  SL_TRY(status);
  EXPECT(alone.values == shared.values && alone.loss == shared.loss);
  EXPECT(memcmp(alone.grad, shared.grad, (size_t)alone.values * sizeof *alone.grad) == 0);
  return check_saved_step(s);
}

static sley_status share_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  const int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  sley_matrix *block = NULL;
  data d = {0};
  memcpy(d.x, s->x + first * FEATURES, (size_t)(rows * FEATURES) * sizeof *d.x);
  memcpy(d.label, s->label + first, (size_t)rows * sizeof *d.label);
  sley_status status = sl_agree(comm, sley_matrix_row_block(s->a, first, rows, &block));
  if (status == SLEY_OK)
    status = place(comm, &d);
  if (status == SLEY_OK)
    status = compare_steps(comm, s, block, &d);
  give_back(&d);
  sley_matrix_destroy(block);
  return status;
}

/* ---- */

enum { SAMPLES = 6 };

static void run_all(sl_rank_main main, int ranks) {
  const rank_case c = {.transport = "threads", .ranks = ranks, .workgroup = ranks, .threads = 1};
  for (int model = 0; sley_gnn_models()[model]; model++)
    for (uint64_t seed = 1; seed <= SAMPLES; seed++) {
      static sample s;
      draw(&s, (sley_gnn_model)model, seed);
      assert_sley_ok(sley_partition_rows(s.a, "rows", ranks, s.begin));
      assert_case_ok(&c, run_case(&c, main, &s));
      sley_matrix_destroy(s.a);
      unlink(s.path);
    }
}

static void drawn_whole_neighbourhoods_give_the_same(void **state) {
  (void)state;
  run_all(compare_main, 1);
}

static void shared_parameters_make_the_same_steps(void **state) {
  (void)state;
  run_all(share_main, 1);
  run_all(share_main, MOST_RANKS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_whole_neighbourhoods_give_the_same),
                                     cmocka_unit_test(shared_parameters_make_the_same_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
