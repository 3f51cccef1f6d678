/* SPDX-License-Identifier: Apache-2.0 */
/* Reproducible networks: on every transport, with any number of ranks and threads and any division of the
 * rows, losses, gradients, weights and logits of all models have the bits of one rank, and the values of
 * networks that are not reproducible. The latter have other bits on several ranks, so the comparison can
 * fail. */
#include "sley_gnn.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "mirror.h"
#include "ranks.h"

enum { FEATURES = 7, CLASSES = 3, STEPS = 3, MOST_RANKS = 8, MOST_ROWS = 1400, MOST_VALUES = 4096 };
enum { GRAPHS = 5, LARGE = 2, DTYPES = 4, WAYS = 3 };

/* Fewer rows than a block has; one more than a block; several blocks; rows so long that groups of threads of
 * a device share them; no rows. */
static const char *const graphs[GRAPHS] = {
    "er:rows=50,cols=50,nnz=250,seed=3",
    "er:rows=257,cols=257,nnz=1500,seed=4", [LARGE] = "er:rows=1400,cols=1400,nnz=7000,seed=5",
    "dense:rows=300,cols=300", "er:rows=0,cols=0,nnz=0,seed=6"};

/* The results of a training. */
typedef struct outcome {
  double loss[STEPS + 1]; /* the last one is of inference */
  int64_t values;         /* number of values of all parameters */
  double gradient[STEPS][MOST_VALUES], weight[MOST_VALUES];
  double logits[MOST_ROWS * CLASSES]; /* logits of all ranks' rows */
} outcome;

typedef struct sample {
  sley_gnn_options options;
  sley_gnn_optimizer optimizer;
  sley_matrix *a;
  int64_t rows, begin[MOST_RANKS + 1];
  outcome one;      /* results of one rank */
  bool one_of_bits; /* true: the network of `one` was reproducible */
  bool compares;
  double tolerance;         /* 0: bits must be equal */
  bool differs[MOST_RANKS]; /* set instead of an error, if may_differ */
  bool may_differ;
} sample;

/* A rank's network and rows. */
typedef struct here {
  sley_comm *comm;
  sample *s;
  sley_gnn *gnn;
  int64_t first, rows;
  double x[MOST_ROWS * FEATURES], logits[MOST_ROWS * CLASSES]; /* memory that suffices for any dtype */
  int32_t label[MOST_ROWS];
  mirror mx, ml, mo;
  outcome outcome;
} here;

static double drawn(const sample *s, int64_t row, int64_t number) {
  return 2 * sl_unit(sl_random(s->options.seed, (uint64_t)row, (uint64_t)number)) - 1;
}

/* Frees the block, with its arrays overwritten: the network must not read them any more. */
static void copied(void *context) {
  sley_matrix **block = context;
  memset((void *)(*block)->col, 0xff, (size_t)(*block)->nnz * sl_index_bytes((*block)->index));
  memset((void *)(*block)->val, 0xff, (size_t)(*block)->nnz * sley_dtype_bytes((*block)->dtype));
  sley_matrix_destroy(*block);
  *block = NULL;
}

/* Creates the network from a copy of the block that is freed as soon as the network allows it. */
static sley_status create(here *h, const sley_matrix *block) {
  sley_gnn_options o = h->s->options;
  sley_matrix *own;
  sley_csr csr;
  SL_TRY(sley_matrix_csr(block, &csr));
  SL_TRY(sley_matrix_from_csr(&csr, SLEY_COPY, &own));
  o.copied = copied;
  o.copied_context = &own;
  const sley_status status = sley_gnn_create(h->comm, own, h->s->begin, &o, &h->gnn);
  EXPECT(!own || status != SLEY_OK);
  sley_matrix_destroy(own);
  return status;
}

static sley_status open(here *h, const sley_matrix *block) {
  const sample *s = h->s;
  h->first = s->begin[h->comm->rank];
  h->rows = s->begin[h->comm->rank + 1] - h->first;
  for (int64_t i = 0; i < h->rows; i++) {
    for (int64_t f = 0; f < FEATURES; f++)
      sl_value_set(h->x, s->options.dtype, i * FEATURES + f, drawn(s, h->first + i, f));
    h->label[i] = (h->first + i) % 5 == 4 ? -1 : (int32_t)((h->first + i) % CLASSES);
  }
  SL_TRY(mirror_open(h->comm, h->x, (int64_t)sizeof h->x, &h->mx));
  SL_TRY(mirror_open(h->comm, h->label, (int64_t)sizeof h->label, &h->ml));
  SL_TRY(mirror_open(h->comm, h->logits, (int64_t)sizeof h->logits, &h->mo));
  return create(h, block);
}

