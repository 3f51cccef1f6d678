/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed arrays: their bytes must equal those of an oracle that follows the definition, decompression
 * must restore all bits, and sums must have the bits of dense sums. */
#include "compressed_cases.h"
#include "dense_oracle.h"

enum { MOST_PARTS = 9 };

/* ---- arrays */

static bool is_zero(const char *array, size_t each, int64_t i) {
  static const char zero[8];
  return memcmp(array + (size_t)i * each, zero, each) == 0;
}

static int64_t oracle_nonzeros(const char *array, size_t each, int64_t count) {
  int64_t nonzeros = 0;
  for (int64_t i = 0; i < count; i++)
    nonzeros += !is_zero(array, each, i);
  return nonzeros;
}

static size_t padded(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/* Writes the payload by its definition to zeroed memory; returns its size. */
static size_t oracle_pici(const char *src, size_t each, int64_t count, bool wide, char *payload) {
  size_t tiles = (size_t)(count + 4095) / 4096, at = 0;
  char *index = payload + tiles * 512, *values = index + padded(tiles * (wide ? 8 : 4));
  for (size_t t = 0; t < tiles; t++) {
    uint64_t before = at;
    uint32_t narrow = (uint32_t)before;
    memcpy(index + t * (wide ? 8 : 4), wide ? (void *)&before : (void *)&narrow, wide ? 8 : 4);
    for (int64_t c = 0; c < 64; c++)
      for (int64_t r = 0; r < 64; r++) {
        int64_t i = (int64_t)t * 4096 + r * 64 + c;
        if (i >= count || is_zero(src, each, i))
          continue;
        payload[(t * 64 + (size_t)c) * 8 + (size_t)r / 8] |= (char)(1 << r % 8);
        memcpy(values + at++ * each, src + (size_t)i * each, each);
      }
  }
  return (size_t)(values - payload) + padded(at * each);
}

static size_t oracle_coo(const char *src, size_t each, int64_t count, char *payload) {
  size_t nonzeros = (size_t)oracle_nonzeros(src, each, count), at = 0;
  char *values = payload + padded(nonzeros * 4);
  for (int64_t i = 0; i < count; i++) {
    uint32_t position = (uint32_t)i;
    if (is_zero(src, each, i))
      continue;
    memcpy(payload + at * 4, &position, 4);
    memcpy(values + at++ * each, src + (size_t)i * each, each);
  }
  return (size_t)(values - payload) + padded(nonzeros * each);
}

static size_t oracle_payload(sl_compressed_format format, const char *src, size_t each, int64_t count,
                             char *payload) {
  if (format == SL_COMPRESSED_COO)
    return oracle_coo(src, each, count, payload);
  if (format != SL_COMPRESSED_DENSE)
    return oracle_pici(src, each, count, format == SL_COMPRESSED_PICI64, payload);
  memcpy(payload, src, (size_t)count * each);
  return padded((size_t)count * each);
}

/* A compressed array of *bytes bytes by the definition. Freed by free. */
static char *oracle_compressed(const char *src, const sl_compress_part *part, sley_type type, size_t *bytes) {
  size_t each = sley_type_bytes(type);
  int64_t nonzeros = oracle_nonzeros(src, each, part->count);
  bool fits = sl_compressed_bytes(part->format, type, part->count, nonzeros) <= part->room;
  sl_compressed_format taken = fits ? part->format : SL_COMPRESSED_DENSE;
  char *made = calloc(1, (size_t)sl_compressed_bytes(taken, type, part->count, part->count) + 8);
  size_t payload = oracle_payload(taken, src, each, part->count, made + SL_COMPRESSED_HEADER);
  sl_compressed_header header = {.magic = SL_COMPRESSED_MAGIC,
                                 .version = SL_COMPRESSED_VERSION,
                                 .format = (uint8_t)taken,
                                 .type = (uint8_t)type,
                                 .count = part->count,
                                 .nonzeros = nonzeros,
                                 .payload_bytes = (int64_t)payload};
  memcpy(made, &header, sizeof header);
  *bytes = SL_COMPRESSED_HEADER + payload;
  return made;
}

/* ---- tests */

static void check_bytes(const sl_compress_part *part, sley_type type) {
  size_t bytes;
  char *expected = oracle_compressed(part->src, part, type, &bytes);
  if (memcmp(part->dst, expected, bytes) != 0)
    fail_msg("%lld values of type %d in format %d, in room of %lld bytes: the bytes differ",
             (long long)part->count, (int)type, (int)part->format, (long long)part->room);
  free(expected);
}

static void check_round_trip(sl_queue *queue, const char *src, int64_t count, sley_type type,
                             sl_compressed_format format, int64_t room) {
  size_t bytes = (size_t)count * sley_type_bytes(type);
  char *base = open_margins((size_t)room), *made = base + MARGIN;
  const sl_compress_part part = {src, count, format, made, room, NULL};
  run_compress_all(queue, type, 1, &part);
  check_margins(base, (size_t)room);
  check_bytes(&part, type);
  sl_compressed_header header;
  memcpy(&header, made, sizeof header);
  assert_null(sl_compressed_fault_of(&header, type, count, SL_COMPRESSED_HEADER + header.payload_bytes));

  fenced exact = fenced_of((size_t)(SL_COMPRESSED_HEADER + header.payload_bytes));
  memcpy(exact.data, made, exact.bytes);
  char *back = open_margins(bytes);
  assert_int_equal(run_decompress(queue, &exact, back + MARGIN, count, type), 0);
  check_margins(back, bytes);
  assert_memory_equal(back + MARGIN, src, bytes);
  free(back);
  fenced_free(&exact);
  free(base);
}

static void check_count(sl_queue *queue, const char *src, int64_t count, sley_type type) {
  int64_t nonzeros = -1;
  image from = image_of(queue, src, (size_t)count * sley_type_bytes(type), draw_skew(sley_type_bytes(type))),
        to = image_of(queue, &nonzeros, sizeof nonzeros, 0);
  sl_kernel_args args = {.op = SL_OP_NONZEROS, .nonzeros = {from.data, count, type, to.data}};
  assert_sley_ok(sl_kernel_run(queue, &args));
  image_return(&to);
  image_drop(&from);
  assert_int_equal(nonzeros, oracle_nonzeros(src, sley_type_bytes(type), count));
}

/* Runs once with space for the format's longest payload, and once with space for only the dense array. */
static void arrays_come_back(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(400); repeat++) {
    int64_t count = draw_length();
    sley_type type = draw_type();
    sl_compressed_format format = (sl_compressed_format)draw(SL_COMPRESSED_FORMATS);
    char *src = malloc((size_t)count * 8 + 1);
    draw_values(src, type, count, PICK(0, 100, 500, 900, 950, 990, 999, 1000));
    for (int q = 0; q < QUEUES; q++) {
      check_count(queues[q], src, count, type);
      check_round_trip(queues[q], src, count, type, format, sl_compressed_bytes(format, type, count, count));
      check_round_trip(queues[q], src, count, type, format,
                       sl_compressed_bytes(SL_COMPRESSED_DENSE, type, count, 0));
    }
    free(src);
  }
}

