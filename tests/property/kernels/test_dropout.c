/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout: the generator is compared with published vectors, and masks with single draws of a generator in
 * this file. Cases: every type and leading dimension, in place, with listed row numbers, after a bias and an
 * activation, with a seed in device memory. */
#include <math.h>

#include "base/value.h"
#include "device/cpu/dense/philox.h"
#include "device/exp.h"
#include "kernels.h"

/* Philox4x32-10 as in the paper, independent of the library that kernels call. */
static void philox_by_hand(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  memcpy(out, counter, 4 * sizeof *out);
  for (int round = 0; round < 10; round++) {
    uint64_t first = (uint64_t)0xD2511F53 * out[0], second = (uint64_t)0xCD9E8D57 * out[2];
    uint32_t next[4] = {(uint32_t)(second >> 32) ^ out[1] ^ k0, (uint32_t)second,
                        (uint32_t)(first >> 32) ^ out[3] ^ k1, (uint32_t)first};
    memcpy(out, next, sizeof next);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

/* Random123's known answers (its file kat_vectors, philox4x32 10). */
static void known_vectors(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], words[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  if (!sl_philox_is_there())
    skip();
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t words[4];
    sl_philox(known[i].key, known[i].counter, 1, words);
    assert_memory_equal(words, known[i].words, sizeof words);
    philox_by_hand(known[i].key, known[i].counter, words);
    assert_memory_equal(words, known[i].words, sizeof words);
  }
}

static void counters_follow_each_other(void **state) {
  (void)state;
  const uint32_t key[2] = {7, 9}, counter[4] = {0xfffffffe, 2, 3, 4};
  uint32_t words[16], one[4];
  if (!sl_philox_is_there())
    skip();
  sl_philox(key, counter, 4, words);
  for (uint32_t i = 0; i < 4; i++) {
    philox_by_hand(key, (uint32_t[]){counter[0] + i, 2, 3, 4}, one);
    assert_memory_equal(words + 4 * i, one, sizeof one);
  }
}

typedef struct shape {
  sl_dropout_args d;                                 /* without arrays */
  bool listed, in_place, biased, seed_there, single; /* single: values by numbers of columns */
  int64_t skew;                                      /* in values */
} shape;

static shape draw_shape(void) {
  shape s = {.d = {.dtype = (sley_dtype)draw(4),
                   .p = (double[]){0, 0.1, 0.5, 0.999}[draw(4)],
                   .seed = (uint64_t)draw(INT64_MAX) << 1,
                   .stream = (uint32_t)draw(UINT32_MAX),
                   .rows = PICK(0, 1, 2, 5, 33, 200),
                   .cols = PICK(0, 1, 3, 4, 5, 16, 255, 256, 257, 600),
                   .first_row = PICK(0, 1, 1000, INT64_C(1) << 40),
                   .act = draw(2) ? SLEY_NO_ACTIVATION : (sley_activation)draw(4),
                   .slope = draw(2) ? 0.2 : 1},
             .listed = draw(2),
             .in_place = draw(2),
             .biased = draw(2),
             .seed_there = draw(2),
             .single = draw(4) == 0,
             .skew = PICK(0, 0, 1, 3)};
  if (s.single) {
    s.d.cols = 1;
    s.biased = false;
  }
  s.d.ld_in = s.d.cols + PICK(0, 0, 1, 5);
  s.d.ld_out = s.in_place ? s.d.ld_in : s.d.cols + PICK(0, 0, 1, 5);
  return s;
}

static double activated(const sl_dropout_args *d, double v) {
  if (d->act == SLEY_ELU)
    return v > 0 ? v : d->slope * (sl_exp(v) - 1);
  return v < 0 && d->act != SLEY_NO_ACTIVATION ? (d->act == SLEY_RELU ? 0 : d->slope * v) : v;
}

/* v: in + bias. */
static double expected_of(const sl_dropout_args *d, int64_t number, int64_t j, double v) {
  const uint32_t key[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};
  const uint32_t counter[4] = {(uint32_t)(j / 4), (uint32_t)number, (uint32_t)((uint64_t)number >> 32),
                               d->stream};
  uint32_t words[4];
  philox_by_hand(key, counter, words);
  return (double)words[j % 4] < floor(d->p * 4294967296.0) ? 0 : activated(d, v) * (1 / (1 - d->p));
}

/* The expected value of row i, column j; number is the row's number. */
static double expected_at(const shape *s, const block *in, const block *bias, int64_t number, int64_t i,
                          int64_t j, int64_t column) {
  const double beside = s->biased ? sl_value_at(bias->data, s->d.dtype, j) : 0;
  const double v = sl_value_at(in->data, s->d.dtype, i * s->d.ld_in + j);
  return expected_of(&s->d, number, column, s->biased ? v + beside : v);
}

static void check(const shape *s) {
  const sl_dropout_args *d = &s->d;
  const size_t each = sley_dtype_bytes(d->dtype);
  int64_t numbers[200], columns[200];
  for (int i = 0; i < 200; i++) {
    numbers[i] = draw(INT64_C(1) << 50);
    columns[i] = draw(INT64_C(1) << 31);
  }
  block in = block_of((size_t)(d->rows * d->ld_in) * each, (size_t)s->skew * each);
  block out = block_of((size_t)(d->rows * d->ld_out) * each, (size_t)s->skew * each);
  block bias = block_of((size_t)d->cols * each, (size_t)s->skew * each);
  block_fill(&in, d->dtype, false);
  block_fill(&bias, d->dtype, false);
  if (s->in_place)
    memcpy(out.data, in.data, out.bytes);
  else
    block_fill(&out, d->dtype, false);
  block expected = block_copy(&out);
  for (int64_t i = 0; i < d->rows; i++)
    for (int64_t j = 0; j < d->cols; j++)
      sl_value_set(expected.data, d->dtype, i * d->ld_out + j,
                   expected_at(s, &in, &bias, s->listed ? numbers[i] : d->first_row + i, i, j,
                               s->single ? columns[i] : j));
  for (int q = 0; q < QUEUES; q++) {
    block made = block_copy(&out);
    image from = image_of_block(queues[q], &in), to = image_of_block(queues[q], &made);
    image rows = image_of(queues[q], numbers, sizeof numbers, 0);
    image places = image_of(queues[q], columns, sizeof columns, 0);
    image beside = image_of_block(queues[q], &bias), seed = image_of(queues[q], &d->seed, sizeof d->seed, 0);
    sl_kernel_args args = {.op = SL_OP_DROPOUT, .dropout = *d};
    args.dropout.row = s->listed ? rows.data : NULL;
    args.dropout.column = s->single ? places.data : NULL;
    args.dropout.in = s->in_place ? to.data : from.data;
    args.dropout.out = to.data;
    args.dropout.bias = s->biased ? beside.data : NULL;
    if (s->seed_there) {
      args.dropout.seed = ~d->seed; /* not looked at */
      args.dropout.device_seed = seed.data;
    }
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&to);
    image_drop(&from);
    image_drop(&rows);
    image_drop(&places);
    image_drop(&beside);
    image_drop(&seed);
    assert_memory_equal(made.data, expected.data, made.bytes);
    free(made.base);
  }
  free(expected.base);
  free(bias.base);
  free(out.base);
  free(in.base);
}

