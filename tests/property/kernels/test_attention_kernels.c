/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and its gradients: every kind and type on random patterns is compared with the definition in
 * float64. The bits must be the same for any number of threads and every instruction set. Forward calls on
 * lists of rows must not change other rows. */
#include <math.h>

#include "attention_case.h"
#include "base/value.h"
#include "dense_rows.h"

enum { Q, K, V, A, DY, INS };
enum { Y, STATS, SIDE, DELTA, DQ, DA, WORK, DK, DV, OUTS };
static const char *const out_names[OUTS] = {"y", "stats", "side", "delta", "dq", "da", "work", "dk", "dv"};

typedef struct operands {
  dense_rows in[INS], out[OUTS];
  int64_t k_at, v_at; /* columns of in[V] where k and v begin; k_at < 0: k is in[K] */
} operands;

/* Operands with random gaps between rows; k and v may be parts of the same rows. */
static operands operands_of(const attention_case *c) {
  const int64_t rows = c->pattern.rows, cols = c->pattern.cols, heads = c->shape.heads, f = c->features;
  const int64_t pad = PICK(0, 0, 3);
  const sley_dtype dtype = c->dtype, sums = sl_sum_dtype(dtype);
  const bool split = draw(2), joined = c->k_width > 0 && draw(2);
  operands o = {.k_at = joined ? 0 : -1, .v_at = joined ? c->k_width : 0};
  o.in[Q] = dense_rows_of(dtype, rows, c->q_width, false, pad);
  o.in[K] = dense_rows_of(dtype, cols, c->k_width, split, pad);
  o.in[V] = dense_rows_of(dtype, cols, o.v_at + f, split, pad);
  o.in[A] = dense_rows_of(dtype, 1, f, false, 0);
  o.in[DY] = dense_rows_of(dtype, rows, f, false, pad);
  dense_rows_put(&o.in[Q], 0, c->q_width, c->q);
  if (joined)
    dense_rows_put(&o.in[V], 0, c->k_width, c->k);
  else
    dense_rows_put(&o.in[K], 0, c->k_width, c->k);
  dense_rows_put(&o.in[V], o.v_at, f, c->v);
  dense_rows_put(&o.in[A], 0, f, c->a);
  dense_rows_put(&o.in[DY], 0, f, c->dy);
  o.out[Y] = dense_rows_of(dtype, rows, f, false, pad);
  o.out[STATS] = dense_rows_of(sums, rows, heads * 2, false, 0);
  o.out[SIDE] = dense_rows_of(sums, rows, c->kind == SL_ATTENTION_GAT ? f + heads : 0, false, 0);
  o.out[DELTA] = dense_rows_of(sums, rows, heads, false, 0);
  o.out[DQ] = dense_rows_of(dtype, rows, c->q_width, false, pad);
  o.out[DA] = dense_rows_of(sums, 1, c->kind == SL_ATTENTION_GATV2 ? f : 0, false, 0);
  const int64_t work =
      c->kind == SL_ATTENTION_GATV2
          ? sl_attention_work(&(sl_pattern){.rows = rows, .long_rows = c->pattern.long_rows}, f, dtype)
          : 0;
  o.out[WORK] = dense_rows_of(sums, work ? 1 : 0, work / (int64_t)sley_dtype_bytes(sums), false, 0);
  o.out[DK] = dense_rows_of(dtype, cols, c->k_width, split, pad);
  o.out[DV] = dense_rows_of(dtype, cols, f, split, pad);
  return o;
}

/* A copy of the operands before a run, with new memory for results. */
static operands operands_anew(const operands *from) {
  operands o = *from;
  for (int n = 0; n < OUTS; n++)
    o.out[n] = dense_rows_copy(&from->out[n]);
  return o;
}

static void outs_free(operands *o) {
  for (int n = 0; n < OUTS; n++)
    dense_rows_free(&o->out[n]);
}

