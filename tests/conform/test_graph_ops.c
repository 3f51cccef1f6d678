/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregations, SDDMM and the softmax of entry values through the public interface, with their gradients, on
 * random graphs over ranks: compared with float64, with the same bits twice, and with equal bits of rows for
 * every number of ranks. */
#include "base/value.h"
#include "graph/graph.h"
#include "graph_ranks.h"

/* Rounding errors of a sum, in units: one per term, and one per rank, since the sums of ranks are rounded to
 * the dtype. */
static double terms_of(const ranked_graph *c) {
  const double ranks =
      sl_is_16_bit(c->dtype) ? (double)c->ranks * (c->dtype == SLEY_BF16 ? 0x1p16 : 0x1p13) : 8;
  return (double)(c->a->rows + c->a->cols + c->heads * c->width) + 8 + ranks;
}

/* Allocates memory for the rows of other ranks. */
static sley_status open_fetched(sley_comm *comm, const sley_graph *graph, int64_t features, sley_dtype dtype,
                                sley_fetched *out) {
  sley_graph_info info;
  SL_TRY(sley_graph_info_get(graph, &info));
  *out = (sley_fetched){0};
  return sley_comm_alloc(comm, info.halo_rows * features * (int64_t)sley_dtype_bytes(dtype), &out->rows);
}

enum { VAL, X, Y, ARG, DY, DX, DVAL, ARRAYS };

static sley_status open_arrays(sley_comm *comm, const ranked_graph *c, graph_array *of) {
  const int64_t k = c->heads * c->width;
  SL_TRY(graph_array_open(comm, c, GRAPH_ENTRIES, c->heads, 1, &of[VAL]));
  SL_TRY(graph_array_open(comm, c, GRAPH_COLS, k, 2, &of[X]));
  SL_TRY(graph_array_open(comm, c, GRAPH_ROWS, k, 3, &of[DY]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ROWS, k, c->dtype, &of[Y]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_COLS, k, c->dtype, &of[DX]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ENTRIES, c->heads, c->dtype, &of[DVAL]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ROWS, k, SLEY_F32, &of[ARG]));
  of[ARG].ld = k; /* contiguous */
  return SLEY_OK;
}

static void close_arrays(graph_array *of, int count) {
  for (int i = count - 1; i >= 0; i--)
    graph_array_close(&of[i]);
}

static sley_status check_arg(const graph_array *a, const int32_t *expected) {
  SL_TRY(mirror_fetch(&a->m));
  for (int64_t i = 0; i < a->count * a->features; i++)
    EXPECT(((const int32_t *)a->host)[i] == expected[a->first * a->features + i]);
  return SLEY_OK;
}

/* The expected results of an aggregation. */
typedef struct wanted {
  oracle_result y, dx, dval;
  int32_t *arg;
} wanted;

static wanted want(const ranked_graph *c, sley_aggregate kind, bool weighted, const graph_array *of) {
  const oracle_graph g = {c->a, c->heads, c->width};
  const double *val = weighted ? of[VAL].whole : NULL;
  const int64_t k = c->heads * c->width, rows = c->a->rows * k;
  wanted w = {oracle_result_of(rows), oracle_result_of(c->a->cols * k),
              oracle_result_of(c->a->nnz * c->heads), calloc((size_t)rows + 1, sizeof(int32_t))};
  oracle_aggregate(&g, kind, val, of[X].whole, &w.y, w.arg);
  oracle_aggregate_gradients(&g, kind, val, of[X].whole, w.arg, of[DY].whole, &w.dx, &w.dval);
  return w;
}

static void drop(wanted *w) {
  oracle_result_free(&w->y);
  oracle_result_free(&w->dx);
  oracle_result_free(&w->dval);
  free(w->arg);
}

