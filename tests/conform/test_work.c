/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of work to which the time of products, halos, aggregations and attention is assigned, on every
 * transport: the time of moving rows to the exchange, the time of sums and of attention to theirs. Only
 * whether there is any time is checked, not how much. */
#include "device/device.h"
#include "ranks.h"
#include "transport/stopwatch.h"

enum { WIDTH = 3, MOST_RANKS = 8 };

typedef struct sample {
  sley_matrix *matrix;
  int64_t begin[MOST_RANKS + 1];
} sample;

typedef struct here {
  sley_comm *comm;
  const sample *s;
  sley_matrix *block;
  int64_t first, rows;
  void *x, *y; /* rows x WIDTH values of f32 */
} here;

static sley_status open(here *h) {
  const int64_t bytes = h->rows * WIDTH * (int64_t)sizeof(float);
  void *host = NULL;
  SL_TRY(sley_matrix_row_block(h->s->matrix, h->first, h->rows, &h->block));
  SL_TRY(sley_comm_alloc(h->comm, bytes, &h->x));
  SL_TRY(sley_comm_alloc(h->comm, bytes, &h->y));
  SL_TRY(sley_buffer_alloc(bytes, &host));
  sley_status status = sley_dense_random(5, h->first, h->rows, WIDTH, NULL, SLEY_F32, host, WIDTH);
  if (status == SLEY_OK)
    status = sley_comm_copy(h->comm, h->x, host, bytes, SLEY_TO_DEVICE);
  sley_buffer_free(host);
  return status;
}

static void close_here(here *h) {
  sley_comm_free(h->comm, h->y);
  sley_comm_free(h->comm, h->x);
  sley_matrix_destroy(h->block);
}

/* Checks that there is time of this work, and of the exchange if there are several ranks (with one rank, some
 * algorithms run its steps too), and of no other work. */
static sley_status check(const here *h, const sl_stopwatch *watch, sl_work work, const char *what) {
  for (int w = SL_WORK_EXCHANGE; w < SL_WORKS; w++) {
    const bool expected = w == (int)SL_WORK_EXCHANGE || w == (int)work;
    if (w == (int)SL_WORK_EXCHANGE && h->comm->size == 1)
      continue;
    if (watch->seconds[SL_BACKWARD][w] != 0 || (watch->seconds[SL_FORWARD][w] > 0) != expected)
      return sl_fail(SLEY_ERR_INTERNAL, "%s: work %d took %g and %g s, %s", what, w,
                     watch->seconds[SL_FORWARD][w], watch->seconds[SL_BACKWARD][w],
                     expected ? "some was expected" : "none was expected");
  }
  EXPECT(h->comm->watch == NULL);
  return SLEY_OK;
}

static sley_status time_product(here *h, const char *algo) {
  sley_plan_options o = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan;
  sl_stopwatch watch;
  o.algo = algo;
  SL_TRY(sley_plan_create(h->comm, h->block, h->s->begin, h->s->begin, WIDTH, &o, &plan));
  sley_status status = sl_stopwatch_start(h->comm, &watch);
  if (status == SLEY_OK)
    status = sl_stopwatch_stop(h->comm, sley_spmm(plan, 1, h->x, WIDTH, 0, h->y, WIDTH));
  if (status == SLEY_OK)
    status = check(h, &watch, SL_WORK_SPMM, algo);
  sley_plan_destroy(plan);
  return status;
}

static sley_status time_aggregation(here *h, sley_graph *graph) {
  sley_aggregation_options o = SLEY_AGGREGATION_OPTIONS_INIT;
  sley_aggregation_operands operands = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation *aggregation;
  sl_stopwatch watch;
  o.kind = SLEY_AGGREGATE_SUM;
  o.width = WIDTH;
  o.dtype = SLEY_F32;
  operands.x = h->x;
  operands.ldx = WIDTH;
  operands.y = h->y;
  operands.ldy = WIDTH;
  SL_TRY(sley_aggregation_create(graph, &o, &aggregation));
  sley_status status = sl_stopwatch_start(h->comm, &watch);
  if (status == SLEY_OK)
    status = sl_stopwatch_stop(h->comm, sley_aggregate_forward(aggregation, &operands));
  if (status == SLEY_OK)
    status = check(h, &watch, SL_WORK_SPMM, "an aggregation");
  sley_aggregation_destroy(aggregation);
  return status;
}

/* Times attention with one head of WIDTH - 1 values, so that a row of sources has WIDTH values. */
static sley_status time_attention(here *h, sley_graph *graph) {
  sley_attention_options o = SLEY_ATTENTION_OPTIONS_INIT;
  sley_attention_operands operands = SLEY_ATTENTION_OPERANDS_INIT;
  sley_attention *attention;
  sl_stopwatch watch;
  o.kind = SLEY_ATTENTION_GAT;
  o.heads = 1;
  o.width = WIDTH - 1;
  o.dtype = SLEY_F32;
  operands.query = h->x;
  operands.ldq = WIDTH;
  operands.source = h->x;
  operands.lds = WIDTH;
  operands.y = h->y;
  operands.ldy = WIDTH;
  SL_TRY(sley_attention_create(graph, &o, &attention));
  sley_status status = sl_stopwatch_start(h->comm, &watch);
  if (status == SLEY_OK)
    status = sl_stopwatch_stop(h->comm, sley_attention_forward(attention, &operands));
  if (status == SLEY_OK)
    status = check(h, &watch, SL_WORK_ATTENTION, "attention");
  sley_attention_destroy(attention);
  return status;
}

static sley_status time_graph(here *h) {
  sley_graph *graph;
  SL_TRY(
      sley_graph_create(h->comm, &(const sley_matrix *){h->block}, h->s->begin, h->s->begin, NULL, &graph));
  sley_status status = time_aggregation(h, graph);
  if (status == SLEY_OK)
    status = time_attention(h, graph);
  sley_graph_destroy(graph);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  here h = {.comm = comm, .s = s, .first = s->begin[comm->rank]};
  h.rows = s->begin[comm->rank + 1] - h.first;
  sley_status status = sl_agree(comm, open(&h));
  for (const char *const *algo = sley_algorithms(); *algo && status == SLEY_OK; algo++)
    status = time_product(&h, *algo);
  if (status == SLEY_OK)
    status = time_graph(&h);
  close_here(&h);
  return status;
}

static void run_samples(const rank_case *c) {
  sample s = {0};
  assert_sley_ok(sley_matrix_read("er:n=40,nnz=400", NULL, &s.matrix));
  assert_sley_ok(sley_partition_rows(s.matrix, "rows", c->ranks, s.begin));
  assert_case_ok(c, run_case(c, rank_main, &s));
  sley_matrix_destroy(s.matrix);
}

static void test_on_all_ranks(void **state) {
  (void)state;
  each_case(run_samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_all_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
