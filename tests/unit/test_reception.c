/* SPDX-License-Identifier: Apache-2.0 */
/* A reception hears all who have come: silent guests hold up nobody, halves of messages are put together, who
 * does not know the secret is sent away, and who fills all places loses them. */
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/reception.h"
#include "bootstrap/visit.h"
#include "socket/socket.h"
#include "support.h"

enum { PAYLOAD = 100, JOB = 7, FROM = 3 };

typedef struct heard {
  sl_claim claim;
  char payload[PAYLOAD];
} heard;

static sl_reception door;
static sl_guest guests[SL_GUESTS];
static sl_secret secret;
static int port;

static int set_up(void **state) {
  (void)state;
  int listener;
  if (sl_socket_listen(0, true, &port, &listener) != SLEY_OK || sl_secret_make(&secret) != SLEY_OK)
    return -1;
  const sl_claim wanted = {.job = JOB, .to = 0, .port = port, .payload = PAYLOAD};
  return sl_reception_open(listener, &secret, &wanted, guests, SL_GUESTS, &door) == SLEY_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  sl_reception_close(&door);
  close(door.listener);
  return 0;
}

static int come(void) {
  int fd;
  assert_sley_ok(sl_socket_begin_connect("127.0.0.1", port, &fd));
  struct pollfd poller = {.fd = fd, .events = POLLOUT};
  assert_int_equal(poll(&poller, 1, 5000), 1);
  return fd;
}

/* A visit on fd, whose payload is of one letter. */
static sl_visit visit_of(int fd, const char payload[PAYLOAD]) {
  sl_visit visit = {.fd = fd, .state = SL_VISIT_CHALLENGED, .payload = payload};
  visit.claim =
      (sl_claim){.kind = SL_CLAIM_HELLO, .job = JOB, .from = FROM, .port = port, .payload = PAYLOAD};
  return visit;
}

/* Both sides go on until the reception hands somebody over, or there have been so many turns. */
static int turn_both(sl_visit *visit, const sl_secret *theirs, heard *out, int turns) {
  int fd = -1;
  for (int i = 0; i < turns && fd < 0; i++) {
    assert_sley_ok(sl_reception_take(&door, out, &fd));
    assert_sley_ok(sl_visit_step(theirs, visit));
    usleep(1000);
  }
  for (int i = 0; fd >= 0 && i < 10000 && !sl_visit_over(visit); i++) {
    assert_sley_ok(sl_visit_step(theirs, visit));
    usleep(1000);
  }
  return fd;
}

static void assert_proven(sl_visit *visit, char what) {
  heard got;
  int fd = turn_both(visit, &secret, &got, 10000);
  assert_true(fd >= 0);
  assert_int_equal(visit->state, SL_VISIT_DONE);
  assert_int_equal(got.claim.from, FROM);
  for (int i = 0; i < PAYLOAD; i++)
    assert_int_equal(got.payload[i], what);
  close(fd);
}

static void test_silent_guests(void **state) {
  (void)state;
  char payload[PAYLOAD], noise[PAYLOAD / 2] = {0};
  memset(payload, 's', sizeof payload);
  int silent = come(), half = come(), speaker = come();
  assert_sley_ok(sl_socket_write(half, noise, sizeof noise, sl_now() + 5));
  sl_visit visit = visit_of(speaker, payload);
  assert_proven(&visit, 's');
  assert_int_equal(door.count, 2);
  heard got;
  int fd;
  assert_int_equal(sl_reception_next(&door, sl_now() + 0.1, &got, &fd), SLEY_ERR_PEER);
  close(silent); /* who goes without a word is forgotten */
  close(half);
  for (int i = 0; i < 5000 && door.count > 0; i++)
    (void)sl_reception_next(&door, sl_now() + 0.001, &got, &fd);
  assert_int_equal(door.count, 0);
  close(speaker);
}

