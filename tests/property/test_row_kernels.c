/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a device that move, add, scale and round rows, on random shapes, against loops over single
 * values. */
#include "base/memory.h"
#include "base/value.h"
#include "kernels.h"

/* As rows are added: 16 bits by way of f32. */
static double sum_of(sley_dtype dtype, double a, double b) {
  return dtype == SLEY_F64 ? a + b : (double)((float)a + (float)b);
}

static int64_t *distinct_list(int64_t count, int64_t among) {
  int64_t *all = malloc((size_t)(among + 1) * sizeof *all);
  for (int64_t i = 0; i < among; i++)
    all[i] = i;
  for (int64_t i = 0; i < count; i++) {
    int64_t j = i + draw(among - i), kept = all[i];
    all[i] = all[j];
    all[j] = kept;
  }
  return all;
}

static void check_rows(void) {
  sley_dtype dtype = (sley_dtype)draw(4);
  size_t each = sley_dtype_bytes(dtype), skew = (size_t)draw(3) * each;
  int64_t k = PICK(0, 1, 2, 3, 16, 31, 32, 64, 130, 300), count = PICK(0, 1, 2, 40, 1500);
  int64_t src_ld = k + PICK(0, 0, 4), dst_ld = k + PICK(0, 0, 5), src_rows = count + draw(30),
          dst_rows = count + draw(30);
  block src = block_of((size_t)(src_rows * src_ld) * each, skew);
  block dst = block_of((size_t)(dst_rows * dst_ld) * each, skew);
  block_fill(&src, dtype, false);
  block_fill(&dst, dtype, false);
  int64_t *from = draw(2) ? malloc((size_t)(count + 1) * sizeof *from) : NULL;
  for (int64_t i = 0; from && i < count; i++)
    from[i] = draw(src_rows);
  int64_t *to = draw(2) ? distinct_list(count, dst_rows) : NULL;
  sl_rows_args a = {.count = count,
                    .bytes = k * (int64_t)each,
                    .src = src.data,
                    .src_stride = src_ld * (int64_t)each,
                    .src_rows = from,
                    .src_first = from ? 0 : draw(src_rows - count + 1),
                    .dst_stride = dst_ld * (int64_t)each,
                    .dst_rows = to,
                    .dst_first = to ? 0 : draw(dst_rows - count + 1),
                    .add = draw(2),
                    .dtype = dtype};
  block expected = block_copy(&dst);
  for (int64_t i = 0; i < count; i++)
    for (int64_t f = 0; f < k; f++) {
      int64_t s = (from ? from[i] : a.src_first + i) * src_ld + f,
              d = (to ? to[i] : a.dst_first + i) * dst_ld + f;
      double moved = sl_value_at(src.data, dtype, s);
      sl_value_set(expected.data, dtype, d,
                   a.add ? sum_of(dtype, moved, sl_value_at(expected.data, dtype, d)) : moved);
    }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&dst);
    image there = image_of_block(queues[q], &out), source = image_of_block(queues[q], &src);
    image src_list = image_of(queues[q], from, (size_t)count * sizeof *from, 0);
    image dst_list = image_of(queues[q], to, (size_t)count * sizeof *to, 0);
    sl_kernel_args args = {.op = SL_OP_ROWS, .rows = a};
    args.rows.src = source.data;
    args.rows.src_rows = src_list.data;
    args.rows.dst_rows = dst_list.data;
    args.rows.dst = there.data;
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    image_drop(&source);
    image_drop(&src_list);
    image_drop(&dst_list);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(expected.base);
  free(from);
  free(to);
  free(src.base);
  free(dst.base);
}

static void test_rows_move_and_add(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(250); repeat++)
    check_rows();
}

