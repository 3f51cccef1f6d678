/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds and sparsified gradients must have the bits of loops over single values, which sort in double:
 * all types, in place or not, ties, zeros, infinities and NaN, with any number of threads. */
#include <math.h>

#include "base/value.h"
#include "dense_oracle.h"
#include "kernels.h"

typedef enum content { ORDINARY, SPECIAL, TIES, EQUAL, ZEROS, CONTENTS } content;

typedef struct shape {
  sley_dtype dtype;
  content content;
  int64_t count, sample, rank, skew; /* skew in values */
  uint64_t seed;
  bool in_place;
} shape;

static shape draw_shape(void) {
  shape s = {.dtype = (sley_dtype)draw(4),
             .content = (content)draw(CONTENTS),
             .count = PICK(0, 1, 2, 3, 7, 31, 64, 511, 512, 513, 1023, 1025, 5000, 33001, 70001),
             .skew = PICK(0, 0, 0, 1, 3),
             .seed = (uint64_t)draw(INT64_MAX),
             .in_place = draw(2)};
  s.sample = draw(4) == 0 ? s.count : draw(s.count + 1);
  s.rank = draw(5) == 0 ? 0 : draw(s.sample + 1);
  return s;
}

static double value_of(content kind) {
  static const double ties[] = {-2, -1, -0.0, 0, 0.5, 1, 2};
  if (kind == TIES)
    return ties[draw(7)];
  return kind == EQUAL ? 0.75 : kind == ZEROS ? 0 : draw_real();
}

/* Sets value i to a special value; a NaN gets a sign and a payload. */
static void draw_special(block *b, sley_dtype dtype, int64_t i) {
  const size_t each = sley_dtype_bytes(dtype);
  oracle_draw(b->data, (sley_type)dtype, i, (uint64_t)draw(INT64_MAX));
  if (!isnan(sl_value_at(b->data, dtype, i)))
    return;
  b->data[(size_t)i * each] |= 1;
  b->data[(size_t)(i + 1) * each - 1] |= (char)0x80;
}

static block draw_array(const shape *s, sley_dtype dtype) {
  const size_t each = sley_dtype_bytes(dtype);
  block made = block_of((size_t)s->count * each, (size_t)s->skew * each);
  for (int64_t i = 0; i < s->count; i++)
    if (s->content == SPECIAL)
      draw_special(&made, dtype, i);
    else
      sl_value_set(made.data, dtype, i, value_of(s->content));
  return made;
}

/* ---- the definition */

static double sum_at(const shape *s, const block *src, const block *residual, int64_t i) {
  const double g = sl_value_at(src->data, s->dtype, i);
  const double r = sl_value_at(residual->data, sl_sum_dtype(s->dtype), i);
  return s->dtype == SLEY_F64 ? g + r : (double)(float)(g + r);
}

static int descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

static double oracle_threshold(const shape *s, const block *src, const block *residual) {
  double *size = malloc((size_t)(s->sample + 1) * sizeof *size);
  for (int64_t j = 0; j < s->sample; j++) {
    const int64_t i = sl_sample_place(s->count, s->sample, s->seed, j);
    const double sum = sum_at(s, src, residual, i);
    size[j] = isfinite(sl_value_at(src->data, s->dtype, i)) && !isnan(sum) ? fabs(sum) : INFINITY;
  }
  qsort(size, (size_t)s->sample, sizeof *size, descending);
  const double found = s->rank > 0 ? size[s->rank - 1] : 0;
  free(size);
  return found;
}