/* Arrays that are compressed in one call must have the same bytes as arrays compressed alone, on any
 * device. */
static void check_together(sley_type type, int parts) {
  sl_compress_part part[MOST_TOGETHER];
  char *base[MOST_TOGETHER];
  const bool pici = draw(2); /* all of them, as in a collective */
  for (int p = 0; p < parts; p++) {
    int64_t count = PICK(0, 1, 4095, 4097, 20481, 70001, 300007);
    sl_compressed_format format =
        pici ? SL_COMPRESSED_PICI32 : (sl_compressed_format)draw(SL_COMPRESSED_FORMATS);
    int64_t least = sl_compressed_bytes(SL_COMPRESSED_DENSE, type, count, 0),
            most = sl_compressed_bytes(format, type, count, count);
    char *src = malloc((size_t)count * sley_type_bytes(type) + 1);
    draw_values(src, type, count, PICK(0, 500, 900, 950, 990, 1000));
    part[p] = (sl_compress_part){src, count, format, NULL, draw(2) && most > least ? most : least, NULL};
  }
  for (int q = 0; q < QUEUES; q++) {
    for (int p = 0; p < parts; p++) {
      base[p] = open_margins((size_t)part[p].room);
      part[p].dst = base[p] + MARGIN;
    }
    run_compress_all(queues[q], type, parts, part);
    for (int p = 0; p < parts; p++) {
      check_bytes(&part[p], type);
      check_margins(base[p], (size_t)part[p].room);
      free(base[p]);
    }
  }
  for (int p = 0; p < parts; p++)
    free((void *)part[p].src);
}

static void arrays_are_compressed_together(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(30); repeat++)
    check_together(draw_type(), (int)draw(10) + 1);
  check_together(draw_type(), 0);
  check_together(draw_type(), MOST_TOGETHER);
}

