/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which what waits for a connection is sent. */
#include "socket/header.h"
#include "socket/outbox.h"
#include "support.h"

enum { HEAD = sizeof(sl_mesh_header), MOST = 3 * SL_OUTBOX_PIECE + 5 };

/* Lanes that always have something to send: each sends, none more than another, and what is cut is whole. */
static void test_lanes_take_turns(void **state) {
  (void)state;
  enum { EACH = 40, SHORT = 1000 };
  static sl_mesh_outgoing put[EACH], answer[EACH], long_answer[EACH];
  sl_outbox box = {0};
  int64_t sent[SL_LANES] = {0};
  for (int i = 0; i < EACH; i++) {
    put[i].header = (sl_mesh_header){
        .kind = SL_KIND_REQUEST, .access = SL_MESH_PUT, .at = 5, .bytes = MOST, .length = MOST};
    answer[i].header = (sl_mesh_header){.kind = SL_KIND_DATA, .bytes = SHORT, .length = SHORT};
    long_answer[i].header = (sl_mesh_header){.kind = SL_KIND_DATA, .bytes = MOST, .length = MOST};
    sl_outbox_add(&box, true, &put[i]);
    sl_outbox_add(&box, true, &answer[i]);
    sl_outbox_add(&box, true, &long_answer[i]);
  }
  for (int lane = 0, ended = 0; !sl_outbox_empty(&box) && ended < EACH;) {
    sl_mesh_outgoing *out = sl_outbox_next(&box);
    lane = out >= put && out < put + EACH ? 0 : out >= answer && out < answer + EACH ? 1 : 2;
    const int64_t bytes = HEAD + out->header.bytes;
    assert_true(out->header.bytes <= SL_OUTBOX_PIECE);
    assert_int_equal(out->header.length, lane == 0 ? out->header.bytes : lane == 1 ? SHORT : MOST);
    assert_int_equal(out->header.at, out->from + (lane == 0 ? 5 : 0));
    ended += sl_outbox_sent(&box, bytes) == &put[ended];
    sent[lane] += bytes;
    /* Answers end first: they are less. Of the others none is ahead by more than its turn. */
    assert_true(llabs(sent[0] - sent[2]) < 3 * SL_OUTBOX_PIECE);
  }
  assert_int_equal(sent[0], EACH * (int64_t)(MOST + 4 * HEAD));
  assert_int_equal(sent[1], EACH * (int64_t)(SHORT + HEAD));
}

/* A message of rows that are not consecutive, sent up to any byte: the next parts are exactly the bytes after
 * it. */
static void test_rows_continue_anywhere(void **state) {
  (void)state;
  enum { ROWS = 5, ROW_BYTES = 12, BYTES = ROWS * ROW_BYTES };
  static const uint32_t rows[ROWS] = {3, 0, 7, 7, 2};
  char data[8 * ROW_BYTES], whole[HEAD + BYTES];
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (char)i;
  for (int64_t sent = 0; sent < HEAD + BYTES; sent++) {
    sl_mesh_outgoing message = {.data = data, .rows = rows, .row_bytes = ROW_BYTES, .sent = sent};
    struct iovec parts[SL_OUTBOX_PARTS];
    message.header = (sl_mesh_header){.kind = SL_KIND_DATA, .bytes = BYTES, .length = BYTES};
    memcpy(whole, &message.header, HEAD);
    for (int i = 0; i < ROWS; i++)
      memcpy(whole + HEAD + i * ROW_BYTES, data + rows[i] * ROW_BYTES, ROW_BYTES);
    const int count = sl_outbox_parts(&message, parts);
    int64_t at = sent;
    for (int i = 0; i < count; i++) {
      assert_true(at + (int64_t)parts[i].iov_len <= HEAD + BYTES);
      assert_memory_equal(parts[i].iov_base, whole + at, parts[i].iov_len);
      at += (int64_t)parts[i].iov_len;
    }
    assert_int_equal(at, HEAD + BYTES);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lanes_take_turns),
                                     cmocka_unit_test(test_rows_continue_anywhere)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