/* Reads gradients or values of all parameters as doubles, which keep the bits of narrower values. */
static sley_status read_parameters(here *h, bool gradients, double *to) {
  const sley_dtype dtype = h->s->options.dtype;
  sl_queue *queue = h->comm->queue;
  double values[MOST_VALUES];
  int count;
  h->outcome.values = 0;
  SL_TRY(sley_gnn_parameters(h->gnn, &count));
  for (int n = 0; n < count; n++) {
    sley_gnn_parameter p;
    SL_TRY(sley_gnn_parameter_get(h->gnn, n, &p));
    const int64_t number = p.rows * p.cols;
    EXPECT(h->outcome.values + number <= MOST_VALUES);
    SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, values, gradients ? p.grad : p.value,
                            number * (int64_t)sley_dtype_bytes(dtype)));
    SL_TRY(queue->ops->queue_wait(queue));
    for (int64_t i = 0; i < number; i++)
      to[h->outcome.values++] = sl_value_at(values, dtype, i);
  }
  return SLEY_OK;
}

static sley_status train(here *h) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = h->mx.here;
  batch.ldx = FEATURES;
  batch.label = h->ml.here;
  batch.rate = 0.05;
  batch.optimizer = h->s->optimizer;
  for (batch.step = 0; batch.step < STEPS; batch.step++) {
    SL_TRY(sley_gnn_train(h->gnn, &batch, &h->outcome.loss[batch.step], NULL));
    SL_TRY(read_parameters(h, true, h->outcome.gradient[batch.step]));
  }
  SL_TRY(read_parameters(h, false, h->outcome.weight));
  SL_TRY(sley_gnn_infer(h->gnn, &batch, h->mo.here, CLASSES, &h->outcome.loss[STEPS]));
  SL_TRY(mirror_fetch(&h->mo));
  for (int64_t i = 0; i < h->rows * CLASSES; i++)
    h->outcome.logits[h->first * CLASSES + i] = sl_value_at(h->logits, h->s->options.dtype, i);
  return SLEY_OK;
}

static sley_status same(const here *h, const char *what, const double *got, const double *expected,
                        int64_t count) {
  const double tolerance = h->s->tolerance;
  for (int64_t i = 0; i < count; i++)
    if (tolerance > 0 ? !(fabs(got[i] - expected[i]) <= tolerance * (1 + fabs(expected[i])))
                      : memcmp(&got[i], &expected[i], sizeof *got) != 0)
      return sl_fail(SLEY_ERR_INTERNAL,
                     "model %d, %lld rows, dtype %d, %d layers, %s %lld: %.17g, with one rank %.17g",
                     (int)h->s->options.model, (long long)h->s->rows, (int)h->s->options.dtype,
                     h->s->options.layers, what, (long long)i, got[i], expected[i]);
  return SLEY_OK;
}

static sley_status compare(const here *h) {
  const outcome *o = &h->outcome, *one = &h->s->one;
  EXPECT(o->values == one->values);
  for (int step = 0; step < STEPS; step++) {
    SL_TRY(same(h, "loss", &o->loss[step], &one->loss[step], 1));
    SL_TRY(same(h, "gradient", o->gradient[step], one->gradient[step], o->values));
  }
  SL_TRY(same(h, "weight", o->weight, one->weight, o->values));
  SL_TRY(
      same(h, "logit", o->logits + h->first * CLASSES, one->logits + h->first * CLASSES, h->rows * CLASSES));
  return same(h, "loss of inference", &o->loss[STEPS], &one->loss[STEPS], 1);
}

static sley_status finish(here *h) {
  if (!h->s->compares) {
    h->s->one = h->outcome;
    return SLEY_OK;
  }
  if (!h->s->may_differ)
    return compare(h);
  h->s->differs[h->comm->rank] = compare(h) != SLEY_OK;
  return SLEY_OK;
}

static sley_status run_network(here *h) {
  sley_matrix *block = NULL;
  const int64_t first = h->s->begin[h->comm->rank];
  sley_status status = sl_agree(
      h->comm, sley_matrix_row_block(h->s->a, first, h->s->begin[h->comm->rank + 1] - first, &block));
  if (status == SLEY_OK)
    status = open(h, block);
  if (status == SLEY_OK)
    status = train(h);
  if (status == SLEY_OK)
    status = finish(h);
  sley_gnn_destroy(h->gnn);
  mirror_close(&h->mo);
  mirror_close(&h->ml);
  mirror_close(&h->mx);
  sley_matrix_destroy(block);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  here *h = calloc(1, sizeof *h);
  EXPECT(h);
  h->comm = comm;
  h->s = arg;
  const sley_status status = run_network(h);
  free(h);
  return status;
}

static void make_graph(sample *s, int number) {
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_read(graphs[number], NULL, &s->a));
  assert_sley_ok(sley_matrix_info_get(s->a, &info));
  s->rows = info.rows;
}