static sley_status aggregate(sley_comm *comm, ranked_run *s, sley_graph *graph, sley_aggregate kind,
                             bool weighted, sley_aggregation *aggregation, sley_fetched *fetched,
                             graph_array *of) {
  const ranked_graph *c = s->c;
  const bool chooses = kind == SLEY_AGGREGATE_MIN || kind == SLEY_AGGREGATE_MAX;
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  (void)graph;
  o.val = weighted ? of[VAL].m.here : NULL;
  o.x = of[X].m.here;
  o.ldx = of[X].ld;
  o.y = of[Y].m.here;
  o.ldy = of[Y].ld;
  o.arg = of[ARG].m.here;
  o.fetched = *fetched;
  to.dy = of[DY].m.here;
  to.lddy = of[DY].ld;
  to.dx = of[DX].m.here;
  to.lddx = of[DX].ld;
  to.dval = of[DVAL].m.here;
  SL_TRY(sley_aggregate_forward(aggregation, &o));
  o.fetched.there = true;
  SL_TRY(sley_aggregate_backward(aggregation, &o, &to));
  wanted w = want(c, kind, weighted, of);
  const double terms = terms_of(c);
  sley_status status = graph_array_check(&of[Y], &w.y, terms, "Y");
  if (status == SLEY_OK && chooses)
    status = check_arg(&of[ARG], w.arg);
  if (status == SLEY_OK)
    status = graph_array_check(&of[DX], &w.dx, terms, "dX");
  if (status == SLEY_OK)
    status = graph_array_check(&of[DVAL], &w.dval, terms, "dval");
  drop(&w);
  SL_TRY(sl_agree(comm, status));
  SL_TRY(ranked_run_bits(comm, s, 0, &of[Y], "Y"));
  return c->reproducible ? ranked_run_bits(comm, s, 3, &of[DX], "dX") : SLEY_OK;
}

static sley_status aggregate_all(sley_comm *comm, ranked_run *s, sley_graph *graph) {
  const ranked_graph *c = s->c;
  const sley_aggregate kind = (sley_aggregate)(c->seed % 4);
  sley_aggregation_options options = SLEY_AGGREGATION_OPTIONS_INIT;
  sley_aggregation *aggregation = NULL;
  sley_fetched fetched = {0};
  graph_array of[ARRAYS] = {0};
  options.kind = kind;
  options.heads = c->heads;
  options.width = c->width;
  options.dtype = c->dtype;
  sley_status status = sl_agree(comm, open_arrays(comm, c, of));
  if (status == SLEY_OK)
    status = sley_aggregation_create(graph, &options, &aggregation);
  if (status == SLEY_OK)
    status = open_fetched(comm, graph, c->heads * c->width, c->dtype, &fetched);
  if (status == SLEY_OK)
    status = aggregate(comm, s, graph, kind, c->seed / 4 % 3 > 0, aggregation, &fetched, of);
  sley_comm_free(comm, fetched.rows);
  sley_aggregation_destroy(aggregation);
  close_arrays(of, ARRAYS);
  return status;
}

enum { U, V, WEIGHT, S, DS, DU, DV, DWEIGHT, P, PRODUCTS };

static sley_status open_products(sley_comm *comm, const ranked_graph *c, int64_t k, graph_array *of) {
  SL_TRY(graph_array_open(comm, c, GRAPH_ROWS, k, 4, &of[U]));
  SL_TRY(graph_array_open(comm, c, GRAPH_COLS, k, 5, &of[V]));
  SL_TRY(graph_array_open(comm, c, GRAPH_ENTRIES, c->heads, 6, &of[WEIGHT]));
  SL_TRY(graph_array_open(comm, c, GRAPH_ENTRIES, c->heads, 7, &of[DS]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ENTRIES, c->heads, c->dtype, &of[S]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ROWS, k, c->dtype, &of[DU]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_COLS, k, c->dtype, &of[DV]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ENTRIES, c->heads, c->dtype, &of[DWEIGHT]));
  return graph_array_open_as(comm, c, GRAPH_ENTRIES, c->heads, c->dtype, &of[P]);
}

