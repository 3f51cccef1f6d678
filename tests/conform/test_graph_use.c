/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of a graph: several relations over one X, a graph for forward operations only, and wrong arguments,
 * which are refused with a clear message on every rank and leave the comm usable if nothing was in flight. */
#include "graph_ranks.h"

enum { K = 5, ROWS = 21, RELATIONS = 2 };

typedef struct sample {
  sley_matrix *a[RELATIONS];
  int ranks;
  int64_t begin[RANKED_GRAPH_MOST + 1];
} sample;

typedef struct here {
  sley_comm *comm;
  const sample *s;
  sley_matrix *block[RELATIONS];
  sley_graph *graph;
  int64_t rows;
} here;

static sley_status make_graph(here *h, bool forward) {
  sley_graph_options options = SLEY_GRAPH_OPTIONS_INIT;
  options.relations = RELATIONS;
  options.forward = forward;
  return sley_graph_create(h->comm, (const sley_matrix *const *)h->block, h->s->begin, h->s->begin, &options,
                           &h->graph);
}

static sley_status prepare(const here *h, sley_aggregate kind, int relation, sley_aggregation **out) {
  sley_aggregation_options options = SLEY_AGGREGATION_OPTIONS_INIT;
  options.kind = kind;
  options.width = K;
  options.relation = relation;
  return sley_aggregation_create(h->graph, &options, out);
}

/* Y = A0 X + A1 X with an X of ones: each row is the number of its entries in both relations. The rows of X
 * travel once. */
static sley_status sum_relations(here *h) {
  const int64_t bytes = h->rows * K * (int64_t)sizeof(float);
  float *x = calloc((size_t)bytes + 1, 1), *y = calloc((size_t)bytes + 1, 1);
  sley_graph_info info;
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  mirror mx = {0}, my = {0};
  for (int64_t i = 0; i < h->rows * K; i++)
    x[i] = 1;
  SL_TRY(make_graph(h, true));
  SL_TRY(sley_graph_info_get(h->graph, &info));
  EXPECT(info.relations == RELATIONS && info.rows == h->rows && info.cols == h->rows);
  SL_TRY(mirror_open(h->comm, x, bytes, &mx));
  SL_TRY(mirror_open(h->comm, y, bytes, &my));
  SL_TRY(sley_comm_alloc(h->comm, info.halo_rows * K * (int64_t)sizeof(float), &o.fetched.rows));
  o.x = mx.here;
  o.y = my.here;
  o.ldx = o.ldy = K;
  for (int r = 0; r < RELATIONS; r++) {
    sley_aggregation *aggregation;
    SL_TRY(prepare(h, SLEY_AGGREGATE_SUM, r, &aggregation));
    o.add = o.fetched.there = r > 0;
    SL_TRY(sley_aggregate_forward(aggregation, &o));
    sley_aggregation_destroy(aggregation);
  }
  SL_TRY(mirror_fetch(&my));
  for (int64_t i = 0; i < h->rows; i++) {
    int64_t entries = 0;
    for (int r = 0; r < RELATIONS; r++)
      entries += h->block[r]->rowptr[i + 1] - h->block[r]->rowptr[i];
    for (int64_t f = 0; f < K; f++)
      EXPECT(y[i * K + f] == (float)entries);
  }
  sley_comm_free(h->comm, o.fetched.rows);
  mirror_close(&my);
  mirror_close(&mx);
  free(y);
  free(x);
  return SLEY_OK;
}

/* All ranks make the same mistake, or only rank 0 does. */
static sley_status refuse(here *h) {
  sley_aggregation *aggregation = NULL;
  sley_attention *attention = NULL;
  sley_aggregation_options shape = SLEY_AGGREGATION_OPTIONS_INIT;
  sley_attention_options heads = SLEY_ATTENTION_OPTIONS_INIT;
  sley_sddmm_options form = SLEY_SDDMM_OPTIONS_INIT;
  sley_sddmm *sddmm = NULL;
  SL_TRY(make_graph(h, false));
  shape.width = -1;
  EXPECT(sley_aggregation_create(h->graph, &shape, &aggregation) == SLEY_ERR_ARG && !aggregation);
  EXPECT(strstr(sley_last_error(), "width -1"));
  shape.width = h->comm->rank == 0 ? 3 : 4;
  EXPECT(sley_aggregation_create(h->graph, &shape, &aggregation) ==
         (h->s->ranks > 1 ? SLEY_ERR_ARG : SLEY_OK));
  EXPECT(h->s->ranks == 1 || strstr(sley_last_error(), "different values of: width"));
  sley_aggregation_destroy(aggregation);
  shape.width = 1;
  shape.relation = RELATIONS;
  EXPECT(sley_aggregation_create(h->graph, &shape, &aggregation) == SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "no relation 2"));
  form.form = SLEY_SDDMM_ADD;
  form.width = 2;
  EXPECT(sley_sddmm_create(h->graph, &form, &sddmm) == SLEY_ERR_ARG &&
         strstr(sley_last_error(), "width is 2"));
  heads.heads = 0;
  EXPECT(sley_attention_create(h->graph, &heads, &attention) == SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "heads is 0"));
  heads.heads = 1;
  heads.width = INT64_MAX / 2;
  EXPECT(sley_attention_create(h->graph, &heads, &attention) == SLEY_ERR_OVERFLOW);
  EXPECT(sley_edge_softmax(h->graph, 0, 1, (sley_dtype)9, NULL, NULL) == SLEY_ERR_ARG);
  return SLEY_OK;
}