/* Entries of a few sources in turn, to rows of their own. */
static void check_pull(void) {
  enum { SOURCES = 5 };
  sley_dtype dtype = (sley_dtype)draw(4);
  size_t each = sley_dtype_bytes(dtype), skew = (size_t)draw(3) * each;
  int64_t count = PICK(0, 1, 2, 40, 1500), src_rows = 50, dst_ld = 70, dst_rows = count + draw(30);
  int64_t offset = draw(3), most = PICK(0, 1, 2, 3, 16, 31, 32, 64);
  block dst = block_of((size_t)(dst_rows * dst_ld) * each, skew), src[SOURCES];
  block_fill(&dst, dtype, false);
  sl_pull_source source[SOURCES];
  for (int s = 0; s < SOURCES; s++) {
    int64_t ld = most + PICK(0, 0, 3);
    src[s] = block_of((size_t)(src_rows * ld) * each, skew);
    block_fill(&src[s], dtype, false);
    source[s] = (sl_pull_source){.src = src[s].data,
                                 .stride = ld * (int64_t)each,
                                 .bytes = (draw(3) ? most : draw(most + 1)) * (int64_t)each,
                                 .dst_offset = offset * (int64_t)each};
  }
  int64_t *to = distinct_list(count, dst_rows);
  sl_pull_entry *list = calloc((size_t)count + 1, sizeof *list);
  for (int64_t i = 0; i < count; i++)
    list[i] = (sl_pull_entry){.src_row = draw(src_rows), .dst_row = to[i], .source = (int32_t)draw(SOURCES)};
  sl_pull_args a = {.count = count,
                    .list = list,
                    .sources = SOURCES,
                    .source = source,
                    .dst_stride = dst_ld * (int64_t)each,
                    .add = draw(2),
                    .dtype = dtype};
  block expected = block_copy(&dst);
  for (int64_t i = 0; i < count; i++) {
    const sl_pull_source *s = &source[list[i].source];
    for (int64_t f = 0; f < s->bytes / (int64_t)each; f++) {
      int64_t d = list[i].dst_row * dst_ld + offset + f;
      double moved = sl_value_at(s->src, dtype, list[i].src_row * (s->stride / (int64_t)each) + f);
      sl_value_set(expected.data, dtype, d,
                   a.add ? sum_of(dtype, moved, sl_value_at(expected.data, dtype, d)) : moved);
    }
  }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&dst);
    image there = image_of_block(queues[q], &out), sources[SOURCES];
    image entries = image_of(queues[q], list, (size_t)count * sizeof *list, 0);
    sl_pull_source located[SOURCES];
    for (int s = 0; s < SOURCES; s++) {
      sources[s] = image_of_block(queues[q], &src[s]);
      located[s] = source[s];
      located[s].src = sources[s].data;
    }
    sl_kernel_args args = {.op = SL_OP_PULL, .pull = a};
    args.pull.list = entries.data;
    args.pull.source = located;
    args.pull.dst = there.data;
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    image_drop(&entries);
    for (int s = 0; s < SOURCES; s++)
      image_drop(&sources[s]);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(list);
  free(to);
  for (int s = 0; s < SOURCES; s++)
    free(src[s].base);
  free(expected.base);
  free(dst.base);
}

static void test_rows_are_pulled_from_several_memories(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(150); repeat++)
    check_pull();
}

static void check_scale(void) {
  sley_dtype dtype = (sley_dtype)draw(4);
  size_t each = sley_dtype_bytes(dtype), skew = (size_t)draw(3) * each;
  int64_t k = PICK(0, 1, 3, 32, 33, 130), rows = PICK(0, 1, 7, 3000), ld = k + PICK(0, 0, 3);
  double beta = (double[]){0, 1, 0.3, -2}[draw(4)];
  block y = block_of((size_t)(rows * ld) * each, skew);
  block_fill(&y, dtype, beta == 0);
  block expected = block_copy(&y);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t f = 0; f < k; f++)
      sl_value_set(expected.data, dtype, i * ld + f,
                   beta == 0 ? 0 : beta * sl_value_at(expected.data, dtype, i * ld + f));
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&y);
    image there = image_of_block(queues[q], &out);
    sl_kernel_args args = {
        .op = SL_OP_SCALE,
        .scale = {.rows = rows, .k = k, .beta = beta, .y = there.data, .ldy = ld, .dtype = dtype}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&there);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(expected.base);
  free(y.base);
}

static void test_scale(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(120); repeat++)
    check_scale();
}

static void check_round(void) {
  sley_dtype dtype = draw(2) ? SLEY_F16 : SLEY_BF16;
  int64_t k = PICK(0, 1, 3, 32, 33, 130), rows = PICK(0, 1, 7, 1500), ld = k + PICK(0, 0, 3),
          ld_sums = k + PICK(0, 0, 3);
  double beta = (double[]){0, 1, 0.3, -2}[draw(4)];
  block y = block_of((size_t)(rows * ld) * 2, (size_t)draw(3) * 2);
  block sums = block_of((size_t)(rows * ld_sums) * 4, (size_t)draw(3) * 4);
  block_fill(&y, dtype, beta == 0);
  block_fill(&sums, SLEY_F32, false);
  block expected = block_copy(&y);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t f = 0; f < k; f++) {
      float sum = (float)sl_value_at(sums.data, SLEY_F32, i * ld_sums + f);
      if (beta != 0)
        sum += (float)(beta * sl_value_at(expected.data, dtype, i * ld + f));
      sl_value_set(expected.data, dtype, i * ld + f, (double)sum);
    }
  for (int q = 0; q < QUEUES; q++) {
    block out = block_copy(&y);
    image there = image_of_block(queues[q], &out), sums_there = image_of_block(queues[q], &sums);
    sl_kernel_args args = {.op = SL_OP_ROUND,
                           .round = {.rows = rows,
                                     .k = k,
                                     .sums = sums_there.data,
                                     .ld_sums = ld_sums,
                                     .beta = beta,
                                     .y = there.data,
                                     .ldy = ld,
                                     .dtype = dtype}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_drop(&sums_there);
    image_return(&there);
    assert_memory_equal(out.data, expected.data, out.bytes);
    free(out.base);
  }
  free(expected.base);
  free(sums.base);
  free(y.base);
}

static void test_sums_are_rounded(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(120); repeat++)
    check_round();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_move_and_add),
      cmocka_unit_test(test_rows_are_pulled_from_several_memories),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_sums_are_rounded),
  };
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
