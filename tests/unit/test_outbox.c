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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lanes_take_turns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