static sley_status check_products(const ranked_graph *c, const oracle_graph *g, sley_sddmm_form form,
                                  bool weighted, const graph_array *of) {
  const double *val = weighted ? of[WEIGHT].whole : NULL, terms = terms_of(c);
  oracle_result s = oracle_result_of(c->a->nnz * c->heads), dval = oracle_result_of(s.count),
                du = oracle_result_of(c->a->rows * of[U].features),
                dv = oracle_result_of(c->a->cols * of[V].features);
  oracle_sddmm(g, form, val, of[U].whole, of[V].whole, &s);
  oracle_sddmm(g, form, of[DS].whole, of[U].whole, of[V].whole, &dval);
  oracle_sddmm_gradients(g, form, val, of[U].whole, of[V].whole, of[DS].whole, &du, &dv);
  sley_status status = graph_array_check(&of[S], &s, terms, "S");
  if (status == SLEY_OK)
    status = graph_array_check(&of[DWEIGHT], &dval, terms, "dval of SDDMM");
  if (status == SLEY_OK)
    status = graph_array_check(&of[DU], &du, terms, "dU");
  if (status == SLEY_OK)
    status = graph_array_check(&of[DV], &dv, terms, "dV");
  oracle_result_free(&s);
  oracle_result_free(&dval);
  oracle_result_free(&du);
  oracle_result_free(&dv);
  return status;
}

static sley_status multiply(sley_comm *comm, ranked_run *s, const oracle_graph *g, sley_sddmm_form form,
                            bool weighted, sley_sddmm *sddmm, sley_fetched *fetched, graph_array *of) {
  sley_sddmm_operands o = SLEY_SDDMM_OPERANDS_INIT;
  sley_sddmm_gradients to = SLEY_SDDMM_GRADIENTS_INIT;
  o.val = weighted ? of[WEIGHT].m.here : NULL;
  o.u = of[U].m.here;
  o.ldu = of[U].ld;
  o.v = of[V].m.here;
  o.ldv = of[V].ld;
  o.s = of[S].m.here;
  o.fetched = *fetched;
  to.ds = of[DS].m.here;
  to.du = of[DU].m.here;
  to.lddu = of[DU].ld;
  to.dv = of[DV].m.here;
  to.lddv = of[DV].ld;
  to.dval = of[DWEIGHT].m.here;
  SL_TRY(sley_sddmm_forward(sddmm, &o));
  SL_TRY(sley_sddmm_backward(sddmm, &o, &to));
  SL_TRY(sl_agree(comm, check_products(s->c, g, form, weighted, of)));
  SL_TRY(ranked_run_bits(comm, s, 1, &of[S], "S"));
  return s->c->reproducible ? ranked_run_bits(comm, s, 4, &of[DV], "dV") : SLEY_OK;
}

static sley_status multiply_all(sley_comm *comm, ranked_run *s, sley_graph *graph) {
  const ranked_graph *c = s->c;
  sley_sddmm_options options = SLEY_SDDMM_OPTIONS_INIT;
  sley_sddmm *sddmm = NULL;
  sley_fetched fetched = {0};
  graph_array of[PRODUCTS] = {0};
  options.form = c->seed / 8 % 2 ? SLEY_SDDMM_ADD : SLEY_SDDMM_DOT;
  options.heads = c->heads;
  options.width = options.form == SLEY_SDDMM_ADD ? 1 : c->width;
  options.dtype = c->dtype;
  const oracle_graph g = {c->a, options.heads, options.width};
  sley_status status = sl_agree(comm, open_products(comm, c, options.heads * options.width, of));
  if (status == SLEY_OK)
    status = sley_sddmm_create(graph, &options, &sddmm);
  if (status == SLEY_OK && c->seed % 2)
    status = open_fetched(comm, graph, options.heads * options.width, c->dtype, &fetched);
  if (status == SLEY_OK)
    status = multiply(comm, s, &g, options.form, c->seed / 16 % 2, sddmm, &fetched, of);
  sley_comm_free(comm, fetched.rows);
  sley_sddmm_destroy(sddmm);
  close_arrays(of, PRODUCTS);
  return status;
}