/* The last call on a comm of several ranks, which it ends: rank 0 passes no X. */
static sley_status refuse_operands(here *h) {
  sley_aggregation *aggregation = NULL;
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  SL_TRY(make_graph(h, true));
  SL_TRY(prepare(h, SLEY_AGGREGATE_MAX, 0, &aggregation));
  sley_status forward = sley_aggregate_forward(aggregation, &o);
  bool said = strstr(sley_last_error(), "leading dimension of x is 0") != NULL;
  sley_status backward = sley_aggregate_backward(aggregation, &o, &to);
  sley_aggregation_destroy(aggregation);
  EXPECT(forward == SLEY_ERR_ARG && said && backward == SLEY_ERR_ARG);
  return sl_fail(SLEY_ERR_UNSUPPORTED, "as it should");
}

/* Fetched rows are declared present without an address: refused if a rank has halo rows, forward and
 * backward. */
static sley_status refuse_fetched(here *h) {
  float value[ROWS * K] = {0};
  sley_aggregation *aggregation = NULL;
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  sley_graph_info info;
  SL_TRY(make_graph(h, false));
  SL_TRY(sley_graph_info_get(h->graph, &info));
  SL_TRY(prepare(h, SLEY_AGGREGATE_SUM, 0, &aggregation));
  o.x = o.y = to.dval = value;
  to.dy = value;
  o.ldx = o.ldy = to.lddy = K;
  o.fetched.there = true;
  sley_status backward = SLEY_ERR_ARG, forward = backward;
  bool said = true;
  if (info.halo_rows > 0) { /* with several ranks, every rank has halo rows here */
    backward = sley_aggregate_backward(aggregation, &o, &to);
    said = strstr(sley_last_error(), "fetched.rows is NULL") != NULL;
    forward = sley_aggregate_forward(aggregation, &o);
  }
  sley_aggregation_destroy(aggregation);
  EXPECT(backward == SLEY_ERR_ARG && forward == SLEY_ERR_ARG && said);
  return sl_fail(SLEY_ERR_UNSUPPORTED, "as it should");
}

typedef struct run {
  const sample *s;
  sley_status (*body)(here *h);
} run;

static sley_status rank_main(sl_comm *comm, void *arg) {
  const run *r = arg;
  here h = {.comm = comm, .s = r->s};
  const int64_t first = r->s->begin[comm->rank];
  h.rows = r->s->begin[comm->rank + 1] - first;
  sley_status status = SLEY_OK;
  for (int i = 0; i < RELATIONS && status == SLEY_OK; i++)
    status = sley_matrix_row_block(r->s->a[i], first, h.rows, &h.block[i]);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = r->body(&h);
  sley_graph_destroy(h.graph);
  for (int i = 0; i < RELATIONS; i++)
    sley_matrix_destroy(h.block[i]);
  return status;
}

static void run_samples(const rank_case *c) {
  sample s = {.ranks = c->ranks};
  assert_sley_ok(sley_matrix_read("er:rows=21,cols=21,nnz=70,seed=3", NULL, &s.a[0]));
  assert_sley_ok(sley_matrix_read("er:rows=21,cols=21,nnz=50,seed=4", NULL, &s.a[1]));
  assert_sley_ok(sley_partition_rows(s.a[0], "rows", c->ranks, s.begin));
  assert_case_ok(c, run_case(c, rank_main, &(run){&s, sum_relations}));
  assert_case_ok(c, run_case(c, rank_main, &(run){&s, refuse}));
  assert_int_equal(run_case(c, rank_main, &(run){&s, refuse_operands}), SLEY_ERR_UNSUPPORTED);
  assert_int_equal(run_case(c, rank_main, &(run){&s, refuse_fetched}), SLEY_ERR_UNSUPPORTED);
  sley_matrix_destroy(s.a[1]);
  sley_matrix_destroy(s.a[0]);
}

static void test_on_all_ranks(void **state) {
  (void)state;
  each_case(run_samples);
}

static void test_without_a_graph(void **state) {
  (void)state;
  sley_graph *graph;
  sley_graph_info info;
  assert_int_equal(sley_graph_create(NULL, NULL, NULL, NULL, NULL, &graph), SLEY_ERR_ARG);
  assert_int_equal(sley_graph_info_get(NULL, &info), SLEY_ERR_ARG);
  assert_int_equal(sley_edge_softmax(NULL, 0, 1, SLEY_F32, NULL, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_aggregate_forward(NULL, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_sddmm_backward(NULL, NULL, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_attention_forward(NULL, NULL), SLEY_ERR_ARG);
  sley_graph_destroy(NULL);
  sley_aggregation_destroy(NULL);
  sley_sddmm_destroy(NULL);
  sley_attention_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_all_ranks),
                                     cmocka_unit_test(test_without_a_graph)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