/* The arrays of both patterns in device memory. */
typedef struct pattern_images {
  image rowptr, col, rowptr_t, col_t, place_t, long_row, long_row_t;
  sl_pattern by_rows, by_columns;
} pattern_images;

static pattern_images pattern_show(sl_queue *queue, const drawn_pattern *p) {
  const size_t entries = (size_t)p->entries * sizeof(int32_t), each = sizeof(int64_t);
  pattern_images i = {.rowptr = image_of(queue, p->rowptr, (size_t)(p->rows + 1) * each, 0),
                      .col = image_of(queue, p->col, entries, 0),
                      .rowptr_t = image_of(queue, p->rowptr_t, (size_t)(p->cols + 1) * each, 0),
                      .col_t = image_of(queue, p->col_t, entries, 0),
                      .place_t = image_of(queue, p->place_t, entries, 0),
                      .long_row = image_of(queue, p->long_row, (size_t)p->long_rows * sizeof(int32_t), 0),
                      .long_row_t =
                          image_of(queue, p->long_row_t, (size_t)p->long_rows_t * sizeof(int32_t), 0)};
  i.by_rows = (sl_pattern){.rows = p->rows,
                           .cols = p->cols,
                           .rowptr = i.rowptr.data,
                           .col = i.col.data,
                           .mean_entries = p->mean_entries,
                           .long_row = i.long_row.data,
                           .long_rows = p->long_rows};
  i.by_columns = (sl_pattern){.rows = p->cols,
                              .cols = p->rows,
                              .rowptr = i.rowptr_t.data,
                              .col = i.col_t.data,
                              .place = i.place_t.data,
                              .of_row = i.rowptr.data,
                              .mean_entries = p->mean_entries,
                              .long_row = i.long_row_t.data,
                              .long_rows = p->long_rows_t};
  return i;
}

static void pattern_drop(pattern_images *i) {
  image *const all[] = {&i->rowptr,  &i->col,      &i->rowptr_t,  &i->col_t,
                        &i->place_t, &i->long_row, &i->long_row_t};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++)
    image_drop(all[n]);
}

/* Arguments of all three operations. */
static sl_attention_grad_args arguments(const attention_case *c, const operands *o, const pattern_images *p,
                                        const dense_image *in, const dense_image *k, const dense_image *out) {
  sl_attention_args of = {.pattern = p->by_rows,
                          .shape = c->shape,
                          .dtype = c->dtype,
                          .kind = c->kind,
                          .slope = c->slope,
                          .q = in[Q].rows.near,
                          .ldq = in[Q].rows.near_ld,
                          .k = o->k_at < 0 ? in[K].rows : k->rows,
                          .v = in[V].rows,
                          .a = in[A].rows.near,
                          .y = out[Y].rows.near,
                          .ldy = out[Y].rows.near_ld,
                          .stats = out[STATS].rows.near,
                          .side = c->kind == SL_ATTENTION_GAT ? out[SIDE].rows.near : NULL};
  return (sl_attention_grad_args){.of = of,
                                  .dy = in[DY].rows.near,
                                  .lddy = in[DY].rows.near_ld,
                                  .delta = out[DELTA].rows.near,
                                  .dq = out[DQ].rows.near,
                                  .lddq = out[DQ].rows.near_ld,
                                  .da = out[DA].rows.near,
                                  .work = out[WORK].rows.near,
                                  .dk = out[DK].rows,
                                  .dv = out[DV].rows};
}

/* All operands of the kernels in device memory. */
typedef struct shown {
  pattern_images pattern;
  dense_image in[INS], out[OUTS];
  sl_attention_grad_args grad;
} shown;

