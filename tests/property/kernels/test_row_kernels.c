/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a device that move, add, scale and round rows, on random shapes, compared with loops over
 * single values. */
#include "base/value.h"
#include "kernels.h"

/* The sum of two values in the way rows are added: 16-bit types in f32. */
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

/* Checks a pull of entries from a few sources in turn, each to its own row. */
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
    list[i] = (sl_pull_entry){
        .src_row = (uint64_t)draw(src_rows), .dst_row = to[i], .source = (unsigned)draw(SOURCES)};
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

/* A pull in pieces from one table, in which every row can be identified by its number. */
typedef struct staged {
  int64_t count, rows, dst_rows;
  int pieces;
  int64_t end[SL_PIECES_MOST];
  int64_t *to; /* rows of the destination, as the list has them */
  sl_pull_entry *list;
} staged;

enum { PIECED_COLUMNS = 6, PIECED_SOURCES = 3 };

static staged make_staged(void) {
  staged t = {.count = PICK(0, 0, 1, 2, 40, 1500, 4000), .pieces = (int)PICK(1, 2, 3, 7, SL_PIECES_MOST)};
  t.rows = 1 + draw(200);
  t.dst_rows = t.count + draw(30);
  t.to = distinct_list(t.count, t.dst_rows);
  t.list = calloc((size_t)t.count + 1, sizeof *t.list);
  for (int64_t i = 0; i < t.count; i++)
    t.list[i] = (sl_pull_entry){
        .src_row = (uint64_t)draw(t.rows), .dst_row = t.to[i], .source = (unsigned)draw(PIECED_SOURCES)};
  for (int s = 0; s < t.pieces; s++) {
    int64_t first = s > 0 ? t.end[s - 1] : 0;
    t.end[s] = s == t.pieces - 1 ? t.count : draw(3) == 0 ? first : first + draw(t.count - first + 1);
  }
  return t;
}

/* A cell of the table; source s has columns 2 s and 2 s + 1. */
static int64_t staged_cell(int64_t row, int64_t column) {
  return 1000 * (row + 1) + column;
}

/* Runs the pull in one queue, and in another queue waits for each piece and copies its rows away at once. A
 * second round follows, and one in which the counts wrap around. */
static void run_staged(const staged *t, sl_queue *queue, sl_queue *beside) {
  size_t row = PIECED_COLUMNS / PIECED_SOURCES * sizeof(int64_t);
  int64_t *table = calloc((size_t)t->rows * PIECED_COLUMNS, sizeof *table);
  int64_t *out = calloc((size_t)t->dst_rows + 1, row), *seen = calloc((size_t)t->dst_rows + 1, row);
  sl_piece_words words = {.round.value = UINT32_MAX};
  for (int s = 0; s < SL_PIECES_MOST; s++)
    for (int i = 0; i < SL_PIECE_COPIES; i++)
      words.piece[s].here[i].value = UINT32_MAX;
  for (int64_t i = 0; i < t->rows * PIECED_COLUMNS; i++)
    table[i] = staged_cell(i / PIECED_COLUMNS, i % PIECED_COLUMNS);
  image src = image_of(queue, table, (size_t)t->rows * PIECED_COLUMNS * sizeof *table, 0);
  image dst = image_of(queue, out, ((size_t)t->dst_rows + 1) * row, 0);
  image taken = image_of(queue, seen, ((size_t)t->dst_rows + 1) * row, 0);
  image list = image_of(queue, t->list, (size_t)t->count * sizeof *t->list, 0);
  image to = image_of(queue, t->to, (size_t)t->count * sizeof *t->to, 0);
  image word = image_of(queue, &words, sizeof words, 0);
  assert_sley_ok(queue->ops->queue_wait(queue));
  sl_pull_source source[PIECED_SOURCES];
  for (int s = 0; s < PIECED_SOURCES; s++)
    source[s] = (sl_pull_source){.src = (char *)src.data + (size_t)s * row,
                                 .stride = PIECED_COLUMNS * sizeof(int64_t),
                                 .bytes = (int64_t)row};
  sl_kernel_args pull = {.op = SL_OP_PULL,
                         .pull = {.count = t->count,
                                  .list = list.data,
                                  .sources = PIECED_SOURCES,
                                  .source = source,
                                  .dst = dst.data,
                                  .dst_stride = (int64_t)row,
                                  .dtype = SLEY_F64,
                                  .pieces = t->pieces,
                                  .piece_end = t->end,
                                  .arrived = word.data}};
  pull.pull.add = true;
  assert_int_equal(sl_kernel_run(beside, &pull), SLEY_ERR_UNSUPPORTED);
  pull.pull.add = false;
  sl_event *arrived;
  assert_sley_ok(queue->ops->event_create(queue->device, &arrived));
  for (int round = 0; round < 2; round++) {
    assert_sley_ok(queue->ops->event_record(queue, arrived));
    assert_sley_ok(queue->ops->event_wait(beside, arrived));
    assert_sley_ok(sl_kernel_run(beside, &pull));
    for (int s = 0; s < t->pieces; s++) {
      int64_t first = s > 0 ? t->end[s - 1] : 0;
      sl_kernel_args arrive = {.op = SL_OP_ARRIVE, .arrive = {word.data, s}};
      sl_kernel_args take = {.op = SL_OP_ROWS,
                             .rows = {.count = t->end[s] - first,
                                      .bytes = (int64_t)row,
                                      .src = dst.data,
                                      .src_stride = (int64_t)row,
                                      .src_rows = (int64_t *)to.data + first,
                                      .dst = taken.data,
                                      .dst_stride = (int64_t)row,
                                      .dst_rows = (int64_t *)to.data + first,
                                      .dtype = SLEY_F64}};
      assert_sley_ok(sl_kernel_run(queue, &arrive));
      assert_sley_ok(sl_kernel_run(queue, &take));
    }
  }
  assert_sley_ok(beside->ops->queue_wait(beside));
  queue->ops->event_destroy(arrived);
  image_return(&taken);
  image_return(&dst);
  image_return(&word);
  image_drop(&src);
  image_drop(&list);
  image_drop(&to);
  for (int64_t i = 0; i < t->count; i++)
    for (int64_t c = 0; c < 2; c++) {
      int64_t moved = staged_cell(t->list[i].src_row, 2 * t->list[i].source + c);
      assert_int_equal(out[2 * t->to[i] + c], moved);
      assert_int_equal(seen[2 * t->to[i] + c], moved);
    }
  for (int s = 0; s < SL_PIECES_MOST; s++)
    for (int i = 0; i < SL_PIECE_COPIES; i++) {
      assert_int_equal(words.piece[s].done.value, 0);
      assert_int_equal(words.piece[s].here[i].value, s < t->pieces ? 1 : UINT32_MAX);
    }
  free(seen);
  free(out);
  free(table);
}

