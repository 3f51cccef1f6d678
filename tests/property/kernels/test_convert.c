/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of the type of values while rows are moved: every pair of types, on the CPU with every
 * instruction set, compared with conversions of single values. Any NaN equals any other: no device guarantees
 * its bits, and GPUs do not preserve them in arithmetic. */
#include <math.h>

#include "base/value.h"
#include "kernels.h"

typedef struct pair {
  sley_dtype from, to;
  bool add;
} pair;

static const pair pairs[] = {
    {SLEY_F32, SLEY_BF16},      {SLEY_F32, SLEY_F16},        {SLEY_F64, SLEY_BF16},
    {SLEY_F64, SLEY_F16},       {SLEY_BF16, SLEY_F32},       {SLEY_F16, SLEY_F32},
    {SLEY_BF16, SLEY_F64},      {SLEY_F16, SLEY_F64},        {SLEY_BF16, SLEY_F32, true},
    {SLEY_F16, SLEY_F32, true}, {SLEY_BF16, SLEY_F64, true}, {SLEY_F16, SLEY_F64, true},
    {SLEY_F32, SLEY_F32},       {SLEY_F32, SLEY_F32, true},  {SLEY_F64, SLEY_F64},
    {SLEY_F64, SLEY_F64, true}};
enum { PAIRS = sizeof pairs / sizeof *pairs, MOST_ROWS = 900 };

/* Values that rounding treats differently: near ties, subnormal, too large, infinite, NaN. */
static const double special[] = {0,           -0.0,
                                 1 + 0x1p-8,  1 + 0x1p-8 + 0x1p-20,
                                 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40,
                                 65504,       65519.99,
                                 65520,       -1e6,
                                 0x1p-24,     0x1p-25,
                                 0x1.8p-25,   0x1p-14,
                                 1e-40,       3e38,
                                 INFINITY,    -INFINITY,
                                 NAN};

static void sprinkle(block *b, sley_dtype dtype) {
  int64_t count = (int64_t)(b->bytes / sley_dtype_bytes(dtype));
  for (int64_t i = 0; i < count; i++)
    if (draw(5) == 0)
      sl_value_set(b->data, dtype, i, special[draw((int64_t)(sizeof special / sizeof *special))]);
}