static void show(sl_queue *queue, const attention_case *c, const operands *o, shown *s) {
  s->pattern = pattern_show(queue, &c->pattern);
  for (int n = 0; n < INS; n++)
    s->in[n] = dense_image_of(queue, &o->in[n], n == V ? o->v_at : 0);
  dense_image k = s->in[V];
  if (o->k_at >= 0) {
    const size_t before = (size_t)(o->v_at - o->k_at) * sley_dtype_bytes(c->dtype);
    k.rows.near = (char *)k.rows.near - before;
    k.rows.far = (char *)k.rows.far - before;
  }
  for (int n = 0; n < OUTS; n++)
    s->out[n] = dense_image_of(queue, &o->out[n], 0);
  s->grad = arguments(c, o, &s->pattern, s->in, &k, s->out);
}

/* Copies the results to the host. */
static void take_back(shown *s) {
  for (int n = 0; n < OUTS; n++)
    dense_image_return(&s->out[n]);
  for (int n = 0; n < INS; n++)
    dense_image_drop(&s->in[n]);
  pattern_drop(&s->pattern);
}

/* Forward, gradients of rows, gradients of columns. */
static void run(sl_queue *queue, const attention_case *c, const operands *o) {
  shown s;
  show(queue, c, o, &s);
  sl_kernel_args args = {.op = SL_OP_ATTENTION, .attention = s.grad.of};
  assert_sley_ok(sl_kernel_run(queue, &args));
  args = (sl_kernel_args){.op = SL_OP_ATTENTION_ROWS, .attention_grad = s.grad};
  assert_sley_ok(sl_kernel_run(queue, &args));
  args.op = SL_OP_ATTENTION_COLUMNS;
  args.attention_grad.of.pattern = s.pattern.by_columns;
  assert_sley_ok(sl_kernel_run(queue, &args));
  take_back(&s);
}

/* The long rows in a list of rows. The pattern must list its long rows. */
static drawn_list long_among(const drawn_pattern *p, const drawn_list *rows) {
  drawn_list longs = {.number = malloc((size_t)rows->count * sizeof *longs.number + 1)};
  assert_non_null(longs.number);
  for (int64_t n = 0; p->long_row && n < rows->count; n++)
    if (p->rowptr[rows->number[n] + 1] - p->rowptr[rows->number[n]] > SL_LONG_ROW)
      longs.number[longs.count++] = rows->number[n];
  return longs;
}

/* Runs forward on the rows of a list. */
static void run_listed(sl_queue *queue, const attention_case *c, const drawn_list *rows, const operands *o) {
  shown s;
  drawn_list longs = long_among(&c->pattern, rows);
  image listed = image_of(queue, rows->number, (size_t)rows->count * sizeof *rows->number, 0),
        long_row = image_of(queue, longs.number, (size_t)longs.count * sizeof *longs.number, 0);
  show(queue, c, o, &s);
  sl_kernel_args args = {.op = SL_OP_ATTENTION, .attention = s.grad.of};
  sl_pattern *p = &args.attention.pattern;
  p->listed = listed.data;
  p->listed_rows = rows->count;
  p->long_row = c->pattern.long_row ? long_row.data : NULL;
  p->long_rows = longs.count;
  assert_sley_ok(sl_kernel_run(queue, &args));
  take_back(&s);
  image_drop(&long_row);
  image_drop(&listed);
  free(longs.number);
}

static void describe(const attention_case *c) {
  fprintf(stderr, "kind %d, dtype %d, %lld heads of %lld, slope %g, %lld rows, %lld columns, %lld entries\n",
          (int)c->kind, (int)c->dtype, (long long)c->shape.heads, (long long)c->shape.width, c->slope,
          (long long)c->pattern.rows, (long long)c->pattern.cols, (long long)c->pattern.entries);
}

/* Whether a value is within its bound. A result must be finite exactly if the expected one is; with `exact`,
 * values that are not finite must be equal. */
static bool holds(double got, double expected, double bound, bool exact) {
  if (isnan(expected) || isinf(expected))
    return exact ? isnan(expected) ? isnan(got) : got == expected : !isfinite(got);
  return fabs(got - expected) <= bound;
}

