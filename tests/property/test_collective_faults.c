/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed arrays with wrong bytes: faults must be found, and no memory beyond the arrays may be accessed.
 * Arrays that are read end at a page that cannot be read; arrays that are written have margins that must not
 * change. */
#include "compressed_cases.h"

/* Decompresses and adds an array as it is. Returns the faults found, which must be the same for both
 * operations. */
static uint32_t judge(const fenced *src, sley_type type, int64_t count) {
  size_t bytes = (size_t)count * sley_type_bytes(type);
  uint32_t verdicts[QUEUES];
  for (int q = 0; q < QUEUES; q++) {
    char *base = open_margins(bytes);
    verdicts[q] = run_decompress(queues[q], src, base + MARGIN, count, type);
    check_margins(base, bytes);
    uint32_t wrong = 0;
    image from = image_of(queues[q], src->data, src->bytes, 0),
          to = image_of(queues[q], base + MARGIN, bytes, 0),
          verdict = image_of(queues[q], &wrong, sizeof wrong, 0);
    const void *part[] = {NULL, from.data};
    sl_kernel_args args = {.op = SL_OP_SPARSE_SUM,
                           .sparse_sum = {.count = count,
                                          .parts = 2,
                                          .src = part,
                                          .room = (int64_t)src->bytes,
                                          .own = 0,
                                          .own_src = to.data,
                                          .dst = to.data,
                                          .type = type,
                                          .wrong = verdict.data}};
    if (type <= SLEY_TYPE_BF16) {
      assert_sley_ok(sl_kernel_run(queues[q], &args));
      image_return(&to);
      image_return(&verdict);
      assert_int_equal(wrong, verdicts[q]);
    } else {
      image_drop(&to);
      image_drop(&verdict);
    }
    image_drop(&from);
    check_margins(base, bytes);
    free(base);
    assert_int_equal(verdicts[q], verdicts[0]);
  }
  return verdicts[0];
}

static void spoil(char *at) {
  *at = (char)(*at ^ (char)(1 << draw(8)));
}

/* Whether a changed byte may still describe a valid array: another format or count of kept values may fit the
 * same number of bytes. */
static bool may_stay_sound(sl_compressed_format format, size_t byte) {
  bool pici = format == SL_COMPRESSED_PICI32 || format == SL_COMPRESSED_PICI64;
  return byte == offsetof(sl_compressed_header, format) ||
         (!pici && byte >= offsetof(sl_compressed_header, nonzeros) &&
          byte < offsetof(sl_compressed_header, payload_bytes));
}

/* Every bit of a header counts, and so does every byte that is missing. */
static void wrong_headers_are_refused(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    sley_type type = draw_type();
    int64_t count = draw_length();
    sl_compressed_format format = (sl_compressed_format)draw(SL_COMPRESSED_FORMATS);
    fenced sound = draw_compressed(type, count, format, PICK(0, 900, 1000));
    assert_int_equal(judge(&sound, type, count), 0);
    for (size_t i = 0; i < SL_COMPRESSED_HEADER; i++) {
      char before = sound.data[i];
      spoil(sound.data + i);
      uint32_t found = judge(&sound, type, count);
      if (!found && !may_stay_sound(format, i))
        fail_msg("byte %zu of a header from %d to %d is accepted (format %d, %lld values)", i, before,
                 sound.data[i], (int)format, (long long)count);
      sound.data[i] = before;
    }
    for (size_t bytes = 0; bytes < sound.bytes; bytes += (bytes < 64 ? 8 : 8 + 8 * (size_t)draw(4000))) {
      fenced cut = fenced_of(bytes);
      memcpy(cut.data, sound.data, bytes);
      assert_int_equal(judge(&cut, type, count), SL_FAULT_HEADER);
      fenced_free(&cut);
    }
    assert_int_equal(judge(&sound, type, count + 1), SL_FAULT_HEADER);
    fenced_free(&sound);
  }
}

/* A change of any bit of Pici's words and counts, or of a position of COO that breaks the order, contradicts
 * the rest of the payload. */
