/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction of several arrays to one: every type and operator, on the CPU with every instruction set, must
 * have the bits of a loop over single values. */
#include <math.h>

#include "dense_oracle.h"
#include "kernels.h"

enum { MOST_PARTS = 9 };

typedef struct shape {
  sley_type type;
  sley_reduce op;
  int64_t count, gap, skew; /* gap and skew in values */
  int parts, own;
  int in_place; /* -1; the part that is the destination */
  bool placed;  /* the parts are passed one by one, in another order than in memory */
} shape;

static shape draw_shape(void) {
  shape s = {.type = (sley_type)draw(5),
             .op = (sley_reduce)draw(3),
             .count = PICK(0, 1, 2, 7, 8, 9, 31, 64, 1023, 1024, 1025, 5000, 70001),
             .gap = PICK(0, 0, 1, 3, 8),
             .skew = PICK(0, 0, 0, 1, 3),
             .parts = (int)PICK(1, 2, 3, 4, 5, 8, MOST_PARTS)};
  s.own = draw(2) ? -1 : (int)draw(s.parts);
  s.in_place = draw(2) ? -1 : (int)draw(s.parts);
  s.placed = draw(2);
  return s;
}

/* Checks a reduction. All parts are in one array, so that the destination can be one of them; after them come
 * the rank's own part and a separate destination. */
static void check(const shape *s) {
  size_t each = sley_type_bytes(s->type);
  int64_t stride = s->count + s->gap, others = s->parts - (s->own >= 0);
  int64_t own_at = others * stride, out_at = own_at + stride, places = out_at + stride;
  block memory = block_of((size_t)places * each, (size_t)s->skew * each);
  for (int64_t i = 0; i < places; i++)
    oracle_draw(memory.data, s->type, i, (uint64_t)draw(INT64_MAX));
  int64_t at[MOST_PARTS];
  for (int p = 0; p < s->parts; p++)
    at[p] = p == s->own ? own_at : (p - (s->own >= 0 && p > s->own)) * stride;
  for (int p = 0, last = s->parts - 1; s->placed && p < last; p++, last--) {
    int64_t other = at[last];
    at[last] = at[p];
    at[p] = other;
  }
  int64_t dst = s->in_place >= 0 ? at[s->in_place] : out_at;
  block expected = block_copy(&memory);
  for (int64_t i = 0; i < s->count; i++) {
    const void *values[MOST_PARTS];
    for (int p = 0; p < s->parts; p++)
      values[p] = memory.data + (size_t)(at[p] + i) * each;
    oracle_reduce(s->op, s->type, s->parts, values, expected.data + (size_t)(dst + i) * each);
  }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&memory);
    image there = image_of_block(queues[q], &out);
    char *base = there.data;
    const void *place[MOST_PARTS];
    for (int p = 0; p < s->parts; p++)
      place[p] = base + (size_t)at[p] * each;
    sl_kernel_args args = {.op = SL_OP_REDUCE,
                           .reduce = {.count = s->count,
                                      .parts = s->parts,
                                      .src = s->placed ? NULL : base,
                                      .stride = s->placed ? 0 : stride * (int64_t)each,
                                      .at = s->placed ? place : NULL,
                                      .own = s->own,
                                      .own_src = s->own >= 0 ? place[s->own] : NULL,
                                      .dst = base + (size_t)dst * each,
                                      .op = s->op,
                                      .type = s->type}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    if (memcmp(out.data, expected.data, out.bytes) != 0)
      fail_msg("type %d, operator %d: %d parts of %lld values, own %d, in place %d, skew %lld differ",
               (int)s->type, (int)s->op, s->parts, (long long)s->count, s->own, s->in_place,
               (long long)s->skew);
    free(out.base);
  }
  free(expected.base);
  free(memory.base);
}

static void check_all(const char *isa) {
  if (isa)
    setenv("SLEY_CPU", isa, 1);
  for (int repeat = 0; repeat < repeats(300); repeat++) {
    shape s = draw_shape();
    check(&s);
  }
  unsetenv("SLEY_CPU");
}

static void values_are_reduced_in_order(void **state) {
  (void)state;
  check_all(NULL);
}

static void portable_code_gives_the_same(void **state) {
  (void)state;
  check_all("portable");
}

/* The definitions of signs and NaN in the interface, with expected values computed by hand. */
static void signs_and_nan(void **state) {
  (void)state;
  float values[2][4] = {{0.0F, -0.0F, 1, NAN}, {-0.0F, 0.0F, NAN, 2}}, out[4];
  static const uint32_t expected[3][4] = {{0, 0, 0x7fc00000, 0x7fc00000},
                                          {0x80000000, 0x80000000, 0x7fc00000, 0x7fc00000},
                                          {0, 0, 0x7fc00000, 0x7fc00000}};
  for (int op = 0; op < 3; op++) {
    image src = image_of(queues[0], values, sizeof values, 0), dst = image_of(queues[0], out, sizeof out, 0);
    sl_kernel_args args = {.op = SL_OP_REDUCE,
                           .reduce = {.count = 4,
                                      .parts = 2,
                                      .src = src.data,
                                      .stride = sizeof *values,
                                      .own = -1,
                                      .dst = dst.data,
                                      .op = (sley_reduce)op}};
    assert_sley_ok(sl_kernel_run(queues[0], &args));
    image_return(&dst);
    image_drop(&src);
    assert_memory_equal(out, expected[op], sizeof out);
  }
}

static void unknown_arguments_are_refused(void **state) {
  (void)state;
  static const void *const nowhere = NULL;
  static const sl_reduce_args wrong[] = {{.parts = 1, .own = -1, .type = (sley_type)5},
                                         {.parts = 1, .own = -1, .op = (sley_reduce)3},
                                         {.parts = 0, .own = -1},
                                         {.parts = SL_REDUCE_PLACES + 1, .own = -1, .at = &nowhere},
                                         {.parts = 2, .own = 2}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    sl_kernel_args args = {.op = SL_OP_REDUCE, .reduce = wrong[i]};
    assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_reduced_in_order), cmocka_unit_test(portable_code_gives_the_same),
      cmocka_unit_test(signs_and_nan), cmocka_unit_test(unknown_arguments_are_refused)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
