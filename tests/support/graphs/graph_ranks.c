/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs and operands over ranks. See graph_ranks.h. */
#include "graph_ranks.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "formats.h"

static void divide(uint64_t seed, int64_t count, int ranks, int64_t *begin) {
  begin[0] = 0;
  for (int p = 1; p < ranks; p++) /* the first ranks take much of the remaining rows, some ranks none */
    begin[p] = begin[p - 1] + (sl_random(seed, 1, (uint64_t)p) % 4
                                   ? sl_below(sl_random(seed, 2, (uint64_t)p), count - begin[p - 1] + 1) / 2
                                   : 0);
  begin[ranks] = count;
}

static int64_t one_of(uint64_t draw, const int64_t *list, int64_t count) {
  return list[draw % (uint64_t)count];
}

/* Removes from two thirds of the rows the entries in columns of other ranks, so that many rows need no
 * halo. */
static void keep_own(ranked_graph *c) {
  const sley_matrix *a = c->a;
  const size_t value = sley_dtype_bytes(c->dtype);
  sl_csr_arrays kept = {sl_alloc(a->rows + 1, sizeof(int64_t), "a test"),
                        sl_alloc(a->nnz, sizeof(int32_t), "a test"), sl_alloc(a->nnz, value, "a test")};
  int64_t count = 0;
  int rank = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    const bool all = sl_random(c->seed, 6, (uint64_t)i) % 3 == 0;
    while (i >= c->row_begin[rank + 1])
      rank++;
    kept.rowptr[i] = count;
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
      const int64_t col = sl_index_at(a->col, a->index, e);
      if (!all && (col < c->col_begin[rank] || col >= c->col_begin[rank + 1]))
        continue;
      ((int32_t *)kept.col)[count] = (int32_t)col;
      memcpy((char *)kept.val + (size_t)count++ * value, (const char *)a->val + (size_t)e * value, value);
    }
  }
  kept.rowptr[a->rows] = count;
  sley_matrix *fewer;
  assert_sley_ok(sl_matrix_adopt(a->rows, a->cols, SLEY_I32, c->dtype, kept, -1, &fewer));
  sley_matrix_destroy(c->a);
  c->a = fewer;
}

ranked_graph ranked_graph_draw(uint64_t seed, int ranks) {
  static const int64_t widths[] = {0, 1, 2, 5, 8, 16, 17, 33}, heads[] = {1, 1, 3, 8};
  uint64_t draw = sl_random(seed, 3, 0) >> 8;
  ranked_graph c = {
      .seed = seed, .ranks = ranks, .width = one_of(draw, widths, 8), .heads = one_of(draw >> 8, heads, 4)};
  c.pad = (draw >> 16) % 2 * 3;
  c.dtype = (sley_dtype)((draw >> 20) % 4);
  c.reproducible = (draw >> 32) % 2;
  const int64_t rows = sl_below(sl_random(seed, 4, 0), 40), cols = sl_below(sl_random(seed, 5, 0), 40);
  const double density = (draw >> 24) % 8 == 0 ? 0.02 : 0.25;
  c.a = test_random_matrix(seed, rows, cols, density, c.dtype, false);
  divide(seed + 1, rows, ranks, c.row_begin);
  divide(seed + 2, cols, ranks, c.col_begin);
  if ((draw >> 36) % 2)
    keep_own(&c);
  return c;
}

void ranked_graph_free(ranked_graph *c) {
  sley_matrix_destroy(c->a);
}

sley_status ranked_graph_make(sley_comm *comm, const ranked_graph *c, const sley_matrix *block,
                              sley_graph **out) {
  sley_graph_options options = SLEY_GRAPH_OPTIONS_INIT;
  options.reproducible = c->reproducible;
  return sley_graph_create(comm, &block, c->row_begin, c->col_begin, &options, out);
}

static int64_t entries_before(const ranked_graph *c, int rank) {
  return c->a->rowptr[c->row_begin[rank]] - c->a->rowptr[0];
}

static int64_t part_begin(const ranked_graph *c, graph_side side, int rank) {
  return side == GRAPH_ROWS   ? c->row_begin[rank]
         : side == GRAPH_COLS ? c->col_begin[rank]
                              : entries_before(c, rank);
}

static sley_status open(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                        sley_dtype dtype, graph_array *out) {
  const size_t value = sley_dtype_bytes(dtype);
  *out = (graph_array){.c = c, .side = side, .dtype = dtype, .features = features};
  out->first = part_begin(c, side, comm->rank);
  out->count = part_begin(c, side, comm->rank + 1) - out->first;
  out->ld = side == GRAPH_ENTRIES ? features : features + c->pad;
  out->host = calloc((size_t)(out->count * out->ld) + 1, value);
  return out->host ? SLEY_OK : sl_fail(SLEY_ERR_MEMORY, "the test's operands");
}

static int64_t part_bytes(const graph_array *a) {
  return a->count * a->ld * (int64_t)sley_dtype_bytes(a->dtype);
}

sley_status graph_array_open_as(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                                sley_dtype dtype, graph_array *out) {
  SL_TRY(open(comm, c, side, features, dtype, out));
  return mirror_open(comm, out->host, part_bytes(out), &out->m);
}