static bool same_value(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* A case: k values per row for some rows, with gaps between rows, and offsets from malloc's alignment, for
 * source and destination. */
typedef struct shape {
  int64_t k, rows, src_gap, dst_gap, src_skew, dst_skew;
} shape;

static shape draw_shape(void) {
  return (shape){.k = PICK(0, 1, 3, 7, 8, 9, 32, 130, 257, 600),
                 .rows = PICK(0, 1, 5, MOST_ROWS),
                 .src_gap = PICK(0, 0, 3),
                 .dst_gap = PICK(0, 0, 5),
                 .src_skew = draw(3),
                 .dst_skew = draw(3)};
}

static void check(const pair *p, const shape *s) {
  int64_t k = s->k, rows = s->rows, src_ld = k + s->src_gap, dst_ld = k + s->dst_gap, places = rows + 3;
  size_t from = sley_dtype_bytes(p->from), to = sley_dtype_bytes(p->to);
  block src = block_of((size_t)(places * src_ld) * from, (size_t)s->src_skew * from);
  block dst = block_of((size_t)(places * dst_ld) * to, (size_t)s->dst_skew * to);
  block_fill(&src, p->from, false);
  block_fill(&dst, p->to, false);
  sprinkle(&src, p->from);
  int64_t lists[2][MOST_ROWS], first = draw(3);
  bool listed[2] = {draw(2) != 0, draw(2) != 0};
  for (int64_t i = 0; i < rows; i++) {
    lists[0][i] = listed[0] ? draw(places) : first + i;
    lists[1][i] = listed[1] ? (i * 7 + first) % rows : first + i; /* distinct, as 7 divides no count */
  }
  block expected = block_copy(&dst);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < k; j++) {
      double value = sl_value_at(src.data, p->from, lists[0][i] * src_ld + j);
      int64_t at = lists[1][i] * dst_ld + j;
      if (p->add && p->to == SLEY_F32)
        value = (double)((float)sl_value_at(expected.data, p->to, at) + (float)value);
      else if (p->add)
        value += sl_value_at(expected.data, p->to, at);
      sl_value_set(expected.data, p->to, at, value);
    }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&dst);
    image source = image_of_block(queues[q], &src), there = image_of_block(queues[q], &out), list[2];
    for (int side = 0; side < 2; side++)
      list[side] = image_of(queues[q], listed[side] ? lists[side] : NULL, (size_t)rows * sizeof(int64_t), 0);
    sl_kernel_args args = {.op = SL_OP_CONVERT,
                           .convert = {.count = rows,
                                       .k = k,
                                       .src = source.data,
                                       .src_stride = src_ld * (int64_t)from,
                                       .src_rows = list[0].data,
                                       .src_first = first,
                                       .from = p->from,
                                       .dst = there.data,
                                       .dst_stride = dst_ld * (int64_t)to,
                                       .dst_rows = list[1].data,
                                       .dst_first = first,
                                       .to = p->to,
                                       .add = p->add}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    image_drop(&source);
    image_drop(&list[0]);
    image_drop(&list[1]);
    for (int64_t i = 0; i < places * dst_ld; i++)
      if (!same_value(sl_value_at(out.data, p->to, i), sl_value_at(expected.data, p->to, i)))
        fail_msg("%d to %d%s, k %lld: value %lld is %a instead of %a", (int)p->from, (int)p->to,
                 p->add ? ", added" : "", (long long)k, (long long)i, sl_value_at(out.data, p->to, i),
                 sl_value_at(expected.data, p->to, i));
    free(out.base);
  }
  free(expected.base);
  free(dst.base);
  free(src.base);
}

static void check_all(const char *isa) {
  if (isa)
    setenv("SLEY_CPU", isa, 1);
  for (int repeat = 0; repeat < repeats(12); repeat++)
    for (int i = 0; i < PAIRS; i++) {
      shape drawn = draw_shape();
      check(&pairs[i], &drawn);
    }
  unsetenv("SLEY_CPU");
}

static void values_are_rounded_once(void **state) {
  (void)state;
  check_all(NULL);
}

static void portable_code_gives_the_same(void **state) {
  (void)state;
  check_all("portable");
}

/* Aligned rows, for which a device uses its widest loads and stores; rows of a few vectors and of many. */
static void aligned_rows_are_the_same(void **state) {
  (void)state;
  static const shape aligned[] = {
      {4, MOST_ROWS, 4, 4, 0, 0}, {32, MOST_ROWS, 0, 0, 0, 0}, {600, 40, 8, 16, 8, 8}, {5000, 5, 0, 8, 0, 8}};
  for (int i = 0; i < PAIRS; i++)
    for (size_t s = 0; s < sizeof aligned / sizeof *aligned; s++)
      check(&pairs[i], &aligned[s]);
}

static void impossible_conversions_are_refused(void **state) {
  (void)state;
  static const pair impossible[] = {{SLEY_F32, SLEY_BF16, true}, {SLEY_F16, SLEY_BF16}, {SLEY_F64, SLEY_F32}};
  for (size_t i = 0; i < 3; i++) {
    sl_kernel_args args = {.op = SL_OP_CONVERT,
                           .convert = {.count = 1,
                                       .k = 1,
                                       .from = impossible[i].from,
                                       .to = impossible[i].to,
                                       .add = impossible[i].add}};
    assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_rounded_once), cmocka_unit_test(portable_code_gives_the_same),
      cmocka_unit_test(aligned_rows_are_the_same), cmocka_unit_test(impossible_conversions_are_refused)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