/* Several arrays of different lengths and formats at once, into memory with gaps. */
static void arrays_come_back_together(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    sley_type type = draw_type();
    size_t each = sley_type_bytes(type);
    int parts = (int)PICK(0, 1, 2, 3, 70);
    fenced made[70];
    sl_compressed_part part[70];
    int64_t count[70], from[70], to[70], made_bytes = 0, values = 0;
    for (int p = 0; p < parts; p++) {
      count[p] = parts > 3 ? draw(130) * draw(70) : draw_length();
      made[p] = draw_compressed(type, count[p], (sl_compressed_format)draw(SL_COMPRESSED_FORMATS),
                                PICK(0, 500, 990, 1000));
      from[p] = made_bytes;
      to[p] = values;
      made_bytes += (int64_t)made[p].bytes;
      values += count[p] + draw(3); /* so values lie at any multiple of their size */
    }
    fenced src = fenced_of((size_t)made_bytes);
    char *expected = malloc((size_t)values * each + 1), *found = malloc((size_t)values * each + 1);
    memset(expected, 0x5a, (size_t)values * each);
    for (int p = 0; p < parts; p++) {
      memcpy(src.data + from[p], made[p].data, made[p].bytes);
      assert_int_equal(run_decompress(queues[0], &made[p], expected + (size_t)to[p] * each, count[p], type),
                       0);
      fenced_free(&made[p]);
    }
    for (int q = 0; q < QUEUES; q++) {
      uint32_t wrong = 0;
      memset(found, 0x5a, (size_t)values * each);
      image source = image_of(queues[q], src.data, src.bytes, 0),
            target = image_of(queues[q], found, (size_t)values * each, 0),
            verdict = image_of(queues[q], &wrong, sizeof wrong, 0);
      for (int p = 0; p < parts; p++)
        part[p] = (sl_compressed_part){.src = (const char *)source.data + from[p],
                                       .room = (p + 1 < parts ? from[p + 1] : made_bytes) - from[p],
                                       .dst = (char *)target.data + to[p] * (int64_t)each,
                                       .count = count[p]};
      sl_kernel_args args = {.op = SL_OP_DECOMPRESS, .decompress = {parts, part, type, verdict.data}};
      assert_sley_ok(sl_kernel_run(queues[q], &args));
      image_return(&target);
      image_return(&verdict);
      image_drop(&source);
      assert_int_equal(wrong, 0);
      assert_memory_equal(found, expected, (size_t)values * each);
    }
    free(found);
    free(expected);
    fenced_free(&src);
  }
}

/* Checks the sum of compressed parts and possibly one dense part, which may be the destination. */
static void check_sum(sley_type type, int64_t count, int parts, int own, bool in_place) {
  size_t each = sley_type_bytes(type), bytes = (size_t)count * each;
  int64_t room = 0;
  for (int format = 0; format < SL_COMPRESSED_FORMATS; format++) {
    int64_t most = sl_compressed_bytes((sl_compressed_format)format, type, count, count);
    room = most > room ? most : room;
  }
  char *values = malloc(bytes * (size_t)parts + 1), *expected = malloc(bytes + 1);
  for (int p = 0; p < parts; p++)
    draw_values(values + (size_t)p * bytes, type, count, PICK(0, 500, 900, 990, 1000));
  if (draw(4) == 0) /* the same zeros, with the same signs, in all parts */
    for (int p = 1; p < parts; p++)
      memcpy(values + (size_t)p * bytes, values, bytes);
  for (int64_t i = 0; i < count; i++) {
    const void *each_value[MOST_PARTS];
    for (int p = 0; p < parts; p++)
      each_value[p] = values + (size_t)p * bytes + (size_t)i * each;
    oracle_reduce(SLEY_SUM, type, parts, each_value, expected + (size_t)i * each);
  }
  for (int q = 0; q < QUEUES; q++) {
    int slots = 0;
    fenced src = fenced_of((size_t)(parts * room));
    for (int p = 0; p < parts; p++)
      if (p != own)
        run_compress(queues[q], values + (size_t)p * bytes, count, type,
                     (sl_compressed_format)draw(SL_COMPRESSED_FORMATS), src.data + slots++ * room, room);
    char *base = open_margins(bytes), *dense = malloc(bytes + 1);
    uint32_t wrong = 0;
    if (own >= 0)
      memcpy(in_place ? base + MARGIN : dense, values + (size_t)own * bytes, bytes);
    image from = image_of(queues[q], src.data, src.bytes, draw_skew(8)),
          to = image_of(queues[q], base + MARGIN, bytes, draw_skew(each)),
          alone = image_of(queues[q], dense, bytes, draw_skew(each)),
          verdict = image_of(queues[q], &wrong, sizeof wrong, 0);
    const void *part[MOST_PARTS];
    for (int p = 0, slot = 0; p < parts; p++)
      part[p] = p == own ? NULL : (const char *)from.data + slot++ * room;
    sl_kernel_args args = {.op = SL_OP_SPARSE_SUM,
                           .sparse_sum = {.count = count,
                                          .parts = parts,
                                          .src = part,
                                          .room = room,
                                          .own = own,
                                          .own_src = in_place ? to.data : alone.data,
                                          .dst = to.data,
                                          .type = type,
                                          .wrong = verdict.data}};
    assert_sley_ok(sl_kernel_run(queues[q], &args));
    image_return(&to);
    image_return(&verdict);
    image_drop(&alone);
    image_drop(&from);
    assert_int_equal(wrong, 0);
    check_margins(base, bytes);
    if (memcmp(base + MARGIN, expected, bytes) != 0)
      fail_msg("the sum of %d arrays of %lld values of type %d, own %d, differs from the dense one", parts,
               (long long)count, (int)type, own);
    free(dense);
    free(base);
    fenced_free(&src);
  }
  free(expected);
  free(values);
}

