/* SPDX-License-Identifier: Apache-2.0 */
/* A reception hears all who have come: silent guests hold up nobody, halves of messages are put together, and
 * there is room again once silent guests have had their time. */
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/reception.h"
#include "socket/socket.h"
#include "support.h"

static const char GREETING[] = "welcome";
enum { BYTES = 100 };

static sl_reception door;
static int port;

static int set_up(void **state) {
  (void)state;
  int listener;
  if (sl_socket_listen(0, true, &port, &listener) != SLEY_OK)
    return -1;
  sl_reception_open(listener, GREETING, sizeof GREETING, BYTES, &door);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  sl_reception_close(&door);
  close(door.listener);
  return 0;
}

static int come(void) {
  int fd;
  assert_sley_ok(sl_socket_connect("127.0.0.1", port, sl_now() + 5, &fd));
  return fd;
}

static void say(int fd, char what, size_t bytes) {
  char message[BYTES];
  memset(message, what, sizeof message);
  assert_sley_ok(sl_socket_write(fd, message, bytes, sl_now() + 5));
}

/* The next guest has said BYTES of that, and was greeted. */
static void assert_heard(char what, int speaker) {
  char message[BYTES], greeting[sizeof GREETING];
  int fd;
  assert_sley_ok(sl_reception_next(&door, sl_now() + 10, message, &fd));
  for (int i = 0; i < BYTES; i++)
    assert_int_equal(message[i], what);
  assert_sley_ok(sl_socket_read(speaker, greeting, sizeof greeting, sl_now() + 5));
  assert_string_equal(greeting, GREETING);
  close(fd);
}

static void test_silent_guests(void **state) {
  (void)state;
  int silent = come(), half = come(), speaker = come();
  say(half, 'h', BYTES / 2);
  say(speaker, 's', BYTES);
  assert_heard('s', speaker);
  char message[BYTES];
  int fd;
  assert_int_equal(sl_reception_next(&door, sl_now() + 0.1, message, &fd), SLEY_ERR_PEER);
  say(half, 'h', BYTES - BYTES / 2);
  assert_heard('h', half);
  close(silent); /* who goes without a word is forgotten */
  assert_int_equal(sl_reception_next(&door, 0, message, &fd), SLEY_ERR_PEER);
  assert_int_equal(door.count, 0);
  close(half);
  close(speaker);
}

static void test_full_of_silent_guests(void **state) {
  (void)state;
  int silent[SL_GUESTS], speaker;
  for (int i = 0; i < SL_GUESTS; i++)
    silent[i] = come();
  speaker = come();
  say(speaker, 's', BYTES);
  char message[BYTES];
  int fd;
  assert_int_equal(sl_reception_next(&door, 0, message, &fd), SLEY_ERR_PEER);
  assert_int_equal(door.count, SL_GUESTS);
  assert_heard('s', speaker); /* the first of the silent has had its time */
  for (int i = 0; i < SL_GUESTS; i++)
    close(silent[i]);
  close(speaker);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_silent_guests, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_full_of_silent_guests, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("reception", tests, NULL, NULL);
}