static void set_sent(const shape *s, block *dst, int64_t i, double value) {
  static const double most[] = {[SLEY_F32] = 0x1.fffffep127,
                                [SLEY_F64] = 0x1.fffffffffffffp1023,
                                [SLEY_F16] = 65504,
                                [SLEY_BF16] = 0x1.fep127};
  static const uint16_t nan_16[] = {[SLEY_F16] = 0x7e00, [SLEY_BF16] = 0x7fc0};
  const double limit = most[s->dtype];
  const double within = !isfinite(value) ? value : value > limit ? limit : value < -limit ? -limit : value;
  sl_value_set(dst->data, s->dtype, i, isnan(value) ? (double)NAN : within);
  if (isnan(value) && sl_is_16_bit(s->dtype))
    ((uint16_t *)dst->data)[i] = nan_16[s->dtype];
  if (sl_value_at(dst->data, s->dtype, i) == 0)
    sl_value_set(dst->data, s->dtype, i, 0);
}

/* Computes value i of dst and of the residual. */
static void oracle_sparsify(const shape *s, double threshold, const block *src, block *dst, block *residual,
                            int64_t i) {
  const sley_dtype sums = sl_sum_dtype(s->dtype);
  const double g = sl_value_at(src->data, s->dtype, i), sum = sum_at(s, src, residual, i);
  if (!isfinite(g)) {
    set_sent(s, dst, i, g);
    return;
  }
  set_sent(s, dst, i, fabs(sum) < threshold ? 0 : sum);
  const double left = isfinite(sum) ? sum - sl_value_at(dst->data, s->dtype, i) : 0;
  sl_value_set(residual->data, sums, i, left == 0 ? 0 : left);
}

static int64_t count_kept(const shape *s, const block *dst) {
  int64_t kept = 0;
  for (int64_t i = 0; i < s->count; i++)
    kept += sl_value_at(dst->data, s->dtype, i) != 0;
  return kept;
}

/* Checks that sent value plus residual equals the sum. */
static void check_nothing_is_lost(const shape *s, const block *src, const block *before, const block *dst,
                                  const block *after) {
  for (int64_t i = 0; i < s->count; i++) {
    const double sent = sl_value_at(dst->data, s->dtype, i), sum = sum_at(s, src, before, i);
    const double left = sl_value_at(after->data, sl_sum_dtype(s->dtype), i);
    if (isfinite(sl_value_at(src->data, s->dtype, i)) && isfinite(sum) && fabs(sum) < 65504)
      assert_true(sent + left == sum);
  }
}

/* ---- the kernels */

typedef struct outcome {
  double threshold;
  int64_t kept;
} outcome;

static sl_kernel_args threshold_args(const shape *s, const void *src, const void *residual, void *work,
                                     double *threshold) {
  return (sl_kernel_args){
      .op = SL_OP_THRESHOLD,
      .threshold = {s->dtype, s->count, src, residual, s->sample, s->rank, s->seed, work, threshold}};
}

static outcome run(sl_queue *queue, const shape *s, block *src, block *dst, block *residual) {
  outcome found = {-1, -1};
  void *room = malloc((size_t)s->sample * sizeof(uint64_t) + 1);
  image from = image_of_block(queue, src), to = s->in_place ? from : image_of_block(queue, dst),
        left = image_of_block(queue, residual),
        work = image_of(queue, room, (size_t)s->sample * sizeof(uint64_t), 0),
        state = image_of(queue, &found, sizeof found, 0);
  outcome *there = state.data;
  sl_kernel_args args = threshold_args(s, from.data, left.data, work.data, &there->threshold);
  assert_sley_ok(sl_kernel_run(queue, &args));
  args = (sl_kernel_args){
      .op = SL_OP_SPARSIFY,
      .sparsify = {s->dtype, s->count, from.data, to.data, left.data, &there->threshold, &there->kept}};
  assert_sley_ok(sl_kernel_run(queue, &args));
  image_return(&left);
  image_return(&state);
  image_return(&to);
  if (!s->in_place)
    image_drop(&from);
  image_drop(&work);
  free(room);
  return found;
}