static sley_status soften(sley_comm *comm, ranked_run *s, sley_graph *graph, graph_array *of) {
  const ranked_graph *c = s->c;
  const oracle_graph g = {c->a, c->heads, 1};
  SL_TRY(sley_edge_softmax(graph, 0, c->heads, c->dtype, of[WEIGHT].m.here, of[P].m.here));
  SL_TRY(sley_edge_softmax_backward(graph, 0, c->heads, c->dtype, of[WEIGHT].m.here, of[DS].m.here,
                                    of[S].m.here));
  oracle_result p = oracle_result_of(c->a->nnz * c->heads), ds = oracle_result_of(p.count);
  oracle_softmax(&g, of[WEIGHT].whole, &p);
  oracle_softmax_gradient(&g, of[WEIGHT].whole, of[DS].whole, &ds);
  sley_status status = graph_array_check(&of[P], &p, terms_of(c), "P");
  if (status == SLEY_OK)
    status = graph_array_check(&of[S], &ds, terms_of(c), "dS");
  oracle_result_free(&p);
  oracle_result_free(&ds);
  SL_TRY(sl_agree(comm, status));
  return ranked_run_bits(comm, s, 2, &of[P], "P");
}

static sley_status soften_all(sley_comm *comm, ranked_run *s, sley_graph *graph) {
  graph_array of[PRODUCTS] = {0};
  sley_status status = sl_agree(comm, open_products(comm, s->c, 1, of));
  if (status == SLEY_OK)
    status = soften(comm, s, graph, of);
  close_arrays(of, PRODUCTS);
  return status;
}

/* Checks, on several ranks, the lists of rows that need no halo and of the others: both lists exist if these
 * rows have at least a sixteenth of the entries, except on the CPU. */
static sley_status check_parts(const sl_comm *comm, const ranked_graph *c, const sley_graph *graph) {
  const sl_relation *r = graph->relation;
  const int64_t first = c->row_begin[comm->rank], end = c->row_begin[comm->rank + 1];
  int64_t own = 0, own_entries = 0;
  for (int64_t i = first; i < end; i++) {
    int64_t remote = 0;
    for (int64_t e = c->a->rowptr[i]; e < c->a->rowptr[i + 1]; e++) {
      const int64_t col = sl_index_at(c->a->col, c->a->index, e);
      remote += col < c->col_begin[comm->rank] || col >= c->col_begin[comm->rank + 1];
    }
    own += remote == 0;
    own_entries += remote == 0 ? c->a->rowptr[i + 1] - c->a->rowptr[i] : 0;
  }
  if (comm->size > 1)
    EXPECT(r->own_rows.rows == own && r->other_rows.rows == end - first - own);
  const bool listed = comm->size > 1 && !comm->device->ops->host_addresses && own < end - first &&
                      own_entries > 0 && own_entries >= (c->a->rowptr[end] - c->a->rowptr[first]) / 16;
  EXPECT((r->own_rows.listed != NULL) == listed && (r->other_rows.listed != NULL) == listed);
  return SLEY_OK;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  ranked_run *s = arg;
  const ranked_graph *c = s->c;
  sley_matrix *block = NULL;
  sley_graph *graph = NULL;
  const int64_t first = c->row_begin[comm->rank];
  sley_status status =
      sl_agree(comm, sley_matrix_row_block(c->a, first, c->row_begin[comm->rank + 1] - first, &block));
  if (status == SLEY_OK)
    status = ranked_graph_make(comm, c, block, &graph);
  if (status == SLEY_OK)
    status = sl_agree(comm, check_parts(comm, c, graph));
  if (status == SLEY_OK)
    status = aggregate_all(comm, s, graph);
  if (status == SLEY_OK)
    status = multiply_all(comm, s, graph);
  if (status == SLEY_OK)
    status = soften_all(comm, s, graph);
  sley_graph_destroy(graph);
  sley_matrix_destroy(block);
  return status;
}

static void run_samples(const rank_case *c) {
  ranked_graph_samples(c, rank_main);
}

static void test_on_all_ranks(void **state) {
  (void)state;
  each_case(run_samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_all_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
