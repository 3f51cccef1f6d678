/* SPDX-License-Identifier: Apache-2.0 */
/* Attention through the public interface, with its gradients, on random graphs over ranks: compared with
 * float64, with equal bits of rows for every number of ranks, and without the data that a forward call saves.
 */
#include <math.h>

#include "attention_case.h"
#include "base/value.h"
#include "graph_ranks.h"

enum { QUERY, SOURCE, A, Y, DY, DQUERY, DSOURCE, DA, ARRAYS };

static sley_attention_kind kind_of(const ranked_run *s) {
  return (sley_attention_kind)(s->sample % 3);
}

static int64_t query_width(const ranked_run *s) {
  return kind_of(s) == SLEY_ATTENTION_GAT ? s->c->heads : s->c->heads * s->c->width;
}

static int64_t key_width(const ranked_run *s) {
  return kind_of(s) == SLEY_ATTENTION_GATV2 ? 0 : query_width(s);
}

/* Opens the arrays. The vector a is an array with one row, equal on all ranks, of a graph with one column. */
static sley_status open_arrays(sley_comm *comm, const ranked_run *s, const ranked_graph *of_a,
                               graph_array *of) {
  const ranked_graph *c = s->c;
  const int64_t k = c->heads * c->width, source = k + key_width(s);
  SL_TRY(graph_array_open(comm, c, GRAPH_ROWS, query_width(s), 11, &of[QUERY]));
  SL_TRY(graph_array_open(comm, c, GRAPH_COLS, source, 12, &of[SOURCE]));
  SL_TRY(graph_array_open(comm, of_a, GRAPH_COLS, k, 13, &of[A]));
  SL_TRY(graph_array_open(comm, c, GRAPH_ROWS, k, 14, &of[DY]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ROWS, k, c->dtype, &of[Y]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_ROWS, query_width(s), c->dtype, &of[DQUERY]));
  SL_TRY(graph_array_open_as(comm, c, GRAPH_COLS, source, c->dtype, &of[DSOURCE]));
  return graph_array_open_as(comm, of_a, GRAPH_COLS, k, sl_sum_dtype(c->dtype), &of[DA]);
}

/* Copies columns [first, first + count) of rows with `features` values. */
static double *part_of(const double *whole, int64_t rows, int64_t features, int64_t first, int64_t count) {
  double *part = calloc((size_t)(rows * count) + 1, sizeof *part);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t f = 0; f < count; f++)
      part[i * count + f] = whole[i * features + first + f];
  return part;
}

static attention_case whole_case(const ranked_run *s, const graph_array *of) {
  const ranked_graph *c = s->c;
  const int64_t k = c->heads * c->width, source = k + key_width(s);
  return (attention_case){.pattern = {.rows = c->a->rows,
                                      .cols = c->a->cols,
                                      .entries = c->a->nnz,
                                      .rowptr = (int64_t *)c->a->rowptr,
                                      .col = (int32_t *)c->a->col},
                          .kind = (sl_attention)kind_of(s),
                          .dtype = c->dtype,
                          .shape = {c->heads, c->width},
                          .features = k,
                          .q_width = query_width(s),
                          .k_width = key_width(s),
                          .slope = 0.25,
                          .q = of[QUERY].whole,
                          .k = part_of(of[SOURCE].whole, c->a->cols, source, k, key_width(s)),
                          .v = part_of(of[SOURCE].whole, c->a->cols, source, 0, k),
                          .a = of[A].whole,
                          .dy = of[DY].whole};
}

/* Checks values [from, from + count) of each of the array's rows against rows of `count` values. slack:
 * additional error allowed, in units of the type, relative to the bound and to the value. */
static sley_status check(const graph_array *a, int64_t from, int64_t count, const bounded *b, double slack,
                         const char *what) {
  SL_TRY(mirror_fetch(&a->m));
  for (int64_t i = 0; i < a->count; i++)
    for (int64_t f = 0; f < count; f++) {
      const double value = sl_value_at(a->host, a->dtype, i * a->ld + from + f);
      const int64_t at = (a->first + i) * count + f;
      const double off = fabs(value - b->value[at]),
                   allowed = b->bound[at] + slack * (1 + fabs(b->value[at]));
      if (!(off <= allowed))
        return sl_fail(SLEY_ERR_INTERNAL,
                       "%s: row %lld, value %lld is %.17g, not %.17g: off by %g, not %g at most", what,
                       (long long)(a->first + i), (long long)f, value, b->value[at], off, allowed);
    }
  return SLEY_OK;
}