static void test_full_of_silent_guests(void **state) {
  (void)state;
  int silent[SL_GUESTS + 1], speaker;
  char payload[PAYLOAD];
  heard got;
  int fd;
  memset(payload, 's', sizeof payload);
  for (int i = 0; i <= SL_GUESTS; i++)
    silent[i] = come();
  assert_int_equal(sl_reception_next(&door, sl_now() + 0.01, &got, &fd), SLEY_ERR_PEER);
  speaker = come();
  sl_visit visit = visit_of(speaker, payload);
  assert_proven(&visit, 's'); /* the first of the silent has had its time */
  assert_true(door.count <= SL_GUESTS);
  for (int i = 0; i <= SL_GUESTS; i++)
    close(silent[i]);
  close(speaker);
}

/* What a visitor has that does not belong here. */
static void test_strangers(void **state) {
  (void)state;
  char payload[PAYLOAD] = {0};
  heard got;
  sl_secret none = {.given = false}, other;
  assert_sley_ok(sl_secret_make(&other));
  enum { OTHER_SECRET, NO_SECRET, OTHER_JOB, OTHER_RANK, OTHER_PORT, OTHER_KIND, CASES };
  for (int i = 0; i < CASES; i++) {
    sl_visit visit = visit_of(come(), payload);
    visit.claim.job += i == OTHER_JOB;
    visit.claim.to += i == OTHER_RANK;
    visit.claim.port += i == OTHER_PORT;
    visit.claim.kind += i == OTHER_KIND;
    const sl_secret *theirs = i == OTHER_SECRET ? &other : i == NO_SECRET ? &none : &secret;
    int64_t unproven = door.unproven, foreign = door.foreign;
    assert_int_equal(turn_both(&visit, theirs, &got, 200), -1);
    assert_int_equal(visit.state, SL_VISIT_ENDED);
    assert_int_equal(door.unproven - unproven, i <= NO_SECRET);
    assert_int_equal(door.foreign - foreign, i > NO_SECRET);
    close(visit.fd);
  }
}

/* A claim that was true once is not true for another challenge, and none of its bytes may change. */
static void test_replays(void **state) {
  (void)state;
  sl_challenge first, second;
  heard message = {
      .claim = {.kind = SL_CLAIM_HELLO, .job = JOB, .from = FROM, .port = port, .payload = PAYLOAD}};
  const sl_claim wanted = {.job = JOB, .to = 0, .port = port, .payload = PAYLOAD};
  assert_sley_ok(sl_challenge_make(&first));
  assert_sley_ok(sl_challenge_make(&second));
  assert_sley_ok(sl_claim_make(&secret, &first, message.payload, &message.claim));
  assert_int_equal(sl_claim_check(&secret, &first, &wanted, &message), SL_CLAIM_PROVEN);
  assert_int_equal(sl_claim_check(&secret, &second, &wanted, &message), SL_CLAIM_UNPROVEN);
  for (size_t i = 0; i < sizeof(sl_claim) + PAYLOAD; i++) {
    ((char *)&message)[i] ^= 1;
    assert_int_not_equal(sl_claim_check(&secret, &first, &wanted, &message), SL_CLAIM_PROVEN);
    ((char *)&message)[i] ^= 1;
  }
  sl_proof proof;
  sl_proof_make(&secret, &first, &message.claim, &proof);
  assert_true(sl_proof_check(&secret, &first, &message.claim, &proof));
  assert_false(sl_proof_check(&secret, &second, &message.claim, &proof));
  memcpy(proof.mac, message.claim.mac, sizeof proof.mac); /* a reflection */
  assert_false(sl_proof_check(&secret, &first, &message.claim, &proof));
  for (size_t i = 0; i < sizeof proof; i++) {
    sl_proof_make(&secret, &first, &message.claim, &proof);
    ((char *)&proof)[i] ^= 1;
    assert_false(sl_proof_check(&secret, &first, &message.claim, &proof));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_silent_guests, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_full_of_silent_guests, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_replays, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("reception", tests, NULL, NULL);
}