static void test_pulls_arrive_in_pieces(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(80); repeat++) {
    staged t = make_staged();
    for (int q = 0; q < QUEUES; q++) {
      sl_queue *beside;
      assert_sley_ok(queues[q]->ops->queue_create_urgent(queues[q]->device, &beside));
      run_staged(&t, queues[q], beside);
      queues[q]->ops->queue_destroy(beside);
    }
    free(t.list);
    free(t.to);
  }
}

/* A pull whose wait for a peer is aborted must move nothing, but report all pieces as arrived; so must a pull
 * without rows. */
static void test_pieces_of_pulls_without_rows(void **state) {
  (void)state;
  for (int q = 0; q < QUEUES; q++)
    for (int with = 0; with < 4; with++) {
      bool stopped = with & 1, listed = with & 2;
      sl_device *device = queues[q]->device;
      int64_t row = 7, out = -1, ends[3] = {0, listed, listed};
      sl_pull_entry entry = {0, 0, 0};
      sl_piece_words words = {0};
      uint64_t bytes[(sizeof(sl_board) + sizeof(sl_board_slot)) / sizeof(uint64_t)] = {0};
      void *stop;
      assert_sley_ok(device->ops->host_alloc(device, sizeof(uint32_t), "a word", &stop));
      *(uint32_t *)stop = stopped;
      image src = image_of(queues[q], &row, sizeof row, 0), dst = image_of(queues[q], &out, sizeof out, 0);
      image list = image_of(queues[q], &entry, sizeof entry, 0);
      image board = image_of(queues[q], bytes, sizeof bytes, 0);
      image word = image_of(queues[q], &words, sizeof words, 0);
      sl_offer lend = {.board = board.data, .src = src.data, .stride = 8};
      sl_signals signals = {
          .own = board.data, .opens = true, .closes = true, .lends = !stopped, .lend = &lend, .stop = stop};
      sl_pull_source source = {.bytes = 8, .board = board.data};
      sl_pull_args a = {.count = listed,
                        .list = list.data,
                        .sources = 1,
                        .source = &source,
                        .dst = dst.data,
                        .dst_stride = 8,
                        .dtype = SLEY_F64,
                        .signals = &signals,
                        .pieces = 3,
                        .piece_end = ends,
                        .arrived = word.data};
      assert_sley_ok(sl_kernel_run(queues[q], &(sl_kernel_args){.op = SL_OP_PULL, .pull = a}));
      for (int s = 0; s < 3; s++)
        assert_sley_ok(
            sl_kernel_run(queues[q], &(sl_kernel_args){.op = SL_OP_ARRIVE, .arrive = {word.data, s}}));
      image_return(&dst);
      image_drop(&word);
      image_drop(&board);
      image_drop(&list);
      image_drop(&src);
      device->ops->host_free(device, stop);
      assert_int_equal(out, listed && !stopped ? 7 : -1);
    }
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
      cmocka_unit_test(test_pulls_arrive_in_pieces),
      cmocka_unit_test(test_pieces_of_pulls_without_rows),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_sums_are_rounded),
  };
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