static void masks_are_those_of_single_draws(void **state) {
  (void)state;
  if (!sl_philox_is_there())
    skip();
  for (int repeat = 0; repeat < repeats(300); repeat++) {
    shape s = draw_shape();
    check(&s);
  }
}

/* 5 standard deviations of a count of independent draws. */
static void about_a_share_p_is_dropped(void **state) {
  (void)state;
  enum { ROWS = 500, COLS = 100 };
  static float values[ROWS * COLS];
  if (!sl_philox_is_there())
    skip();
  for (int i = 0; i < ROWS * COLS; i++)
    values[i] = 1;
  image v = image_of(queues[0], values, sizeof values, 0);
  sl_kernel_args args = {.op = SL_OP_DROPOUT,
                         .dropout = {.p = 0.3,
                                     .seed = 5,
                                     .rows = ROWS,
                                     .cols = COLS,
                                     .in = v.data,
                                     .ld_in = COLS,
                                     .out = v.data,
                                     .ld_out = COLS}};
  assert_sley_ok(sl_kernel_run(queues[0], &args));
  image_return(&v);
  int dropped = 0;
  for (int i = 0; i < ROWS * COLS; i++)
    dropped += values[i] == 0;
  assert_true(fabs(dropped - 0.3 * ROWS * COLS) < 5 * sqrt(0.3 * 0.7 * ROWS * COLS));
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  static const int64_t column[2];
  static const sl_dropout_args wrong[] = {{.p = 1},
                                          {.cols = 2, .column = column},
                                          {.cols = 1, .column = column, .bias = column},
                                          {.p = -0.1},
                                          {.p = NAN},
                                          {.dtype = (sley_dtype)9},
                                          {.cols = (INT64_C(1) << 34) + 1},
                                          {.act = (sley_activation)9}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    sl_kernel_args args = {.op = SL_OP_DROPOUT, .dropout = wrong[i]};
    assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_vectors), cmocka_unit_test(counters_follow_each_other),
      cmocka_unit_test(masks_are_those_of_single_draws), cmocka_unit_test(about_a_share_p_is_dropped),
      cmocka_unit_test(wrong_arguments_are_refused)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