/* Additional error of results that are summed over ranks: one rounding to the dtype per rank. */
static double slack_of(const ranked_graph *c) {
  static const double of[] = {
      [SLEY_F32] = 0x1p-22, [SLEY_F64] = 0x1p-51, [SLEY_F16] = 0x1p-9, [SLEY_BF16] = 0x1p-6};
  return c->ranks > 1 ? of[c->dtype] * c->ranks : 0;
}

/* Each rank's da covers its own rows, so the sum over the ranks is checked, on rank 0. */
static sley_status check_da(sley_comm *comm, const ranked_run *s, graph_array *da, const bounded *b) {
  double sum[512] = {0}, all[RANKED_GRAPH_MOST * 512];
  int64_t bytes[RANKED_GRAPH_MOST];
  EXPECT(da->features <= 512);
  SL_TRY(mirror_fetch(&da->m));
  for (int64_t f = 0; f < da->features; f++)
    sum[f] = sl_value_at(da->host, da->dtype, f);
  for (int p = 0; p < s->c->ranks; p++)
    bytes[p] = da->features * (int64_t)sizeof *sum;
  SL_TRY(sley_comm_gather(comm, 0, sum, bytes, all));
  for (int64_t f = 0; comm->rank == 0 && f < da->features; f++) {
    double total = 0;
    for (int p = 0; p < s->c->ranks; p++)
      total += all[p * da->features + f];
    EXPECT(fabs(total - b->value[f]) <= 2 * b->bound[f] + 1e-6 * s->c->ranks);
  }
  return SLEY_OK;
}

/* Gathers the Y that the ranks computed, from which they also compute gradients. */
static sley_status gather_y(sley_comm *comm, const graph_array *y, double *whole) {
  const ranked_graph *c = y->c;
  const int64_t k = y->features, most = c->a->rows * k * (int64_t)sizeof *whole;
  double *own = calloc((size_t)most + 1, 1), *all = calloc((size_t)(most * c->ranks) + 1, 1);
  sley_status status = mirror_fetch(&y->m);
  for (int64_t i = 0; i < y->count; i++)
    for (int64_t f = 0; f < k; f++)
      own[i * k + f] = sl_value_at(y->host, y->dtype, i * y->ld + f);
  if (status == SLEY_OK)
    status = comm->ops->allgather(comm, own, most, all);
  for (int p = 0; p < c->ranks; p++)
    memcpy(whole + c->row_begin[p] * k, all + p * c->a->rows * k,
           (size_t)((c->row_begin[p + 1] - c->row_begin[p]) * k) * sizeof *whole);
  free(all);
  free(own);
  return status;
}

static int64_t *count_columns(const sley_matrix *a) {
  int64_t *begin = calloc((size_t)a->cols + 2, sizeof *begin);
  for (int64_t e = a->rowptr[0]; e < a->rowptr[a->rows]; e++)
    begin[sl_index_at(a->col, a->index, e) + 1]++;
  for (int64_t c = 0; c < a->cols; c++)
    begin[c + 1] += begin[c];
  return begin;
}

static sley_status check_all(sley_comm *comm, const ranked_run *s, graph_array *of) {
  const int64_t k = s->c->heads * s->c->width;
  double *y = calloc((size_t)(s->c->a->rows * k) + 1, sizeof *y);
  SL_TRY(gather_y(comm, &of[Y], y));
  attention_case whole = whole_case(s, of);
  whole.pattern.rowptr_t = count_columns(s->c->a);
  attention_results expected = attention_oracle(&whole, y);
  const double slack = slack_of(s->c);
  sley_status status = check(&of[Y], 0, k, &expected.y, 0, "Y");
  if (status == SLEY_OK)
    status = check(&of[DQUERY], 0, whole.q_width, &expected.dq, slack, "dquery");
  if (status == SLEY_OK)
    status = check(&of[DSOURCE], 0, k, &expected.dv, slack, "dsource");
  if (status == SLEY_OK && whole.k_width > 0)
    status = check(&of[DSOURCE], k, whole.k_width, &expected.dk, slack, "keys of dsource");
  status = sl_agree(comm, status);
  if (status == SLEY_OK && kind_of(s) == SLEY_ATTENTION_GATV2)
    status = check_da(comm, s, &of[DA], &expected.da);
  results_free(&expected);
  free(whole.pattern.rowptr_t);
  free(y);
  free(whole.v);
  free(whole.k);
  return status;
}

