/* SPDX-License-Identifier: Apache-2.0 */
/* Messages whose length the receiver learns: those that fit, and one that is longer than the room for it. */
#include <string.h>
#include <unistd.h>

#include "socket/mesh.h"
#include "bootstrap/spawn.h"
#include "bootstrap/meet.h"
#include "support.h"

enum { ROOM = 100, TAG = 3 };

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return sl_fail(SLEY_ERR_INTERNAL, "line %d: %s does not hold", __LINE__, #condition);                  \
  } while (0)

static sley_status send_lengths(sl_mesh *mesh, const int *lengths, int count) {
  char data[ROOM + 1];
  sl_mesh_outgoing send;
  memset(data, 7, sizeof data);
  for (int i = 0; i < count; i++) {
    sl_mesh_send(mesh, 1, TAG, data, lengths[i], &send);
    SL_TRY(sl_mesh_wait_sent(mesh, 1, &send));
  }
  EXPECT(sl_mesh_barrier(mesh) == SLEY_ERR_PEER); /* the last one was too long */
  EXPECT(strstr(sley_last_error(), "rank 1 failed: its connection was closed")); /* it hears this rank no more */
  return SLEY_OK;
}

static sley_status take_lengths(sl_mesh *mesh, const int *lengths, int count) {
  for (int i = 0; i < count; i++) {
    char data[ROOM];
    sl_mesh_incoming recv;
    memset(data, 1, sizeof data);
    sl_mesh_recv_up_to(mesh, 0, TAG, data, ROOM, &recv);
    sley_status status = sl_mesh_wait_received(mesh, 0, &recv);
    EXPECT(status == (lengths[i] <= ROOM ? SLEY_OK : SLEY_ERR_PEER));
    EXPECT(status != SLEY_OK || recv.bytes == lengths[i]);
    EXPECT(status == SLEY_OK || (strstr(sley_last_error(), "rank 0 failed: rank 1 has had a message from it") &&
                                 strstr(sley_last_error(), "at most 100 bytes were expected (kind 1.0, tag 3, 101")));
    for (int b = 0; b < ROOM; b++)
      EXPECT(data[b] == (status == SLEY_OK && b < lengths[i] ? 7 : 1));
  }
  return SLEY_OK;
}

static sley_status rank_main(const sl_place *place, void *arg) {
  (void)arg;
  static const int lengths[] = {0, 1, ROOM, 0, 37, ROOM + 1};
  const int count = sizeof lengths / sizeof *lengths;
  sl_mesh *mesh;
  alarm(WATCHDOG_SECONDS);
  SL_TRY(sl_bootstrap_meet(place, SLEY_OK, &mesh));
  sley_status status = (place->rank == 0 ? send_lengths : take_lengths)(mesh, lengths, count);
  sl_mesh_close(mesh);
  return status;
}

static void test_lengths(void **state) {
  (void)state;
  assert_sley_ok(sl_spawn(2, 20, rank_main, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