static void sums_are_those_of_dense_arrays(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(150); repeat++) {
    int parts = (int)PICK(1, 2, 2, 3, 5, 8, MOST_PARTS), own = draw(2) ? -1 : (int)draw(parts);
    check_sum((sley_type)draw(4), draw_length(), parts, own, own >= 0 && draw(2));
  }
}

/* Arrays with so many tiles that a GPU processes several at once. */
static void many_tiles_come_back(void **state) {
  (void)state;
  enum { COUNT = 9000123, BYTES = COUNT * (int)sizeof(uint32_t) };
  uint32_t *values[2], *expected = malloc(BYTES), *found = malloc(BYTES);
  int64_t room = sl_compressed_bytes(SL_COMPRESSED_DENSE, SLEY_TYPE_F32, COUNT, 0);
  char *made = malloc((size_t)room);
  uint64_t bits = (uint64_t)draw(INT64_MAX);
  for (int p = 0; p < 2; p++) {
    values[p] = malloc(BYTES);
    for (int64_t i = 0; i < COUNT; i++) {
      bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407u;
      values[p][i] = bits >> 61 < (p == 0 ? 2 : 5) ? (uint32_t)(bits >> 24) : 0;
    }
  }
  for (int q = 0; q < QUEUES; q++) {
    run_compress(queues[q], values[0], COUNT, SLEY_TYPE_F32, SL_COMPRESSED_PICI32, made, room);
    sl_compressed_header header;
    memcpy(&header, made, sizeof header);
    assert_int_equal(header.format, SL_COMPRESSED_PICI32);
    fenced src = fenced_of((size_t)(SL_COMPRESSED_HEADER + header.payload_bytes));
    memcpy(src.data, made, src.bytes);
    assert_int_equal(run_decompress(queues[q], &src, found, COUNT, SLEY_TYPE_F32), 0);
    assert_memory_equal(found, values[0], BYTES);

    uint32_t wrong = 0;
    image from = image_of(queues[q], src.data, src.bytes, 0), own = image_of(queues[q], values[1], BYTES, 0),
          dense = image_of(queues[q], values[0], BYTES, 0), to = image_of(queues[q], found, BYTES, 0),
          reduced = image_of(queues[q], expected, BYTES, 0),
          verdict = image_of(queues[q], &wrong, sizeof wrong, 0);
    const void *part[] = {from.data, NULL};
    sl_kernel_args sum = {.op = SL_OP_SPARSE_SUM,
                          .sparse_sum = {.count = COUNT,
                                         .parts = 2,
                                         .src = part,
                                         .room = (int64_t)src.bytes,
                                         .own = 1,
                                         .own_src = own.data,
                                         .dst = to.data,
                                         .type = SLEY_TYPE_F32,
                                         .wrong = verdict.data}},
                   reduce = {.op = SL_OP_REDUCE,
                             .reduce = {.count = COUNT,
                                        .parts = 2,
                                        .src = dense.data,
                                        .own = 1,
                                        .own_src = own.data,
                                        .dst = reduced.data,
                                        .op = SLEY_SUM,
                                        .type = SLEY_TYPE_F32}};
    assert_sley_ok(sl_kernel_run(queues[q], &sum));
    assert_sley_ok(sl_kernel_run(queues[q], &reduce));
    image_return(&to);
    image_return(&reduced);
    image_return(&verdict);
    image_drop(&dense);
    image_drop(&own);
    image_drop(&from);
    assert_int_equal(wrong, 0);
    assert_memory_equal(found, expected, BYTES);
    fenced_free(&src);
  }
  for (int p = 0; p < 2; p++)
    free(values[p]);
  free(made);
  free(found);
  free(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_come_back), cmocka_unit_test(arrays_are_compressed_together),
      cmocka_unit_test(arrays_come_back_together), cmocka_unit_test(many_tiles_come_back),
      cmocka_unit_test(sums_are_those_of_dense_arrays)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