static void check_rows(const attention_case *c, const operands *o, int n, const bounded *expected,
                       int64_t width) {
  for (int64_t i = 0; i < o->out[n].rows; i++)
    for (int64_t f = 0; f < width; f++) {
      const double got = dense_rows_at(&o->out[n], i, f), value = expected->value[i * width + f],
                   bound = expected->bound[i * width + f];
      if (!holds(got, value, bound, n == Y || n == SIDE)) {
        describe(c);
        fail_msg("%s[%lld][%lld] is %.9g, not %.9g to %.3g", out_names[n], (long long)i, (long long)f, got,
                 value, bound);
      }
    }
  dense_rows_check_gaps(&o->out[n], out_names[n]);
}

static void check_stats(const attention_case *c, const operands *o, const attention_results *expected) {
  const int64_t heads = c->shape.heads;
  for (int64_t i = 0; i < c->pattern.rows * heads; i++) {
    const double m = dense_rows_at(&o->out[STATS], i / heads, i % heads * 2),
                 s = dense_rows_at(&o->out[STATS], i / heads, i % heads * 2 + 1);
    const double total = expected->total.value[i];
    if (!holds(s, total, expected->total.bound[i], true) ||
        (!isnan(total) && !holds(m, expected->greatest.value[i], expected->greatest.bound[i], true))) {
      describe(c);
      fail_msg("row and head %lld: m %.9g, s %.9g, not %.9g, %.9g", (long long)i, m, s,
               expected->greatest.value[i], total);
    }
  }
}

static void check_results(const attention_case *c, const operands *o) {
  const int64_t rows = c->pattern.rows, f = c->features;
  double *y = calloc((size_t)(rows * f) + 1, sizeof *y);
  assert_non_null(y);
  for (int64_t i = 0; i < rows * f; i++)
    y[i] = dense_rows_at(&o->out[Y], i / f, i % f);
  attention_results expected = attention_oracle(c, y);
  check_rows(c, o, Y, &expected.y, f);
  check_stats(c, o, &expected);
  if (c->kind == SL_ATTENTION_GAT)
    check_rows(c, o, SIDE, &expected.side, f + c->shape.heads);
  check_rows(c, o, DELTA, &expected.delta, c->shape.heads);
  check_rows(c, o, DQ, &expected.dq, c->q_width);
  check_rows(c, o, DK, &expected.dk, c->k_width);
  check_rows(c, o, DV, &expected.dv, f);
  if (c->kind == SL_ATTENTION_GATV2)
    check_rows(c, o, DA, &expected.da, f);
  results_free(&expected);
  free(y);
}

static void check_same(const attention_case *c, const operands *a, const operands *b, const char *isa) {
  for (int n = 0; n < OUTS; n++)
    if (!dense_rows_same(&a->out[n], &b->out[n])) {
      describe(c);
      fail_msg("%s has other bits (%s)", out_names[n], isa ? isa : "other threads");
    }
}

/* Checks that listed rows get the results of a run on all rows, and that other rows and results keep their
 * bytes. */
static void check_listed(sl_queue *queue, const attention_case *c, const operands *whole,
                         const operands *blank) {
  static const int forward[] = {Y, STATS, SIDE};
  drawn_list rows = list_draw(c->pattern.rows);
  operands listed = operands_anew(blank), expected = operands_anew(blank), kept = operands_anew(blank);
  run_listed(queue, c, &rows, &listed);
  for (int64_t n = 0; n < rows.count; n++)
    for (size_t f = 0; f < sizeof forward / sizeof *forward; f++) {
      dense_rows_copy_row(&expected.out[forward[f]], &whole->out[forward[f]], rows.number[n]);
      dense_rows_copy_row(&kept.out[forward[f]], &listed.out[forward[f]], rows.number[n]);
    }
  for (int n = 0; n < OUTS; n++)
    if (!dense_rows_same(&listed.out[n], &expected.out[n]) ||
        !dense_rows_equal(&listed.out[n], &kept.out[n])) {
      describe(c);
      fail_msg("%s has other bytes of %lld listed rows", out_names[n], (long long)rows.count);
    }
  outs_free(&kept);
  outs_free(&expected);
  outs_free(&listed);
  free(rows.number);
}