/* Divides the rows: equal parts; parts that begin at one of six rows, some of them empty; or all rows on one
 * rank. */
static void divide(sample *s, int ranks, uint64_t way) {
  s->begin[0] = 0;
  for (int r = 1; r < ranks; r++) {
    const int64_t sixth = (int64_t)sl_below(sl_random(way, (uint64_t)r, 7), 7) * s->rows / 6;
    s->begin[r] = way % 3 == 0 ? s->rows * r / ranks : way % 3 == 1 ? sixth : r > ranks / 2 ? s->rows : 0;
  }
  s->begin[ranks] = s->rows;
  for (int r = 1; r <= ranks; r++) /* sorts by insertion */
    for (int q = r; q > 1 && s->begin[q] < s->begin[q - 1]; q--) {
      const int64_t other = s->begin[q];
      s->begin[q] = s->begin[q - 1];
      s->begin[q - 1] = other;
    }
}

/* Runs one rank first, then the ranks of the case, and compares the results. */
static void run_both(const rank_case *c, sample *s, uint64_t way) {
  rank_case one = *c;
  one.ranks = one.workgroup = one.threads = 1;
  one.transport = "threads";
  const bool reproducible = s->options.reproducible;
  s->compares = false;
  s->options.reproducible = s->one_of_bits;
  divide(s, 1, 0);
  assert_case_ok(&one, run_case(&one, rank_main, s));
  s->compares = true;
  s->options.reproducible = reproducible;
  divide(s, c->ranks, way);
  assert_case_ok(c, run_case(c, rank_main, s));
}

static sley_gnn_options options_of(sley_gnn_model model, uint64_t seed) {
  sley_gnn_options o = SLEY_GNN_OPTIONS_INIT;
  o.model = model;
  o.layers = 1 + (int)(seed % 3);
  o.features = FEATURES;
  o.hidden = 5 + (int64_t)(seed / 3 % 2) * 6;
  o.heads = 3;
  o.classes = CLASSES;
  o.dtype = (sley_dtype)(seed / 2 % DTYPES);
  o.dropout = seed % 4 ? 0.3 : 0;
  o.same_x = seed % 5 == 0;
  o.seed = seed;
  o.reproducible = true;
  o.memory = o.dtype == SLEY_F32 ? (sley_gnn_memory)(seed / 5 % WAYS) : SLEY_GNN_KEEP;
  return o;
}

static void same_bits(const rank_case *c) {
  static sample s;
  for (int model = 0; sley_gnn_models()[model]; model++) {
    const uint64_t seed = sl_random(c->seed, (uint64_t)model, 0) >> 20;
    s = (sample){.options = options_of((sley_gnn_model)model, seed), .one_of_bits = true};
    s.optimizer = seed % 2 ? SLEY_GNN_ADAM : SLEY_GNN_SGD;
    make_graph(&s, (int)(seed / 7 % GRAPHS));
    run_both(c, &s, seed / 11);
    sley_matrix_destroy(s.a);
  }
}

static void bits_do_not_depend_on_ranks(void **state) {
  (void)state;
  each_case(same_bits);
}

/* Chooses cases with four ranks, or with the launched number of ranks if that is not one. */
static bool is_chosen(const rank_case *c) {
  return c->ranks > 1 && (c->ranks == 4 || test_launched()) && !c->traced && c->workgroup == c->ranks;
}

static void same_values(const rank_case *c) {
  static sample s;
  for (int model = 0; sley_gnn_models()[model] && is_chosen(c); model++) {
    s = (sample){.options = options_of((sley_gnn_model)model, 1), .tolerance = 1e-11};
    s.options.dtype = SLEY_F64;
    s.optimizer = SLEY_GNN_SGD;
    make_graph(&s, LARGE);
    run_both(c, &s, 0);
    sley_matrix_destroy(s.a);
  }
}

static void values_are_those_of_other_networks(void **state) {
  (void)state;
  each_case(same_values);
}

static void different_bits(const rank_case *c) {
  static sample s;
  for (int model = 0; sley_gnn_models()[model] && is_chosen(c); model++) {
    s = (sample){.options = options_of((sley_gnn_model)model, 1), .may_differ = true};
    s.options.dtype = SLEY_F32;
    s.options.reproducible = false;
    make_graph(&s, LARGE);
    run_both(c, &s, 0);
    share_seen(s.differs, sizeof *s.differs);
    for (int r = 0; r < c->ranks; r++)
      assert_true(s.differs[r]);
    sley_matrix_destroy(s.a);
  }
}

static void other_networks_have_bits_of_their_own(void **state) {
  (void)state;
  each_case(different_bits);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bits_do_not_depend_on_ranks),
                                     cmocka_unit_test(values_are_those_of_other_networks),
                                     cmocka_unit_test(other_networks_have_bits_of_their_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
