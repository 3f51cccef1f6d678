/* SPDX-License-Identifier: Apache-2.0 */
/* Messages longer than sockets hold arrive while both ranks are at work and call nothing that moves them; and
 * who forbids a turn finds none going on. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "socket/mesh.h"
#include "socket/progress.h"
#include "bootstrap/meet.h"
#include "bootstrap/spawn.h"
#include "support.h"

enum { RANKS = 3, WORDS = 6 * 1000 * 1000, TAG = 9 };

static void nap(long milliseconds) {
  nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000 * 1000}, NULL);
}

static int64_t word_of(int from, int to, int64_t i) {
  return i * 31 + from * 7 + to;
}

/* Every rank sends every other WORDS words; broken() is a call that moves nothing. */
static sley_status exchange(sl_mesh *mesh, int rank, int64_t *sent, int64_t *taken) {
  sl_mesh_outgoing send[RANKS];
  sl_mesh_incoming recv[RANKS];
  const int64_t bytes = WORDS * (int64_t)sizeof *sent;
  for (int p = 0; p < RANKS; p++) {
    for (int64_t i = 0; i < WORDS; i++)
      sent[p * WORDS + i] = word_of(rank, p, i);
    if (p != rank)
      sl_mesh_recv(mesh, p, TAG, taken + p * WORDS, bytes, &recv[p]);
  }
  SL_TRY(sl_mesh_barrier(mesh));
  for (int p = 0; p < RANKS; p++)
    if (p != rank)
      sl_mesh_send(mesh, p, TAG, sent + p * WORDS, bytes, &send[p]);
  for (bool done = false; !done;) {
    sl_mesh_work(mesh);
    nap(5);
    sl_mesh_work(mesh); /* the thread is at it: nothing of the mesh may be looked at */
    if (sl_mesh_broken(mesh))
      return sl_fail(SLEY_ERR_PEER, "broken");
    done = true;
    for (int p = 0; p < RANKS; p++)
      done = done && (p == rank || (recv[p].done && send[p].done));
  }
  for (int p = 0; p < RANKS; p++)
    for (int64_t i = 0; i < WORDS && p != rank; i++)
      if (taken[p * WORDS + i] != word_of(p, rank, i))
        return sl_fail(SLEY_ERR_INTERNAL, "word %lld of rank %d is wrong", (long long)i, p);
  return SLEY_OK;
}

static sley_status rank_main(const sl_place *place, void *arg) {
  (void)arg;
  sl_mesh *mesh;
  alarm(WATCHDOG_SECONDS);
  SL_TRY(sl_bootstrap_meet(place, SLEY_OK, &mesh));
  int64_t *sent = sl_alloc(RANKS * (int64_t)WORDS, sizeof *sent, "test"),
          *taken = sl_alloc(RANKS * (int64_t)WORDS, sizeof *taken, "test");
  sley_status status = sent && taken ? sl_mesh_start_progress(mesh) : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = exchange(mesh, place->rank, sent, taken);
  if (status == SLEY_OK) /* with the thread between calls of all kinds */
    for (int64_t i = 0; i < 50 && status == SLEY_OK; i++) {
      sl_mesh_work(mesh);
      status = sl_mesh_allreduce(mesh, SL_MESH_SUM, &i, 0);
    }
  if (status != SLEY_OK)
    sl_mesh_abort(mesh, status);
  sl_mesh_close(mesh);
  sl_free(taken);
  sl_free(sent);
  return status;
}

static void test_messages_move(void **state) {
  (void)state;
  assert_sley_ok(sl_spawn(RANKS, 30, rank_main, NULL));
}

typedef struct turns {
  int64_t count; /* not atomic: between forbid and allow nobody else may touch it */
} turns;

static bool count_turn(void *arg) {
  return ((turns *)arg)->count++ % 2;
}

static void test_forbid(void **state) {
  (void)state;
  turns t = {0};
  sl_progress *progress;
  alarm(WATCHDOG_SECONDS);
  assert_sley_ok(sl_progress_start(count_turn, &t, &progress));
  nap(50); /* it falls asleep */
  for (int64_t before = 0; before < 20;) {
    sl_progress_allow(progress);
    nap(2);
    sl_progress_forbid(progress);
    assert_true(t.count >= before);
    before = t.count;
    nap(before % 5 == 0 ? 40 : 1);
    assert_int_equal(t.count, before);
  }
  sl_progress_allow(progress);
  sl_progress_stop(progress);
  sl_progress_stop(NULL);
  alarm(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages_move), cmocka_unit_test(test_forbid)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