static void check_on(sl_queue *queue, const shape *s, const block *src, const block *residual,
                     const outcome *expected, const block *dst, const block *left) {
  block from = block_copy(src), to = block_of(dst->bytes, (size_t)s->skew * sley_dtype_bytes(s->dtype)),
        own = block_copy(residual);
  memset(to.data, 0x5a, to.bytes);
  const outcome found = run(queue, s, &from, &to, &own);
  const block *made = s->in_place ? &from : &to;
  if (found.threshold != expected->threshold || found.kept != expected->kept ||
      memcmp(made->data, dst->data, dst->bytes) != 0 || memcmp(own.data, left->data, left->bytes) != 0)
    fail_msg(
        "dtype %d, content %d: %lld values, sample %lld, rank %lld, in place %d, skew %lld: threshold %g "
        "for %g, kept %lld for %lld, or other values",
        (int)s->dtype, (int)s->content, (long long)s->count, (long long)s->sample, (long long)s->rank,
        s->in_place, (long long)s->skew, found.threshold, expected->threshold, (long long)found.kept,
        (long long)expected->kept);
  if (!s->in_place)
    assert_memory_equal(from.data, src->data, src->bytes);
  free(from.base);
  free(to.base);
  free(own.base);
}

static void check(const shape *s) {
  block src = draw_array(s, s->dtype), residual = draw_array(s, sl_sum_dtype(s->dtype));
  block dst = block_copy(&src), left = block_copy(&residual);
  outcome expected = {.threshold = oracle_threshold(s, &src, &residual)};
  for (int64_t i = 0; i < s->count; i++)
    oracle_sparsify(s, expected.threshold, &src, &dst, &left, i);
  expected.kept = count_kept(s, &dst);
  check_nothing_is_lost(s, &src, &residual, &dst, &left);
  for (int q = 0; q < QUEUES; q++)
    check_on(queues[q], s, &src, &residual, &expected, &dst, &left);
  free(src.base);
  free(residual.base);
  free(dst.base);
  free(left.base);
}

static void values_are_those_of_the_definition(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(400); repeat++) {
    const shape s = draw_shape();
    check(&s);
  }
}

static void portable_code_gives_the_same(void **state) {
  (void)state;
  setenv("SLEY_CPU", "portable", 1);
  for (int repeat = 0; repeat < repeats(100); repeat++) {
    const shape s = draw_shape();
    check(&s);
  }
  unsetenv("SLEY_CPU");
}

/* Positions of the sample must ascend and be within the array; a sample as large as the array must have all
 * positions. */
static void places_are_spread(void **state) {
  (void)state;
  for (int repeat = 0; repeat < 300; repeat++) {
    const int64_t count = 1 + draw(repeat % 3 == 0 ? 20 : 5000), sample = 1 + draw(count);
    const int64_t longest = count / sample + 1;
    int64_t last = -1;
    for (int64_t j = 0; j < sample; j++) {
      const int64_t place = sl_sample_place(count, sample, (uint64_t)repeat, j);
      assert_true(place > last && place < count && place - last < 2 * longest);
      assert_true(sample < count || place == j);
      last = place;
    }
    assert_true(count - last <= longest);
  }
  const int64_t large = INT64_C(1) << 59;
  assert_true(sl_sample_place(large, large / 3, 1, large / 3 - 1) < large);
}

static void unknown_arguments_are_refused(void **state) {
  (void)state;
  const shape wrong[] = {{.dtype = (sley_dtype)4},
                         {.count = 3, .sample = 2, .rank = 3},
                         {.count = 3, .sample = 4},
                         {.count = 3, .sample = 2, .rank = -1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const sl_kernel_args args = threshold_args(&wrong[i], NULL, NULL, NULL, NULL);
    assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
  }
  const sl_kernel_args args = {.op = SL_OP_SPARSIFY, .sparsify = {.dtype = (sley_dtype)4}};
  assert_int_equal(sl_kernel_run(queues[0], &args), SLEY_ERR_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_definition), cmocka_unit_test(portable_code_gives_the_same),
      cmocka_unit_test(places_are_spread), cmocka_unit_test(unknown_arguments_are_refused)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