static void check(const attention_case *c) {
  operands first = operands_of(c), blank = operands_anew(&first);
  run(queues[0], c, &first);
  check_results(c, &first);
  check_listed(queues[0], c, &first, &blank);
  const char *const isas[] = {NULL, "avx2", "portable"};
  for (size_t n = 0; n < sizeof isas / sizeof *isas; n++) {
    if (isas[n])
      setenv("SLEY_CPU", isas[n], 1);
    for (int q = isas[n] ? QUEUES - 1 : 1; q < QUEUES; q++) {
      operands again = operands_anew(&blank);
      run(queues[q], c, &again);
      check_same(c, &first, &again, isas[n]);
      check_listed(queues[q], c, &again, &blank);
      outs_free(&again);
    }
    unsetenv("SLEY_CPU");
  }
  outs_free(&first);
  outs_free(&blank);
  for (int n = 0; n < INS; n++)
    dense_rows_free(&first.in[n]);
}

static void check_kind(sl_attention kind) {
  for (int repeat = 0; repeat < repeats(300); repeat++) {
    const sl_heads shape = {PICK(1, 3, 8, 8, 20), PICK(0, 1, 3, 8, 8, 16, 17, 33, 64)};
    const bool large = draw(4) == 0, special = draw(4) == 0;
    /* Scores up to about 1e4 either way. */
    const double size = !large ? 1 : kind == SL_ATTENTION_DOT ? 60 : 1e4;
    attention_case c = attention_draw(kind, (sley_dtype)draw(4), shape, size, special);
    check(&c);
    attention_free(&c);
  }
}

static void gat(void **state) {
  (void)state;
  check_kind(SL_ATTENTION_GAT);
}

static void gatv2(void **state) {
  (void)state;
  check_kind(SL_ATTENTION_GATV2);
}

static void dot(void **state) {
  (void)state;
  check_kind(SL_ATTENTION_DOT);
}

static double loss(const attention_case *c) {
  attention_results r = attention_oracle(c, NULL);
  double sum = 0;
  for (int64_t i = 0; i < c->pattern.rows * c->features; i++)
    sum += c->dy[i] * r.y.value[i];
  results_free(&r);
  return sum;
}

/* Of at most 40 drawn operands. */
static void check_differences(const attention_case *c, double *operand, int64_t count,
                              const double *gradient) {
  const double step = 1e-6;
  for (int64_t n = 0; count && n < 40; n++) {
    const int64_t i = draw(count);
    const double value = operand[i];
    operand[i] = value + step;
    const double above = loss(c);
    operand[i] = value - step;
    const double slope = (above - loss(c)) / (2 * step);
    operand[i] = value;
    if (!(fabs(slope - gradient[i]) <= 1e-6 * (1 + fabs(slope))))
      fail_msg("kind %d: gradient %lld is %.12g, by differences %.12g", (int)c->kind, (long long)i,
               gradient[i], slope);
  }
}

static void oracle_agrees_with_differences(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(30); repeat++) {
    attention_case c =
        attention_draw((sl_attention)(repeat % 3), SLEY_F64, (sl_heads){PICK(1, 3), PICK(1, 4)}, 1, false);
    attention_results r = attention_oracle(&c, NULL);
    check_differences(&c, c.q, c.pattern.rows * c.q_width, r.dq.value);
    check_differences(&c, c.k, c.pattern.cols * c.k_width, r.dk.value);
    check_differences(&c, c.v, c.pattern.cols * c.features, r.dv.value);
    if (c.kind == SL_ATTENTION_GATV2)
      check_differences(&c, c.a, c.features, r.da.value);
    results_free(&r);
    attention_free(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(oracle_agrees_with_differences), cmocka_unit_test(gat),
                                     cmocka_unit_test(gatv2), cmocka_unit_test(dot)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