static sley_status same_bits(sley_comm *comm, ranked_run *s, const graph_array *of) {
  SL_TRY(ranked_run_bits(comm, s, 0, &of[Y], "Y"));
  SL_TRY(ranked_run_bits(comm, s, 1, &of[DQUERY], "dquery"));
  return s->c->reproducible ? ranked_run_bits(comm, s, 2, &of[DSOURCE], "dsource") : SLEY_OK;
}

static sley_status attend(sley_comm *comm, ranked_run *s, sley_attention *attention, void *saved,
                          graph_array *of) {
  sley_attention_operands o = SLEY_ATTENTION_OPERANDS_INIT;
  sley_attention_gradients to = SLEY_ATTENTION_GRADIENTS_INIT;
  int64_t without, with;
  o.query = of[QUERY].m.here;
  o.ldq = of[QUERY].ld;
  o.source = of[SOURCE].m.here;
  o.lds = of[SOURCE].ld;
  o.a = of[A].m.here;
  o.y = of[Y].m.here;
  o.ldy = of[Y].ld;
  SL_TRY(sley_attention_forward(attention, &o));
  SL_TRY(graph_array_bits(comm, &of[Y], &without));
  o.saved = saved;
  SL_TRY(sley_attention_forward(attention, &o));
  SL_TRY(graph_array_bits(comm, &of[Y], &with));
  EXPECT(with == without);
  to.dy = of[DY].m.here;
  to.lddy = of[DY].ld;
  to.dquery = of[DQUERY].m.here;
  to.lddq = of[DQUERY].ld;
  to.dsource = of[DSOURCE].m.here;
  to.ldds = of[DSOURCE].ld;
  to.da = of[DA].m.here;
  SL_TRY(sley_attention_backward(attention, &o, &to));
  SL_TRY(check_all(comm, s, of));
  return same_bits(comm, s, of);
}

/* Whether rows are padded to a multiple of 16 bytes. */
static bool has_room(const ranked_graph *c, const graph_array *a) {
  const int64_t step = 16 / (int64_t)sley_dtype_bytes(c->dtype);
  return a->ld >= (a->features + step - 1) / step * step;
}

static sley_status attend_all(sley_comm *comm, ranked_run *s, const ranked_graph *of_a, sley_graph *graph) {
  const ranked_graph *c = s->c;
  sley_attention_options options = SLEY_ATTENTION_OPTIONS_INIT;
  sley_attention_info info;
  sley_attention *attention = NULL;
  void *saved = NULL;
  graph_array of[ARRAYS] = {0};
  options.kind = kind_of(s);
  options.heads = c->heads;
  options.width = c->width;
  options.dtype = c->dtype;
  options.slope = 0.25;
  sley_status status = sl_agree(comm, open_arrays(comm, s, of_a, of));
  options.padded = has_room(c, &of[SOURCE]) && has_room(c, &of[DSOURCE]);
  if (status == SLEY_OK)
    status = sley_attention_create(graph, &options, &attention);
  if (status == SLEY_OK)
    status = sley_attention_info_get(attention, &info);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, info.saved_bytes, &saved);
  if (status == SLEY_OK)
    status = attend(comm, s, attention, saved, of);
  sley_comm_free(comm, saved);
  sley_attention_destroy(attention);
  for (int i = ARRAYS - 1; i >= 0; i--)
    graph_array_close(&of[i]);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  ranked_run *s = arg;
  const ranked_graph *c = s->c;
  ranked_graph of_a = *c; /* one column, which every rank owns */
  sley_matrix *rows = NULL;
  sley_graph *graph = NULL;
  const int64_t first = c->row_begin[comm->rank];
  of_a.ranks = comm->rank + 1;
  for (int p = 0; p <= of_a.ranks; p++)
    of_a.col_begin[p] = p > comm->rank;
  sley_status status =
      sl_agree(comm, sley_matrix_row_block(c->a, first, c->row_begin[comm->rank + 1] - first, &rows));
  if (status == SLEY_OK)
    status = ranked_graph_make(comm, c, rows, &graph);
  if (status == SLEY_OK)
    status = attend_all(comm, s, &of_a, graph);
  sley_graph_destroy(graph);
  sley_matrix_destroy(rows);
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
