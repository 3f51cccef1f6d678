/* SPDX-License-Identifier: Apache-2.0 */
/* The pulse between neighbours: who beats is heard, who is there but does not beat is silent, who has closed
 * is neither; and a rank that is stopped is named by all others. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "socket/mesh.h"
#include "socket/pulse.h"
#include "bootstrap/meet.h"
#include "bootstrap/spawn.h"
#include "support.h"

enum { RANKS = 4, STOPPED = 2, TEXT = 512 };
static const double LIMIT = 2, SLACK = 10; /* seconds */

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
}

/* The rank that becomes silent within the time, or -1. */
static int silent_within(const sl_pulse *pulse, double seconds) {
  double deadline = sl_now() + seconds;
  while (sl_pulse_silent(pulse) < 0 && sl_now() < deadline)
    nap();
  return sl_pulse_silent(pulse);
}

static void test_silence(void **state) {
  (void)state;
  int mute[2], alive[2], closed[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, mute), 0);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, alive), 0);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, closed), 0);
  close(closed[1]);
  sl_pulse *watcher, *neighbour, *lonely;
  int peers[2] = {7, 8}, none[2] = {-1, -1};
  assert_int_equal(sl_pulse_start((int[]){alive[1], -1}, none, LIMIT, &neighbour), SLEY_OK);
  assert_int_equal(sl_pulse_start((int[]){closed[0], alive[0]}, peers, LIMIT, &lonely), SLEY_OK);
  assert_int_equal(sl_pulse_start((int[]){-1, mute[0]}, peers, LIMIT, &watcher), SLEY_OK);
  assert_int_equal(silent_within(watcher, LIMIT + SLACK), 8);
  assert_int_equal(sl_pulse_silent(lonely), -1);
  assert_int_equal(sl_pulse_silent(neighbour), -1);
  sl_pulse_stop(neighbour);
  assert_int_equal(silent_within(lonely, LIMIT + SLACK), 8);
  sl_pulse_stop(lonely);
  sl_pulse_stop(watcher);
  sl_pulse_stop(NULL);
  assert_int_equal(sl_pulse_silent(NULL), -1);
  for (int i = 0; i < 2; i++) {
    close(mute[i]);
    close(alive[i]);
  }
  close(closed[0]);
}

/* Rank STOPPED stops itself; each other notes its error. */
static sley_status wait_for_stopped(const sl_place *place, void *arg) {
  char(*text)[TEXT] = arg;
  sl_mesh *mesh;
  SL_TRY(sl_bootstrap_meet(place, SLEY_OK, &mesh));
  sley_status status = sl_mesh_barrier(mesh);
  if (place->rank == STOPPED)
    raise(SIGSTOP);
  if (status == SLEY_OK)
    status = sl_mesh_barrier(mesh);
  snprintf(text[place->rank], TEXT, "%d %s", (int)status, sley_last_error());
  if (status != SLEY_OK)
    sl_mesh_abort(mesh, status);
  sl_mesh_close(mesh);
  return status;
}

static void test_stopped_rank(void **state) {
  (void)state;
  char(*text)[TEXT] = mmap(NULL, RANKS * TEXT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(text != MAP_FAILED);
  assert_int_equal(sl_spawn(RANKS, LIMIT, wait_for_stopped, text), SLEY_ERR_PEER);
  char expected[TEXT];
  snprintf(expected, sizeof expected, "%d rank %d failed: ", SLEY_ERR_PEER, STOPPED);
  for (int r = 0; r < RANKS; r++)
    if (r != STOPPED)
      assert_int_equal(strncmp(text[r], expected, strlen(expected)), 0);
  munmap(text, RANKS * TEXT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_silence), cmocka_unit_test(test_stopped_rank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