sley_status graph_array_open(sley_comm *comm, const ranked_graph *c, graph_side side, int64_t features,
                             int number, graph_array *out) {
  SL_TRY(open(comm, c, side, features, c->dtype, out));
  const int64_t all = part_begin(c, side, c->ranks), seed = (int64_t)c->seed + 1000 * number;
  char *values = calloc((size_t)(all * features) + 1, sley_dtype_bytes(c->dtype));
  out->whole = calloc((size_t)(all * features) + 1, sizeof *out->whole);
  sley_status status = sley_dense_random((uint64_t)seed, 0, all, features, NULL, c->dtype, values, features);
  sl_values_convert(c->dtype, values, SLEY_F64, out->whole, all * features);
  free(values);
  SL_TRY(status);
  SL_TRY(sley_dense_random((uint64_t)seed, out->first, out->count, features, NULL, c->dtype, out->host,
                           out->ld));
  return mirror_open(comm, out->host, part_bytes(out), &out->m);
}

void graph_array_close(graph_array *a) {
  mirror_close(&a->m);
  free(a->host);
  free(a->whole);
  *a = (graph_array){0};
}

static double unit(sley_dtype dtype) {
  static const double of[] = {
      [SLEY_F32] = 0x1p-24, [SLEY_F64] = 0x1p-53, [SLEY_F16] = 0x1p-11, [SLEY_BF16] = 0x1p-8};
  return of[dtype];
}

sley_status graph_array_check(const graph_array *a, const oracle_result *expected, double terms,
                              const char *what) {
  const double each = unit(sl_sum_dtype(a->dtype)) * terms, last = unit(a->dtype);
  const double least = a->dtype == SLEY_F16 ? 0x1p-25 : 0; /* below the normal numbers */
  SL_TRY(mirror_fetch(&a->m));
  for (int64_t i = 0; i < a->count; i++)
    for (int64_t f = 0; f < a->ld; f++) {
      const double value = sl_value_at(a->host, a->dtype, i * a->ld + f);
      const int64_t at = (a->first + i) * a->features + f;
      if (f >= a->features && value != 0 && !a->whole)
        return sl_fail(SLEY_ERR_INTERNAL, "%s: row %lld was written beyond its %lld values", what,
                       (long long)(a->first + i), (long long)a->features);
      if (f >= a->features)
        break;
      const double allowed =
          each * expected->size[at] + last * (fabs(expected->value[at]) + each * expected->size[at]);
      if (!(fabs(value - expected->value[at]) <= allowed + least))
        return sl_fail(SLEY_ERR_INTERNAL,
                       "%s: row %lld, value %lld is %.17g, not %.17g, which is off by more than %g", what,
                       (long long)(a->first + i), (long long)f, value, expected->value[at], allowed + least);
    }
  return SLEY_OK;
}

sley_status graph_array_bits(sley_comm *comm, const graph_array *a, int64_t *bits) {
  const size_t bytes = sley_dtype_bytes(a->dtype);
  uint64_t sum = 0;
  SL_TRY(mirror_fetch(&a->m));
  for (int64_t i = 0; i < a->count; i++)
    for (int64_t f = 0; f < a->features; f++) {
      uint64_t value = 0;
      memcpy(&value, (const char *)a->host + (size_t)(i * a->ld + f) * bytes, bytes);
      sum += sl_random(value, (uint64_t)f, (uint64_t)(a->first + i)) >> 24;
    }
  *bits = (int64_t)sum;
  return sley_comm_allreduce(comm, SLEY_SUM, bits, 1);
}

static void run_sample(const rank_case *c, sl_rank_main main, uint64_t sample) {
  ranked_graph drawn = ranked_graph_draw(sample, c->ranks), alone = drawn;
  ranked_run run = {.c = &alone, .sample = sample};
  rank_case one = *c;
  alone.ranks = one.ranks = one.workgroup = 1;
  alone.row_begin[1] = drawn.a->rows;
  alone.col_begin[1] = drawn.a->cols;
  if (!test_launched()) {
    assert_case_ok(&one, run_case(&one, main, &run));
    run.compares = true;
  }
  run.c = &drawn;
  assert_case_ok(c, run_case(c, main, &run));
  ranked_graph_free(&drawn);
}

void ranked_graph_samples(const rank_case *c, sl_rank_main main) {
  enum { SAMPLES = 12 };
  for (uint64_t i = 0; i < SAMPLES; i++)
    run_sample(c, main, c->seed * SAMPLES + i);
}

sley_status ranked_run_bits(sley_comm *comm, ranked_run *run, int number, const graph_array *a,
                            const char *what) {
  int64_t bits;
  SL_TRY(graph_array_bits(comm, a, &bits));
  if (run->compares && bits != run->bits[number] && test_on_cpu())
    return sl_fail(SLEY_ERR_INTERNAL, "%s: the bits are not those of one rank", what);
  if (!run->compares && comm->rank == 0)
    run->bits[number] = bits;
  return SLEY_OK;
}