static void wrong_payloads_are_refused(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(300); repeat++) {
    sley_type type = draw_type();
    int64_t count = PICK(1, 63, 64, 4095, 4096, 4097, 12345, 70001);
    sl_compressed_format format = (sl_compressed_format)(SL_COMPRESSED_PICI32 + draw(2));
    fenced made = draw_compressed(type, count, format, PICK(0, 900, 1000));
    sl_compressed_layout layout = sl_compressed_payload(format, type, count, 0);
    int64_t index_bytes = sl_compressed_tiles(count) * (format == SL_COMPRESSED_PICI32 ? 4 : 8);
    spoil(made.data + SL_COMPRESSED_HEADER + draw(layout.index + index_bytes));
    assert_int_equal(judge(&made, type, count), SL_FAULT_PAYLOAD);
    fenced_free(&made);

    made = draw_compressed(type, count, SL_COMPRESSED_COO, 500);
    sl_compressed_header header;
    memcpy(&header, made.data, sizeof header);
    uint32_t *position = (uint32_t *)(made.data + SL_COMPRESSED_HEADER);
    if (header.nonzeros > 0) {
      int64_t j = draw(header.nonzeros);
      position[j] = j > 0 && draw(2) ? position[draw(j)] : (uint32_t)(count + draw(UINT32_MAX - count));
      assert_int_equal(judge(&made, type, count), SL_FAULT_PAYLOAD);
    }
    fenced_free(&made);
  }
}

/* Faults with correct counts: a bit of the last tile beyond the end of the array, and a first value without a
 * bit. */
static void counts_are_not_all(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(60); repeat++) {
    sley_type type = draw_type();
    int64_t count = PICK(1, 63, 65, 1000, 4095, 4097, 8191), last = (count - 1) / SL_TILE_VALUES;
    sl_compressed_format format = (sl_compressed_format)(SL_COMPRESSED_PICI32 + draw(2));
    fenced made = draw_compressed(type, count, format, 0);
    uint64_t *words = (uint64_t *)(made.data + SL_COMPRESSED_HEADER), *tile = words + last * SL_TILE_COLUMNS;
    int64_t end = count % SL_TILE_VALUES, column = (end - 1) % 64, beyond = end + draw(SL_TILE_VALUES - end);
    uint64_t bit = UINT64_C(1) << (end - 1) / 64;
    if (tile[column] & bit) { /* not drawn as zero */
      tile[column] ^= bit;
      tile[beyond % 64] |= UINT64_C(1) << beyond / 64;
      assert_int_equal(judge(&made, type, count), SL_FAULT_PAYLOAD);
      tile[beyond % 64] ^= UINT64_C(1) << beyond / 64;
      tile[column] ^= bit;
    }
    if (words[0] & 1) {
      words[0] ^= 1;
      made.data[SL_COMPRESSED_HEADER + sl_compressed_payload(format, type, count, 0).index] = 1;
      assert_int_equal(judge(&made, type, count), SL_FAULT_PAYLOAD);
    }
    fenced_free(&made);
  }
}

/* With random bytes no memory beyond the arrays may be accessed; judge and the fences check this. */
static void any_bytes_are_survived(void **state) {
  (void)state;
  for (int repeat = 0; repeat < repeats(1500); repeat++) {
    sley_type type = draw_type();
    int64_t count = PICK(0, 1, 64, 4097, 12345);
    fenced made = draw_compressed(type, count, (sl_compressed_format)draw(SL_COMPRESSED_FORMATS),
                                  PICK(0, 900, 990, 1000));
    size_t from = draw(4) ? SL_COMPRESSED_HEADER : 0;
    for (int64_t spoilt = 1 + draw(8); spoilt > 0 && made.bytes > from; spoilt--)
      spoil(made.data + from + (size_t)draw((int64_t)(made.bytes - from)));
    if (draw(4) == 0)
      for (size_t i = from; i < made.bytes; i++)
        made.data[i] = (char)draw(256);
    (void)judge(&made, type, count);
    fenced_free(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_headers_are_refused), cmocka_unit_test(wrong_payloads_are_refused),
      cmocka_unit_test(counts_are_not_all), cmocka_unit_test(any_bytes_are_survived)};
  return cmocka_run_group_tests(tests, open_queues, close_queues);
}
